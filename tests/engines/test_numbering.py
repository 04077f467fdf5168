"""Numbers of ids against a dict."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Tokens, line_tokens
from prefjudge.errors import InputError
from prefjudge.reading import fields as numbering
from prefjudge.reading.fields import Numbering
from prefjudge.reading.files import decode

from .test_files import quick

names = st.one_of(
    st.sampled_from([b"a", b"b", b"12345678", b"123456789", b"\xff", b"\0", b"a\0"]),
    st.binary(min_size=1, max_size=40).map(lambda raw: b"x" + raw.translate(None, b"\n")),
    st.integers(0, 300).map(lambda n: b"%d" % n),
)


def expected(parts):
    numbers = {}
    return [[numbers.setdefault(name, len(numbers)) for name in part] for part in parts], numbers


@quick
@given(parts=st.lists(st.lists(names, max_size=60), max_size=4), block=st.sampled_from([1, 3, 64]))
def test_numbers_are_those_of_a_dict(parts, block):
    with patch.object(numbering, "_BLOCK", block):
        ids = Numbering()
        got = [ids.add(line_tokens(b"".join([b"%b\n" % name for name in part]))).tolist() for part in parts]
    want, numbers = expected(parts)
    assert got == want
    vocabulary = ids.vocabulary()
    assert len(vocabulary) == len(numbers)
    assert list(vocabulary) == list(map(decode, numbers))


def test_many_ids():
    rng = np.random.default_rng(7)
    parts = [[b"%d" % n for n in rng.integers(0, 60_000, 50_000).tolist()] for _ in range(3)]
    ids = Numbering()
    got = [ids.add(line_tokens(b"".join([b"%b\n" % name for name in part]))).tolist() for part in parts]
    want, numbers = expected(parts)
    assert got == want
    assert tuple(ids.vocabulary()) == tuple(map(decode, numbers))


def test_ids_of_one_code_are_told_apart():
    names = [b"a", b"b", b"c", b"a", b"c", b"d"]
    ids = Numbering()
    with patch.object(Tokens, "codes", lambda self: np.full(len(self), 5, np.uint64)):
        assert ids.add(line_tokens(b"".join([b"%b\n" % name for name in names]))).tolist() == [
            0,
            1,
            2,
            0,
            2,
            3,
        ]
        assert ids.add(line_tokens(b"d\ne\na\n")).tolist() == [3, 4, 0]


def test_too_many_bytes_of_ids():
    with patch.object(numbering, "LIMIT", 10):
        ids = Numbering()
        ids.add(line_tokens(b"12345\n6789\n"))
        with pytest.raises(InputError, match="the documents have more than"):
            ids.add(line_tokens(b"x\n"))

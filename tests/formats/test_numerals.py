"""Numbers read in columns are the numbers that Python reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.runs import tokens_of
from prefjudge.reading.fields import floats, integers

decimals = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.from_regex(r"\A[+-]?[0-9]{1,19}(\.[0-9]{0,19})?\Z"),
    st.from_regex(r"\A[+-]?\.[0-9]{1,19}([eE][+-]?[0-9]{1,3})?\Z"),
)


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(decimals, min_size=1, max_size=20))
def test_floats_are_the_nearest(texts):
    values, fine = floats(tokens_of([text.encode() for text in texts]))
    assert fine.all()
    assert values.view(np.int64).tolist() == np.array([float(text) for text in texts]).view(np.int64).tolist()


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(st.text("0123456789+-.,eE_xnaif:/ \u0660", max_size=12), min_size=1, max_size=20))
def test_what_is_no_number_is_told(texts):
    def plain(text):
        try:
            value = float(text)
        except ValueError:
            return False
        return value == value and text.isascii() and "_" not in text and text.strip() == text

    _, fine = floats(tokens_of([text.encode() for text in texts]))
    assert fine.tolist() == [plain(text) for text in texts]


@settings(max_examples=200, deadline=None)
@given(numbers=st.lists(st.integers(-(10**17) + 1, 10**17 - 1), min_size=1, max_size=20))
def test_integers(numbers):
    values, fine = integers(tokens_of([b"%d" % number for number in numbers]))
    assert fine.all()
    assert values.tolist() == numbers


@pytest.mark.parametrize("text", [b"", b"1.0", b"x", b"1e3", b"-", b"1" * 30])
def test_what_is_no_integer_is_told(text):
    assert not integers(tokens_of([text]))[1].any()


@pytest.mark.parametrize("decimals", range(1, 9))
def test_a_column_of_one_form_reads_as_each_number_does(decimals):
    numbers = [f"{value:.{decimals}f}" for value in (1.5, 0, -2.25, 1 / 3, 98765.4321, -123456789.987654321)]
    tail = "7" * decimals
    right = [f".{tail}", f"+.{tail}", "5", "5.", "inf", "1e5", "2" * (decimals + 2)]
    wrong = [
        f"1.5.{tail}",
        f"..{tail}",
        f"-1-2.{tail}",
        f"1e2.{tail}",
        f"x.{tail}",
        f"1:.{tail}",
        f"/.{tail}",
    ]
    wrong += [f"2.{tail[1:]}x", f"2.{tail[1:]}.", ".", "nan"]
    for text in [*right, *wrong]:
        for texts in ([*numbers, text], [text, *numbers]):
            values, fine = floats(tokens_of([one.encode() for one in texts]))
            assert fine.tolist() == [one not in wrong for one in texts]
            read = [float(one) for one in texts if one not in wrong]
            assert values[fine].tolist() == read

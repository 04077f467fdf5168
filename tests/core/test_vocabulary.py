"""A vocabulary is a tuple of strings in all but memory."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Vocabulary, encode, merged, vocabulary_of

NAMES = ("a", "café", "", "\udce9", "d10")


@pytest.fixture
def vocabulary():
    raws = [name.encode("utf-8", "surrogateescape") for name in NAMES]
    return Vocabulary(b"".join(raws) + b"padding", np.cumsum(list(map(len, raws))).astype(np.uint32))


def test_it_reads_as_a_tuple(vocabulary):
    assert len(vocabulary) == 5
    assert [vocabulary[code] for code in np.arange(5, dtype=np.int32)] == list(NAMES)
    assert (vocabulary[-1], vocabulary[1:4], vocabulary[::-2]) == ("d10", NAMES[1:4], NAMES[::-2])
    assert tuple(vocabulary) == tuple(reversed(tuple(reversed(vocabulary)))) == NAMES
    assert "café" in vocabulary
    assert "caf" not in vocabulary
    plain = Vocabulary(b"abcpadding", np.array([1, 1, 3], np.uint32))
    assert tuple(plain) == ("a", "", "bc")
    for code in (5, -6):
        with pytest.raises(IndexError):
            vocabulary[code]


def test_it_equals_a_tuple_and_its_like(vocabulary):
    assert vocabulary == NAMES
    assert vocabulary == pickle.loads(pickle.dumps(vocabulary))
    for other in (NAMES[:-1], (*NAMES[:-1], "d1"), list(NAMES), None):
        assert vocabulary != other
    ends = np.array([1, 3], np.uint32)
    assert Vocabulary(b"abc", ends) == Vocabulary(bytearray(b"abc padded"), ends)
    assert Vocabulary(b"abc", ends) != Vocabulary(b"abd", ends)
    assert Vocabulary(b"abc", ends) != Vocabulary(b"abc", ends[1:])


def test_codes_are_places_in_it(vocabulary):
    assert encode(["d10", "x", "a"], vocabulary).tolist() == [4, -1, 0]


PLAIN = st.text("ab019-", max_size=20)
ODD = st.text(st.sampled_from("a\0é\udce9\uffff\U0001f600"), max_size=4)
LONG = st.integers(0, 60).map(lambda size: "x" * size + "y")


@given(
    st.sampled_from([PLAIN, ODD, LONG]).flatmap(lambda ids: st.lists(st.lists(ids), min_size=1, max_size=3))
)
def test_lists_are_merged_into_the_sorted_set_of_their_ids(lists):
    ids, codes = merged(*map(tuple, lists))
    assert list(ids) == sorted({name for names in lists for name in names})
    assert [[ids[code] for code in own] for own in codes] == lists


def test_some_of_the_ids(vocabulary):
    assert vocabulary.take(np.array([4, 1, 1])) == ("d10", "café", "café")
    assert vocabulary.take(np.array([], np.int32)) == ()
    assert vocabulary_of(vocabulary) is vocabulary
    assert vocabulary_of(NAMES) == NAMES

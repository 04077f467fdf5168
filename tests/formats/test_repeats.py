"""Repeated rows are those that a dictionary finds, whatever their codes have in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import tokens_of
from prefjudge.reading.fields import repeated_rows

rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([b"a", b"b", b"ab", b"12345678", b"123456789"])))


@pytest.mark.parametrize("same_codes", [False, True])
@given(given=rows)
def test_repeated_rows_are_those_of_a_dict(given, same_codes):
    tokens = tokens_of([doc for _, doc in given])
    codes = np.zeros(len(given), np.uint64) if same_codes else tokens.codes()
    again, first = repeated_rows(np.array([group for group, _ in given], np.int64), codes, tokens)
    places = {}
    expected = [(row, places.setdefault(key, row)) for row, key in enumerate(given)]
    assert list(zip(again.tolist(), first.tolist(), strict=True)) == [
        (row, before) for row, before in expected if row != before
    ]

"""Candidates: however the rows are found, the numbers are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.candidates import number_candidates, number_in_order

Votes = list[list[tuple[int, int]]]


def columns(votes: Votes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return how many votes each query has, and the queries, left and right documents of all of them."""
    counts = np.array([len(of_query) for of_query in votes])
    left, right = (
        np.array([pair[side] for of_query in votes for pair in of_query], dtype=np.int32) for side in (0, 1)
    )
    return counts, np.repeat(np.arange(counts.size, dtype=np.int32), counts), left, right


QUERY = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)


@given(pairs=st.lists(QUERY, min_size=1, max_size=6), step=st.integers(4, 7))
def test_numbering_in_order_equals_looking_up(pairs: Votes, step: int) -> None:
    votes = [[(a + step * place, b + step * place) for a, b in query] for place, query in enumerate(pairs)]
    counts, query, left, right = columns(votes)
    found = number_in_order(counts, left, right)
    asked_query, asked_doc, (of_left, of_right) = number_candidates([(query, left), (query, right)])
    if found is not None:
        for ours, theirs in zip(found, (asked_query, asked_doc), strict=False):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(found[3], of_left)
        np.testing.assert_array_equal(found[4], of_right)
        np.testing.assert_array_equal(found[2], np.bincount(np.concatenate([of_left, of_right])))


@pytest.mark.parametrize(
    ("votes", "in_order"),
    [
        ([[(4, 5), (6, 5)], [], [(7, 8)]], True),
        ([[(0, 1)], [(1, 2)]], False),
        ([[(0, 1)], [(3, 4)]], False),
        ([[(0, 2)], [(3, 4)]], False),
        ([[(3, 4)], [(0, 1)]], False),
        ([[], []], False),
    ],
    ids=["rising", "shared", "gap between queries", "gap in a query", "falling", "nothing"],
)
def test_only_codes_that_rise_with_the_queries_are_numbered_in_order(votes: Votes, in_order: bool) -> None:
    counts, _, left, right = columns(votes)
    assert (number_in_order(counts, left, right) is not None) == in_order

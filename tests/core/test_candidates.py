"""Candidates: however the rows are found, the numbers are the same."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import number_candidates, number_in_order
from prefjudge.core.resolving.tournaments import tournaments

Votes = list[list[tuple[int, int]]]


def columns(votes: Votes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return how many votes each query has, and the queries, left and right documents of all of them."""
    counts = np.array([len(of_query) for of_query in votes])
    left, right = (
        np.array([pair[side] for of_query in votes for pair in of_query], dtype=np.int32) for side in (0, 1)
    )
    return counts, np.repeat(np.arange(counts.size, dtype=np.int32), counts), left, right


PAIR = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])
ROUND_ROBIN = st.integers(2, 4).map(lambda size: list(combinations(range(size), 2)))
QUERY = st.lists(PAIR, max_size=8) | ROUND_ROBIN


def as_judgments(votes: Votes) -> Judgments:
    counts, query, left, right = columns(votes)
    return Judgments.of_nobody(
        queries=tuple(map(str, range(counts.size))),
        docs=tuple(map(str, range(100))),
        query=query,
        left=left,
        right=right,
        choice=np.ones(query.size, np.int8),
    )


@given(pairs=st.lists(QUERY, min_size=1, max_size=6), step=st.integers(4, 7))
def test_numbering_in_order_equals_looking_up(pairs: Votes, step: int) -> None:
    votes = [[(a + step * place, b + step * place) for a, b in query] for place, query in enumerate(pairs)]
    counts, query, left, right = columns(votes)
    found = number_in_order(counts, left, right)
    theirs = number_candidates([(query, left), (query, right)])
    if found is not None and found[1].size == theirs[1].size:
        for ours, other in zip((*found[:2], *found[2]), (*theirs[:2], *theirs[2]), strict=True):
            np.testing.assert_array_equal(ours, other)


@given(pairs=st.lists(QUERY, min_size=1, max_size=6), step=st.integers(4, 7), block_rows=st.integers(1, 30))
def test_a_block_has_the_documents_that_were_compared(pairs: Votes, step: int, block_rows: int) -> None:
    votes = [[(a + step * place, b + step * place) for a, b in query] for place, query in enumerate(pairs)]
    place = 0
    for block in tournaments(as_judgments(votes), block_rows=block_rows):
        for number in range(block.n_queries):
            rows = slice(block.start[number], block.start[number + 1])
            seen = Counter(doc for pair in votes[place] for doc in pair)
            assert dict(zip(block.doc[rows].tolist(), block.comparisons[rows].tolist(), strict=True)) == seen
            judged = {frozenset(pair) for pair in votes[place]}
            assert block.missing[number] == len(seen) * (len(seen) - 1) // 2 - len(judged)
            place += 1
    assert place == len(votes)


@pytest.mark.parametrize(
    ("votes", "in_order"),
    [
        ([[(4, 5), (6, 5)], [], [(7, 8)]], True),
        ([[(0, 1)], [(1, 2)]], False),
        ([[(0, 1)], [(3, 4)]], False),
        ([[(0, 2)], [(3, 4)]], True),
        ([[(3, 4)], [(0, 1)]], False),
        ([[], []], False),
    ],
    ids=["rising", "shared", "gap between queries", "gap in a query", "falling", "nothing"],
)
def test_only_codes_that_rise_with_the_queries_are_numbered_in_order(votes: Votes, in_order: bool) -> None:
    counts, _, left, right = columns(votes)
    assert (number_in_order(counts, left, right) is not None) == in_order

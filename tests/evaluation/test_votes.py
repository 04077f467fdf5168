"""Votes are drawn anew as pools may truly be."""

import numpy as np

from prefjudge.core.resolving.confidence import DrawnPools, Stack
from prefjudge.core.resolving.scales import one_scale
from prefjudge.evaluation.stability import cast_again

from .judging import Vote, make_judgments

VOTES: list[Vote] = [
    ("1", "a", "b", 1), ("1", "b", "a", 1), ("1", "a", "b", 0),
    ("2", "c", "b", 1), ("2", "d", "c", -1), ("3", "a", "b", 1), ("3", "a", "e", 1),
]  # fmt: skip
LOG = make_judgments(VOTES)
LEFT, RIGHT = np.array([0, 1, 0, 4, 2, 5, 5]), np.array([1, 0, 1, 3, 4, 6, -1])
"""Rows of 1: a b, of 2: d b c, of 3: a b; nobody pooled e."""


def drawn(*queries: int) -> DrawnPools:
    pair = np.array([[0.5, 0.9], [0.1, 0.5]])
    three = np.array([[0.5, 0.2, 0.3], [0.8, 0.5, 0.6], [0.7, 0.4, 0.5]])
    stacks = [
        Stack(queries=np.array([0, 2]), rows=np.array([[0, 1], [5, 6]]), chances=np.array([pair, pair.T])),
        Stack(queries=np.array([1]), rows=np.array([[2, 3, 4]]), chances=three[None]),
    ]
    return DrawnPools(crowd=one_scale(1.0), stacks=tuple(stacks[query] for query in queries))


def test_a_vote_goes_to_the_left_as_often_as_its_pool_has_it() -> None:
    chances = drawn(0, 1).chances_of(LEFT, RIGHT)
    np.testing.assert_allclose(chances, [0.9, 0.1, 0.9, 0.4, 0.3, 0.1, np.nan])
    rng = np.random.default_rng(2)
    again = [cast_again(LOG, LEFT, RIGHT, drawn(0, 1), rng) for _ in range(4000)]
    choice = np.array([one.choice for one in again])
    assert choice.dtype == np.int8
    assert (choice[:, 2] == 0).all(), "ties stay ties"
    assert set(choice[:, [0, 1, 3, 4, 5]].ravel().tolist()) == {-1, 1}
    share = (choice == 1).mean(axis=0)
    np.testing.assert_allclose(share[[0, 1, 3, 4, 5]], [0.9, 0.1, 0.4, 0.3, 0.1], atol=0.03)


def test_votes_on_other_pools_are_left_out() -> None:
    again = cast_again(LOG, LEFT, RIGHT, drawn(1), np.random.default_rng(2))
    assert again.query.tolist() == [1, 1]
    assert again.left.tolist() == LOG.left[3:5].tolist()
    assert again.docs is LOG.docs

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.tests import sign_flip_p
from prefjudge.evaluation.winratios import binomial_p, win_ratios

from .judging import Vote, make_judgments
from .test_winratio import make_heads


@given(st.lists(st.integers(-7, 7), max_size=9))
def test_equals_every_choice_of_signs(net: list[int]) -> None:
    sums = [
        sum(sign * one for sign, one in zip(signs, net, strict=True))
        for signs in product(*[(1, -1)] * len(net))
    ]
    reached = np.mean([abs(total) >= abs(sum(net)) for total in sums])
    assert sign_flip_p(np.array([net], dtype=np.int64))[0] == pytest.approx(reached)


@given(st.integers(0, 300), st.integers(0, 300))
def test_one_vote_a_query_makes_it_the_binomial_test(wins: int, losses: int) -> None:
    net = np.repeat(np.array([1, -1, 0], dtype=np.int64), [wins, losses, 3])[np.newaxis]
    assert sign_flip_p(net)[0] == pytest.approx(binomial_p(np.array([wins]), np.array([losses]))[0])


def hang_together(rng: np.random.Generator, queries: int, votes: int) -> np.ndarray:
    """Net votes where neither run is better, but each query has a taste of its own."""
    for_a = rng.binomial(votes, rng.beta(1, 1, size=(2000, queries)))
    return 2 * for_a - votes


def skewed(rng: np.random.Generator, queries: int, votes: int) -> np.ndarray:
    """One query in four leans to one run by far, the others a little to the other: on average to neither."""
    chance = np.where(rng.random((2000, queries)) < 0.25, 0.95, 0.35)
    return 2 * rng.binomial(votes, chance) - votes


@pytest.mark.parametrize("draw", [hang_together, skewed])
@pytest.mark.parametrize(("queries", "votes"), [(25, 5), (50, 3), (200, 5)])
def test_dependent_votes_err_as_seldom_as_they_may(
    draw: Callable[[np.random.Generator, int, int], np.ndarray], queries: int, votes: int
) -> None:
    net = draw(np.random.default_rng([queries, votes]), queries, votes)
    assert 0.035 <= (sign_flip_p(net) <= 0.05).mean() <= 0.062
    for_a = (net + votes).sum(axis=1) // 2
    assert (binomial_p(for_a, queries * votes - for_a) <= 0.05).mean() > 0.07  # as if all were independent


def test_counting_votes_says_that_they_were_tested_by_query() -> None:
    votes: list[Vote] = [(str(query), "x", "y", 1) for query in range(4) for _ in range(5)]
    runs = {"A": {str(n): "x" for n in range(4)}, "B": {str(n): "y" for n in range(4)}}
    by_vote = win_ratios(make_judgments(votes), make_heads(runs), count="votes")
    assert (by_vote.pairs[0].wins_a, by_vote.pairs[0].p) == (20, 0.125)  # 4 queries agree, not 20 votes
    assert "sign-flip test of each query's net votes" in by_vote.test
    assert "binomial" in win_ratios(make_judgments(votes), make_heads(runs)).test

"""Strategies: what they ask for follows from the votes alone."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from prefjudge.core.asking.strategies import Halving, Knockout, LeadStop, RoundRobin, Strategy
from prefjudge.core.judges.noise import ConstantNoise
from prefjudge.core.planning.strategy_names import DEFAULT


@pytest.mark.parametrize(
    "strategy",
    [RoundRobin(2), Halving(), Halving(2, 3), Knockout(3), LeadStop(2), DEFAULT],
)
@pytest.mark.parametrize("size", [2, 3, 5, 6, 9])
def test_a_strategy_goes_on_where_it_stopped(strategy: Strategy, size: int) -> None:
    # Votes that trickle in one at a time lead to the same asking: nothing is forgotten or asked twice.
    rng = np.random.default_rng(size)
    chances, _ = ConstantNoise(error=0.3).draw_chances(20, size, rng)
    votes = np.zeros_like(chances)

    def ask() -> NDArray[np.int64]:
        asked, matrix = strategy.ask(votes), np.zeros(votes.shape, dtype=np.int64)
        assert (asked.x < asked.y).all()
        matrix[asked.pool, asked.x, asked.y] = asked.votes
        return matrix

    total, asked = 0, ask()
    while asked.any():
        before = asked
        some = rng.binomial(asked, 0.5)
        left = rng.binomial(some, chances)
        votes += left + (some - left).transpose(0, 2, 1)
        total += int(some.sum())
        asked = ask()
        # What was asked and not answered is asked still, unless the answers settled it.
        waiting = ((before - some) > 0).any(axis=(1, 2))
        if not isinstance(strategy, LeadStop):
            assert (asked[waiting] >= (before - some)[waiting]).all()
    assert total == votes.sum()
    assert (strategy.leaders(votes).sum(axis=1) >= 1).all()


def asked_of(strategy: Strategy, votes: NDArray[np.float64]) -> list[tuple[int, int, int, int]]:
    asked = strategy.ask(votes)
    return sorted(
        zip(*(column.tolist() for column in (asked.pool, asked.x, asked.y, asked.votes)), strict=True)
    )


@pytest.mark.parametrize(
    "strategy", [RoundRobin(2), Halving(), Halving(2, 3), Knockout(3), LeadStop(2), LeadStop(3, 4), DEFAULT]
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_each_pool_is_judged_by_itself(strategy: Strategy, size: int) -> None:
    rng = np.random.default_rng(size)
    votes = np.zeros((30, size, size))
    for _ in range(12):
        alone = [(strategy.leaders(one[None])[0], asked_of(strategy, one[None])) for one in votes]
        assert strategy.leaders(votes).tolist() == [leaders.tolist() for leaders, _ in alone]
        assert asked_of(strategy, votes) == [
            (pool, *rest) for pool, (_, asked) in enumerate(alone) for _, *rest in asked
        ]
        for pool, x, y, most in asked_of(strategy, votes):
            won, made = rng.binomial(most, 0.5), int(rng.integers(most + 1))
            votes[pool, x, y] += min(won, made)
            votes[pool, y, x] += made - min(won, made)


def test_halving_keeps_of_those_who_are_even_the_ones_with_most_votes_in_all() -> None:
    # Round 1: a, b and c beat the others but for e over c, and each other in a cycle. Round 2, of three
    # votes a pair, is a cycle too: three votes each among them, and in all five, five and four.
    won = {"ab": 2, "ba": 1, "bc": 2, "cb": 1, "ca": 2, "ac": 1,
           "ad": 1, "ae": 1, "bd": 1, "be": 1, "cd": 1, "ec": 1, "de": 1}  # fmt: skip
    for order in permutations("abcde"):
        votes = np.zeros((1, 5, 5))
        for (winner, loser), count in won.items():
            votes[0, order.index(winner), order.index(loser)] = count
        x, y = sorted((order.index("a"), order.index("b")))
        assert asked_of(Halving(1, 2), votes) == [(0, x, y, 4)]
        assert [order[place] for place in np.flatnonzero(Halving(1, 2).leaders(votes)[0])] == ["a"]


@pytest.mark.parametrize(
    ("kept", "lost", "asked", "leader"),
    [
        (0.0, 0.0, 3, 0),
        (1.0, 0.0, 2, 0),
        (2.0, 2.0, 2, 0),  # six at most
        (2.5, 0.5, 1, 0),
        (3.0, 3.0, 0, 0),  # a draw changes nothing
        (2.0, 4.0, 0, 1),
        (0.0, 3.0, 0, 1),
        (0.0, 2.5, 1, 0),  # not decided
    ],
)
def test_a_challenger_needs_the_lead_or_more_votes_when_there_are_no_more(
    kept: float, lost: float, asked: int, leader: int
) -> None:
    votes = np.array([[[0.0, kept], [lost, 0.0]]])
    strategy = LeadStop(lead=3, most=6)
    assert asked_of(strategy, votes) == ([(0, 0, 1, asked)] if asked else [])
    assert strategy.leaders(votes).tolist() == [[leader == 0, leader == 1]]

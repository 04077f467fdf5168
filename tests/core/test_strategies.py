"""Strategies: what they ask for follows from the votes alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from prefjudge.core.planning.rounds import DEFAULT
from prefjudge.core.strategies import LapseNoise, RoundRobin, Strategy


@pytest.mark.parametrize("strategy", [RoundRobin(1), RoundRobin(2), DEFAULT])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_strategy_goes_on_where_it_stopped(strategy: Strategy, size: int) -> None:
    # Votes that trickle in one at a time lead to the same asking: nothing is forgotten or asked twice.
    rng = np.random.default_rng(size)
    chances, _ = LapseNoise(error=0.3, lapses=1.0).draw_chances(20, size, rng)
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
        assert (asked[waiting] >= (before - some)[waiting]).all()
    assert total == votes.sum()
    assert (strategy.leaders(votes).sum(axis=1) >= 1).all()


def asked_of(strategy: Strategy, votes: NDArray[np.float64]) -> list[tuple[int, int, int, int]]:
    asked = strategy.ask(votes)
    return sorted(
        zip(*(column.tolist() for column in (asked.pool, asked.x, asked.y, asked.votes)), strict=True)
    )


@pytest.mark.parametrize("strategy", [RoundRobin(1), RoundRobin(2), DEFAULT])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
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

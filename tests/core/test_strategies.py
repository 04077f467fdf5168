"""Strategies: what they ask for follows from the votes alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from prefjudge.core.noise import ConstantNoise
from prefjudge.core.strategies import Halving, Knockout, LeadStop, RoundRobin, Strategy
from prefjudge.core.strategy_names import DEFAULT


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

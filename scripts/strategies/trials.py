"""Trials: strategies on many simulated pools, and what one family of them needs beside another strategy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from prefjudge.core.asking.strategies import Floats, Strategy
from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import of_size

_DRAWS = 400
"""How many samples of the pools, with replacement, tell what chance does."""
_BOUNDS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Trials:
    """What a strategy did with each pool.

    Attributes
    ----------
    name : str
        The strategy's name.
    votes, right : ndarray of float64, shape (n_trials,)
        The votes of each pool, and whether its winner is the best: a share where several win.
    """

    name: str
    votes: Floats
    right: Floats

    @property
    def cost(self) -> float:
        """The mean votes of a pool."""
        return float(self.votes.mean())

    @property
    def share(self) -> float:
        """The share of right winners."""
        return float(self.right.mean())

    @property
    def error(self) -> float:
        """The standard error of that share."""
        return float(self.right.std() / np.sqrt(self.right.size))


def measure(strategy: Strategy, noise: Noise, size: int, trials: int, seed: int) -> Trials:
    """Play a strategy: with the same seed and number of trials each meets the same pools."""
    pools, votes = np.random.default_rng(seed).spawn(2)
    chances, best = noise.draw_chances(trials, size, pools)
    cast, _ = play(strategy, chances, votes)
    leaders = of_size(strategy, size).leaders(cast)
    right = leaders[np.arange(trials), best] / leaders.sum(axis=1)
    return Trials(strategy.name, cast.sum(axis=(1, 2)), right)


def front(several: Sequence[Trials]) -> list[Trials]:
    """Return those that no other beats in both votes and right winners."""
    return [
        one
        for one in several
        if not any(
            other.cost <= one.cost
            and other.share >= one.share
            and (other.cost, other.share) != (one.cost, one.share)
            for other in several
        )
    ]


@dataclass(frozen=True, slots=True)
class Beside:
    """A family of strategies beside another one.

    Attributes
    ----------
    other : str
        The other strategy.
    ratio, low, high : float
        The family's votes for the same share of right winners, as a share of the other's votes, and its 95 %
        interval; infinite where the family does not reach that share.
    gain, error : float
        How many more right winners the family has for the other's votes, as a share of the pools, and the
        standard error.
    reached, spent : float
        The most right winners of the family, and the votes they take as a share of the other's.
    """

    other: str
    ratio: float
    low: float
    high: float
    gain: float
    error: float
    reached: float
    spent: float

    @property
    def by_chance(self) -> float:
        """The gain in standard errors."""
        return self.gain / self.error


def compare(family: Sequence[Trials], other: Trials, seed: int) -> Beside:
    """Return what strategies of ascending cost need beside another one."""
    rng, n = np.random.default_rng(seed), family[0].votes.size
    # The other's means, and what chance makes of them: they are known well, by many pools.
    both = np.stack([other.votes, other.right])
    votes, right = rng.multivariate_normal(both.mean(axis=1), np.cov(both) / other.votes.size, _DRAWS).T
    votes, right = np.append(other.cost, votes), np.append(other.share, right)
    # The same samples of the pools for all of the family: they met the same.
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=_DRAWS)
    weights = np.concatenate([np.ones((1, n)), drawn]) / n
    costs, shares = (
        weights @ np.stack([one.votes for one in family]).T,
        weights @ np.stack([one.right for one in family]).T,
    )
    ratios, gains = np.empty(1 + _DRAWS), np.empty(1 + _DRAWS)
    for draw in range(1 + _DRAWS):
        cost, share = curve(costs[draw], shares[draw])
        ratios[draw] = needed(right[draw], cost, share) / votes[draw]
        gains[draw] = np.interp(np.log(votes[draw]), np.log(cost), share) - right[draw]
    cost, share = curve(costs[0], shares[0])
    spent = float(cost[np.searchsorted(share, share[-1])] / votes[0])
    low, high = np.percentile(ratios[1:], _BOUNDS, method="nearest")
    # That nothing was wrong does not make it certain.
    error = max(float(gains[1:].std()), 1.0 / n)
    found = (float(one) for one in (ratios[0], low, high, gains[0]))
    return Beside(other.name, *found, error, float(share[-1]), spent)


def curve(cost: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return costs and shares that both ascend: who spends more is not right more seldom, but by chance."""
    return np.maximum.accumulate(cost), np.asarray(isotonic_regression(share).x)


def needed(right: float, cost: Floats, share: Floats) -> float:
    """Return the votes at which a curve has this share of right winners, by the log of votes."""
    if share[-1] < right:
        return float("inf")
    return float(np.exp(np.interp(right, share, np.log(cost))))

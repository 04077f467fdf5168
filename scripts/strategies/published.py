"""Methods that others published, played as strategies."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from prefjudge.core.asking.strategies import NOTHING, Asked, Flags, Floats
from prefjudge.core.planning.sure import Sure, most_probable
from prefjudge.core.resolving.bradley_terry import Strengths, fit_strengths


def _one_each(pool: np.ndarray, x: np.ndarray, y: np.ndarray) -> Asked:
    """Return one vote on each pair."""
    return Asked(pool, np.minimum(x, y), np.maximum(x, y), np.ones(pool.size, dtype=np.int64))


def _within(votes: Floats, budget: int) -> np.ndarray:
    return np.flatnonzero(votes.sum(axis=(1, 2)) < budget)


@dataclass(frozen=True)
class DoubleThompson:
    """Double Thompson sampling, one vote at a time (Wu and Liu 2016; for preferences Clarke et al. 2021)."""

    budget: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1), compare=False)
    name: str = "double Thompson sampling"
    alpha: float = 0.6

    def ask(self, votes: Floats) -> Asked:
        """Draw a first candidate among those who may beat most, and a rival who may beat it."""
        pools = _within(votes, self.budget)
        if not pools.size:
            return NOTHING
        won = votes[pools]
        n, size, _ = won.shape
        met = won + won.transpose(0, 2, 1)
        share = np.divide(won, met, out=np.full_like(won, 0.5), where=met > 0)
        time = np.maximum(won.sum(axis=(1, 2)), 1.0)[:, None, None]
        # Without a vote the bounds are 1 and 0.
        margin = np.sqrt(self.alpha * np.log(time) / np.maximum(met, 1e-9)) + (met == 0)
        own = np.eye(size, dtype=bool)
        upper, lower = np.where(own, 0.5, share + margin), np.where(own, 0.5, share - margin)
        may = (upper > 0.5).sum(axis=2)
        drawn = self.rng.beta(won + 1, won.transpose(0, 2, 1) + 1)
        beaten = np.where(own, 0.0, drawn > 0.5).sum(axis=2) + self.rng.random((n, size)) / 2
        first = np.where(may == may.max(axis=1, keepdims=True), beaten, -1.0).argmax(axis=1)
        row = np.arange(n)
        rival = self.rng.beta(won[row, :, first] + 1, won[row, first, :] + 1)
        rival[lower[row, :, first] > 0.5] = -1.0
        rival[row, first] = -2.0
        return _one_each(pools, first, rival.argmax(axis=1))

    def leaders(self, votes: Floats) -> Flags:
        """Return who beats most of the others."""
        beats = (votes > votes.transpose(0, 2, 1)).sum(axis=2)
        return np.asarray(beats == beats.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class TopTwoThompson:
    """Top-two Thompson sampling, one vote at a time, until the best is this probable (Russo 2020)."""

    level: float
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2), compare=False)
    name: str = "top-two Thompson, one by one"
    most: int = 400

    def ask(self, votes: Floats) -> Asked:
        """Draw the best twice until the two differ."""
        chance = Sure(self.level).believe(votes)
        pools = np.flatnonzero((chance.max(axis=1) < self.level) & (votes.sum(axis=(1, 2)) < self.most))
        if not pools.size:
            return NOTHING
        soft = chance[pools] + 1e-9
        first = self._draw(soft)
        soft[np.arange(pools.size), first] = 0.0
        return _one_each(pools, first, self._draw(soft))

    def _draw(self, weights: Floats) -> np.ndarray:
        below = np.cumsum(weights, axis=1)
        return np.asarray((below < self.rng.random((len(weights), 1)) * below[:, -1:]).sum(axis=1))

    def leaders(self, votes: Floats) -> Flags:
        """Return the most probable best."""
        return most_probable(Sure(self.level).believe(votes))


def _gain(fit: Strengths) -> Floats:
    """Return what a vote on each pair tells of the strengths, shape (n, k, k).

    The mutual information of a vote and a normal difference of strengths, to second order.
    """
    spread = np.linalg.inv(fit.precision)
    own = np.diagonal(spread, axis1=1, axis2=2)
    variance = own[:, :, None] + own[:, None, :] - 2 * spread
    gap = fit.mean[:, :, None] - fit.mean[:, None, :]
    # The logistic of a normal variable: MacKay's approximation.
    chance = 1.0 / (1.0 + np.exp(-gap / np.sqrt(1.0 + np.pi * variance / 8.0)))
    return np.asarray(variance * chance * (1.0 - chance))


@dataclass(frozen=True)
class Asap:
    """ASAP in batches (Mikhailiuk et al. 2020), short: a spanning tree of the pairs that tell most."""

    budget: int
    name: str = "ASAP, spanning trees"

    def ask(self, votes: Floats) -> Asked:
        """Ask for the pairs of the tree."""
        pools = _within(votes, self.budget)
        if not pools.size:
            return NOTHING
        gain = _gain(fit_strengths(votes[pools]))
        rows = [minimum_spanning_tree(-np.triu(one, 1)).nonzero() for one in gain]
        place = np.repeat(pools, [x.size for x, _ in rows])
        return _one_each(place, *(np.concatenate(side) for side in zip(*rows, strict=True)))

    def leaders(self, votes: Floats) -> Flags:
        """Return the greatest strength."""
        return most_probable(fit_strengths(votes).mean)


@dataclass(frozen=True)
class CrowdBt:
    """Crowd-BT's active learning (Chen et al. 2013), workers alike: one vote where it tells most."""

    budget: int
    name: str = "Crowd-BT, one by one"

    def ask(self, votes: Floats) -> Asked:
        """Ask for one pair of each pool."""
        pools = _within(votes, self.budget)
        if not pools.size:
            return NOTHING
        gain = np.triu(_gain(fit_strengths(votes[pools])), 1)
        best = gain.reshape(pools.size, -1).argmax(axis=1)
        return _one_each(pools, *np.divmod(best, votes.shape[1]))

    def leaders(self, votes: Floats) -> Flags:
        """Return the greatest strength."""
        return most_probable(fit_strengths(votes).mean)

"""The likely crowd: how votes err by those on some pools, as a few models that are cheap to find."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from prefjudge.core.asking.strategies import Counts, Floats
from prefjudge.core.judges.noise import USUAL_ERROR, scale_of_error
from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.posterior import by_orders, chance_best, log_evidences
from prefjudge.core.resolving.scales import HIGHEST, LAPSES, LOWEST, SPREAD, Scales, log_prior

_APART = 0.2
"""How far apart the logs of three scales are through which a parabola is laid."""
_LOOKS, _FAR = 8, 5.0
"""How often a parabola may lead to the next, and by how many of these steps: farther off it tells little."""
_WITHIN = (np.log(LOWEST) + _APART, np.log(HIGHEST) - _APART)
_DRAWS, _ORDERS, _SEED = 100, 50, 18
"""How many strengths tell the evidence of a pool, and how many orders: they are better proposals."""
_COUNTS = 0.01
"""A share of lapses that is less probable is left out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The votes on some pools of one size.

    Attributes
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes.
    study : ndarray of int64, shape (n,)
        The study of each pool: each has a crowd of its own.
    """

    votes: Floats
    study: Counts

    def only(self, some: Counts) -> "Judged":
        """Return those of some of the pools."""
        return Judged(self.votes[some], self.study[some])


@dataclass(frozen=True, slots=True)
class Crowds:
    """How votes err in each study: the most probable scale at each share of lapses, and how probable it is.

    Both arrays have a row for each study and a column for each share.
    """

    scale: Floats
    weight: Floats

    def of(self, study: int) -> Scales:
        """Return the crowd of one study."""
        return Scales(scale=self.scale[study], weight=self.weight[study], lapses=np.array(LAPSES))

    def chances(self, judged: Judged, *, draws: int) -> Floats:
        """Return how probably each candidate is the best, shape (n, k)."""
        votes, size = judged.votes, judged.votes.shape[1]
        chance = np.zeros(votes.shape[:2])
        for number, lapses in enumerate(LAPSES):
            weight = self.weight[judged.study, number]
            some = np.flatnonzero(weight)
            if some.size:
                scale = self.scale[judged.study[some], number]
                # Draws are of the model and the size alone: what stands beside a pool changes nothing.
                rng = np.random.default_rng([_SEED, size, number])
                fit = (
                    None if by_orders(size, lapses) else fit_strengths(votes[some], scale=scale, within=1e-6)
                )
                chance[some] += weight[some, None] * chance_best(
                    votes[some], fit, scale=scale, draws=draws, rng=rng, lapses=lapses
                )
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def likely_crowd(votes: Floats, *, near: Scales | None = None) -> Scales:
    """Return the most probable scale at each share of lapses, and how probable each share is.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes of some pools.
    near : Scales, optional
        What fewer votes told: three looks at each share tell it then, where more are needed without.
    """
    before = None if near is None else Crowds(near.scale[None], near.weight[None])
    return likely_crowds([Judged(votes, np.zeros(len(votes), dtype=np.int64))], 1, near=before).of(0)


def likely_crowds(pools: Sequence[Judged], studies: int, *, near: Crowds | None = None) -> Crowds:
    """Return the same for each of so many studies, by its own pools of all sizes."""
    usual = np.full((studies, len(LAPSES)), scale_of_error(USUAL_ERROR))
    start = np.clip(np.log(usual if near is None else near.scale), *_WITHIN)
    found = [
        _lowest(partial(_improbable, pools, lapses), start[:, number]) for number, lapses in enumerate(LAPSES)
    ]
    place, least, wide = np.stack(found, axis=2)
    weight = wide * np.exp(least.min(axis=1, keepdims=True) - least)
    weight[weight < _COUNTS * weight.sum(axis=1, keepdims=True)] = 0.0
    return Crowds(
        scale=np.clip(np.exp(place), LOWEST, HIGHEST), weight=weight / weight.sum(axis=1, keepdims=True)
    )


def _improbable(pools: Sequence[Judged], lapses: float, log_scale: Floats, some: Counts) -> Floats:
    """Return less the log probability of a scale for each of some studies, up to a constant."""
    scale, told = np.exp(log_scale), np.zeros(log_scale.size)
    place = np.full(int(some.max(initial=-1)) + 1, -1)
    place[some] = np.arange(some.size)
    for one in pools:
        inside = np.flatnonzero(np.isin(one.study, some))
        if not inside.size:
            continue
        votes, of = one.votes[inside], place[one.study[inside]]
        fit = None
        if not by_orders(votes.shape[1], lapses):
            fit = fit_strengths(votes, scale=scale[of], within=1e-3)  # it is where draws are about
        rng = np.random.default_rng(_SEED)  # the same draws for all scales, so that their errors cancel
        draws = _ORDERS if lapses == 1.0 else _DRAWS
        logs = log_evidences(votes, fit, scale=scale[of], draws=draws, rng=rng, lapses=lapses)
        told += np.bincount(of, weights=logs, minlength=some.size)
    return np.asarray(-told - np.array([log_prior(one) for one in scale.tolist()]))


def _lowest(improbable: Callable[[Floats, Counts], Floats], start: Floats) -> Floats:
    """Return where it is lowest in each study, how low, and the width of the bend there, shape (3, studies).

    The width is a standard deviation.
    """
    found = np.stack([start, np.full(start.size, np.inf), np.full(start.size, SPREAD)])
    some = np.arange(start.size)
    for _ in range(_LOOKS):
        middle = found[0, some]
        low, at, high = (improbable(middle + _APART * step, some) for step in (-1, 0, 1))
        bend = low - 2.0 * at + high
        curved = bend > 0.0
        off = np.where(curved, 0.5 * (low - high) / np.where(curved, bend, 1.0), _FAR * np.sign(low - high))
        found[1, some] = at
        met = curved & (np.abs(off) <= 1.0)
        there = some[met]
        found[0, there] += _APART * off[met]
        found[1, there] = (at - (low - high) ** 2 / (8.0 * np.where(curved, bend, 1.0)))[met]
        found[2, there] = _APART * bend[met] ** -0.5
        following = np.clip(middle + _APART * np.round(np.clip(off, -_FAR, _FAR)), *_WITHIN)
        # At a bound, or where it is flat, there is nothing further to look for.
        on = ~met & (np.abs(following - middle) > 1e-9)
        found[0, some[on]], some = following[on], some[on]
        if not some.size:
            break
    return found

"""The likely crowd: how votes err by those on some pools, as a few models that are cheap to find."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import scipy

from prefjudge.core.asking.strategies import Floats
from prefjudge.core.judges.noise import USUAL_ERROR, scale_of_error
from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.posterior import by_orders, log_evidence
from prefjudge.core.resolving.scales import HIGHEST, LAPSES, LOWEST, SPREAD, Scales, log_prior

_APART = 0.2
"""How far apart the logs of three scales are through which a parabola is laid."""
_LOOKS, _FAR = 5, 5.0
"""How often a parabola may lead to the next, and by how many of these steps: farther off it tells little."""
_WITHIN = (np.log(LOWEST) + _APART, np.log(HIGHEST) - _APART)
_DRAWS, _ORDERS, _SEED = 200, 50, 18
"""How many strengths tell the evidence of a pool, and how many orders: they are better proposals."""
_COUNTS = 0.01
"""A share of lapses that is less probable is left out."""


def likely_crowd(votes: Floats, *, near: Scales | None = None) -> Scales:
    """Return the most probable scale at each share of lapses, and how probable each share is.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes of some pools.
    near : Scales, optional
        What fewer votes told: three looks at each share tell it then, where eight more are needed without.
    """
    scales = [scale_of_error(USUAL_ERROR)] * len(LAPSES) if near is None else near.scale.tolist()
    weight = np.ones(len(LAPSES))
    if votes.any():
        found = [
            _lowest(partial(_improbable, votes, lapses), float(np.clip(np.log(scale), *_WITHIN)))
            for lapses, scale in zip(LAPSES, scales, strict=True)
        ]
        place, least, wide = np.array(found).T
        scales = np.clip(np.exp(place), LOWEST, HIGHEST).tolist()
        weight = wide * np.exp(least.min() - least)
        weight[weight < _COUNTS * weight.sum()] = 0.0
    return Scales(scale=np.array(scales), weight=weight / weight.sum(), lapses=np.array(LAPSES))


def _improbable(votes: Floats, lapses: float, log_scale: float) -> float:
    """Return less the log probability of a scale, up to a constant."""
    scale = float(np.exp(log_scale))
    fit = None
    if not by_orders(votes.shape[1], lapses):
        fit = fit_strengths(votes, scale=scale, within=1e-3)  # it is where draws are about
    rng = np.random.default_rng(_SEED)  # the same draws for all scales, so that their errors cancel
    draws = _ORDERS if lapses == 1.0 else _DRAWS
    told = log_evidence(votes, fit, scale=scale, draws=draws, rng=rng, lapses=lapses)
    return -told - log_prior(scale)


def _lowest(improbable: Callable[[float], float], middle: float) -> tuple[float, float, float]:
    """Return where it is lowest, how low, and the width of the bend there: a standard deviation."""
    steps = cache(lambda step: improbable(middle + _APART * step))
    first, last = (int(np.fix((end - middle) / _APART)) for end in _WITHIN)
    step = 0
    for _ in range(_LOOKS):
        off, least, wide = _parabola(*(steps(one) for one in (step - 1, step, step + 1)))
        if abs(off) <= 0.5:
            return middle + _APART * (step + off), least, _APART * wide
        following = int(np.clip(step + round(np.clip(off, -_FAR, _FAR)), first, last)) if wide else step
        if following == step:
            break
        step = following
    place = scipy.optimize.minimize_scalar(
        improbable, bounds=_WITHIN, method="bounded", options={"xatol": 0.5 * _APART}
    ).x
    off, least, wide = _parabola(*(improbable(place + _APART * one) for one in (-1, 0, 1)))
    if abs(off) > 1.0:
        return place, improbable(place), SPREAD
    return place + _APART * off, least, _APART * wide


def _parabola(low: float, at: float, high: float) -> tuple[float, float, float]:
    """Return where, from the middle of three points, it is lowest, how low, and the width of the bend.

    It is lowest nowhere, at infinity, where it does not bend upwards; the width is 0 then.
    """
    bend = low - 2.0 * at + high
    if bend <= 0.0:
        return np.inf, at, 0.0
    return 0.5 * (low - high) / bend, at - (low - high) ** 2 / (8.0 * bend), bend**-0.5

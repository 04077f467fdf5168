"""The likely scale: how far apart candidates are by the votes of some pools, as one number that is cheap."""

from collections.abc import Callable

import numpy as np
import scipy

from prefjudge.core.asking.strategies import Floats
from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.scales import HIGHEST, LOWEST, log_prior

_APART = 0.2
"""How far apart the logs of three scales are through which a parabola is laid."""


def likely_scale(votes: Floats, *, near: float | None = None) -> float:
    """Return the most probable scale by the votes, by Laplace's approximation of their probability.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes of some pools.
    near : float, optional
        A scale that is not far from it: three fits tell it then, where eight are needed without.
    """
    start: Floats | None = None

    def improbable(log_scale: float) -> float:
        nonlocal start
        scale = float(np.exp(log_scale))
        # So near an optimum the log probability is off by less than a thousandth.
        fit = fit_strengths(votes, scale=scale, start=start, within=1e-4)
        start = fit.mean
        gap = fit.mean[:, :, None] - fit.mean[:, None, :]
        likelihood = -(votes * np.logaddexp(0.0, -gap)).sum() - 0.5 * (fit.mean**2).sum() / scale**2
        volume = 0.5 * np.linalg.slogdet(fit.precision)[1].sum() + fit.mean.size * np.log(scale)
        return float(volume - likelihood) - log_prior(scale)

    found = None if near is None else _lowest_near(improbable, float(np.log(near)))
    if found is None:
        bounds = (np.log(LOWEST), np.log(HIGHEST))
        found = scipy.optimize.minimize_scalar(
            improbable, bounds=bounds, method="bounded", options={"xatol": 0.02}
        ).x
    return float(np.clip(np.exp(found), LOWEST, HIGHEST))


def _lowest_near(improbable: Callable[[float], float], middle: float) -> float | None:
    """Return where a parabola through three points is lowest; None where that is not between them."""
    low, at, high = (improbable(middle + step) for step in (-_APART, 0.0, _APART))
    bend = low - 2.0 * at + high
    if bend <= 0.0 or abs(low - high) > 2.0 * bend:
        return None
    return middle + 0.5 * _APART * (low - high) / bend

"""Confidence intervals of a mean or a median, for all runs at once."""

from typing import Literal

import numpy as np

from prefjudge.errors import InputError
from prefjudge.evaluation.placings import Floats

Statistic = Literal["mean", "median"]
Bounds = tuple[Floats, Floats, Floats]


def named_statistic(text: str) -> Statistic:
    """Return the statistic of this name.

    Raises
    ------
    InputError
        Where there is none.
    """
    choices: dict[str, Statistic] = {"mean": "mean", "median": "median"}
    if text not in choices:
        raise InputError(f"there is no statistic {text!r}", "Choose mean or median.")
    return choices[text]


def mean_interval(values: Floats, confidence: float = 0.95) -> Bounds:
    """Return the mean of each column and its Student t interval.

    Parameters
    ----------
    values : ndarray of float64, shape (queries, runs)
        The scores.
    confidence : float
        The level, 0.95 for a 95 % interval.

    Returns
    -------
    centre, low, high : ndarray of float64, shape (runs,)
        The bounds are NaN where all queries score the same, or there is only one: nothing then says how far
        the mean may be off.
    """
    from scipy.special import stdtrit

    count = values.shape[0]
    centre = values.mean(axis=0)
    if count < 2:
        nothing = np.full_like(centre, np.nan)
        return centre, nothing, nothing
    spread = np.where(np.ptp(values, axis=0) > 0, values.std(axis=0, ddof=1), np.nan)
    reach = stdtrit(count - 1, 0.5 + confidence / 2) * spread / np.sqrt(count)
    return centre, centre - reach, centre + reach


def median_interval(values: Floats, confidence: float = 0.95) -> Bounds:
    """Return the median of each column and its distribution-free interval from order statistics.

    The interval runs from the k-th smallest to the k-th greatest value, with the greatest k whose coverage is
    at least ``confidence`` under the binomial distribution. The bounds are NaN where no k reaches it (fewer
    than 6 queries at 95 %). Parameters and shapes are those of :func:`mean_interval`.
    """
    from scipy.special import bdtr

    count = values.shape[0]
    centre = np.median(values, axis=0)
    outside = bdtr(np.arange(count, dtype=np.float64), count, 0.5)
    k = int(np.searchsorted(outside, (1 - confidence) / 2, side="right"))
    if k == 0:
        nothing = np.full_like(centre, np.nan)
        return centre, nothing, nothing
    ordered = np.sort(values, axis=0)
    return centre, ordered[k - 1], ordered[count - k]

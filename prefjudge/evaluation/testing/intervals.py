"""Confidence intervals of a mean or a median, for all runs at once."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.placings import Floats
from prefjudge.evaluation.testing.bounded_mean import gaffke_interval

Statistic = Literal["mean", "median"]
Interval = Literal["t", "Gaffke", "order statistics"]
Bounds = tuple[Floats, Floats, Floats]

T_NEEDS = 100
"""How many queries must score otherwise than the most frequent score for Student's t: with half of that, and
few great scores among small ones, it covers the mean in less than 92 % of cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The centre of each column of a score matrix with its interval.

    Attributes
    ----------
    centre, low, high : ndarray of float64, shape (runs,)
        NaN bounds where nothing can be said.
    methods : tuple of str
        How the bounds of each column were made.
    """

    centre: Floats
    low: Floats
    high: Floats
    methods: tuple[Interval, ...]


def score_intervals(
    values: Floats, *, statistic: Statistic, confidence: float, ends: tuple[float, float]
) -> Intervals:
    """Return the mean or median of each run's scores with the interval that holds there.

    Parameters
    ----------
    values : ndarray of float64, shape (queries, runs)
        The scores.
    statistic : {'mean', 'median'}
        The median's interval is that of order statistics. The mean's is Student's t where `T_NEEDS` queries
        score otherwise than the run's most frequent score; with fewer it is Gaffke's, which knows the ends of
        the scale. A scale without ends leaves Student's t.
    confidence : float
        The level.
    ends : tuple of (float, float)
        The least and the greatest score that the scale allows: no interval reaches beyond.
    """
    if statistic == "median":
        centre, *bounds = median_interval(values, confidence)
        few: NDArray[np.bool_] = np.zeros(centre.size, dtype=np.bool_)
    else:
        centre, *bounds = mean_interval(values, confidence)
        few = _differing(values) < T_NEEDS
        few &= isfinite(ends[0]) and isfinite(ends[1])
    low, high = (np.clip(bound, *ends) for bound in bounds)
    if few.any():
        low[few], high[few] = gaffke_interval(values[:, few], ends, confidence)
    usual: Interval = "t" if statistic == "mean" else "order statistics"
    return Intervals(
        centre=centre, low=low, high=high, methods=tuple("Gaffke" if one else usual for one in few)
    )


def _differing(values: Floats) -> NDArray[np.int64]:
    """Return how many queries do not have the most frequent score of their run; exact up to `T_NEEDS`."""
    if len(values) < T_NEEDS:
        return np.zeros(values.shape[1], dtype=np.int64)
    return np.array(
        [len(column) - np.unique(column, return_counts=True)[1].max() for column in values.T], dtype=np.int64
    )


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
    count = values.shape[0]
    centre = values.mean(axis=0)
    if count < 2:
        nothing = np.full_like(centre, np.nan)
        return centre, nothing, nothing
    # By the range: the deviation of equal scores may be 1e-17 instead of 0.
    spread = np.where(np.ptp(values, axis=0) > 0, values.std(axis=0, ddof=1), np.nan)
    reach = scipy.special.stdtrit(count - 1, 0.5 + confidence / 2) * spread / np.sqrt(count)
    return centre, centre - reach, centre + reach


def median_interval(values: Floats, confidence: float = 0.95) -> Bounds:
    """Return the median of each column and its distribution-free interval from order statistics.

    The interval runs from the k-th smallest to the k-th greatest value, with the greatest k whose coverage is
    at least ``confidence`` under the binomial distribution. The bounds are NaN where no k reaches it (fewer
    than 6 queries at 95 %). Parameters and shapes are those of :func:`mean_interval`.
    """
    count = values.shape[0]
    centre = np.median(values, axis=0)
    # The median is below the k-th smallest value where fewer
    # than k values are below the median: P(X <= k - 1).
    outside = scipy.special.bdtr(np.arange(count, dtype=np.float64), count, 0.5)
    k = int(np.searchsorted(outside, (1 - confidence) / 2, side="right"))
    if k == 0:
        nothing = np.full_like(centre, np.nan)
        return centre, nothing, nothing
    ordered = np.sort(values, axis=0)
    return centre, ordered[k - 1], ordered[count - k]

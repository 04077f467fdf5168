"""Prediction-powered means: people's outcomes on some queries and a model's on all, in one honest estimate.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference" (2023). The model's mean over
all queries is corrected by what it gets wrong where people judged, and weighted by how well it foretells
them. A model that is biased, or useless, costs nothing: its weight goes to 0.
"""

from dataclasses import dataclass
from math import atanh, isnan, sqrt, tanh

import numpy as np
import scipy

from prefjudge.evaluation.scoring.placings import Floats
from prefjudge.evaluation.testing.intervals import score_intervals

LEAST_JUDGED = 30
"""With fewer queries of people's the weight is too unsure: with 15, a 95 % interval held in 89 % of cases."""
_LEAST_DIFFERING = 5
"""So it is with fewer that differ from the most frequent outcome: with one in 30, it held in 81 %."""
_DISAGREEMENTS = 0.5
"""Of ones that were not seen, so many count: a model that was never wrong may be. Without them the interval
of both held in 70 % of the studies in which a model that is wrong once in 50 was right on all of 60 queries.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredMean:
    """A mean by people alone, and by people and a model together.

    Attributes
    ----------
    judged, shared, elsewhere : int
        The queries with an outcome of people, those of them with one of the model too, and those with one of
        the model alone.
    people, people_low, people_high : float
        The mean by people alone, with its interval over queries.
    both, both_low, both_high : float
        The mean by people and the model.
    weight : float
        What the model's outcomes count, from 0; the power tuning of the paper.
    correlation, correlation_low, correlation_high : float
        Between people's outcomes and the model's where both judged.
    saved, saved_low, saved_high : float
        How many more queries people would have to judge for an interval as narrow without the model; 0
        where it saves nothing.
    shift : float
        How far the model's mean over people's queries is from its mean elsewhere, in standard errors: beyond
        2.6 or so, people's queries are not a random sample of all.
    """

    judged: int
    shared: int
    elsewhere: int
    people: float
    people_low: float
    people_high: float
    both: float
    both_low: float
    both_high: float
    weight: float
    correlation: float
    correlation_low: float
    correlation_high: float
    saved: float
    saved_low: float
    saved_high: float
    shift: float


def prediction_powered_mean(
    people: Floats, model: Floats, elsewhere: Floats, *, confidence: float = 0.95
) -> PoweredMean:
    """Estimate a mean outcome between 0 and 1 from people's sample and all outcomes of a model.

    People's queries must be a random sample of all of them: what a model is worth elsewhere is learnt there.

    Parameters
    ----------
    people, model : ndarray of float64, shape (judged,)
        The outcomes by people, and by the model, on the queries that people judged; at least one. NaN where
        the model has none: it may choose what it judges, but not by whether people judge it.
    elsewhere : ndarray of float64, shape (elsewhere,)
        The model's outcomes on the other queries.
    confidence : float
        The level of the intervals.

    Notes
    -----
    The weight that makes the variance least is cov(people, model) / ((1 + n / N) var(model)) (Example 6.1 of
    the paper). It is learnt from the same queries, which costs a degree of freedom. The interval is the one
    of people alone about the new mean, scaled by the ratio of the two standard errors: so it keeps what that
    one knows about few queries and the ends of the scale, and is the same where the weight is 0. So many
    queries are saved as would make people's own interval as narrow.

    A model is any function of a query, so that it may also say the same of all queries that it left out. What
    it says there is its mean elsewhere: then it moves the estimate by the others alone, and people's outcomes
    on all of their queries stay. Of the share ``s`` of people's queries that it judged, cov(people, model)
    is over all of people's, and 1 + n / N becomes s + s**2 n / N.
    """
    n, m = people.size, elsewhere.size
    alone = score_intervals(people[:, None], statistic="mean", confidence=confidence, ends=(0.0, 1.0))
    value, low, high = (float(bound[0]) for bound in (alone.centre, alone.low, alone.high))
    said = ~np.isnan(model)
    # What the model says of people's queries, beside what it says elsewhere.
    told = np.where(said, model - (elsewhere.mean() if m else model[said].mean() if said.any() else 0.0), 0.0)
    weight, ratio = _weigh(people, told, np.concatenate([model[said], elsewhere]), m)
    both = value - weight * float(told.mean())
    correlation = _correlation(people, told)
    bounds = _correlation_interval(people, told, correlation, confidence)
    share = m / (m + int(said.sum())) if m else 0.0
    saved = n * (1 / ratio**2 - 1)
    least, most = (_saved(one, n, share) for one in bounds)
    if not weight:  # nothing is narrower, whatever the correlation promises
        least = 0.0
    return PoweredMean(
        judged=n,
        shared=int(said.sum()),
        elsewhere=m,
        people=value,
        people_low=low,
        people_high=high,
        both=float(np.clip(both, 0.0, 1.0)),
        both_low=max(0.0, both - ratio * (value - low)),
        both_high=min(1.0, both + ratio * (high - value)),
        weight=weight,
        correlation=correlation,
        correlation_low=bounds[0],
        correlation_high=bounds[1],
        saved=saved,
        saved_low=min(saved, least),
        saved_high=max(saved, most),
        shift=_shift(model[said], elsewhere),
    )


def _weigh(people: Floats, told: Floats, said: Floats, m: int) -> tuple[float, float]:
    """Return the model's weight, and the standard error of both as a share of that of people alone.

    ``told`` is what the model says of people's queries, and ``said`` of all that it judged, ``m`` elsewhere.
    """
    n, shared = people.size, said.size - m
    differing = n - int(np.unique(people, return_counts=True)[1].max())
    if shared < LEAST_JUDGED or not m or differing < _LEAST_DIFFERING or np.ptp(said[:shared]) == 0:
        return 0.0, 1.0
    share = shared / n
    # The variance of the mean of `told` times n: of people's queries, and of the mean elsewhere taken off.
    variance = (share + share**2 * n / m) * float(said.var(ddof=1))
    weight = max(0.0, float(np.cov(people, told)[0, 1]) / variance)
    left = people - weight * told
    unseen = _DISAGREEMENTS * weight**2  # a disagreement moves what is left by the weight
    error = (((left - left.mean()) ** 2).sum() + unseen) / (n - 2) / n
    error += (weight * share) ** 2 * said.var(ddof=1) / m
    ratio = sqrt(error / (people.var(ddof=1) / n))
    return (weight, ratio) if ratio < 1 else (0.0, 1.0)


def _correlation(people: Floats, model: Floats) -> float:
    if people.size < 2 or np.ptp(people) == 0 or np.ptp(model) == 0:
        return float("nan")
    return float(np.clip(np.corrcoef(people, model)[0, 1], -1.0, 1.0))


def _correlation_interval(
    people: Floats, model: Floats, correlation: float, confidence: float
) -> tuple[float, float]:
    """Return an interval of their correlation, on Fisher's scale; NaN where it is not defined.

    Fisher's standard error is that of normal outcomes. Ours are mostly 0 and 1, whose correlation rests on
    the few disagreements: so theirs is that of the influence function, where that is greater.
    """
    count = people.size
    if isnan(correlation) or count < 4:
        return float("nan"), float("nan")
    one, other = ((values - values.mean()) / values.std() for values in (people, model))
    one, other = np.append(one, [1.0, -1.0]), np.append(other, [-1.0, 1.0])
    weight = np.append(np.ones(count), [_DISAGREEMENTS / 2] * 2) / (count + _DISAGREEMENTS)
    most = 1 - 1 / count
    centre = float(np.clip(weight @ (one * other), -most, most))
    influence = one * other - centre / 2 * (one**2 + other**2)
    error = max(1.0, sqrt(float(weight @ influence**2)) / (1 - centre**2)) / sqrt(count - 3)
    half = float(scipy.special.ndtri(0.5 + confidence / 2)) * error
    return (
        min(correlation, tanh(atanh(centre) - half)),
        max(correlation, tanh(atanh(centre) + half)),
    )


def _saved(correlation: float, judged: int, share: float) -> float:
    """Return by how many queries people's sample seems larger: the variance falls by r² N / (n + N)."""
    if isnan(correlation):
        return 0.0
    gone = max(0.0, correlation) ** 2 * share
    return judged * gone / (1 - gone) if gone < 1 else float("inf")


def _shift(model: Floats, elsewhere: Floats) -> float:
    if model.size < 2 or elsewhere.size < 2:
        return 0.0
    error = sqrt(model.var(ddof=1) / model.size + elsewhere.var(ddof=1) / elsewhere.size)
    return float((model.mean() - elsewhere.mean()) / error) if error else 0.0

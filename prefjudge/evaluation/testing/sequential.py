"""A test that may be looked at every day: bets against the hypothesis that two runs score alike.

Whoever bets that the mean of bounded differences is ``m``, and is right, cannot make money in the long run:
the capital of any fixed bet, the product of ``1 + b (d - m)``, is 1 on average after any number of queries.
By Ville's inequality it ever reaches ``1 / alpha`` with a probability of ``alpha`` at most, however often one
looks, and whenever one stops. So the reciprocal of the capital is a p-value at any time, and the means whose
capital has not reached ``1 / alpha`` are a confidence sequence.

The capital is shared out among bets of every size and both signs that are fixed before the first query, and
not adapted on the way as is usual. The product then does not depend on the order of the queries: what counts
is which queries there are at each look, and nobody has to record when each came.

References
----------
I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting (Journal of the Royal
Statistical Society B, 2024), the hedged capital process; H. Robbins: Statistical methods related to the law
of the iterated logarithm (1970), the method of mixtures.
"""

import numpy as np
import scipy

from prefjudge.evaluation.scoring.placings import Floats

_BETS = np.geomspace(0.002, 0.9, 24)
"""As shares of the capital: 0.002 finds small differences of many queries, 0.9 great ones of few."""
_HALVINGS = 26


def sequential_test(differences: Floats, reach: float, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return p-values, and intervals of the mean difference, that hold at all looks together.

    Parameters
    ----------
    differences : ndarray of float64, shape (queries, pairs)
        A row for each query that is judged so far. A later look has all rows of the earlier ones, and which
        query came when must not depend on the scores.
    reach : float
        The greatest difference that the measure's scale allows; finite.
    alpha : float
        The level: the interval holds at all looks with a probability of ``1 - alpha``.

    Returns
    -------
    p, low, high : ndarray of float64, shape (pairs,)
    """
    found = [_one(column / reach, alpha) for column in differences.T]
    p, low, high = (np.array(part, dtype=np.float64) for part in zip(*found, strict=True))
    return p, reach * low, reach * high


def sequential_p(differences: Floats, reach: float) -> Floats:
    """Return the p-values of :func:`sequential_test` alone, which take a fiftieth of the time."""
    tallies = [np.unique(column / reach, return_counts=True) for column in differences.T]
    return np.array([_p_value(values, counts) for values, counts in tallies])


def _p_value(values: Floats, counts: np.ndarray) -> float:
    return float(np.exp(-max(0.0, _log_capital(values, counts, 0.0))))


def _one(column: Floats, alpha: float) -> tuple[float, float, float]:
    values, counts = np.unique(column, return_counts=True)
    limit, mean = -np.log(alpha), float(column.mean())
    p = _p_value(values, counts)
    if _log_capital(values, counts, mean) >= limit:  # rounding: the mean itself is never refuted
        return p, mean, mean
    ends = []
    for end in (-1.0, 1.0):
        # The capital grows the farther the mean that is bet against is from the one that was seen.
        inside, outside = mean, end
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if _log_capital(values, counts, middle) >= limit:
                outside = middle
            else:
                inside = middle
        ends.append(outside)
    return p, ends[0], ends[1]


def _log_capital(values: Floats, counts: np.ndarray, mean: float) -> float:
    """Return the log of what a capital of 1, bet against this mean, has become."""
    # A bet for more loses most where d = -1, one for less where d = 1: no bet can lose all.
    bets = np.concatenate([_BETS / (1.0 + mean), -_BETS / (1.0 - mean)]) if abs(mean) < 1 else np.zeros(1)
    grown = np.log1p(bets[:, None] * (values - mean)) @ counts
    return float(scipy.special.logsumexp(grown) - np.log(bets.size))

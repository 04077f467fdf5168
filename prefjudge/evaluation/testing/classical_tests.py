"""The p-values of the classical tests, from sums that describe each pair.

Everything is two-sided and works on arrays: one element a pair. A pair without any difference has p = 1.
"""

import math
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.evaluation.testing.integer_scores import Column

_EXACT_DIFFERENCES = 50
_EXACT_SAMPLE = 8
_BERRY_ESSEEN = 0.56
"""The constant for terms of different sizes (Shevtsova 2010, Doklady Mathematics 82)."""


def t_test(total: Column, squares: Column, n: int) -> tuple[Column, Column]:
    """Student's paired t test.

    Parameters
    ----------
    total, squares : ndarray of float64, shape (pairs,)
        The sum of the differences, and of their squares.
    n : int
        The number of queries, at least 2.

    Returns
    -------
    t, p : ndarray of float64, shape (pairs,)
        Where all differences are 0, t is 0 and p is 1. Where all are the same and not 0 there is no variance
        to divide by: t is infinite, and p is that of the sign test, 2**(1 - n), which needs none.
    """
    spread = spread_of(total, squares, n)
    varies = spread > 0
    error = np.sqrt(np.where(varies, spread, 1.0) / n)
    t = np.where(varies, total / n / error, np.where(total == 0, 0.0, np.copysign(np.inf, total)))
    constant = np.where(total == 0, 1.0, 2.0 ** (1 - n))
    return t, np.where(
        varies, np.minimum(2 * scipy.special.stdtr(n - 1, -np.abs(np.where(varies, t, 0.0))), 1.0), constant
    )


def spread_of(total: Column, squares: Column, n: int) -> Column:
    """Return the variance of the differences (n - 1 in the denominator); exactly 0 where all are equal."""
    # n squares - total**2 is n (n - 1) times the variance. Where all differences are equal, what is left of
    # it is rounding, which would make a t of millions.
    excess = n * squares - total * total
    return np.where(excess > 1e-12 * n * squares, excess, 0.0) / (n * (n - 1))


def t_quantile(n: int, level: float) -> float:
    """Return how many standard errors a two-sided t interval at ``level`` reaches."""
    return float(scipy.special.stdtrit(n - 1, 0.5 + level / 2))


def sign_test(plus: Column, minus: Column) -> Column:
    """Exact two-sided binomial test that either sign is as likely; queries without a difference are dropped.

    Parameters
    ----------
    plus, minus : ndarray of float64, shape (pairs,)
        How many differences are above and below 0.
    """
    n = plus + minus
    fewer = np.minimum(plus, minus)
    beyond = np.maximum(n - fewer, 1.0)  # the tail is one half where n is 0
    # The binomial distribution as an incomplete beta function: P(X <= k) = I_1/2(n - k, k + 1).
    tail: Column = np.asarray(scipy.special.betainc(beyond, fewer + 1.0, 0.5), np.float64)
    return np.minimum(2 * tail, 1.0)


def signed_rank_test(
    rank_sum: Column, nonzero: Column, ties: Column, pattern: Column, level: float | None = None
) -> tuple[Column, Column]:
    """Wilcoxon's signed-rank test: differences of 0 dropped, tied sizes given their average rank.

    Up to 50 differences, the exact distribution given the ties; else the normal approximation with the
    variance corrected for ties and without correction for continuity.

    Parameters
    ----------
    rank_sum : ndarray of float64, shape (pairs,)
        The sum of the ranks of the differences above 0.
    nonzero : ndarray of float64, shape (pairs,)
        The number of differences that are not 0.
    ties : ndarray of float64, shape (pairs,)
        The sum of t**3 - t over the groups of t tied sizes.
    pattern : ndarray of float64, shape (pairs,)
        The `prefjudge.evaluation.testing.difference_sums.tie_pattern` of the sizes.
    level : float, optional
        All that matters is whether p is above this level: then p is exact only where that is not plain.

    Returns
    -------
    z, p : ndarray of float64, shape (pairs,)
    """
    # Without ties the sum of r**2 / 4; averaging the ranks of t ties takes (t**3 - t) / 48 from it.
    variance = nonzero * (nonzero + 1) * (2 * nonzero + 1) / 24 - ties / 48
    some = variance > 0
    z = np.where(some, rank_sum - nonzero * (nonzero + 1) / 4, 0.0) / np.sqrt(np.where(some, variance, 1.0))
    p: Column = 2 * scipy.special.ndtr(-np.abs(z))  # 1 where z is 0
    exact = (pattern > 0) & (nonzero <= _EXACT_DIFFERENCES)
    if level is not None:
        exact &= _undecided(z, p, nonzero, variance, level)
    for row in np.flatnonzero(exact):
        p[row] = _exact(rank_sum[row], int(nonzero[row]), int(pattern[row]))
    return z, p


def _undecided(z: Column, p: Column, nonzero: Column, variance: Column, level: float) -> NDArray[np.bool_]:
    """Return where the normal p-value of signed ranks and the exact one may lie on two sides of a level."""
    # Hoeffding: neither of the two is above 2 exp(-z**2 / 2).
    below = 2 * np.exp(-z * z / 2) <= level
    # Berry and Esseen: they are at most this far apart. The sum of r**2 is 4 times the variance;
    # that of r**3 is greatest without ties, since an average rank has a smaller cube than its ranks.
    cubes = (nonzero * (nonzero + 1) / 2) ** 2
    apart = 2 * _BERRY_ESSEEN * cubes / np.where(variance > 0, 4 * variance, np.inf) ** 1.5
    plain: NDArray[np.bool_] = below | (p - apart > level)
    return ~plain


def rank_sum_test(u: Column, n: int, ties: Column, pattern: Column) -> tuple[Column, Column]:
    """Wilcoxon's rank-sum (Mann-Whitney) test of two runs' scores as if they were independent samples.

    Up to 8 queries, the exact distribution given the ties; else the normal approximation with the variance
    corrected for ties and without correction for continuity.

    Parameters
    ----------
    u : ndarray of float64, shape (pairs,)
        How often a score of A is above a score of B over all n * n combinations; equal scores count one half.
    n : int
        The number of queries.
    ties : ndarray of float64, shape (pairs,)
        The sum of t**3 - t over the groups of t equal scores in both runs together.
    pattern : ndarray of float64, shape (pairs,)
        The `prefjudge.evaluation.testing.difference_sums.tie_pattern` of the scores of both runs together.

    Returns
    -------
    z, p : ndarray of float64, shape (pairs,)
    """
    # n m (N + 1) / 12 with n = m and N = 2 n, less the share
    # of the ties; rounding may leave a trace where all tie.
    variance = n * n / 12 * ((2 * n + 1) - ties / (2 * n * (2 * n - 1)))
    some = variance > 1e-9 * n * n
    z = np.where(some, u - n * n / 2, 0.0) / np.sqrt(np.where(some, variance, 1.0))
    p: Column = 2 * scipy.special.ndtr(-np.abs(z))  # 1 where z is 0
    if n <= _EXACT_SAMPLE:
        for row in np.flatnonzero(pattern > 0):
            # U plus the least rank sum is the rank sum of A.
            p[row] = _exact(u[row] + n * (n + 1) / 2, 2 * n, int(pattern[row]), n)
    return z, p


def _exact(rank_sum: float, n: int, pattern: int, drawn: int = 0) -> float:
    """Return the two-sided p-value of a sum of average ranks; its null distribution is symmetric."""
    place = round(2 * rank_sum)  # average ranks are halves at most
    # The lower of the two tails, which are mirror images. With ``drawn`` half of the ranks are in the sum.
    reached = _ways_up_to(min(place, n * (n + 1) - place), n, pattern, drawn)
    return min(1.0, 2 * reached / (math.comb(n, drawn) if drawn else 1 << n))


@lru_cache(maxsize=1 << 16)
def _ways_up_to(most: int, n: int, pattern: int, drawn: int) -> int:
    """Count in how many ways twice a sum of average ranks of n values, so tied, is at most ``most``.

    Each rank is in the sum or not; with ``drawn``, exactly that many are.
    """
    # A group at places start to end - 1 has the ranks start
    # + 1 to end: twice their average is start + end + 1.
    starts = [place for place in range(n) if pattern >> place & 1]
    doubled = [start + end + 1 for start, end in pairwise([*starts, n]) for _ in range(start, end)]
    step = math.gcd(*doubled)
    ranks, most = [rank // step for rank in doubled], most // step
    # The number of ways to each sum is a digit of n + 1 bits: there are at most 2**n ways, so that none
    # overflows. To let a rank in or not is to add the number to itself, shifted by so many digits.
    width = n + 1
    if drawn:
        # The digit of sum i is at place most - i: what is above ``most`` is shifted out.
        draws = [1 << width * most] + drawn * [0]
        for rank in ranks:
            # Downwards, so that draws[count - 1] does not hold this rank yet: each is drawn once at most.
            for count in range(drawn, 0, -1):
                draws[count] += draws[count - 1] >> width * rank
        ways = draws[-1]
    else:
        few = bisect_right(list(accumulate(ranks)), most)
        ways = 1
        for rank in ranks[:few]:
            ways += ways << width * rank
        # Ranks in the sum and ranks left out are mirror images: turned round, sum i is again at most - i.
        ways <<= width * (most - sum(ranks[:few]))
        for rank in ranks[few:]:
            ways += ways >> width * rank
    # Casting out: B = 2**(n + 1) is 1 modulo B - 1, and so are its powers. The digits sum to less than B - 1.
    return ways % ((1 << width) - 1)

"""The p-values of the classical tests, from sums that describe each pair.

Everything is two-sided and works on arrays: one element a pair. A pair without any difference has p = 1.
"""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import scipy

from prefjudge.evaluation.testing.integer_scores import Column

_EXACT_DIFFERENCES = 50
_EXACT_SAMPLE = 8


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
    tail: Column = scipy.special.betainc(beyond, fewer + 1.0, 0.5)
    return np.minimum(2 * tail, 1.0)


def signed_rank_test(
    rank_sum: Column, nonzero: Column, ties: Column, pattern: Column
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

    Returns
    -------
    z, p : ndarray of float64, shape (pairs,)
    """
    # Without ties the sum of r**2 / 4; averaging the ranks of t ties takes (t**3 - t) / 48 from it.
    variance = nonzero * (nonzero + 1) * (2 * nonzero + 1) / 24 - ties / 48
    some = variance > 0
    z = np.where(some, rank_sum - nonzero * (nonzero + 1) / 4, 0.0) / np.sqrt(np.where(some, variance, 1.0))
    p: Column = 2 * scipy.special.ndtr(-np.abs(z))  # 1 where z is 0
    for row in np.flatnonzero((pattern > 0) & (nonzero <= _EXACT_DIFFERENCES)):
        p[row] = _exact(rank_sum[row], int(nonzero[row]), int(pattern[row]))
    return z, p


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
    step, total, ways = _distribution(n, pattern, drawn)
    place = round(2 * rank_sum) // step  # average ranks are halves at most
    # The digits up to the lower of the two tails, which are mirror images.
    extreme = ways & ((1 << (n + 1) * (min(place, total - place) + 1)) - 1)
    # Casting out: B = 2**(n + 1) is 1 modulo B - 1, and so are its powers. The digits sum to less than B - 1.
    reached = extreme % ((1 << n + 1) - 1)  # the sum of its digits of n + 1 bits
    return min(1.0, 2 * reached / (math.comb(n, drawn) if drawn else 1 << n))


@lru_cache(maxsize=4096)
def _distribution(n: int, pattern: int, drawn: int) -> tuple[int, int, int]:
    """Count in how many ways a sum of average ranks of n values, so tied, takes each of its values.

    Each rank is in the sum or not; with ``drawn``, exactly that many are.

    Returns
    -------
    step, total : int
        Twice a sum is one of 0, step, 2 step, ..., total step.
    ways : int
        In how many ways twice the sum is i times step, as digit i of n + 1 bits: there are at most 2**n ways,
        so that no digit overflows. To let a rank in or not is to add the number to itself, shifted.
    """
    # A group at places start to end - 1 has the ranks start
    # + 1 to end: twice their average is start + end + 1.
    starts = [place for place in range(n) if pattern >> place & 1]
    doubled = [start + end + 1 for start, end in pairwise([*starts, n]) for _ in range(start, end)]
    step = math.gcd(*doubled)
    ways = [1] + drawn * [0]
    for rank in doubled:
        shift = (n + 1) * (rank // step)
        if not drawn:
            ways[0] += ways[0] << shift
        # Downwards, so that ways[count - 1] does not hold this rank yet: each is drawn once at most.
        for count in range(drawn, 0, -1):
            ways[count] += ways[count - 1] << shift
    return step, sum(doubled) // step, ways[-1]

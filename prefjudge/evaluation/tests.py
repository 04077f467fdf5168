"""Significance tests of the differences between runs, every pair at once, and corrections for many."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.runs import Codes, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation import intervals as resampling
from prefjudge.evaluation.intervals import BLOCK, EVERY_FLIP, Column, Grid, PairSums, pair_sums, to_grid
from prefjudge.evaluation.measures.measures import bounds
from prefjudge.evaluation.measures.placings import Floats, Integers
from prefjudge.words import many

_EXACT_DIFFERENCES = 50
_EXACT_SAMPLE = 8
_BERRY_ESSEEN = 0.56
"""The constant for terms of different sizes (Shevtsova 2010, Doklady Mathematics 82)."""


def t_test(total: Column, squares: Column, n: int) -> tuple[Column, Column]:
    """Student's paired t test, by the sum of the differences and of their squares: t and p of each pair."""
    # Where all differences are 0, t is 0 and p is 1. Where all are the same and not 0 there is no variance to
    # divide by: t is infinite, and p is that of the sign test, 2**(1 - n), which needs none.
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


def sign_test(plus: Column, minus: Column) -> Column:
    """Exact two-sided binomial test that either sign is as likely, without queries of no difference."""
    # `plus` and `minus` are how many differences are above and below 0.
    n = plus + minus
    fewer = np.minimum(plus, minus)
    beyond = np.maximum(n - fewer, 1.0)  # the tail is one half where n is 0
    # The binomial distribution as an incomplete beta function: P(X <= k) = I_1/2(n - k, k + 1).
    tail: Column = np.asarray(scipy.special.betainc(beyond, fewer + 1.0, 0.5), np.float64)
    return np.minimum(2 * tail, 1.0)


def signed_rank_test(
    rank_sum: Column, nonzero: Column, ties: Column, pattern: Column, level: float | None = None
) -> tuple[Column, Column]:
    """Wilcoxon's signed-rank test: differences of 0 dropped, tied sizes given their average rank; z and p."""
    # Up to 50 differences, the exact distribution given the ties; else the normal approximation with the
    # variance corrected for ties and without correction for continuity. Takes of each pair what `PairSums`
    # calls `rank_sum`, the number of differences that are not 0, `rank_ties` and `rank_pattern`. Where all
    # that matters is whether p is above a `level`, p is exact only where that is not plain.
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
    """Wilcoxon's rank-sum (Mann-Whitney) test of two runs' scores as independent samples; z and p."""
    # Up to 8 queries, the exact distribution given the ties; else the normal approximation with the variance
    # corrected for ties and without correction for continuity. Takes of each pair what `PairSums` calls `u`,
    # `u_ties` and `u_pattern`.
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
    """Count in how many ways twice a sum of average ranks of n values, so tied, is at most ``most``."""
    # Each rank is in the sum or not; with `drawn`, exactly that many are.
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


# Corrections for testing many pairs at once, and the resamples that they need.


class Correction(StrEnum):
    """How p-values of several pairs are adjusted."""

    NONE = "none"
    BONFERRONI = "bonferroni"
    """Multiply by the number of pairs: bounds the chance of any false claim."""
    HOLM = "holm"
    """Bonferroni step by step: the same promise, never weaker."""


def adjust(p: Column, correction: Correction) -> Column:
    """Adjust the p-values of a family of tests; a pair is significant where its value is at most alpha."""
    m = p.size
    if m == 0 or correction is Correction.NONE:
        return p.copy()
    if correction is Correction.BONFERRONI:
        return np.minimum(p * m, 1.0)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(m)
    # Holm (1979). The running maximum: no pair may pass where one with a smaller p did not.
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    return np.minimum(adjusted, 1.0)


def resamples_needed(pairs: int, alpha: float, correction: Correction) -> int:
    """Return the least number of resamples with which any pair can be significant."""
    # The smallest p-value of B resamples is 1 / (B + 1). Bonferroni and Holm multiply the smallest one by the
    # number of pairs, so with 10,000 resamples and 1,953 pairs nothing could ever be significant at 0.05.
    family = 1 if correction is Correction.NONE else pairs
    # 1 / (B + 1) x family <= alpha, solved for B; 1e-9 is
    # for an alpha such as 0.05, which is not 1/20 exactly.
    return max(1, math.ceil(family / alpha - 1 - 1e-9))


def check_resamples(resamples: int, pairs: int, alpha: float, correction: Correction) -> None:
    """Refuse a number of resamples with which no pair could be significant."""
    if resamples < 1:
        raise InputError(f"{many(resamples, 'resample')}: nothing would be drawn", "Give 1 or more.")
    needed = resamples_needed(pairs, alpha, correction)
    if resamples < needed:
        family = 1 if correction is Correction.NONE else pairs
        raise InputError(
            f"{many(resamples, 'resample')} cannot show significance at {alpha:g} for {many(pairs, 'pair')} "
            f"after {correction.value}: the smallest adjusted p-value they can give is "
            f"{min(1.0, family / (resamples + 1)):.3g}",
            f"Use at least {many(needed, 'resample')}, or a test that needs none (t).",
        )


# The p-values of the tests that draw, for all pairs from the same resamples.


def permutation_p(
    grid: Grid, sums: PairSums, a: Codes, b: Codes, count: int, rng: np.random.Generator, block: int
) -> Column:
    """Return the p-value of each pair a - b when the signs of its differences are flipped at random."""
    flips = resampling.flipped_sums(grid, count, rng, block=block)
    # A score is rounded by half a step at most, a difference by one, and a sum of n differences by n.
    slack = sums.n * grid.slack
    reached = resampling.count_reaching(flips, sums.total, a, b, slack)
    # All flips, with the observed one among them, are the distribution itself; a sample of them is not.
    # The observation is one of the equally likely outcomes: without it p could be 0 (Phipson, Smyth 2010).
    return reached / count if sums.n <= EVERY_FLIP else (reached + 1) / (count + 1)


# A test that may be looked at every day: bets against the hypothesis that two runs score alike.
#
# Whoever bets that the mean of bounded differences is ``m``, and is right, cannot make money in the long
# run: the capital of any fixed bet, the product of ``1 + b (d - m)``, is 1 on average after any number of
# queries. By Ville's inequality it ever reaches ``1 / alpha`` with a probability of ``alpha`` at most,
# however often one looks, and whenever one stops. So the reciprocal of the capital is a p-value at any
# time, and the means whose capital has not reached ``1 / alpha`` are a confidence sequence.
#
# The capital is shared out among bets of every size and both signs that are fixed before the first query,
# and not adapted on the way as is usual. The product then does not depend on the order of the queries: what
# counts is which queries there are at each look, and nobody has to record when each came.
#
# I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting (Journal of the Royal
# Statistical Society B, 2024), the hedged capital process; H. Robbins: Statistical methods related to the
# law of the iterated logarithm (1970), the method of mixtures.

_BETS = np.geomspace(0.002, 0.9, 24)
"""As shares of the capital: 0.002 finds small differences of many queries, 0.9 great ones of few."""
_HALVINGS = 26


def sequential_test(differences: Floats, reach: float, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return p-values, and intervals of the mean difference, that hold at all looks together."""
    # `differences`, shape (queries, pairs), has a row for each query that is judged so far. A later look has
    # all rows of the earlier ones, and which query came when must not depend on the scores. `reach` is the
    # greatest difference that the measure's scale allows.
    found = [_one_looked_at(column / reach, alpha) for column in differences.T]
    p, low, high = (np.array(part, dtype=np.float64) for part in zip(*found, strict=True))
    return p, reach * low, reach * high


def sequential_p(differences: Floats, reach: float) -> Floats:
    """Return the p-values of :func:`sequential_test` alone, which take a fiftieth of the time."""
    tallies = [np.unique(column / reach, return_counts=True) for column in differences.T]
    return np.array([_p_value(values, counts) for values, counts in tallies])


def _p_value(values: Floats, counts: np.ndarray) -> float:
    return float(np.exp(-max(0.0, _log_capital(values, counts, 0.0))))


def _one_looked_at(column: Floats, alpha: float) -> tuple[float, float, float]:
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


# The exact sign-flip test: the votes of a query depend on each other and count as one outcome.

VARIANT = "two-sided sign-flip test of each query's net votes, exact; the votes of a query are one cluster"


def sign_flip_p(net: Integers) -> Floats:
    """Return the two-sided p-value of each row's sum when the signs of its elements are flipped at random."""
    # The votes of one query are about the same two passages and agree more than chance has it: a test that
    # counts them one by one errs too often. Their balance, votes for less votes against, is one outcome. If
    # neither run is the better one, it might as well have had the other sign: the p-value is the share of all
    # 2**queries choices of signs whose sum is at least as far from 0. Balances of 1 and -1, as of one vote a
    # query, make it the binomial test; one of 0 does not count.
    return np.array([_one_column(row[row != 0]) for row in net])


def _one_column(net: Integers) -> float:
    if not net.size:
        return 1.0
    sizes, counts = np.unique(np.abs(net), return_counts=True)
    # In steps of the common divisor the distribution is as short as it can be.
    step = int(np.gcd.reduce(sizes))
    chance: NDArray[np.floating] = np.ones(1)  # [s]: that the balances with a positive sign sum to s steps
    for size, count in zip((sizes // step).tolist(), counts.tolist(), strict=True):
        positive = np.zeros(size * count + 1)
        positive[::size] = _halves(count)
        chance = np.convolve(chance, positive)
    # The sum of all signs is 2 s - total, and s is symmetric about total / 2: both tails are equally heavy.
    above = int(net[net > 0].sum()) // step
    fewer = min(above, chance.size - 1 - above)
    return min(1.0, 2.0 * float(chance[: fewer + 1].sum()))


def _halves(count: int) -> Floats:
    """Return the binomial probabilities of 0 to ``count`` heads."""
    heads = np.arange(count + 1.0)
    ways: Floats = (
        scipy.special.gammaln(count + 1.0)
        - scipy.special.gammaln(heads + 1.0)
        - scipy.special.gammaln(count - heads + 1.0)
    )
    chance: Floats = np.exp(ways - count * np.log(2.0))
    return chance


# Significance tests by name: which there are, the default, and the p-values of the classical ones.

_SMALL = 30
_LARGE = 1000


class SignificanceTest(StrEnum):
    """A two-sided test that two runs score alike."""

    T = "t"
    WILCOXON = "wilcoxon"
    RANK_SUM = "rank-sum"
    SIGN = "sign"
    PERMUTATION = "permutation"
    SEQUENTIAL = "sequential"


VARIANTS = {
    SignificanceTest.T: "Student's paired t test",
    SignificanceTest.WILCOXON: (
        "Wilcoxon signed-rank test: zeros dropped, average ranks; exact up to 50 differences, else normal "
        "approximation with tie correction and no continuity correction"
    ),
    SignificanceTest.RANK_SUM: (
        "Wilcoxon rank-sum test: average ranks; exact up to 8 queries, else normal approximation with tie "
        "correction and no continuity correction"
    ),
    SignificanceTest.SIGN: "sign test: exact binomial, equal scores dropped",
    SignificanceTest.PERMUTATION: (
        "sign-flip permutation test, two-sided: a flip counts where the means differ at least as much as "
        "they do, either way; all flips up to 14 queries, else p = (count + 1) / (resamples + 1)"
    ),
    SignificanceTest.SEQUENTIAL: (
        "bets against equal means (hedged capital, mixture of 48 bets), p = 1 / capital; p and interval hold "
        "at all looks together, however often and whenever one looks"
    ),
}


def default_test(queries: int) -> tuple[SignificanceTest, str]:
    """Choose a test by the number of queries, and say why."""
    # The t test and the permutation test keep their level on every measure and size in the simulations of
    # Urbano, Lima and Hanjalic (SIGIR 2019), where the sign and signed-rank tests drift from it as queries
    # grow (also Ihemelandu and Ekstrand 2023). Below 30 queries the permutation test needs no normal
    # approximation.
    if queries < _SMALL:
        return SignificanceTest.PERMUTATION, (
            f"{many(queries, 'query is', 'queries are')} too few for a normal approximation, so "
            f"the permutation test is used"
        )
    reason = f"the t test keeps its level on {many(queries, 'query')}"
    if queries >= _LARGE:
        reason += (
            ", where the signed-rank and sign tests do not; with so many, small differences become "
            "significant: read the effect beside the p-value"
        )
    return SignificanceTest.T, reason


def classical_p(test: SignificanceTest, sums: PairSums, level: float | None = None) -> Column:
    """Return the p-value of each pair under a test that needs no resamples."""
    # With a `level`, a p-value may be an approximate one that is on the same side of it.
    if test is SignificanceTest.T:
        return t_test(sums.total, sums.squares, sums.n)[1]
    if test is SignificanceTest.SIGN:
        return sign_test(sums.plus, sums.minus)
    if test is SignificanceTest.WILCOXON:
        nonzero = sums.plus + sums.minus
        return signed_rank_test(sums.rank_sum, nonzero, sums.rank_ties, sums.rank_pattern, level)[1]
    if test is SignificanceTest.RANK_SUM:
        return rank_sum_test(sums.u, sums.n, sums.u_ties, sums.u_pattern)[1]
    raise ValueError(f"{test} needs resamples")


# Significance of the differences between runs: one test, one correction, every pair at once.

K = TypeVar("K", bound=StrEnum)


_LEAST_RESAMPLES = 10_000
_MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """The verdicts of one test on pairs of runs: one element a pair, differences as ``b - a``."""

    measure: str
    qrels: str
    """What the scores are."""
    runs: tuple[str, ...]
    """The vocabulary of ``a`` and ``b``."""
    queries: int
    """How many queries each test rests on."""
    test: SignificanceTest
    variant: str
    """The test in full, so that it can be repeated elsewhere."""
    reason: str
    """Why this test, where it was chosen by the number of queries; else empty."""
    correction: Correction
    alpha: float
    resamples: int
    """0 for the tests that need none."""
    a: Codes
    b: Codes
    """The baseline and the contender."""
    difference: Column
    """The mean of b minus the mean of a."""
    low: Column
    high: Column
    """The 1 - alpha interval of the difference, not adjusted for the number of pairs: Student's t, or the
    confidence sequence where the sequential test is the test; as far as the measure's scale reaches. NaN
    where all queries differ by the same amount."""
    effect: Column
    """The standardised mean difference: difference / standard deviation of the differences (Cohen's d_z); NaN
    where all queries differ by the same amount: there is no deviation to divide by."""
    wins_a: NDArray[np.int64]
    wins_b: NDArray[np.int64]
    """On how many queries either scores above the other."""
    p: Column
    p_adjusted: Column
    identical: NDArray[np.bool_]
    """Whether the two runs score the same on every query; p is 1 then."""

    def __len__(self) -> int:
        return int(self.a.size)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Whether each pair differs significantly after the correction."""
        return (self.p_adjusted <= self.alpha) & ~self.identical


def all_pairs(runs: int) -> tuple[Codes, Codes]:
    """Return each pair of columns once: a < b."""
    a, b = np.triu_indices(runs, 1)
    return a.astype(np.int32), b.astype(np.int32)


def baseline_pairs(runs: int, baselines: Sequence[int]) -> tuple[Codes, Codes]:
    """Return each baseline, as ``a``, with every other column; two baselines meet once."""
    met = [
        (baseline, run)
        for place, baseline in enumerate(baselines)
        for run in range(runs)
        if run != baseline and run not in baselines[:place]
    ]
    pairs = np.array(met, dtype=np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def compare_runs(
    scores: Scores,
    *,
    baseline: str | Sequence[str] | None = None,
    test: SignificanceTest | str | None = None,
    correction: Correction | str = Correction.HOLM,
    alpha: float = 0.05,
    resamples: int | None = None,
    rng: np.random.Generator,
    block: int = BLOCK,
) -> Significance:
    """Test all pairs of runs, or every run against a baseline."""
    correction = _named(Correction, correction, "correction")
    baselines = tuple(dict.fromkeys([baseline] if isinstance(baseline, str) else baseline or ()))
    _check(scores, baselines, alpha)
    n = len(scores.queries)
    chosen, reason = default_test(n) if test is None else (_named(SignificanceTest, test, "test"), "")
    a, b = _pairs(scores.runs, baselines)
    count = _resamples(resamples, chosen, n, a.size, alpha, correction)
    grid = to_grid(scores.values)
    # b before a: every difference is the contender's less the baseline's.
    sums = pair_sums(grid, b, a, block=block)
    spread = np.sqrt(spread_of(sums.total, sums.squares, n))
    low, high = _interval(grid, sums, spread, alpha)
    if chosen is SignificanceTest.PERMUTATION:
        p = permutation_p(grid, sums, b, a, count, rng, block)
    elif chosen is SignificanceTest.SEQUENTIAL:
        p, low, high = sequential_test(scores.values[:, b] - scores.values[:, a], reach_of(scores), alpha)
    else:
        p = classical_p(chosen, sums)
    # No difference of two scores is greater than the scale is long.
    reach = np.subtract(*bounds(scores.measure)[::-1])
    # Bets need no variance: where all differences are the same, what is not refuted is an interval, too.
    known = (spread > 0) | (chosen is SignificanceTest.SEQUENTIAL)
    low, high = (np.where(known, np.clip(end, -reach, reach), np.nan) for end in (low, high))
    identical = sums.plus + sums.minus == 0
    return Significance(
        measure=scores.measure,
        qrels=scores.qrels,
        runs=scores.runs,
        queries=n,
        test=chosen,
        variant=VARIANTS[chosen],
        reason=reason,
        correction=correction,
        alpha=alpha,
        resamples=count,
        a=a,
        b=b,
        difference=sums.total / n * grid.unit,
        low=low,
        high=high,
        effect=sums.total / n / np.where(spread > 0, spread, np.nan),
        wins_a=sums.minus.astype(np.int64),
        wins_b=sums.plus.astype(np.int64),
        p=p,
        p_adjusted=adjust(p, correction),
        identical=identical,
    )


def _pairs(runs: tuple[str, ...], baselines: Sequence[str]) -> tuple[Codes, Codes]:
    if not baselines:
        return all_pairs(len(runs))
    return baseline_pairs(len(runs), [runs.index(baseline) for baseline in baselines])


def _check(scores: Scores, baselines: Sequence[str], alpha: float) -> None:
    check_level(alpha)
    if len(scores.queries) < 2:
        raise InputError(
            f"{many(len(scores.queries), 'judged query')} for {scores.measure}",
            "Give at least two judged queries.",
        )
    if len(scores.runs) < 2:
        raise InputError(f"{many(len(scores.runs), 'run')} to compare", "Give at least two runs.")
    for baseline in baselines:
        if baseline not in scores.runs:
            raise InputError(f"no run is called {baseline!r}", f"Choose one of: {', '.join(scores.runs)}.")


def check_level(alpha: float) -> None:
    """Refuse a level at which every test decides the same."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha:g}", "Give a level between 0 and 1, such as 0.05.")


def reach_of(scores: Scores) -> float:
    """Return how long the measure's scale is, which a bet must know."""
    least, greatest = bounds(scores.measure)
    if not math.isfinite(greatest - least):
        raise InputError(
            f"{scores.measure} has no greatest score, and the sequential test bets on a bounded scale",
            "Choose a measure between 0 and 1, such as RR@10 or nDCG@10.",
        )
    return greatest - least


def _named(kind: type[K], value: K | str, what: str) -> K:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"unknown {what}: {value!r}", f"Choose one of: {', '.join(kind)}.") from None


def _resamples(
    given: int | None,
    test: SignificanceTest,
    queries: int,
    pairs: int,
    alpha: float,
    correction: Correction,
) -> int:
    """Return how many resamples to make: 0 for a test that needs none."""
    if test is not SignificanceTest.PERMUTATION:
        return 0
    if queries <= EVERY_FLIP:  # every flip is made once: no correction can ask for more
        return 1 << queries
    if given is not None:
        check_resamples(given, pairs, alpha, correction)
        return given
    wanted = max(_LEAST_RESAMPLES, 2 * resamples_needed(pairs, alpha, correction))
    if wanted > _MOST_RESAMPLES:
        raise InputError(
            f"{many(pairs, 'pair')} after {correction.value} need some {wanted:,} resamples",
            "Use the t test, or compare fewer runs.",
        )
    return wanted


def _interval(grid: Grid, sums: PairSums, spread: Column, alpha: float) -> tuple[Column, Column]:
    reach = float(scipy.special.stdtrit(sums.n - 1, 1 - alpha / 2))
    margin = reach * spread / math.sqrt(sums.n)
    return (sums.total / sums.n - margin) * grid.unit, (sums.total / sums.n + margin) * grid.unit

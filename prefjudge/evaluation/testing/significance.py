"""Significance of the differences between runs: one test, one correction, every pair at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.core.pooling.runs import Codes
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.measures import bounds
from prefjudge.evaluation.testing import classical_tests as paired
from prefjudge.evaluation.testing.corrections import Correction, adjust, check_resamples, resamples_needed
from prefjudge.evaluation.testing.difference_sums import BLOCK, PairSums, pair_sums
from prefjudge.evaluation.testing.integer_scores import Column, Grid, to_grid
from prefjudge.evaluation.testing.resampled_tests import bootstrap_test, permutation_p, tukey_p
from prefjudge.evaluation.testing.resampling import EVERY_FLIP
from prefjudge.evaluation.testing.sequential import sequential_test
from prefjudge.evaluation.testing.significance_tests import (
    VARIANTS,
    SignificanceTest,
    classical_p,
    default_test,
)

K = TypeVar("K", bound=StrEnum)


_TUKEY = "randomised Tukey HSD test, runs shuffled within queries, p = (count + 1) / (resamples + 1)"
_LEAST_RESAMPLES = 10_000
_MOST_RESAMPLES = 1_000_000
_LEAST_BOOTSTRAPPED = 20
"""At 5 % the bootstrap errs in 8 % of comparisons of reciprocal ranks with 20 queries, in 15 % with 5."""
_RESAMPLED = (SignificanceTest.PERMUTATION, SignificanceTest.BOOTSTRAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """The verdicts of one test on pairs of runs: one element a pair, differences as ``b - a``.

    Attributes
    ----------
    measure, qrels : str
        What the scores are.
    runs : tuple of str
        The vocabulary of ``a`` and ``b``.
    queries : int
        How many queries each test rests on.
    test : SignificanceTest
    variant : str
        The test in full, so that it can be repeated elsewhere.
    reason : str
        Why this test, where it was chosen by the number of queries; else empty.
    correction : Correction
    alpha : float
    resamples : int
        0 for the tests that need none.
    a, b : ndarray of int32, shape (pairs,)
        The baseline and the contender.
    difference : ndarray of float64, shape (pairs,)
        The mean of b minus the mean of a.
    low, high : ndarray of float64, shape (pairs,)
        The 1 - alpha interval of the difference, not adjusted for the number of pairs: Student's t, or the
        percentiles of the bootstrap or the confidence sequence of the sequential test where that is the
        test; as far as the measure's scale reaches. NaN where all queries differ by the same amount.
    effect : ndarray of float64, shape (pairs,)
        The standardised mean difference: difference / standard deviation of the differences (Cohen's d_z);
        NaN where all queries differ by the same amount: there is no deviation to divide by.
    wins_a, wins_b : ndarray of int64, shape (pairs,)
        On how many queries either scores above the other.
    p, p_adjusted : ndarray of float64, shape (pairs,)
    identical : ndarray of bool, shape (pairs,)
        Whether the two runs score the same on every query; p is 1 then.
    """

    measure: str
    qrels: str
    runs: tuple[str, ...]
    queries: int
    test: SignificanceTest
    variant: str
    reason: str
    correction: Correction
    alpha: float
    resamples: int
    a: Codes
    b: Codes
    difference: Column
    low: Column
    high: Column
    effect: Column
    wins_a: NDArray[np.int64]
    wins_b: NDArray[np.int64]
    p: Column
    p_adjusted: Column
    identical: NDArray[np.bool_]

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
    """Test all pairs of runs, or every run against a baseline.

    Parameters
    ----------
    scores : Scores
        One measure of many runs.
    baseline : str or sequence of str, optional
        The run or runs to compare the others with; without it, all pairs.
    test : SignificanceTest, optional
        Without it, the number of queries decides (`default_test`).
    correction : Correction
        ``TUKEY`` is the randomised Tukey HSD and stands for test and correction together.
    alpha : float
        The level of the verdicts and, as 1 - alpha, of the intervals.
    resamples : int, optional
        For the resampling tests; without it, at least 10,000 and twice what the correction needs. Up to 14
        queries the permutation test takes every flip instead.
    rng : Generator
        The source of the resamples. The same state gives the same result with any ``block``.
    block : int
        How many numbers to hold at a time.

    Raises
    ------
    InputError
        For fewer than two queries or runs, fewer than 20 queries for the bootstrap, an unknown baseline, or
        too few resamples for the correction.
    """
    correction = _named(Correction, correction, "correction")
    baselines = tuple(dict.fromkeys([baseline] if isinstance(baseline, str) else baseline or ()))
    _check(scores, baselines, alpha)
    n = len(scores.queries)
    chosen, reason = _choose(test, correction, n)
    a, b = _pairs(scores.runs, baselines)
    count = _resamples(resamples, chosen, n, a.size, alpha, correction)
    grid = to_grid(scores.values)
    # b before a: every difference is the contender's less the baseline's.
    sums = pair_sums(grid, b, a, block=block)
    spread = np.sqrt(paired.spread_of(sums.total, sums.squares, n))
    low, high = _interval(grid, sums, spread, alpha)
    if correction is Correction.TUKEY:
        p = tukey_p(grid, sums, count, rng)
    elif chosen is SignificanceTest.BOOTSTRAP:
        p, low, high = bootstrap_test(grid, sums, b, a, count, alpha, rng, block)
    elif chosen is SignificanceTest.PERMUTATION:
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
        variant=_TUKEY if correction is Correction.TUKEY else VARIANTS[chosen],
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


def _choose(
    test: SignificanceTest | str | None, correction: Correction, queries: int
) -> tuple[SignificanceTest, str]:
    if test is not None:
        chosen = _named(SignificanceTest, test, "test")
        if correction is Correction.TUKEY and chosen is not SignificanceTest.PERMUTATION:
            raise InputError(
                f"the tukey correction is a permutation test of its own and cannot follow the {chosen} test",
                "Leave the test out, or choose holm, bonferroni or bh.",
            )
        return chosen, ""
    if correction is Correction.TUKEY:
        return SignificanceTest.PERMUTATION, ""
    return default_test(queries)


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
    """Refuse a level at which every test decides the same.

    Raises
    ------
    InputError
        It is not between 0 and 1.
    """
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
    if test is SignificanceTest.BOOTSTRAP and queries < _LEAST_BOOTSTRAPPED:
        raise InputError(
            f"{many(queries, 'query is', 'queries are')} too few for the bootstrap, which would "
            f"call chance significant too often",
            "Use the permutation test, which keeps its level with any number of queries.",
        )
    if correction is not Correction.TUKEY:
        if test not in _RESAMPLED:
            return 0
        if test is SignificanceTest.PERMUTATION and queries <= EVERY_FLIP:
            # Every flip is made once: no correction can ask for more.
            return 1 << queries
    if given is not None:
        check_resamples(given, pairs, alpha, correction)
        return given
    wanted = max(_LEAST_RESAMPLES, 2 * resamples_needed(pairs, alpha, correction))
    if wanted > _MOST_RESAMPLES:
        raise InputError(
            f"{many(pairs, 'pair')} after {correction.value} need some {wanted:,} resamples",
            "Give the number of resamples to continue, or use the t test or the tukey correction.",
        )
    return wanted


def _interval(grid: Grid, sums: PairSums, spread: Column, alpha: float) -> tuple[Column, Column]:
    margin = paired.t_quantile(sums.n, 1 - alpha) * spread / math.sqrt(sums.n)
    return (sums.total / sums.n - margin) * grid.unit, (sums.total / sums.n + margin) * grid.unit

"""Split-half agreement: do two halves of the queries lead to the same conclusion about two runs?

Craswell et al. (SIGIR 2021, section 4.3, Table 4) split the queries at random into halves a hundred times and
compare, for every pair of runs, which one is better and whether a test calls the difference significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.core.pooling.runs import Codes
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.testing.difference_sums import PairSums
from prefjudge.evaluation.testing.halves import half_sums
from prefjudge.evaluation.testing.integer_scores import Grid, to_grid
from prefjudge.evaluation.testing.intervals import Statistic
from prefjudge.evaluation.testing.significance import all_pairs, check_level
from prefjudge.evaluation.testing.significance_tests import SignificanceTest, classical_p

TESTS = (
    SignificanceTest.SIGN,
    SignificanceTest.RANK_SUM,
    SignificanceTest.WILCOXON,
    SignificanceTest.T,
)
TABLE_4: tuple[tuple[SignificanceTest, Statistic], ...] = (
    *((test, "mean") for test in TESTS),
    *((test, "median") for test in TESTS[:3]),
)
"""The columns of Table 4: four tests with the mean, and those that need no interval scale with the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow:
    """How often the halves agree under one test and one way to say which run is better.

    Attributes
    ----------
    test : SignificanceTest
    aggregate : str
        ``mean`` or ``median``: which run is better by it. Equal values count as an opinion of their own.
    agree : float
        The share of (split, pair) where the halves agree which run is better, and both or neither find the
        difference significant.
    partly : float
        Where they agree which is better and one of them finds it significant, or disagree and neither does.
    disagree : float
        Where they disagree which is better and at least one finds it significant.
    significant : float
        Where at least one half finds the difference significant: a test that finds nothing always agrees.
    equal : float
        Where neither half says which is better: both find the two runs equal, which is agreement, too.
    """

    test: SignificanceTest
    aggregate: Statistic
    agree: float
    partly: float
    disagree: float
    significant: float
    equal: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement rates over all splits and pairs of runs; p-values are raw, as in the paper."""

    measure: str
    qrels: str
    queries: int
    runs: int
    pairs: int
    splits: int
    alpha: float
    rows: tuple[AgreementRow, ...]


def split_half(
    scores: Scores,
    *,
    splits: int = 100,
    alpha: float = 0.05,
    columns: Sequence[tuple[SignificanceTest, Statistic]] = TABLE_4,
    rng: np.random.Generator,
) -> Agreement:
    """Compare the conclusions from random halves of the queries, for all pairs of runs.

    Parameters
    ----------
    scores : Scores
    splits : int
        How many times to split. With an odd number of queries the first half is the smaller.
    alpha : float
        The level of each single test.
    columns : sequence of (SignificanceTest, aggregate)
        What to report: any of the tests that need no resamples, with ``mean`` or ``median``.
    rng : Generator

    Raises
    ------
    InputError
        For fewer than four queries, two runs or one split, or a level that is not between 0 and 1.
    """
    check_level(alpha)
    n, runs = scores.values.shape
    if n < 4 or runs < 2 or splits < 1:
        raise InputError(
            f"{many(n, 'query')}, {many(runs, 'run')} and {many(splits, 'split')}",
            "Agreement needs at least 4 queries, 2 runs, 1 split.",
        )
    grid = to_grid(scores.values)
    a, b = all_pairs(runs)
    masks = draw_halves(n, splits, rng)
    medians = _median_signs(grid, masks, a, b) if any(kind == "median" for _, kind in columns) else None
    counts = np.zeros((len(columns), 5), dtype=np.int64)
    tests = dict.fromkeys(test for test, _ in columns)
    for split, pairs, halves in half_sums(grid, masks, a, b):
        means = [np.sign(half.total) for half in halves]
        verdicts = {test: _significant(test, halves, alpha) for test in tests}
        for row, (test, kind) in enumerate(columns):
            if kind == "mean" or medians is None:
                one, other = means
            else:
                one, other = (side[split, pairs] for side in medians)
            counts[row] += _tally(one, other, *verdicts[test])
    total = splits * a.size
    return Agreement(
        measure=scores.measure,
        qrels=scores.qrels,
        queries=n,
        runs=runs,
        pairs=int(a.size),
        splits=splits,
        alpha=alpha,
        rows=tuple(
            AgreementRow(
                test=test,
                aggregate=kind,
                agree=int(row[0]) / total,
                partly=int(row[1]) / total,
                disagree=int(row[2]) / total,
                significant=int(row[3]) / total,
                equal=int(row[4]) / total,
            )
            for (test, kind), row in zip(columns, counts, strict=True)
        ),
    )


def draw_halves(n: int, splits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw random halves of ``n`` queries: True where the query is in the first half, shape (splits, n)."""
    masks = np.zeros((splits, n), dtype=np.bool_)
    masks[:, : n // 2] = True
    for mask in masks:
        rng.shuffle(mask)
    return masks


def _median_signs(
    grid: Grid, masks: NDArray[np.bool_], a: Codes, b: Codes
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return which run of each pair has the greater median in each half: two arrays (splits, pairs)."""
    sides = []
    for half in (masks, ~masks):
        medians = np.stack([np.median(grid.values[mask], axis=0) for mask in half])
        difference = medians[:, a] - medians[:, b]
        sides.append(np.sign(np.where(np.abs(difference) <= grid.slack, 0.0, difference)).astype(np.int8))
    return sides[0], sides[1]


def _significant(
    test: SignificanceTest, halves: tuple[PairSums, PairSums], alpha: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    one, other = (classical_p(test, half, alpha) <= alpha for half in halves)
    return one, other


def _tally(
    better: NDArray[np.number],
    better_too: NDArray[np.number],
    one: NDArray[np.bool_],
    other: NDArray[np.bool_],
) -> NDArray[np.int64]:
    same, either = better == better_too, one | other
    agree = same & (one == other)
    disagree = ~same & either
    equal = same & (better == 0)
    shares = (agree, ~agree & ~disagree, disagree, either, equal)
    return np.array([share.sum() for share in shares], dtype=np.int64)

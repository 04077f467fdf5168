"""Inference: bootstrap ranks, split halves, all pairs of runs and permutations, on one query x run matrix."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from harness import Contest, Lab, call
from scipy import stats

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.agreement import split_half
from prefjudge.evaluation.intervals import pair_sums, to_grid
from prefjudge.evaluation.stability import bootstrap_ranks
from prefjudge.evaluation.tests import (
    Correction,
    SignificanceTest,
    adjust,
    all_pairs,
    classical_p,
    compare_runs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANX = """
import sys, numpy
from ranx.statistical_tests import fisher_randomization_test
runs, resamples = numpy.load(sys.argv[1]), int(sys.argv[2])
fisher_randomization_test(runs[0][:9].copy(), runs[1][:9].copy(), 9)  # compiled once
for other in sys.argv[3:]:
    fisher_randomization_test(runs[0], runs[int(other)], resamples)
"""

TITLE = "inference: RR@10 of 40 runs over 5,793 queries"

CLASSICAL = (
    SignificanceTest.T,
    SignificanceTest.WILCOXON,
    SignificanceTest.RANK_SUM,
    SignificanceTest.SIGN,
)


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests."""
    queries = 200 if lab.short else 5_793
    few, many = (5, 8) if lab.short else (40, 200)
    scores, larger = _scores(lab, queries, few), _scores(lab, queries, many)
    pairs, more = few * (few - 1) // 2, many * (many - 1) // 2
    trials, splits = (50, 2) if lab.short else (10_000, 100)
    sample, few_trials = (2, 10) if lab.short else (20, 200)
    yield Contest(
        name=f"bootstrap ranks, {trials:,} trials",
        ours=call(lambda: bootstrap_ranks(scores, trials=trials, rng=lab.rng("ours"))),
        rivals={
            "drawing the samples": call(_draw_only, lab, queries, trials),
            "numpy, trial by trial": call(_numpy_loop, lab, scores.values, trials),
            "scipy.stats.bootstrap": call(
                _scipy_bootstrap, lab, scores.values, few_trials, scale=trials / few_trials
            ),
        },
        goals={
            "drawing the samples": "<= 3",
            "numpy, trial by trial": ">= 4",
            "scipy.stats.bootstrap": ">= 10",
        },
        note="the rivals average only; ranking the runs is in our time",
    )
    yield Contest(
        name=f"split halves, {splits} splits, {pairs:,} pairs, 4 tests",
        ours=call(lambda: split_half(scores, splits=splits, rng=lab.rng("ours"))),
        rivals={
            "scipy, call by call": call(
                _scipy_tests, scores.values[::2], sample, scale=2 * splits * pairs / sample
            )
        },
        goals={"scipy, call by call": ">= 100"},
    )
    yield Contest(
        name=f"all {more:,} pairs, 4 tests, Bonferroni",
        ours=call(_all_pairs, larger),
        rivals={"scipy, call by call": call(_scipy_tests, larger.values, sample, scale=more / sample)},
        goals={"scipy, call by call": ">= 50"},
    )
    yield Contest(
        name=f"permutation test, {pairs:,} pairs, {trials:,} resamples",
        ours=call(
            lambda: compare_runs(
                scores, test="permutation", correction="none", resamples=trials, rng=lab.rng("ours")
            )
        ),
        rivals={
            "scipy.stats.permutation_test": call(_scipy_permutation, lab, scores.values, trials, scale=pairs),
            "ranx": lab.peer("ranx", RANX, _saved(lab, scores), str(trials), each=["1"], scale=pairs),
        },
        goals={"scipy.stats.permutation_test": ">= 1000", "ranx": ">= 1000"},
    )


def _scores(lab: Lab, queries: int, runs: int) -> Scores:
    rank = lab.rng(f"runs {runs}").geometric(np.linspace(0.2, 0.35, runs), size=(queries, runs))
    return Scores(
        measure="RR@10",
        qrels="made up",
        queries=tuple(map(str, range(queries))),
        runs=tuple(map(str, range(runs))),
        values=np.where(rank <= 10, 1.0 / rank, 0.0),
        order=Order.SCORE,
    )


def _saved(lab: Lab, scores: Scores) -> Path:
    path = lab.folder / f"scores-{len(scores.queries)}x{len(scores.runs)}.npy"
    np.save(path, np.ascontiguousarray(scores.values.T))
    return path


def _all_pairs(scores: Scores) -> None:
    sums = pair_sums(to_grid(scores.values), *all_pairs(len(scores.runs)))
    for test in CLASSICAL:
        adjust(classical_p(test, sums), Correction.BONFERRONI)


def _draw_only(lab: Lab, queries: int, trials: int) -> None:
    rng = lab.rng("rival")
    for start in range(0, trials, 256):
        rng.integers(0, queries, size=(min(256, trials - start), queries), dtype=np.uint16)


def _numpy_loop(lab: Lab, values: NDArray[np.float64], trials: int) -> None:
    rng = lab.rng("rival")
    for _ in range(trials):
        values[rng.integers(0, len(values), size=len(values))].mean(axis=0)


def _scipy_bootstrap(lab: Lab, values: NDArray[np.float64], trials: int) -> None:
    stats.bootstrap(
        (values,), np.mean, n_resamples=trials, batch=20, method="percentile", rng=lab.rng("rival")
    )


def _scipy_tests(values: NDArray[np.float64], pairs: int) -> None:
    whole = np.rint(values * 2520)
    for pair in range(pairs):
        a, b = whole[:, pair % whole.shape[1]], whole[:, (pair + 1) % whole.shape[1]]
        stats.ttest_rel(a, b)
        stats.wilcoxon(a - b, method="approx")
        stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic")
        stats.binomtest(int((a > b).sum()), int((a != b).sum()))


def _scipy_permutation(lab: Lab, values: NDArray[np.float64], resamples: int) -> None:
    stats.permutation_test(
        (values[:, 0], values[:, 1]),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=100,
        rng=lab.rng("rival"),
    )

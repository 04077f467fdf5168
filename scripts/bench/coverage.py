"""Coverage: how often the 95 % interval of a mean score holds the mean, by how many queries are hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from harness import Contest, Lab, call

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.intervals import mean_interval, score_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

TITLE = "coverage: 95 % intervals of means, where few queries are hit and where many are"

HIT_RATES = (0.05, 0.1, 0.2, 0.5, 0.8, 0.95)
QUERIES = (20, 50, 100, 200, 500, 1000)
GOAL = 0.92

Draw = Callable[[np.random.Generator, tuple[int, int]], "NDArray[np.float64]"]


def _reciprocal(chances: NDArray[np.float64]) -> tuple[Draw, float]:
    """Return how to draw RR@10 of a query that is hit, and its mean."""
    values = 1.0 / np.arange(1, 11)
    shares = chances / chances.sum()
    return lambda rng, shape: rng.choice(values, p=shares, size=shape), float(shares @ values)


def _beta(a: float, b: float) -> tuple[Draw, float]:
    return lambda rng, shape: rng.beta(a, b, size=shape), a / (a + b)


SCORES = {
    "RR@10, answers high up": _reciprocal(0.7 ** np.arange(10)),
    "RR@10, anywhere in the top 10": _reciprocal(np.ones(10)),
    "RR@10, rarely at the top": _reciprocal(np.array([1.0] + 8 * [0.0] + [9.0])),
    "nDCG@10, in the middle": _beta(2, 2),
    "nDCG@10, mostly small": _beta(0.5, 3),
    "nDCG@10, mostly great": _beta(5, 1),
}
"""The score of a query that is hit; others score 0."""


def figures(lab: Lab) -> Iterable[str]:
    """Yield the coverage of ours and of Student's t and the ratio of their widths, and the least coverage."""
    trials = 40 if lab.short else 1_000
    least = 1.0
    yield f"each cell: coverage in {trials:,} trials (Student's t alone), and how much wider than t"
    yield f"{'':32s}" + "".join(f"{f'{rate:.0%} hit':>20s}" for rate in HIT_RATES)
    for name, (draw, mean) in SCORES.items():
        for queries in QUERIES[:2] if lab.short else QUERIES:
            cells = []
            for rate in HIT_RATES:
                rng = lab.rng(f"{name} {queries} {rate}")
                hit = rng.random((queries, trials)) < rate
                values = np.where(hit, draw(rng, hit.shape), 0.0)
                ours, students, ratio = _held(values, rate * mean)
                least = min(least, ours)
                cells.append(f"{f'{ours:.3f} ({students:.3f}) {ratio:.2f}':>20s}")
            yield f"{name:32s}" + "".join(cells) + f"  n={queries:,}"
    judged = "" if lab.short else f" (goal >= {GOAL}: {'met' if least >= GOAL else 'MISSED'})"
    yield f"least coverage {least:.3f}{judged}"


def _held(values: NDArray[np.float64], mean: float) -> tuple[float, float, float]:
    """Return how many of the columns' intervals hold the mean, of ours and of t, and width over width."""
    ours = score_intervals(values, statistic="mean", confidence=0.95, ends=(0.0, 1.0))
    _, low, high = mean_interval(values)
    wider = np.nanmean(ours.high - ours.low) / np.nanmean(np.clip(high, 0, 1) - np.clip(low, 0, 1))
    return (
        float(((ours.low <= mean) & (mean <= ours.high)).mean()),
        float(((low <= mean) & (mean <= high)).mean()),  # no interval holds nothing
        float(wider),
    )


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield what the intervals cost a leaderboard."""
    queries, runs = (100, 5) if lab.short else (6_980, 63)
    for rate, words in ((0.5, "half of the queries hit"), (0.01, "1 % of the queries hit")):
        rng = lab.rng(words)
        values = np.where(rng.random((queries, runs)) < rate, 1.0 / rng.integers(1, 11, (queries, runs)), 0.0)
        scores = Scores(
            measure="RR@10",
            qrels="made up",
            queries=tuple(map(str, range(queries))),
            runs=tuple(map(str, range(runs))),
            values=values,
            order=Order.SCORE,
        )
        yield Contest(
            name=f"leaderboard of {runs} runs x {queries:,} queries, {words}",
            ours=call(leaderboard, scores),
            rivals={"Student's t alone": call(mean_interval, values)},
        )

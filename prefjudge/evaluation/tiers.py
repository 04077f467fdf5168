"""Tiers: which runs of a leaderboard are not told apart, and between which ranks each may stand."""

from dataclasses import dataclass

import numpy as np

from prefjudge.evaluation.measures import lower_is_better
from prefjudge.evaluation.significance import Significance


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How firmly one run holds its place.

    Attributes
    ----------
    run : str
        The run tag.
    tier : int
        From 1. A tier is led by its best run and holds the runs that are not significantly worse than it.
    highest, lowest : int
        The rank interval: one more than the runs that are significantly better, and the number of runs less
        those that are significantly worse.
    """

    run: str
    tier: int
    highest: int
    lowest: int


def standings(significance: Significance) -> tuple[Standing, ...]:
    """Return tiers and rank intervals from the tests of all pairs, the best run first.

    Parameters
    ----------
    significance : Significance
        The tests of all pairs of runs (``compare_runs`` without a baseline). With a correction that bounds
        the chance of any false claim (Holm, Bonferroni), all rank intervals hold together at ``1 - alpha``.

    Returns
    -------
    tuple of Standing
        One for each run, in order of its mean; equal means stand in order of the run tag.
    """
    count = len(significance.runs)
    sign = -1.0 if lower_is_better(significance.measure) else 1.0
    lead = np.zeros((count, count))
    lead[significance.b, significance.a] = sign * significance.difference
    lead -= lead.T
    told_apart = np.zeros((count, count), dtype=bool)
    told_apart[significance.a, significance.b] = significance.significant
    told_apart |= told_apart.T
    better = told_apart & (lead > 0)  # [i, j]: i is significantly better than j
    goodness = lead.mean(axis=1)  # the mean lead orders runs exactly as their means do
    order = sorted(range(count), key=lambda run: (-round(float(goodness[run]), 12), significance.runs[run]))
    tier = np.zeros(count, dtype=np.int64)
    number = 0
    for leader in order:
        if not tier[leader]:
            number += 1
            tier[(tier == 0) & ~better[leader]] = number
    return tuple(
        Standing(
            run=significance.runs[run],
            tier=int(tier[run]),
            highest=1 + int(better[:, run].sum()),
            lowest=count - int(better[run].sum()),
        )
        for run in order
    )

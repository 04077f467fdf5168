"""The p-values of the tests that draw, for all pairs from the same resamples."""

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes
from prefjudge.evaluation.testing import resampling
from prefjudge.evaluation.testing.difference_sums import BLOCK, PairSums
from prefjudge.evaluation.testing.integer_scores import Column, Grid
from prefjudge.evaluation.testing.resampling import EVERY_FLIP


def permutation_p(
    grid: Grid, sums: PairSums, a: Codes, b: Codes, count: int, rng: np.random.Generator, block: int
) -> Column:
    """Return the p-value of each pair a - b when the signs of its differences are flipped at random."""
    flips = resampling.flipped_sums(grid, count, rng, block=block)
    # A score is rounded by half a step at most, a difference by one, and a sum of n differences by n.
    slack = sums.n * grid.slack
    reached = resampling.count_reaching(flips, sums.total, a, b, slack)
    # All flips, with the observed one among them, are the distribution itself; a sample of them is not.
    return reached / count if sums.n <= EVERY_FLIP else _share(reached, count)


def bootstrap_test(
    grid: Grid,
    sums: PairSums,
    a: Codes,
    b: Codes,
    count: int,
    alpha: float,
    rng: np.random.Generator,
    block: int,
) -> tuple[Column, Column, Column]:
    """Return the p-value of each pair a - b under the shifted bootstrap, and the percentile interval."""
    trials = np.concatenate(list(resampling.bootstrap_sums(grid, count, rng, block=block))).T
    p, low, high = np.empty(a.size), np.empty(a.size), np.empty(a.size)
    width = max(1, BLOCK // count)
    for at in range(0, a.size, width):
        rows = slice(at, at + width)
        difference = trials[a[rows]] - trials[b[rows]]
        observed = sums.total[rows, None]
        # Less the observed difference the samples are about 0, as if there were none: the null hypothesis.
        far = np.abs(difference - observed) >= np.abs(observed) - sums.n * grid.slack
        p[rows] = _share(np.count_nonzero(far, axis=1), count)
        ends = np.quantile(difference, [alpha / 2, 1 - alpha / 2], axis=1) / sums.n * grid.unit
        low[rows], high[rows] = ends
    return p, low, high


def tukey_p(grid: Grid, sums: PairSums, count: int, rng: np.random.Generator) -> Column:
    """Return p-values adjusted for all pairs: by the range of the runs when each query shuffles them."""
    ranges = resampling.permuted_ranges(grid, count, rng)
    reach = np.abs(sums.total) - sums.n * grid.slack
    return _share(count - np.searchsorted(ranges, reach, side="left"), count)


def _share(reached: NDArray[np.integer], resamples: int) -> Column:
    # The observation is one of the equally likely outcomes;
    # without it p could be 0 (Phipson and Smyth, 2010).
    return (reached + 1) / (resamples + 1)

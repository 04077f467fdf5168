"""Resampling of queries: sign flips, bootstrap samples and permuted runs, for all runs at once.

A resample costs one product with the query x run matrix, so the work grows with runs and not with pairs. All
pairs share the resamples, which correlates their Monte-Carlo errors and leaves each p-value valid. Sums are
of whole numbers and draws do not depend on the block: a seed gives the same result with any block or threads.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from prefjudge.core.pooling.runs import Codes
from prefjudge.evaluation.testing.difference_sums import BLOCK
from prefjudge.evaluation.testing.integer_scores import Grid, Matrix

Counts = NDArray[np.int64]

EVERY_FLIP = 14
"""Up to this many queries there are fewer sign flips than one would draw."""
_DRAW = 32
"""Bootstrap samples are always drawn this many at a time, so that a block does not change the stream."""


def flipped_sums(
    grid: Grid, resamples: int, rng: np.random.Generator, *, block: int = BLOCK
) -> Iterator[Matrix]:
    """Flip the sign of each query at random, the same flips for all runs, and sum each run.

    The difference of two runs' sums is the sum of their sign-flipped differences: the paired randomisation
    test. Up to `EVERY_FLIP` queries each of the 2**n flips is made once, and ``resamples`` ignored.

    Yields
    ------
    ndarray of float64, shape (trials, runs)
        Sums in steps of the grid, some resamples at a time.
    """
    n = len(grid.values)
    total = grid.values.sum(axis=0)
    # No subset of the queries sums to more than all of them do in size.
    matrix = _narrow(grid.values, float(np.abs(grid.values).sum(axis=0).max(initial=0.0)))
    for words in _every_word(n) if n <= EVERY_FLIP else _random_words(n, resamples, rng, block):
        # A bit b is the sign 2 b - 1, so the signed sum is twice the sum of the chosen less that of all.
        # Words are little-endian on every machine: the same seed flips the same queries.
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=n, bitorder="little")
        yield 2 * (bits.astype(matrix.dtype) @ matrix).astype(np.float64) - total


def _every_word(n: int) -> Iterator[NDArray[np.uint64]]:
    yield np.arange(1 << n, dtype="<u8")[:, None]


def _random_words(
    n: int, resamples: int, rng: np.random.Generator, block: int
) -> Iterator[NDArray[np.uint64]]:
    for trials in _portions(resamples, n, block):
        # Each word is one step of the generator: a draw in two blocks leaves the stream as it was.
        words = rng.integers(0, 1 << 64, size=(trials, -(-n // 64)), dtype=np.uint64)
        yield words.astype("<u8", copy=False)


def bootstrap_sums(
    grid: Grid, trials: int, rng: np.random.Generator, *, block: int = BLOCK
) -> Iterator[Matrix]:
    """Sample as many queries as there are, with replacement, the same ones for all runs, and sum each run.

    Yields
    ------
    ndarray of float64, shape (trials, runs)
        Sums in steps of the grid, some trials at a time.
    """
    n = len(grid.values)
    # A sample may draw the greatest score n times.
    matrix = _narrow(grid.values, n * float(np.abs(grid.values).max(initial=0.0)))
    for counts in bootstrap_counts(n, trials, rng, block=block, kind=matrix.dtype):
        yield (counts @ matrix).astype(np.float64)


def bootstrap_counts(
    n: int,
    trials: int,
    rng: np.random.Generator,
    *,
    block: int = BLOCK,
    kind: DTypeLike = np.int64,
) -> Iterator[NDArray[Any]]:
    """Yield how often each of ``n`` queries is in each sample: shape (trials, n), some trials at a time."""
    narrow = np.uint16 if n <= 1 << 16 else np.uint32
    # Each sample has n counters of its own, so one bincount counts all samples of a draw.
    row = np.arange(_DRAW)[:, None] * n
    for size in _portions(trials, n, block, step=_DRAW):
        counts = np.empty((size, n), dtype=kind)
        for at in range(0, size, _DRAW):  # few at a time, so that they stay in the cache
            part = counts[at : at + _DRAW]
            sample = rng.integers(0, n, size=(len(part), n), dtype=narrow) + row[: len(part)]
            part[:] = np.bincount(sample.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


def permuted_ranges(grid: Grid, resamples: int, rng: np.random.Generator) -> Matrix:
    """Shuffle the runs within each query and return the range of the runs' sums, for each resample.

    The randomised Tukey HSD test compares each pair's difference with these ranges (Carterette 2012,
    Sakai 2018).

    Returns
    -------
    ndarray of float64, shape (resamples,)
        The largest minus the smallest sum, in steps of the grid, ascending.
    """
    shuffled = grid.values.copy()
    ranges = np.empty(resamples)
    for trial in range(resamples):
        # A shuffle of a shuffle is as uniform as one of the original, and needs no copy.
        rng.permuted(shuffled, axis=1, out=shuffled)
        ranges[trial] = np.ptp(shuffled.sum(axis=0))
    return np.sort(ranges)


def count_reaching(sums: Iterator[Matrix], observed: Matrix, a: Codes, b: Codes, slack: float) -> Counts:
    """Count the resamples whose difference is at least as far from 0 as the one observed.

    Parameters
    ----------
    sums : iterator of ndarray, shape (trials, runs)
    observed : ndarray of float64, shape (pairs,)
        The differences a - b of the sums of the queries themselves.
    a, b : ndarray of int32, shape (pairs,)
    slack : float
        How many steps rounding can have moved a sum.
    """
    count = np.zeros(a.size, dtype=np.int64)
    # Equal is "as far": without the slack a resample that
    # repeats the observation could be missed by rounding.
    reach = np.abs(observed) - slack
    width = max(1, BLOCK // max(1, a.size))
    for block in sums:
        runs = np.ascontiguousarray(block.T)
        for at in range(0, runs.shape[1], width):
            part = runs[:, at : at + width]
            count += np.count_nonzero(np.abs(part[a] - part[b]) >= reach[:, None], axis=1)
    return count


def _narrow(values: Matrix, largest_sum: float) -> NDArray[np.floating]:
    """Return the values in float32, which is twice as fast, where no sum can exceed its whole numbers."""
    return values.astype(np.float32) if largest_sum < 1 << 24 else values


def _portions(trials: int, width: int, block: int, step: int = 1) -> Iterator[int]:
    size = max(1, block // max(1, width))
    # A multiple of the step, or the blocks would cut draws in other places and change the stream.
    size = max(step, size - size % step)
    for start in range(0, trials, size):
        yield min(size, trials - start)

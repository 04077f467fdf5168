"""Confidence intervals of a mean, for all runs at once."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from prefjudge.core.runs import Codes
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.placings import Floats

_HALVINGS = 26
"""Of the scale, in search of an end: to less than 2e-8 of it."""
_NEWTON = 60
"""Steps to a saddlepoint at most; ten are usual."""


def gaffke_interval(
    values: Floats, ends: tuple[float, float], confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of the mean of each column, on a scale with finite ``ends``."""
    least, greatest = ends
    score, count = _tallies((values - least) / (greatest - least))
    level = 0.5 + confidence / 2
    high = _upper(score, count, level)
    # The lower end is the upper end of the mirrored scores, seen in the mirror.
    low = 1.0 - _upper(1.0 - score, count, level)
    return least + (greatest - least) * low, least + (greatest - least) * high


def _tallies(values: Floats) -> tuple[Floats, Floats]:
    """Return the scores of each column and how many queries have each: (runs, scores), padded with 0."""
    found = [np.unique(column, return_counts=True) for column in np.clip(values.T, 0.0, 1.0)]
    width = max(len(score) for score, _ in found)
    scores, counts = np.zeros((2, len(found), width))
    for row, (score, count) in enumerate(found):
        scores[row, : len(score)], counts[row, : len(count)] = score, count
    return scores, counts


def _upper(score: Floats, count: Floats, level: float) -> Floats:
    """Return the quantile of the weighted mean of the scores and 1."""
    score = np.column_stack([score, np.ones(len(score))])
    count = np.column_stack([count, np.ones(len(count))])
    low = (score * count).sum(axis=1) / count.sum(axis=1)  # the mean of the weighted mean
    high = np.ones(len(score))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The chance that the weighted mean is below the middle grows with it, so halving finds the quantile.
        reached = _below(score - middle[:, None], count) >= level
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _below(offset: Floats, count: Floats) -> Floats:
    """Return the probability that the sum of exponential variables times their offsets is at most 0."""
    # Padding, of count 0, must be neither the least nor the greatest offset.
    seen = np.where(count > 0, offset, 0.0)
    least, greatest = seen.min(axis=1), seen.max(axis=1)
    both = (least < 0) & (greatest > 0)
    inside = _saddlepoint(seen[both], count[both], least[both], greatest[both])
    factor = 1.0 - inside[:, None] * seen[both]
    slope = np.sqrt(2.0 * np.maximum((count[both] * np.log(factor)).sum(axis=1), 0.0))
    w = np.copysign(slope, inside)
    u = inside * np.sqrt((count[both] * (seen[both] / factor) ** 2).sum(axis=1))
    central = np.abs(w) < 1e-4  # there the formula divides 0 by 0, and one half is right to 1e-4
    correction = np.where(central, 0.0, 1.0 / np.where(central, 1.0, w) - 1.0 / np.where(central, 1.0, u))
    probability = np.where(least < 0, 1.0, 0.0)
    probability[both] = scipy.special.ndtr(w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * correction
    return probability


def _saddlepoint(offset: Floats, count: Floats, least: Floats, greatest: Floats) -> Floats:
    """Return where K' is 0, by Newton's steps that are halved where they leave what is known to hold it."""
    # K is defined where every 1 - s (x - m) is above 0: between these. K' rises there from -inf to inf.
    start, stop = 1.0 / least, 1.0 / greatest
    point = np.zeros(len(offset))
    for _ in range(_NEWTON):
        ratio = offset / (1.0 - point[:, None] * offset)
        slope, bend = (count * ratio).sum(axis=1), (count * ratio**2).sum(axis=1)
        start, stop = np.where(slope < 0, point, start), np.where(slope < 0, stop, point)
        step = point - slope / bend
        moved: NDArray[np.float64] = np.where((step > start) & (step < stop), step, (start + stop) / 2)
        if np.all(np.abs(moved - point) <= 1e-9 * (1.0 + np.abs(point))):
            return moved
        point = moved
    return point


Interval = Literal["t", "Gaffke"]
Bounds = tuple[Floats, Floats, Floats]

T_NEEDS = 100
"""How many queries must score otherwise than the most frequent score for Student's t: with half of that, and
few great scores among small ones, it covers the mean in less than 92 % of cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The centre of each column of a score matrix with its interval."""

    centre: Floats
    low: Floats
    high: Floats
    """Shape (runs,): naN bounds where nothing can be said."""
    methods: tuple[Interval, ...]
    """How the bounds of each column were made."""


def score_intervals(values: Floats, *, confidence: float, ends: tuple[float, float]) -> Intervals:
    """Return the mean of each run's scores with the interval that holds there."""
    # It is Student's t where `T_NEEDS` queries score otherwise than the run's most frequent score; with fewer
    # it is Gaffke's, which knows the ends of the scale. A scale without ends leaves Student's t. No interval
    # reaches beyond the `ends`.
    centre, *bounds = mean_interval(values, confidence)
    few = _differing(values) < T_NEEDS
    few &= isfinite(ends[0]) and isfinite(ends[1])
    low, high = (np.clip(bound, *ends) for bound in bounds)
    if few.any():
        low[few], high[few] = gaffke_interval(values[:, few], ends, confidence)
    return Intervals(
        centre=centre, low=low, high=high, methods=tuple("Gaffke" if one else "t" for one in few)
    )


def _differing(values: Floats) -> NDArray[np.int64]:
    """Return how many queries do not have the most frequent score of their run; exact up to `T_NEEDS`."""
    if len(values) < T_NEEDS:
        return np.zeros(values.shape[1], dtype=np.int64)
    return np.array(
        [len(column) - np.unique(column, return_counts=True)[1].max() for column in values.T], dtype=np.int64
    )


def mean_interval(values: Floats, confidence: float = 0.95) -> Bounds:
    """Return the mean of each column and its Student t interval."""
    # The bounds are NaN where all queries score the same, or there is only one: nothing then says how far the
    # mean may be off.
    count = values.shape[0]
    centre = values.mean(axis=0)
    if count < 2:
        nothing = np.full_like(centre, np.nan)
        return centre, nothing, nothing
    # By the range: the deviation of equal scores may be 1e-17 instead of 0.
    spread = np.where(np.ptp(values, axis=0) > 0, values.std(axis=0, ddof=1), np.nan)
    reach = scipy.special.stdtrit(count - 1, 0.5 + confidence / 2) * spread / np.sqrt(count)
    return centre, centre - reach, centre + reach


# Scores as whole numbers, so that every sum of them is exact.

Matrix = NDArray[np.float64]
Column = NDArray[np.float64]

_DENOMINATORS = (1, 100, 2520, 232_792_560)
"""Counts, percentages, RR@10 and below, RR@20 and below (the least common multiples of 1..10 and 1..20)."""
_HEADROOM = 2.0**52


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A query x run matrix of scores on a grid of whole numbers.

    Floating-point sums depend on the order of their terms, and so on block sizes and threads; sums of whole
    numbers below 2**53 do not. And 1/2 - 1/3 equals 1/3 - 1/6 on a grid, which it does not in float64, so a
    rank test sees the ties that are there.
    """

    values: Matrix
    """Shape (queries, runs): whole numbers: a score is ``values * unit``."""
    unit: float
    """The step of the grid."""
    exact: bool
    """Whether the scores lie on the grid (RR@10, P@5, counts); otherwise they were rounded to a step that is
    some 1e-11 of the largest score."""

    @property
    def slack(self) -> float:
        """How far apart, in steps, two equal scores can have landed."""
        return 0.0 if self.exact else 1.0


def to_grid(values: Matrix) -> Grid:
    """Put a query x run matrix of scores on a grid of whole numbers; refuse one that is not finite."""
    matrix = np.asarray(values, dtype=np.float64)
    if not np.isfinite(matrix).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(matrix)))
        raise InputError(
            f"row {row}, column {column} of the query x run matrix is not a finite number",
            "Statistics need a finite score for every query and run; a query that a run missed scores 0.",
        )
    largest = float(np.abs(matrix).max(initial=0.0))
    # What n differences of two scores can sum to. The least
    # largest score keeps the unit from underflowing to 0.
    bulk = 2.0 * max(1, matrix.shape[0]) * max(largest, 2.0**-500)
    for denominator in _DENOMINATORS:
        if bulk * denominator > _HEADROOM:
            break
        scaled = matrix * denominator
        whole = np.rint(scaled)
        # The float64 next to m / 232792560 comes back within 3e-8
        # of m. This leaves room for that, and for little else.
        if np.all(np.abs(scaled - whole) <= 1e-6):
            # + 0.0 makes 0.0 of -0.0.
            return Grid(values=whole + 0.0, unit=1.0 / denominator, exact=True)
    # A power of two: dividing by it is exact, so only rint rounds.
    unit = float(2.0 ** np.ceil(np.log2(bulk / _HEADROOM)))
    return Grid(values=np.rint(matrix / unit) + 0.0, unit=unit, exact=False)


# The sums that describe the differences of each pair of runs: all that the classical tests need.
#
# Two ways lead to them. A measure with few values (RR@10 has 11) is counted: how often did A score u where
# B scored v? That small table determines every test. Other measures are sorted, pair by pair.

FEW = 24
"""Up to this many distinct values a table is faster than sorting."""
BLOCK = 1 << 20
"""How many numbers a block of work may hold."""
PATTERN = 50
"""How many values a tie pattern covers."""

Integers = NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSums:
    """Sums over the queries for each pair of runs (a, b), of the differences a - b, in steps of the grid."""

    n: int
    """The number of queries."""
    total: Column
    squares: Column
    """Shape (pairs,): the sum of the differences and of their squares."""
    plus: Column
    minus: Column
    """Shape (pairs,): how many differences are above and below 0."""
    rank_sum: Column
    rank_ties: Column
    rank_pattern: Column
    """Shape (pairs,): the sum of the ranks of the differences above 0 among the sizes of those that are not
    0, the sum of t**3 - t over tied sizes, and their `tie_pattern`."""
    u: Column
    u_ties: Column
    u_pattern: Column
    """Shape (pairs,): how often a score of a is above a score of b over all combinations of queries (equal
    ones count one half), and the sum of t**3 - t and the `tie_pattern` over equal scores of both."""


def pair_sums(grid: Grid, a: Codes, b: Codes, *, block: int = BLOCK) -> PairSums:
    """Sum up pairs of runs, which are columns of the grid."""
    # A `block` of numbers is worked on at a time. It bounds memory and changes nothing in the result.
    levels = few_levels(grid)
    columns = np.ascontiguousarray(grid.values.T)
    if levels is None:
        # Twice the queries: the rank-sum test sorts the scores of both runs together.
        spans = _blocks(a.size, 2 * columns.shape[1], block)
        return _join([sort_sums(columns, a[rows], b[rows], grid.slack) for rows in spans])
    code = np.searchsorted(levels, columns, side="right") - 1
    spans = _blocks(a.size, levels.size * levels.size, block)
    tables = (pair_tables(code, levels.size, a[rows], b[rows]) for rows in spans)
    return _join([table_sums(part, levels, 2 * grid.slack) for part in tables])


def few_levels(grid: Grid) -> Column | None:
    """Return the distinct scores, ascending, if they are few; else None."""
    levels = np.unique(grid.values)
    # Scores that rounding put apart are one level: the least of them.
    levels = levels[np.diff(levels, prepend=-np.inf) > grid.slack]
    return levels if levels.size <= FEW else None


def pair_tables(code: NDArray[np.intp], width: int, a: Codes, b: Codes) -> Matrix:
    """Count, for each pair, how often a has one score where b has another, shape (pairs, levels, levels)."""
    # `code`, shape (runs, queries), is which of the levels, `width` of them, each score is.
    # Row-major: cell (u, v) of a table is place u * width + v, and one bincount fills it.
    scaled = code * width
    tables = np.empty((a.size, width * width))
    for pair, (left, right) in enumerate(zip(a, b, strict=True)):
        tables[pair] = np.bincount(scaled[left] + code[right], minlength=width * width)
    return tables.reshape(-1, width, width)


def table_sums(tables: Matrix, levels: Column, slack: float = 0.0) -> PairSums:
    """Sum up pairs from their joint tables, shape (pairs, levels, levels); rows are a, columns are b."""
    # Differences whose sizes are at most `slack` apart are tied.
    pairs, width, _ = tables.shape
    difference = (levels[:, None] - levels[None, :]).ravel()
    flat = tables.reshape(pairs, width * width)
    sizes, place = np.unique(np.abs(difference), return_inverse=True)
    # Size 0 is "no difference"; Wilcoxon's test leaves it out, so members are counted from 1.
    size = np.cumsum(np.diff(sizes, prepend=0.0) > slack)[place]
    member = (size[:, None] == np.arange(1, size.max(initial=0) + 1)).astype(np.float64)
    above = flat @ (member * (difference > 0)[:, None])
    count = above + flat @ (member * (difference < 0)[:, None])
    # The average rank of a group of ties: those before it, and the middle of its own.
    middle = np.cumsum(count, axis=1) - count + (count + 1) / 2
    of_a, of_b = tables.sum(axis=2), tables.sum(axis=1)
    return PairSums(
        n=int(tables[0].sum()) if pairs else 0,
        total=(flat * difference).sum(axis=1),
        squares=(flat * (difference * difference)).sum(axis=1),
        plus=above.sum(axis=1),
        minus=(count - above).sum(axis=1),
        rank_sum=(above * middle).sum(axis=1),
        rank_ties=tie_term(count).sum(axis=1),
        rank_pattern=tie_pattern(count),
        # Scores of b below one of a, and half of those equal to it.
        u=(of_a * (np.cumsum(of_b, axis=1) - of_b / 2)).sum(axis=1),
        u_ties=tie_term(of_a + of_b).sum(axis=1),
        u_pattern=tie_pattern(of_a + of_b),
    )


def sort_sums(columns: Matrix, a: Codes, b: Codes, slack: float) -> PairSums:
    """Sum up pairs of runs, given as shape (runs, queries), by sorting the differences of each."""
    left, right = columns[a], columns[b]
    difference = left - right
    difference[np.abs(difference) <= 2 * slack] = 0.0
    n = difference.shape[1]
    rank_sum, rank_ties, rank_pattern = _signed_ranks(difference, 2 * slack)
    u, u_ties, u_pattern = _pooled_ranks(left, right, slack)
    return PairSums(
        n=n,
        total=difference.sum(axis=1),
        squares=(difference * difference).sum(axis=1),
        plus=(difference > 0).sum(axis=1).astype(np.float64),
        minus=(difference < 0).sum(axis=1).astype(np.float64),
        rank_sum=rank_sum,
        rank_ties=rank_ties,
        rank_pattern=rank_pattern,
        u=u,
        u_ties=u_ties,
        u_pattern=u_pattern,
    )


def _signed_ranks(difference: Matrix, slack: float) -> tuple[Column, Column, Column]:
    size = np.abs(difference)
    order = np.argsort(size, axis=1, kind="stable")
    ranks, counts, place, row = _mid_ranks(np.take_along_axis(size, order, axis=1), slack)
    # The zeros sort first. Without them every rank is lower by their number; their group is taken out of the
    # ties, and falls out of the pattern because its place is negative.
    zeros = (size == 0).sum(axis=1)
    above = np.take_along_axis(difference, order, axis=1) > 0
    rank_sum = np.where(above, ranks - zeros[:, None], 0.0).sum(axis=1)
    ties = _row_sums(row, tie_term(counts), len(size))
    pattern = _row_sums(row, _bit(place - zeros[row]), len(size))
    return rank_sum, ties - tie_term(zeros.astype(np.float64)), pattern


def _pooled_ranks(left: Matrix, right: Matrix, slack: float) -> tuple[Column, Column, Column]:
    n = left.shape[1]
    both = np.concatenate([left, right], axis=1)
    order = np.argsort(both, axis=1, kind="stable")
    ranks, counts, place, row = _mid_ranks(np.take_along_axis(both, order, axis=1), slack)
    # Mann and Whitney's U is Wilcoxon's rank sum less the least that n ranks can sum to.
    u = np.where(order < n, ranks, 0.0).sum(axis=1) - n * (n + 1) / 2
    ties, pattern = (_row_sums(row, values, len(both)) for values in (tie_term(counts), _bit(place)))
    return u, ties, pattern


def _mid_ranks(ascending: Matrix, slack: float) -> tuple[Matrix, Column, Integers, Integers]:
    """Return the average rank of each element of sorted rows, and each group's size, first place and row."""
    rows, n = ascending.shape
    # Every row starts a group, so no group reaches over two rows.
    fresh = np.ones((rows, n), dtype=np.bool_)
    fresh[:, 1:] = np.diff(ascending, axis=1) > slack
    start = np.flatnonzero(fresh)
    counts = np.diff(start, append=rows * n).astype(np.float64)
    ranks: Matrix = np.repeat(start % n + (counts + 1) / 2, counts.astype(np.intp)).reshape(rows, n)
    return ranks, counts, start % n, start // n


def _row_sums(row: Integers, values: Column, rows: int) -> Column:
    return np.bincount(row, weights=values, minlength=rows).astype(np.float64)


def tie_term(counts: Matrix) -> Matrix:
    """Return t**3 - t of each count: what a group of t ties takes from the variance of ranks."""
    return counts * counts * counts - counts


def tie_pattern(counts: Matrix) -> Column:
    """Return which of the sorted values are tied, from how many are equal: the last axis, ascending."""
    # The pattern is a whole number whose bit i is set where the i-th value, from 0, differs from the one
    # before. It covers the first 50 values, since a float64 holds that many bits exactly.
    # A size that does not occur starts where the next one does, whose bit would be added twice.
    bits: Column = np.where(counts > 0, _bit(np.cumsum(counts, axis=-1) - counts), 0.0).sum(axis=-1)
    return bits


def _bit(place: Matrix | Integers) -> Matrix:
    """Return 2**place; 0 outside of the pattern."""
    inside = (place >= 0) & (place < PATTERN)
    return np.where(inside, np.ldexp(1.0, np.where(inside, place, 0).astype(np.int32)), 0.0)


def _blocks(pairs: int, width: int, block: int) -> Iterator[slice]:
    size = max(1, block // max(1, width))
    # One empty block where there are no pairs, so that there is something to join.
    for start in range(0, max(pairs, 1), size):
        yield slice(start, start + size)


def _join(parts: list[PairSums]) -> PairSums:
    columns = [field.name for field in fields(PairSums) if field.name != "n"]
    return PairSums(
        n=parts[0].n, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    )


# Resampling of queries: sign flips and bootstrap samples, for all runs at once.
#
# A resample costs one product with the query x run matrix, so the work grows with runs and not with pairs.
# All pairs share the resamples, which correlates their Monte-Carlo errors and leaves each p-value valid.
# Sums are of whole numbers and draws do not depend on the block: a seed gives the same result with any
# block or threads.

Counts = NDArray[np.int64]

EVERY_FLIP = 14
"""Up to this many queries there are fewer sign flips than one would draw."""
_DRAW = 32
"""Bootstrap samples are always drawn this many at a time, so that a block does not change the stream."""


def flipped_sums(
    grid: Grid, resamples: int, rng: np.random.Generator, *, block: int = BLOCK
) -> Iterator[Matrix]:
    """Flip the sign of each query at random, the same flips for all runs, and sum each run."""
    # The difference of two runs' sums is the sum of their sign-flipped differences: the paired randomisation
    # test. Up to `EVERY_FLIP` queries each of the 2**n flips is made once, and `resamples` ignored.
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
    """Sample as many queries as there are, with replacement, the same ones for all runs, and sum each run."""
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


def count_reaching(sums: Iterator[Matrix], observed: Matrix, a: Codes, b: Codes, slack: float) -> Counts:
    """Count the resamples whose difference is at least as far from 0 as the one observed, for each pair."""
    # Blocks of sums have the shape (trials, runs); rounding can have moved a sum by `slack` steps.
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

"""The sums that describe the differences of each pair of runs: all that the classical tests need.

Two ways lead to them. A measure with few values (RR@10 has 11) is counted: how often did A score u where B
scored v? That small table determines every test. Other measures are sorted, pair by pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes
from prefjudge.evaluation.testing.integer_scores import Column, Grid, Matrix

FEW = 24
"""Up to this many distinct values a table is faster than sorting."""
BLOCK = 1 << 20
"""How many numbers a block of work may hold."""
PATTERN = 50
"""How many values a tie pattern covers."""

Integers = NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSums:
    """Sums over the queries for each pair of runs (a, b), of the differences a - b, in steps of the grid.

    Attributes
    ----------
    n : int
        The number of queries.
    total, squares : ndarray of float64, shape (pairs,)
        The sum of the differences and of their squares.
    plus, minus : ndarray of float64, shape (pairs,)
        How many differences are above and below 0.
    rank_sum, rank_ties, rank_pattern : ndarray of float64, shape (pairs,)
        The sum of the ranks of the differences above 0 among the sizes of those that are not 0, the sum of
        t**3 - t over tied sizes, and their `tie_pattern`.
    u, u_ties, u_pattern : ndarray of float64, shape (pairs,)
        How often a score of a is above a score of b over all combinations of queries (equal ones count one
        half), and the sum of t**3 - t and the `tie_pattern` over equal scores of both.
    """

    n: int
    total: Column
    squares: Column
    plus: Column
    minus: Column
    rank_sum: Column
    rank_ties: Column
    rank_pattern: Column
    u: Column
    u_ties: Column
    u_pattern: Column


def pair_sums(grid: Grid, a: Codes, b: Codes, *, block: int = BLOCK) -> PairSums:
    """Sum up pairs of runs.

    Parameters
    ----------
    grid : Grid
        Scores, shape (queries, runs).
    a, b : ndarray of int32, shape (pairs,)
        The columns of each pair.
    block : int
        How many numbers to work on at a time. It bounds memory and changes nothing in the result.
    """
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
    """Count, for each pair, how often a has one score where b has another.

    Parameters
    ----------
    code : ndarray of int, shape (runs, queries)
        Which of the levels each score is.
    width : int
        How many levels there are.
    a, b : ndarray of int32, shape (pairs,)

    Returns
    -------
    ndarray of float64, shape (pairs, levels, levels)
    """
    # Row-major: cell (u, v) of a table is place u * width + v, and one bincount fills it.
    scaled = code * width
    tables = np.empty((a.size, width * width))
    for pair, (left, right) in enumerate(zip(a, b, strict=True)):
        tables[pair] = np.bincount(scaled[left] + code[right], minlength=width * width)
    return tables.reshape(-1, width, width)


def table_sums(tables: Matrix, levels: Column, slack: float = 0.0) -> PairSums:
    """Sum up pairs from their joint tables, shape (pairs, levels, levels); rows are a, columns are b.

    Differences whose sizes are at most ``slack`` apart are tied.
    """
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
    """Return which of the sorted values are tied, from how many are equal: the last axis, ascending.

    The pattern is a whole number whose bit i is set where the i-th value, from 0, differs from the one
    before. It covers the first 50 values, since a float64 holds that many bits exactly.
    """
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

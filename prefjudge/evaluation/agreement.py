"""Split-half agreement: do two halves of the queries lead to the same conclusion about two runs?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Codes, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.intervals import (
    PATTERN,
    Column,
    Grid,
    Matrix,
    PairSums,
    few_levels,
    table_sums,
    tie_pattern,
    tie_term,
    to_grid,
)
from prefjudge.evaluation.tests import SignificanceTest, all_pairs, classical_p
from prefjudge.words import many

Index = NDArray[np.intp]
Counts = NDArray[np.int32]
Masks = NDArray[np.bool_]

_TABLES = 1 << 18
"""How many cells of tables to work on at a time."""
_PATTERNED = 4 * PATTERN
"""Up to this many queries a half can be small enough for the pattern of its ties to be needed."""
BUDGET = 1 << 26
"""How many bytes the counts of all runs may take; more splits than fit are done in turns."""


def half_sums(
    grid: Grid, masks: Masks, a: Codes, b: Codes
) -> Iterator[tuple[Index, Index, tuple[PairSums, PairSums]]]:
    """Sum up both halves of each split for each pair of runs, some at a time."""
    # `masks`, shape (splits, queries), flags the queries of the first half, which has the same size in every
    # split. Yields which split and which pair each element of the sums is about, and the sums of both halves.
    levels = few_levels(grid)
    if levels is None:
        yield from _by_sorting(grid, masks, a, b)
    else:
        yield from _by_counting(grid, masks, a, b, levels)


def _by_counting(
    grid: Grid, masks: Masks, a: Codes, b: Codes, levels: Column
) -> Iterator[tuple[Index, Index, tuple[PairSums, PairSums]]]:
    width, splits = levels.size, len(masks)
    # A level is the least score of those that rounding put apart: "right" - 1 finds it for each of them.
    code = (np.searchsorted(levels, grid.values.T, side="right") - 1).astype(np.uint16)
    packed, lane = _pack(masks)
    step = max(1, _TABLES // (splits * width * width))
    for at in range(0, a.size, step):
        pairs = np.arange(at, min(at + step, a.size))
        # The first half is counted; the second is the whole less the first, so no query is looked at twice.
        first = np.zeros((pairs.size, width * width, splits))
        whole = np.zeros((pairs.size, width * width, 1))
        for row, pair in enumerate(pairs):
            cell = code[a[pair]] * np.uint16(width) + code[b[pair]]
            order = np.argsort(cell, kind="stable")
            ordered = cell[order]
            # Prepended is what the first cell is not, so that a cell starts at place 0, too.
            start = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] + 1))
            # Whole words are added. No lane carries into the next:
            # it counts at most all queries, which fit into it.
            counts = np.add.reduceat(packed[order], start, axis=0).view(lane)
            first[row, ordered[start]] = counts[:, :splits]
            whole[row, ordered[start], 0] = np.diff(start, append=cell.size)
        sums = [
            table_sums(np.moveaxis(part, 2, 1).reshape(-1, width, width), levels, 2 * grid.slack)
            # A score may be off by the slack, and a difference by twice that.
            for part in (first, whole - first)
        ]
        yield np.tile(np.arange(splits), pairs.size), np.repeat(pairs, splits), (sums[0], sums[1])


def _pack(masks: Masks) -> tuple[NDArray[np.uint64], type[np.uint16] | type[np.uint32]]:
    """Return the masks as counters, several in one word, so that one addition counts several splits."""
    splits, queries = masks.shape
    lane: type[np.uint16] | type[np.uint32] = np.uint16 if queries < 1 << 16 else np.uint32
    lanes = 8 // np.dtype(lane).itemsize
    padded = np.zeros((queries, -(-splits // lanes) * lanes), dtype=lane)
    padded[:, :splits] = masks.T
    return padded.view(np.uint64), lane


def _by_sorting(
    grid: Grid, masks: Masks, a: Codes, b: Codes
) -> Iterator[tuple[Index, Index, tuple[PairSums, PairSums]]]:
    columns = np.ascontiguousarray(grid.values.T)
    ranks = _dense_ranks(grid)
    # A ladder holds an int32 for each split and, where all its scores differ, each query.
    step = max(8, BUDGET // (4 * grid.values.size))
    for at in range(0, len(masks), step):
        part = masks[at : at + step]
        splits = np.arange(at, at + len(part))
        members = _Members(part)
        weights, others = part.astype(np.float64), (~part).astype(np.float64)
        ladders = [_Ladder(run, members) for run in ranks]
        for pair, (left, right) in enumerate(zip(a, b, strict=True)):
            difference = columns[left] - columns[right]
            # As in `sort_sums`: equal scores can lie a slack apart, their differences two.
            difference[np.abs(difference) <= 2 * grid.slack] = 0.0
            squared = difference * difference
            first = weights @ difference, weights @ squared
            last = others @ difference, others @ squared
            signed = _signed_ranks(difference, 2 * grid.slack, members)
            pooled = _pooled_ranks(ladders[left], ladders[right])
            sums = [
                PairSums(n=n, total=total, squares=squares, **signed[side], **pooled[side])
                for side, (n, (total, squares)) in enumerate(zip(_sizes(part), (first, last), strict=True))
            ]
            yield splits, np.full(len(part), pair), (sums[0], sums[1])


def _sizes(masks: Masks) -> tuple[int, int]:
    inside = int(masks[0].sum())
    return inside, masks.shape[1] - inside


def _dense_ranks(grid: Grid) -> Codes:
    """Return, for shape (runs, queries), the place of each score among all distinct scores."""
    values, place = np.unique(grid.values, return_inverse=True)
    # Over all runs at once, so that the places of any two runs compare as their scores do.
    merged = np.cumsum(np.diff(values, prepend=-np.inf) > grid.slack).astype(np.int32)
    return np.ascontiguousarray(merged[place].reshape(grid.values.shape).T)


class _Members:
    """Which queries are in the first half of each split."""

    def __init__(self, masks: Masks) -> None:
        self.splits = len(masks)
        self.packed, self.lane = _pack(masks)

    def running(self, order: Index, places: Index) -> Counts:
        """Count how many queries before these places of an order are in the first half, (places, splits)."""
        # Row i counts the queries before place i; the members
        # between two places are a difference of two rows.
        total = np.zeros((order.size + 1, self.packed.shape[1]), dtype=np.uint64)
        np.cumsum(self.packed[order], axis=0, out=total[1:])
        return total[places].view(self.lane)[:, : self.splits].astype(np.int32)


def _signed_ranks(
    difference: Column, slack: float, members: _Members
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the signed-rank sums of one pair for both halves of all splits."""
    # Queries are ordered by the size of their difference, tied sizes with the negative ones first. A group of
    # ties then reaches from `start` over `middle`, where its positive ones begin, to `end`; its members of a
    # half have the average rank (how many lie before start + how many before end + 1) / 2 there.
    # Wilcoxon drops the queries without a difference before it ranks the others.
    query = np.flatnonzero(difference)
    sizes, place = np.unique(np.abs(difference[query]), return_inverse=True)
    group = np.cumsum(np.diff(sizes, prepend=-np.inf) > slack)[place]
    # Even keys are negative, odd ones positive: a group's bounds are where 2 g, 2 g + 1 and 2 g + 2 would go.
    key = 2 * group + (difference[query] > 0)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    groups = np.arange(1, group.max(initial=0) + 1)
    start, middle, end = (np.searchsorted(ordered, 2 * groups + step) for step in (0, 1, 2))
    some = end > middle
    tied = np.flatnonzero(end - start > 1)
    # Larger halves get pattern 0, "not known", and with it the normal approximation.
    groups_ = np.append(start if order.size <= _PATTERNED else start[:0], order.size)
    ends = (start[some], end[some], middle[some], start[tied], end[tied], groups_)
    low, high, below, first, last, bounds = np.split(
        members.running(query[order], np.concatenate(ends).astype(np.intp)),
        np.cumsum([len(part) for part in ends])[:-1],
    )
    every = bounds[-1]
    above, around = high - below, low + high
    whole, reach = (end - middle)[some], (start + end)[some]
    ties = (last - first).astype(np.float64)
    everyone = (end - start)[tied, None].astype(np.float64)
    # The sum of above x (around + 1) / 2 is the rank sum of the first half.
    # The other one holds whole - above, and reach - around lie about it:
    # that product, multiplied out, reuses this one and needs no second pass.
    product = _dot(above, around, difference.size)
    plus, total = above.sum(axis=0), int(whole.sum())
    rest = int(whole @ (reach + 1)) - _weigh(whole, around) - _weigh(reach + 1, above) + product
    of_first, of_rest = _patterns(bounds, groups_)
    return (
        _signed(plus, every - plus, (product + plus) / 2, ties, of_first),
        _signed(total - plus, query.size - total - every + plus, rest / 2, everyone - ties, of_rest),
    )


def _signed(
    plus: Counts, minus: Counts, rank_sum: Column, ties: Matrix, pattern: Column
) -> dict[str, Column]:
    return {
        "plus": plus.astype(np.float64),
        "minus": minus.astype(np.float64),
        "rank_sum": rank_sum,
        "rank_ties": tie_term(ties).sum(axis=0),
        "rank_pattern": pattern,
    }


def _patterns(first: Counts, whole: Index) -> tuple[Column, Column]:
    """Return the tie patterns of both halves, from how many of the first and of all lie below a bound."""
    one, other = (tie_pattern(np.diff(below.T, axis=1)) for below in (first, whole[:, None] - first))
    return one, other


class _Ladder:
    """The distinct scores of one run, and how many queries of each first half lie below each of them."""

    def __init__(self, ranks: Codes, members: _Members) -> None:
        order = np.argsort(ranks, kind="stable")
        self.levels, first = np.unique(ranks[order], return_index=True)
        self.below = np.append(first, ranks.size)
        self.running = members.running(order, self.below)


def _pooled_ranks(a: _Ladder, b: _Ladder) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the rank-sum statistics of one pair for both halves of all splits."""
    low, high = (np.searchsorted(b.levels, a.levels, side=side) for side in ("left", "right"))
    of_a, whole = np.diff(a.running, axis=0), np.diff(a.below)
    # Those below and those up to a score of A are its wins twice over, an equal score being half a win.
    under, reach = b.running[low] + b.running[high], b.below[low] + b.below[high]
    product = _dot(of_a, under, int(a.below[-1]))
    rest = int(whole @ reach) - _weigh(whole, under) - _weigh(reach, of_a) + product
    # A score that occurs once ties with nothing (1**3 - 1 = 0): only
    # the others are looked at, each once, under A where A has it.
    shared = np.flatnonzero((whole > 1) | (high > low))
    lonely = np.setdiff1d(np.flatnonzero(np.diff(b.below) > 1), low[high > low])
    ties = np.concatenate(
        [
            of_a[shared] + b.running[high[shared]] - b.running[low[shared]],
            b.running[lonely + 1] - b.running[lonely],
        ]
    ).astype(np.float64)
    both = whole[shared] + b.below[high[shared]] - b.below[low[shared]]
    everyone = np.concatenate([both, b.below[lonely + 1] - b.below[lonely]])[:, None]
    levels = np.union1d(a.levels, b.levels) if a.below[-1] <= _PATTERNED else a.levels[:0]
    below_a, below_b = (np.append(np.searchsorted(run.levels, levels), run.levels.size) for run in (a, b))
    of_first, of_rest = _patterns(
        a.running[below_a] + b.running[below_b], a.below[below_a] + b.below[below_b]
    )
    return (
        {"u": product / 2, "u_ties": tie_term(ties).sum(axis=0), "u_pattern": of_first},
        {"u": rest / 2, "u_ties": tie_term(everyone - ties).sum(axis=0), "u_pattern": of_rest},
    )


def _dot(x: Counts, y: Counts, queries: int) -> Column:
    """Return the column-wise products of two tables of counts, exactly."""
    # Each column of x counts queries once; an element of y counts them twice at most (below and up to).
    wide = 2 * queries**2 > np.iinfo(np.int32).max
    exact: NDArray[np.integer] = np.einsum("gs,gs->s", x, y, dtype=np.int64 if wide else np.int32)
    return exact.astype(np.float64)


def _weigh(weight: NDArray[np.integer], counts: Counts) -> Column:
    total: Column = weight.astype(np.float64) @ counts.astype(np.float64)
    return total


# Split-half agreement: do two halves of the queries lead to the same conclusion about two runs?
#
# Craswell et al. (SIGIR 2021, section 4.3, Table 4) split the queries at random into halves a hundred times
# and compare, for every pair of runs, which one is better and whether a test calls the difference
# significant.

TESTS = (SignificanceTest.SIGN, SignificanceTest.RANK_SUM, SignificanceTest.WILCOXON, SignificanceTest.T)
_ALPHA = 0.05
Statistic = Literal["mean", "median"]
TABLE_4: tuple[tuple[SignificanceTest, Statistic], ...] = (
    *((test, "mean") for test in TESTS),
    *((test, "median") for test in TESTS[:3]),
)
"""The columns of Table 4: four tests with the mean, and those that need no interval scale with the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow:
    """How often the halves agree under one test and one way to say which run is better."""

    test: SignificanceTest
    aggregate: Statistic
    """``mean`` or ``median``: which run is better by it. Equal values count as an opinion of their own."""
    agree: float
    """The share of (split, pair) where the halves agree which run is better, and both or neither find the
    difference significant."""
    partly: float
    """Where they agree which is better and one of them finds it significant, or disagree and neither does."""
    disagree: float
    """Where they disagree which is better and at least one finds it significant."""
    significant: float
    """Where at least one half finds the difference significant: a test that finds nothing always agrees."""
    equal: float
    """Where neither half says which is better: both find the two runs equal, which is agreement, too."""


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
    columns: Sequence[tuple[SignificanceTest, Statistic]] = TABLE_4,
    rng: np.random.Generator,
) -> Agreement:
    """Compare the conclusions from random halves of the queries, for all pairs of runs."""
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
        verdicts = {test: _significant(test, halves) for test in tests}
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
        alpha=_ALPHA,
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
    test: SignificanceTest, halves: tuple[PairSums, PairSums]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    one, other = (classical_p(test, half, _ALPHA) <= _ALPHA for half in halves)
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

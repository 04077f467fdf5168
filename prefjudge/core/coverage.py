"""Coverage: which pairs of a query's candidates were judged, and whether the pairs connect them all."""

import numpy as np

from prefjudge.core.candidates import Index
from prefjudge.core.runs import Codes


class _PairCells:
    """Gives each unordered pair of candidate rows a number: a cell of its query's square."""

    def __init__(self, start: Index) -> None:
        sizes = np.diff(start)
        self.base: Index = np.concatenate([[0], np.cumsum(sizes * sizes)])
        # A candidate's line in the square, so that adding the other candidate's row gives the cell.
        line = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
        self.line: Index = np.repeat(self.base[:-1] - start[:-1], sizes) + line * np.repeat(sizes, sizes)

    def of(self, first: Index, second: Index) -> Index:
        cells: Index = self.line[np.minimum(first, second)] + np.maximum(first, second)
        return cells

    def count_by_query(self, cells: Index) -> Index:
        place = np.searchsorted(self.base, cells, side="right") - 1
        counts: Index = np.bincount(place, minlength=self.base.size - 1)
        return counts


def pairs_missing(start: Index, left: Index, right: Index) -> Index:
    """Count the pairs of candidates of each query that no vote compares."""
    sizes: Index = np.diff(start)
    needed: Index = sizes * (sizes - 1) // 2
    squares = _PairCells(start)
    cells = squares.of(left, right)
    if squares.base[-1] > 32 * (cells.size + 1024):
        return needed - squares.count_by_query(np.unique(cells))
    seen = np.zeros(int(squares.base[-1]), dtype=bool)
    seen[cells] = True
    if np.count_nonzero(seen) == needed.sum():
        return np.zeros_like(needed)
    return needed - squares.count_by_query(np.flatnonzero(seen))


def asked_missing(start: Index, asked: tuple[Index, Index], judged: tuple[Index, Index]) -> Index:
    """Count the asked pairs of each query that no vote compares."""
    squares = _PairCells(start)
    return squares.count_by_query(np.setdiff1d(squares.of(*asked), squares.of(*judged)))


def count_parts(start: Index, query: Codes, left: Index, right: Index) -> Index:
    """Count the connected parts of each query: every candidate takes the lowest row that it can reach."""
    label = np.arange(int(start[-1]))
    moved = True
    while moved:
        before = label.copy()
        low = np.minimum(label[left], label[right])
        np.minimum.at(label, left, low)
        np.minimum.at(label, right, low)
        label = label[label]
        moved = bool((label != before).any())
    roots = query[label == np.arange(label.size)]
    parts: Index = np.bincount(roots, minlength=start.size - 1)
    return parts

"""Coverage: which pairs of a query's candidates were judged, and whether the pairs connect them all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.candidates import Index
from prefjudge.core.pooling.runs import Codes

Rows = NDArray[np.signedinteger[Any]]


def _cells(first: Rows, second: Rows, size: int) -> Rows:
    """Number each unordered pair of rows of one query, where no query has more than ``size`` candidates.

    A row has ``size`` cells: one for each row that it can be paired with, from itself on.
    """
    cells: Rows = np.minimum(first, second)
    # low x size + (high - low), with ``high - low`` below ``size``: no two pairs share a cell.
    cells *= size - 1
    cells += np.maximum(first, second)
    return cells


def _widened(rows: Rows, cells: int) -> Rows:
    """Return rows as numbers that are wide enough to count this many cells."""
    return rows.astype(np.int64) if cells >= 1 << 31 else rows


def pairs_missing(start: Index, query: Codes, left: Rows, right: Rows) -> Index:
    """Count the pairs of candidates of each query that no vote compares."""
    sizes: Index = np.diff(start)
    needed: Index = sizes * (sizes - 1) // 2
    size = int(sizes.max(initial=1))
    room = size * query.size
    cells = _cells(_widened(left, room), _widened(right, room), size)
    # A table of flags is faster than a sort, unless one large pool makes it mostly empty.
    if room > 32 * (cells.size + 1024):
        judged = np.unique(cells)
    else:
        seen = np.zeros(room, dtype=bool)
        seen[cells.astype(np.int64)] = True  # places in any other type are slow
        if np.count_nonzero(seen) == needed.sum():
            return np.zeros_like(needed)
        judged = np.flatnonzero(seen)
    return needed - np.bincount(query[judged // size], minlength=needed.size)


def asked_missing(start: Index, query: Codes, asked: tuple[Rows, Rows], judged: tuple[Rows, Rows]) -> Index:
    """Count the asked pairs of each query that no vote compares."""
    size = int(np.diff(start).max(initial=1))
    room = size * query.size
    wanted, known = (_cells(_widened(a, room), _widened(b, room), size) for a, b in (asked, judged))
    missing: Index = np.bincount(query[np.setdiff1d(wanted, known) // size], minlength=start.size - 1)
    return missing


def count_parts(start: Index, query: Codes, left: Rows, right: Rows) -> Index:
    """Count the connected parts of each query: every candidate takes the lowest row that it can reach."""
    label = np.arange(int(start[-1]))
    moved = True
    while moved:
        before = label.copy()
        low = np.minimum(label[left], label[right])
        np.minimum.at(label, left, low)
        np.minimum.at(label, right, low)
        # Pointer jumping: paths halve in each round, so long chains of comparisons take few rounds.
        label = label[label]
        moved = bool((label != before).any())
    roots = query[label == np.arange(label.size)]
    parts: Index = np.bincount(roots, minlength=start.size - 1)
    return parts

"""Vote matrices: the tournaments of one size, stacked, for the rules that look at every pair."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.resolving.cast_votes import CastVotes, Trusting, cast_votes
from prefjudge.core.resolving.tournament import Index, Tournaments

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteMatrices:
    """The votes of ``n`` queries that have ``k`` candidates each.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        The queries' places in the block.
    rows : ndarray of int64, shape (n, k)
        The candidates' rows in the block.
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` is what the votes for ``x`` against ``y`` are worth together.
    cast : CastVotes or None
        The votes one by one, where some are trusted more than others; ``votes`` are then worth the trust.
    """

    queries: Index
    rows: Index
    votes: Floats
    cast: CastVotes | None = None

    @property
    def beats(self) -> Flags:
        """Where ``x`` has more votes than ``y``, shape (n, k, k)."""
        more: Flags = self.votes > self.votes.transpose(0, 2, 1)
        return more


def vote_matrices(
    block: Tournaments,
    *,
    ties: float = 0.0,
    strengths: bool = False,
    cells: int = 1 << 22,
    trusting: Trusting | None = None,
) -> Iterator[VoteMatrices]:
    """Stack the votes of the block's queries by their number of candidates.

    Parameters
    ----------
    block : Tournaments
        The votes.
    ties : float
        What a tie is worth to each side.
    strengths : bool
        Whether a vote counts as often as it is strong.
    cells : int
        About how many cells to hold at a time.
    trusting : callable, optional
        The trust in each vote; by default all are trusted.

    Yields
    ------
    VoteMatrices
        Queries without candidates do not occur, all others once.
    """
    sizes = block.sizes
    # A candidate's place within its query: the row and column of its matrix.
    local = np.arange(block.doc.size) - block.start[block.query]
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    groups = _groups(by_size, sizes, cells)
    # A stable sort of 16-bit integers is numpy's radix sort, which takes linear time.
    group_of = np.full(block.n_queries, -1, dtype=np.int16 if len(groups) < 1 << 15 else np.int64)
    for number, queries in enumerate(groups):
        group_of[queries] = number
    # Both sides of a vote are of one query, so the left one tells which.
    vote_group = group_of[block.query[block.left]]
    vote_rows = np.argsort(vote_group, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(vote_group, minlength=len(groups)))])
    for number, queries in enumerate(groups):
        size = int(sizes[queries[0]])
        rows = block.start[queries][:, None] + np.arange(size)
        slot = np.zeros(block.n_queries, dtype=np.int64)
        slot[queries] = np.arange(queries.size)
        some = vote_rows[ends[number] : ends[number + 1]]
        if trusting is not None:
            cast = cast_votes(block, some, slot, local, trusting, ties=ties, strengths=strengths)
            votes = cast.matrices(queries.size, size)
            yield VoteMatrices(queries=queries, rows=rows, votes=votes, cast=cast)
            continue
        votes = _stacked(block, some, slot, local, size, ties, strengths)
        yield VoteMatrices(queries=queries, rows=rows, votes=votes.reshape(queries.size, size, size))


def _groups(by_size: Index, sizes: Index, cells: int) -> list[Index]:
    """Split queries sorted by size into groups of one size and a bounded number of cells."""
    groups = []
    cuts = np.flatnonzero(np.diff(sizes[by_size])) + 1
    for queries in np.split(by_size, cuts):
        if queries.size:
            step = max(1, cells // int(sizes[queries[0]]) ** 2)
            groups += [queries[i : i + step] for i in range(0, queries.size, step)]
    return groups


def _stacked(
    block: Tournaments, rows: Index, slot: Index, local: Index, size: int, ties: float, strengths: bool
) -> Floats:
    left, right, choice = block.left[rows], block.right[rows], block.choice[rows]
    of = slot[block.query[left]]
    total = (int(slot.max()) + 1) * size * size
    # Cells in row-major order of (query, x, y): one bincount fills all matrices.
    forward = (of * size + local[left]) * size + local[right]
    backward = (of * size + local[right]) * size + local[left]
    worth = block.strength[rows].astype(np.float64) if strengths else np.ones(rows.size)
    decided = np.where(choice > 0, forward, backward)
    worth = np.where(choice != 0, worth, 0.0)
    votes = np.bincount(decided, weights=worth, minlength=total).astype(np.float64)
    if ties:
        tied = choice == 0
        both = np.concatenate([forward[tied], backward[tied]])
        votes = votes + ties * np.bincount(both, minlength=total)
    return votes


def reachable(edges: Flags) -> Flags:
    """Return where a path of at least one edge leads from ``x`` to ``y``, shape (n, k, k).

    Parameters
    ----------
    edges : ndarray of bool, shape (n, k, k)
        The graphs' adjacency.
    """
    reach = edges.copy()
    for middle in range(edges.shape[1]):
        # Warshall: after this step, every path whose inner nodes are up to ``middle`` is known.
        reach |= reach[:, :, middle, None] & reach[:, None, middle, :]
    return reach

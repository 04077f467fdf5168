"""Cast votes: the votes on each pair by how far they are trusted, where they are not all worth the same."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.resolving.tournament import Index, Tournaments

Floats = NDArray[np.float64]
Trusting = Callable[[Index, Index], Floats]
"""Gives the trust in votes, from their queries and workers: codes of the whole log, -1 where nobody knows."""
_STEPS = 20
"""Trust is rounded to twentieths, so that votes on one pair that are nearly worth the same are one sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVotes:
    """The votes of ``n`` queries that have ``k`` candidates each, in the order of the queries.

    Attributes
    ----------
    place : ndarray of int64, shape (n_cells,)
        The query, counted within the stack; ascending.
    x, y : ndarray of int64, shape (n_cells,)
        The candidates, counted within the query.
    trust : ndarray of float64, shape (n_cells,)
        The probability that such a vote is not cast by chance, beside that of the most reliable workers.
    won, lost : ndarray of float64, shape (n_cells,)
        The votes for ``x``, and for ``y``. A tie is half a vote to each.
    """

    place: Index
    x: Index
    y: Index
    trust: Floats
    won: Floats
    lost: Floats

    def between(self, low: int, high: int) -> "CastVotes":
        """Return the votes of the queries from ``low`` up to ``high``, counted from ``low``."""
        first, last = np.searchsorted(self.place, [low, high]).tolist()
        return self._some(slice(first, last), self.place[first:last] - low)

    def only(self, keep: NDArray[np.bool_]) -> "CastVotes":
        """Return the votes of the queries that ``keep`` flags, counted among these."""
        some = np.flatnonzero(keep[self.place])
        return self._some(some, (np.cumsum(keep) - 1)[self.place[some]])

    def _some(self, some: slice | Index, place: Index) -> "CastVotes":
        return CastVotes(
            place=place,
            x=self.x[some],
            y=self.y[some],
            trust=self.trust[some],
            won=self.won[some],
            lost=self.lost[some],
        )

    def matrices(self, n: int, k: int) -> Floats:
        """Return what the votes for each candidate against each other are worth, shape (n, k, k)."""
        return self._summed(n, k, self.trust * self.won, self.trust * self.lost)

    def _summed(self, n: int, k: int, for_x: Floats, for_y: Floats) -> Floats:
        forward = (self.place * k + self.x) * k + self.y
        backward = (self.place * k + self.y) * k + self.x
        cells, each = np.concatenate([forward, backward]), np.concatenate([for_x, for_y])
        return np.bincount(cells, weights=each, minlength=n * k * k).astype(np.float64).reshape(n, k, k)

    def log_likelihood(self, strength: NDArray[np.float32], apart: float, heed: float) -> NDArray[np.float32]:
        """Return the log probability of each query's votes, shape (n, draws).

        Parameters
        ----------
        strength : ndarray of float32, shape (n, k, draws)
            The candidates' strengths, in each draw.
        apart : float
            Half of what a difference of strengths is multiplied by.
        heed : float
            The share of the votes of the most reliable workers that are not lapses.
        """
        # trust x heed x logistic(2 u) + (1 - trust x heed) / 2 = 1 / 2 + trust x heed x tanh(u) / 2
        lead = strength[self.place, self.x]
        lead -= strength[self.place, self.y]
        lead *= np.float32(apart)
        np.tanh(lead, out=lead)
        # Most cells have votes for one side only: one logarithm, from that side, is enough for them. Rounding
        # must not make a vote impossible.
        heeded = 0.4999999 * heed * self.trust
        lead *= np.where(self.won > 0, heeded, -heeded).astype(np.float32)[:, None]
        logs = np.log(np.float32(0.5) + lead)
        logs *= np.where(self.won > 0, self.won, self.lost).astype(np.float32)[:, None]
        torn = np.flatnonzero((self.won > 0) & (self.lost > 0))
        if torn.size:
            logs[torn] += np.log(np.float32(0.5) - lead[torn]) * self.lost[torn].astype(np.float32)[:, None]
        total = np.zeros((strength.shape[0], strength.shape[2]), dtype=np.float32)
        starts = np.flatnonzero(np.diff(self.place, prepend=-1))
        if starts.size:
            total[self.place[starts]] = np.add.reduceat(logs, starts, axis=0)
        return total

    def log_orders(self, n: int, k: int, error: float) -> Floats:
        """Return the log probability of each pair's votes if one is above the other, shape (n, k, k).

        Parameters
        ----------
        n, k : int
            The queries, and their candidates.
        error : float
            The share of wrong votes of the most reliable workers, on every pair.
        """
        right, wrong = np.log(0.5 + self.trust * (0.5 - error)), np.log(0.5 - self.trust * (0.5 - error))
        return self._summed(n, k, self.won * right + self.lost * wrong, self.won * wrong + self.lost * right)


def cast_votes(
    block: Tournaments,
    rows: Index,
    place: Index,
    local: Index,
    trusting: Trusting,
    *,
    ties: float,
    strengths: bool,
) -> CastVotes:
    """Return these votes of a block.

    Parameters
    ----------
    block : Tournaments
        The votes.
    rows : ndarray of int64, shape (n_votes,)
        Which of them.
    place : ndarray of int64, shape (n_queries,)
        The place of each of the block's queries in the stack.
    local : ndarray of int64, shape (n_candidates,)
        The place of each candidate in its query.
    trusting, ties, strengths
        What each vote is worth.
    """
    left, right, choice = block.left[rows], block.right[rows], block.choice[rows]
    query = block.query[left].astype(np.int64)
    trust = np.rint(_STEPS * trusting(query + block.first, block.worker[rows].astype(np.int64)))
    worth = block.strength[rows].astype(np.float64) if strengths else np.ones(rows.size)
    to_left = np.where(choice > 0, worth, np.where(choice < 0, 0.0, ties))
    to_right = np.where(choice < 0, worth, np.where(choice > 0, 0.0, ties))
    one, other = local[left], local[right]
    x, y = np.minimum(one, other), np.maximum(one, other)
    width = int(local.max(initial=0)) + 1
    cell = ((place[query] * width + x) * width + y) * (_STEPS + 1) + trust.astype(np.int64)
    held, of = np.unique(cell, return_inverse=True)
    swapped = one > other
    pair = held // (_STEPS + 1)
    return CastVotes(
        place=pair // width**2,
        x=pair // width % width,
        y=pair % width,
        trust=held % (_STEPS + 1) / _STEPS,
        won=np.bincount(of, weights=np.where(swapped, to_right, to_left)).astype(np.float64),
        lost=np.bincount(of, weights=np.where(swapped, to_left, to_right)).astype(np.float64),
    )

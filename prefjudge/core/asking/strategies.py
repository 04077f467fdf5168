"""Strategies: which votes to ask for next, and who is the best when there is nothing left to ask.

A strategy looks at nothing but the votes, so it continues where it stopped, whatever happened in between, and
the same code is simulated before any money is spent and drives the study afterwards. It asks for all the
votes that it can use at once: a round, which is packed into HITs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """The votes that a strategy asks for: a row for each pair that needs any.

    Attributes
    ----------
    pool, x, y : ndarray of int64, shape (n_pairs,)
        The pool, and two of its candidates, ``x < y``.
    votes : ndarray of int64, shape (n_pairs,)
        How many more votes the pair needs.
    """

    pool: Counts
    x: Counts
    y: Counts
    votes: Counts

    def __len__(self) -> int:
        """Return the number of pairs."""
        return self.votes.size


NOTHING = Asked(*(np.empty(0, dtype=np.int64) for _ in range(4)))


def joined(asked: Sequence[Asked]) -> Asked:
    """Return all of them as one."""
    rows = [(one.pool, one.x, one.y, one.votes) for one in (NOTHING, *asked)]
    return Asked(*map(np.concatenate, zip(*rows, strict=True)))


class Strategy(Protocol):
    """A way to spend votes on pools of one size."""

    @property
    def name(self) -> str:
        """What a report calls it."""

    def ask(self, votes: Floats) -> Asked:
        """Return how many more votes each pair needs now.

        Parameters
        ----------
        votes : ndarray of float64, shape (n, k, k)
            ``votes[q, x, y]`` votes so far prefer ``x`` to ``y``; a tie is half a vote to each. The
            candidates are in the order in which they are to be tried, the best known first.

        Returns
        -------
        Asked
            Nothing of a pool where the strategy has finished.
        """

    def leaders(self, votes: Floats) -> Flags:
        """Return who is the best by the votes so far, shape (n, k); several where they are even."""


def _asked_so_far(votes: Floats) -> Floats:
    return votes + votes.transpose(0, 2, 1)


def _upper(counts: Floats) -> Asked:
    """Return what is above the diagonal of ``counts``, shape (n, k, k)."""
    # Counts are symmetric, and a pair is asked for once.
    pool, x, y = np.nonzero(np.triu(counts, 1))
    return Asked(pool, x, y, np.rint(counts[pool, x, y]).astype(np.int64))


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Judge every pair equally often, in one round.

    With one vote per pair this is the paper's way (Shallow pooling for sparse labels, section 4).
    """

    votes_per_pair: int = 1

    @property
    def name(self) -> str:
        """Return ``round-robin:3``."""
        return f"round-robin:{self.votes_per_pair}"

    def ask(self, votes: Floats) -> Asked:
        """Ask for what each pair lacks."""
        return _upper(np.maximum(self.votes_per_pair - _asked_so_far(votes), 0.0))

    def leaders(self, votes: Floats) -> Flags:
        """Resolve by section 5.1: most votes, repeated among the tied."""
        alive = np.ones(votes.shape[:2], dtype=bool)
        while True:
            still = _most_votes(votes, alive)
            if (still == alive).all():
                return alive
            alive = still


def _most_votes(votes: Floats, alive: Flags) -> Flags:
    among = (votes * alive[:, None, :]).sum(axis=2)
    among[~alive] = -1.0
    return np.asarray(among == among.max(axis=1, keepdims=True))

"""Strategies: which votes to ask for next, and who is the best when there is nothing left to ask.

A strategy looks at nothing but the votes, so it continues where it stopped, whatever happened in between, and
the same code is simulated before any money is spent and drives the study afterwards. It asks for all the
votes that it can use at once: a round, which is packed into HITs.
"""

from abc import ABC, abstractmethod
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


def _joined(asked: Sequence[Asked]) -> Asked:
    rows = [(one.pool, one.x, one.y, one.votes) for one in asked]
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


class _Played(ABC):
    """A strategy of rounds or matches: playing them by the votes so far says what to ask and who leads."""

    __slots__ = ()

    @abstractmethod
    def _play(self, votes: Floats) -> tuple[Asked, Flags]: ...

    def ask(self, votes: Floats) -> Asked:
        """Ask for what cannot be played yet."""
        return self._play(votes)[0]

    def leaders(self, votes: Floats) -> Flags:
        """Return who is left; before the end, those who are ahead."""
        return self._play(votes)[1]


@dataclass(frozen=True, slots=True)
class Halving(_Played):
    """Judge every pair, keep the better half, and judge those with more votes, until one is left."""

    votes_per_pair: int = 1
    factor: int = 2

    @property
    def name(self) -> str:
        """Return ``halving:1x2``: the votes of the first round, and by how much they grow."""
        return f"halving:{self.votes_per_pair}x{self.factor}"

    def _play(self, votes: Floats) -> tuple[Asked, Flags]:
        """Ask for what the pairs of the current round lack; the best are the last ones left."""
        n, k, _ = votes.shape
        alive, pools = np.ones((n, k), dtype=bool), np.arange(n)
        asked, in_all = [NOTHING], votes.sum(axis=2)
        left, target, more = k, 0, self.votes_per_pair
        while left > 1 and pools.size:
            target, more = target + more, more * self.factor
            inside = np.nonzero(alive[pools])[1].reshape(pools.size, left)
            among = _square(votes, pools, inside) if left < k else votes
            lacks = _upper(np.maximum(target - _asked_so_far(among), 0.0))
            here = lacks.pool
            asked.append(Asked(pools[here], inside[here, lacks.x], inside[here, lacks.y], lacks.votes))
            through = np.ones(pools.size, dtype=bool)
            through[here] = False
            pools, inside, won = pools[through], inside[through], among.sum(axis=2)[through]
            left = (left + 1) // 2 if left > 2 else 1
            # Those with the most votes among the ones still in; if even, with the most in all.
            order = np.lexsort((-in_all[pools[:, None], inside], -won), axis=1)[:, :left]
            alive[pools] = False
            alive[pools[:, None], np.take_along_axis(inside, order, axis=1)] = True
        return _joined(asked), _most_votes(votes, alive)


def _square(votes: Floats, pools: Counts, inside: Counts) -> Floats:
    """Return the votes among some candidates of some pools, shape (len(pools), m, m)."""
    return votes[pools[:, None, None], inside[:, :, None], inside[:, None, :]]


def _most_votes(votes: Floats, alive: Flags) -> Flags:
    among = (votes * alive[:, None, :]).sum(axis=2)
    among[~alive] = -1.0
    return np.asarray(among == among.max(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Knockout(_Played):
    """Pair the candidates off, and let the better of each pair go on: the fewest pairs."""

    votes_per_pair: int = 5

    @property
    def name(self) -> str:
        """Return ``knockout:5``."""
        return f"knockout:{self.votes_per_pair}"

    def _play(self, votes: Floats) -> tuple[Asked, Flags]:
        """Ask for the matches that can be played now; the best are those who have not lost one."""
        n, k, _ = votes.shape
        asked, so_far = np.zeros((n, k, k)), _asked_so_far(votes)
        alive, query = np.ones((n, k), dtype=bool), np.arange(n)
        slots, ready = np.tile(np.arange(k), (n, 1)), np.ones((n, k), dtype=bool)
        while slots.shape[1] > 1:
            matches = slots.shape[1] // 2
            go_on, known = slots[:, ::2].copy(), ready[:, ::2].copy()
            for match in range(matches):
                x, y = slots[:, 2 * match], slots[:, 2 * match + 1]
                on = ready[:, 2 * match] & ready[:, 2 * match + 1]
                lacks = np.where(on, np.maximum(self.votes_per_pair - so_far[query, x, y], 0.0), 0.0)
                asked[query, np.minimum(x, y), np.maximum(x, y)] += lacks
                over = on & (lacks == 0)
                # Even: the one that is tried first, and so was better known, stays in.
                better = np.where(votes[query, x, y] >= votes[query, y, x], x, y)
                worse = np.where(better == x, y, x)
                alive[query[over], worse[over]] = False
                go_on[:, match], known[:, match] = better, over
            slots, ready = go_on, known
        return _upper(asked), alive


_MOST_VOTES = 21


@dataclass(frozen=True, slots=True)
class LeadStop(_Played):
    """Let the best known answer meet one challenger after the other, until a lead or the majority decides.

    References
    ----------
    The lead of votes is Wald's sequential test (1945) for a vote that is right as often as wrong: a lead of 3
    errs one time in ten at a third of wrong votes, with seven votes on average.
    """

    lead: int = 3
    most: int = _MOST_VOTES
    """The most votes of a match; the one who is ahead then wins it."""

    @property
    def name(self) -> str:
        """Return ``lead:3``, or ``lead:3x9`` where another number of votes is the most."""
        return f"lead:{self.lead}" if self.most == _MOST_VOTES else f"lead:{self.lead}x{self.most}"

    def _play(self, votes: Floats) -> tuple[Asked, Flags]:
        """Ask for the fewest votes that could bring the lead; the best has won the matches so far."""
        n, k, _ = votes.shape
        best, going, query = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool), np.arange(n)
        asked = [NOTHING]
        for challenger in range(1, k):
            kept, lost = votes[query, best, challenger], votes[query, challenger, best]
            ahead = kept - lost
            # With fewer votes than are lacking to the lead the match
            # cannot end, so these can all be asked for at once.
            lacks = np.minimum(np.ceil(self.lead - np.abs(ahead)), self.most - kept - lost)
            waits = np.flatnonzero(going & (lacks > 0))
            needed = np.ceil(lacks[waits]).astype(np.int64)
            asked.append(Asked(waits, best[waits], np.full(waits.size, challenger), needed))
            going[waits] = False
            if not going.any():
                break
            # Even after the most votes: the best known answer stays.
            best = np.where(going & (ahead < 0), challenger, best)
        leaders = np.zeros((n, k), dtype=bool)
        leaders[query, best] = True
        return _joined(asked), leaders

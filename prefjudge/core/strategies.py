"""Strategies: which votes to ask for next, and who is the best when there is nothing left to ask.

A strategy looks at nothing but the votes, so it goes on where it stopped, whatever happened in between, and
the same code is simulated before any money is spent and drives the study afterwards. It asks for all the
votes that it can use at once: a round, which is packed into HITs.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Strategy(Protocol):
    """A way to spend votes on pools of one size."""

    @property
    def name(self) -> str:
        """What a report calls it."""

    def ask(self, votes: Floats) -> Counts:
        """Return how many more votes each pair needs now, shape (n, k, k).

        Parameters
        ----------
        votes : ndarray of float64, shape (n, k, k)
            ``votes[q, x, y]`` votes so far prefer ``x`` to ``y``; a tie is half a vote to each. The
            candidates are in the order in which they are to be tried, the best known first.

        Returns
        -------
        ndarray of int64, shape (n, k, k)
            Nothing outside ``x < y``; nothing at all where the strategy is through.
        """

    def leaders(self, votes: Floats) -> Flags:
        """Return who is the best by the votes so far, shape (n, k); several where they are even."""


def _asked_so_far(votes: Floats) -> Floats:
    return votes + votes.transpose(0, 2, 1)


def _upper(counts: Floats) -> Counts:
    return np.triu(np.rint(counts).astype(np.int64), 1)


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

    def ask(self, votes: Floats) -> Counts:
        """Ask for what each pair lacks."""
        return _upper(np.maximum(self.votes_per_pair - _asked_so_far(votes), 0.0))

    def leaders(self, votes: Floats) -> Flags:
        """Resolve by section 5.1: most votes, repeated among the tied."""
        alive = np.ones(votes.shape[:2], dtype=bool)
        while True:
            won = (votes * alive[:, None, :]).sum(axis=2)
            won[~alive] = -1.0
            still = alive & (won == won.max(axis=1, keepdims=True))
            if (still == alive).all():
                return alive
            alive = still


@dataclass(frozen=True, slots=True)
class Halving:
    """Judge every pair, keep the better half, and judge those with more votes, until one is left."""

    votes_per_pair: int = 1
    factor: int = 2

    @property
    def name(self) -> str:
        """Return ``halving:1x2``: the votes of the first round, and by how much they grow."""
        return f"halving:{self.votes_per_pair}x{self.factor}"

    def ask(self, votes: Floats) -> Counts:
        """Ask for what the pairs of the current round lack."""
        return self._play(votes)[0]

    def leaders(self, votes: Floats) -> Flags:
        """Return the last one left; before the end, those with the most votes among the ones still in."""
        return self._play(votes)[1]

    def _play(self, votes: Floats) -> tuple[Counts, Flags]:
        n, k, _ = votes.shape
        asked, so_far = np.zeros((n, k, k)), _asked_so_far(votes)
        alive, going = np.ones((n, k), dtype=bool), np.ones(n, dtype=bool)
        left, target, more = k, 0, self.votes_per_pair
        while left > 1:
            target, more = target + more, more * self.factor
            inside = alive[:, :, None] & alive[:, None, :]
            lacks = np.where(inside, np.maximum(target - so_far, 0.0), 0.0)
            lacks[:, np.arange(k), np.arange(k)] = 0.0
            waits = going & lacks.any(axis=(1, 2))
            asked[waits] = lacks[waits]
            going &= ~waits
            left = (left + 1) // 2 if left > 2 else 1
            kept = _keep_best(votes, alive, left)
            alive[going] = kept[going]
        return _upper(asked), _most_votes(votes, alive)


def _keep_best(votes: Floats, alive: Flags, left: int) -> Flags:
    """Keep those with the most votes among the ones still in; if even, with the most in all."""
    among = (votes * alive[:, None, :]).sum(axis=2)
    among[~alive] = -1.0
    order = np.lexsort((-votes.sum(axis=2), -among), axis=1)
    kept = np.zeros_like(alive)
    np.put_along_axis(kept, order[:, :left], True, axis=1)
    return kept & alive


def _most_votes(votes: Floats, alive: Flags) -> Flags:
    among = (votes * alive[:, None, :]).sum(axis=2)
    among[~alive] = -1.0
    return np.asarray(among == among.max(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Knockout:
    """Pair the candidates off, and let the better of each pair go on: the fewest pairs."""

    votes_per_pair: int = 5

    @property
    def name(self) -> str:
        """Return ``knockout:5``."""
        return f"knockout:{self.votes_per_pair}"

    def ask(self, votes: Floats) -> Counts:
        """Ask for the matches that can be played now."""
        return self._play(votes)[0]

    def leaders(self, votes: Floats) -> Flags:
        """Return the winner of the last match; before the end, those who have not lost one."""
        return self._play(votes)[1]

    def _play(self, votes: Floats) -> tuple[Counts, Flags]:
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
                better = np.where(votes[query, x, y] >= votes[query, y, x], x, y)
                worse = np.where(better == x, y, x)
                alive[query[over], worse[over]] = False
                go_on[:, match], known[:, match] = better, over
            slots, ready = go_on, known
        return _upper(asked), alive


@dataclass(frozen=True, slots=True)
class LeadStop:
    """Let the best known answer meet one challenger after the other, each until one of them has a lead.

    References
    ----------
    The lead of votes is Wald's sequential test (1945) for a vote that is right as often as wrong: a lead of 3
    errs one time in ten at a third of wrong votes, with seven votes on average.
    """

    lead: int = 3
    most: int = 21

    @property
    def name(self) -> str:
        """Return ``lead:3``."""
        return f"lead:{self.lead}"

    def ask(self, votes: Floats) -> Counts:
        """Ask for the fewest votes that could bring the lead."""
        return self._play(votes)[0]

    def leaders(self, votes: Floats) -> Flags:
        """Return the best known answer after the matches decided so far."""
        return self._play(votes)[1]

    def _play(self, votes: Floats) -> tuple[Counts, Flags]:
        n, k, _ = votes.shape
        asked = np.zeros((n, k, k), dtype=np.int64)
        best, going, query = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool), np.arange(n)
        for challenger in range(1, k):
            kept, lost = votes[query, best, challenger], votes[query, challenger, best]
            ahead = kept - lost
            lacks = np.minimum(np.ceil(self.lead - np.abs(ahead)), self.most - kept - lost)
            waits = going & (lacks > 0)
            asked[query[waits], best[waits], challenger] = np.ceil(lacks[waits])
            going &= ~waits
            best = np.where(going & (ahead < 0), challenger, best)
        leaders = np.zeros((n, k), dtype=bool)
        leaders[query, best] = True
        return asked, leaders


@dataclass(frozen=True, slots=True)
class BySize:
    """One strategy for small pools, another for large ones."""

    small: Strategy
    large: Strategy
    limit: int = 5
    """The largest pool that is small."""

    @property
    def name(self) -> str:
        """Return both names."""
        return f"{self.small.name} up to {self.limit}, then {self.large.name}"

    def ask(self, votes: Floats) -> Counts:
        """Ask as the strategy for this size does."""
        return self._for(votes).ask(votes)

    def leaders(self, votes: Floats) -> Flags:
        """Decide as the strategy for this size does."""
        return self._for(votes).leaders(votes)

    def _for(self, votes: Floats) -> Strategy:
        return self.small if votes.shape[1] <= self.limit else self.large


DEFAULT: Strategy = BySize(RoundRobin(3), Halving())
"""Three votes on every pair of a pool of up to five, halving for larger ones."""


def parse_strategy(text: str) -> Strategy:
    """Return the strategy of that name: ``round-robin:3``, ``halving:2x3``, ``knockout:5``, ``lead:3``.

    Raises
    ------
    ValueError
        There is no such strategy.
    """
    kind, _, rest = text.partition(":")
    try:
        numbers = [int(part) for part in rest.split("x")] if rest else []
        if any(number < 1 for number in numbers):
            raise ValueError
        if kind == "default" and not numbers:
            return DEFAULT
        made: Strategy = {
            "round-robin": RoundRobin,
            "halving": Halving,
            "knockout": Knockout,
            "lead": LeadStop,
        }[kind](*numbers)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"no strategy {text!r}: choose from default, round-robin:VOTES, halving:VOTESxFACTOR, "
            "knockout:VOTES, lead:LEAD"
        ) from None
    return made

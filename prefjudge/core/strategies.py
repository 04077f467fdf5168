"""Strategies: which votes to ask for next, and the noise that votes are drawn with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """The votes that a strategy asks for: a row for each pair that needs any."""

    pool: Counts
    x: Counts
    y: Counts
    """Shape (n_pairs,): the pool, and two of its candidates, ``x < y``."""
    votes: Counts
    """Shape (n_pairs,): how many more votes the pair needs."""

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
        """Return how many more votes each pair needs now; nothing of a pool where it has finished.

        ``votes[q, x, y]`` votes so far prefer ``x`` to ``y``; a tie is half a vote to each. The candidates
        are in the order in which they are to be tried, the best known first.
        """

    def leaders(self, votes: Floats) -> Flags:
        """Return who is the best by the votes so far, shape (n, k); several where they are even."""


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
        so_far = votes + votes.transpose(0, 2, 1)
        return _upper(np.maximum(self.votes_per_pair - so_far, 0.0))

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


# Noise: how often votes are wrong, and votes drawn with that error.

USUAL_ERROR = 0.33
"""The share of wrong votes that crowds show on the best passages of a query."""


class Noise(Protocol):
    """How the votes on the candidates of a pool err."""

    def draw_chances(self, n: int, k: int, rng: np.random.Generator) -> tuple[Floats, Counts]:
        """Draw ``n`` pools of ``k`` candidates.

        Returns the probability that a vote prefers ``x`` to ``y``, shape (n, k, k), and who is truly the
        best, (n,).
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LapseNoise:
    """Some votes are cast by chance, whatever is shown; the others follow Bradley and Terry's model."""

    error: float
    """The share of wrong votes on a random pair."""
    lapses: float = 0.0
    """The share of these that any pair would have got, from 0 to 1: 0 is Bradley and Terry's model, and 1 the
    same error on every pair."""

    @property
    def tossed(self) -> float:
        """The share of votes that are cast by chance; half of them are wrong."""
        return 2.0 * self.lapses * self.error

    @property
    def scale(self) -> float:
        """How far apart candidates are for the other votes, in logits; infinite if these are never wrong."""
        if self.lapses >= 1.0:
            return float("inf")
        return scale_of_error(self.error * (1.0 - self.lapses) / (1.0 - self.tossed))

    def draw_chances(self, n: int, k: int, rng: np.random.Generator) -> tuple[Floats, Counts]:
        """Draw the strengths, or the order, of each pool."""
        if self.lapses >= 1.0:
            place = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
            better = place[:, :, None] < place[:, None, :]
            return np.where(better, 1.0 - self.error, self.error), place.argmin(axis=1)
        strength = rng.normal(0.0, self.scale, (n, k))
        chances = 0.5 * (1.0 + np.tanh(0.5 * (strength[:, :, None] - strength[:, None, :])))
        return 0.5 * self.tossed + (1.0 - self.tossed) * chances, strength.argmax(axis=1)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
# The size of a difference of two strengths is half-normal; beyond ten deviations nothing is left.
_GAP = 10.0 * 0.5 * (_NODES + 1.0)
_DENSITY = _WEIGHTS * (np.sqrt(2.0 / np.pi) * np.exp(-0.5 * _GAP**2) * 10.0 * 0.5)


@lru_cache(maxsize=1024)
def error_of_scale(scale: float) -> float:
    """Return the share of wrong votes on a random pair whose strengths have this standard deviation."""
    # logistic(-x) = (1 - tanh(x / 2)) / 2 with x = sqrt(2) x scale x gap.
    wrong = 0.5 * (1.0 - np.tanh(np.sqrt(0.5) * scale * _GAP))
    return float((_DENSITY * wrong).sum())


def log_weight_of_golds(error: float, *, right: int, missed: int) -> float:
    """Return the log of the evidence of the answers to gold pairs for a share of wrong votes."""
    # The chance to miss a gold pair is uniform on 0 to ``error``: the likelihood, integrated over it, is an
    # incomplete beta function over ``error``, up to a constant.
    golds = float(scipy.special.betainc(missed + 1, right + 1, error))
    return float(np.log(max(golds, 1e-300)) - np.log(error))


@lru_cache(maxsize=256)
def scale_of_error(error: float) -> float:
    """Return the standard deviation of strengths at which a random pair has this share of wrong votes."""
    if not 0.0 < error < 0.5:
        raise ValueError(f"a share of wrong votes must be between 0 and 0.5, not {error}")
    low, high = 1e-6, 1e4
    for _ in range(50):
        # The share falls as the scale grows; halving its logarithm serves ten orders of magnitude alike.
        middle = np.sqrt(low * high)
        low, high = (middle, high) if error_of_scale(float(middle)) > error else (low, middle)
    return float(np.sqrt(low * high))

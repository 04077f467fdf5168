"""Vote noise: what a leaderboard owes to the chance of its votes, and how far others can agree with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.pooling.qrels import Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.correlation import NoiseCeiling, kendall_tau
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.testing.integer_scores import Column, Matrix

Rescore = Callable[[np.random.Generator], Sequence[Scores]]
"""Draws votes, resolves them again and scores the runs under the resulting qrels: once for each measure."""

_CELLS = 1000
_FEWEST, _MOST = 16, 64
"""The covariance is a sum over queries: so many redraws of each, and queries times redraws about so many."""
_ENOUGH, _LEAST = 1 << 14, 4
"""With so many queries times redraws the covariance is known far better than the ceiling's pairs can tell."""
_PAIRS = 400
"""Pairs of leaderboards in a ceiling: their mean tau is then known to about 0.01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteNoise:
    """A leaderboard without the noise of its votes, as far as that can be told, and the noise.

    Attributes
    ----------
    runs : tuple of str
    signal : ndarray of float64, shape (runs,)
        Mean scores, the greater the better: those observed, shrunk about their mean until they vary by as
        much as the noise leaves.
    share : float
        The share of the observed variance between runs that is not noise, from 0 to 1.
    root : ndarray of float64, shape (runs, runs)
        ``root @ root.T`` is the covariance of the mean scores over votings on the same queries.
    """

    runs: tuple[str, ...]
    signal: Column
    share: float
    root: Matrix

    def boards(self, count: int, rng: np.random.Generator) -> Matrix:
        """Return the mean scores of the runs under other votings, shape (count, runs)."""
        boards: Matrix = self.signal + rng.standard_normal((count, len(self.runs))) @ self.root.T
        return boards


def measure_noise(
    rescore: Rescore, observed: Sequence[Scores], *, rng: np.random.Generator
) -> list[VoteNoise]:
    """Find how the mean scores of runs vary over votings on the same queries.

    Parameters
    ----------
    rescore : callable
        Takes a generator, draws votes with it, and returns the scores of the same runs for each measure. A
        query that the drawn votes do not decide may be absent.
    observed : sequence of Scores
        The scores with the votes as they were cast, one for each measure, over the same queries.
    rng : Generator

    Raises
    ------
    ValueError
        The drawn scores are of other runs.

    Notes
    -----
    A redrawn leaderboard must not be compared with another redrawn one: the votes that were cast are noisy,
    the model of them is doubtful, and votes drawn from it are noisy once more. So only the covariance is
    taken from redraws. Votes of different queries have nothing to do with each other, so it is the sum of the
    queries' own, and few redraws of many queries tell it. What was observed is signal plus such noise, so the
    signal has the observed variance less the noise's: the observed leaderboard, shrunk about its mean by the
    root of that share. By the central limit theorem the noise of a mean over queries is normal.
    """
    queries = len(observed[0].queries)
    redraws = _redraws(queries)
    sums = [np.zeros(scores.values.shape) for scores in observed]
    squares = [np.zeros((len(scores.runs), len(scores.runs))) for scores in observed]
    for stream in rng.spawn(redraws):
        for number, (scores, drawn) in enumerate(zip(observed, rescore(stream), strict=True)):
            values = _over(scores, drawn)
            sums[number] += values
            squares[number] += values.T @ values
    found = []
    for scores, total, square in zip(observed, sums, squares, strict=True):
        covariance = (square - total.T @ total / redraws) / ((redraws - 1) * max(1, queries) ** 2)
        found.append(_apart(scores, covariance))
    return found


def _redraws(queries: int) -> int:
    few = int(np.clip(-(-_CELLS // max(1, queries)), _FEWEST, _MOST))
    return max(_LEAST, min(few, -(-_ENOUGH // max(1, queries))))


def _over(scores: Scores, drawn: Scores) -> Matrix:
    """Return the drawn scores of the observed queries; a query that was not decided keeps its own."""
    if drawn.runs != scores.runs:
        raise ValueError("the scores with new votes have other runs, or the same in another order")
    if drawn.queries == scores.queries:
        return drawn.values
    place = {query: row for row, query in enumerate(drawn.queries)}
    rows = np.array([place.get(query, -1) for query in scores.queries])
    if (rows < 0).all():
        return scores.values
    return np.where(rows[:, None] >= 0, drawn.values[rows], scores.values)


def _apart(scores: Scores, covariance: Matrix) -> VoteNoise:
    """Part the observed leaderboard into signal and noise."""
    board = direction(scores.measure) * scores.values.mean(axis=0)
    runs = len(scores.runs)
    share, signal = 0.0, board
    if runs > 1:
        seen = board.var(ddof=1)
        # Noise that all runs share moves no order: what counts is how it varies between runs.
        noise = (np.trace(covariance) - covariance.mean() * runs) / (runs - 1)
        share = float(np.clip(1 - noise / seen, 0.0, 1.0)) if seen else 0.0
        signal = board.mean() + np.sqrt(share) * (board - board.mean())
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return VoteNoise(runs=scores.runs, signal=signal, share=share, root=root)


def redrawn_ceiling(noise: VoteNoise, *, confidence: float = 0.95, rng: np.random.Generator) -> NoiseCeiling:
    """Return how well leaderboards of independent votings like this one agree.

    Parameters
    ----------
    noise : VoteNoise
    confidence : float
        How much of the distribution ``low`` and ``high`` enclose.
    rng : Generator
    """
    boards = noise.boards(2 * _PAIRS, rng)
    # Noise below rounding is none: runs that tie in every voting still tie.
    scale = np.abs(boards).max(initial=1e-300)
    boards = np.round(boards / scale, 12)
    ceiling = noise_ceiling(list(zip(boards[0::2], boards[1::2], strict=True)), confidence=confidence)
    return replace(ceiling, by="redrawn votes")


def noise_ceiling(pairs: Sequence[tuple[Column, Column]], *, confidence: float = 0.95) -> NoiseCeiling:
    """Summarise Kendall's tau over pairs of leaderboards that rest on independent votes.

    Parameters
    ----------
    pairs : sequence of (ndarray, ndarray), each of shape (runs,)
        Mean scores of the same runs.
    confidence : float
        How much of the distribution ``low`` and ``high`` enclose.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence:g}", "Give a share between 0 and 1, such as 0.95.")
    taus = np.array([kendall_tau(one, other) for one, other in pairs])
    taus = taus[np.isfinite(taus)]
    value = low = high = float("nan")
    if taus.size:
        value = float(taus.mean())
        low, high = np.quantile(taus, [0.5 - confidence / 2, 0.5 + confidence / 2]).tolist()
    return NoiseCeiling(
        value=value, low=low, high=high, by="sets of judgments", pairs=int(taus.size), confidence=confidence
    )

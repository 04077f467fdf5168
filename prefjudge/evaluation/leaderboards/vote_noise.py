"""Vote noise: what a leaderboard owes to the chance of its votes, and how far other boards agree with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.correlation import TwoVotings, kendall_tau
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.testing.integer_scores import Column, Matrix

Rescore = Callable[
    [np.random.Generator, Sequence[str]], tuple[Sequence[Scores], Sequence[Scores], Sequence[Scores]]
]
"""Draws what is true of all queries and lets people vote on some of them twice. Scores the runs by the truth
and by either voting: once for each measure."""

_CELLS = 1000
_FEWEST, _MOST = 4, 32
"""The covariance is a sum over queries: so many truths are drawn, of so many queries in all."""
_ROUNDING = 1e-9
"""So small a part of the greatest variance is none."""
_PAIRS = 400
"""Pairs of leaderboards that are compared: their mean tau is then known to about 0.01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteNoise:
    """A leaderboard, and how much of it is the noise of its votes, as far as that can be told.

    Attributes
    ----------
    runs : tuple of str
    board : ndarray of float64, shape (runs,)
        The mean scores observed, the greater the better.
    noisy : float
        The variance between runs that the noise makes, as a share of the one observed: more than 1 where
        chance has made the runs more alike than the votes alone would.
    freedom : float
        By how many degrees of freedom the observed variance tells the one that other votings would show.
    root : ndarray of float64, shape (runs, runs)
        ``root @ root.T`` is the covariance of the mean scores over votings on the same queries.
    truths : ndarray of float64, shape (boards, runs)
        The mean scores by what may be true, given the votes: draws from the posterior.
    told : bool
        Whether the votes tell how many of them are wrong; if not, the noise is that of usual crowds.
    """

    runs: tuple[str, ...]
    board: Column
    noisy: float
    freedom: float
    root: Matrix
    truths: Matrix
    told: bool = True

    @property
    def share(self) -> float:
        """The share of the variance that is not noise, from -1 to 1: as probably too high as too low."""
        middle = 2.0 * float(scipy.special.gammaincinv(0.5 * self.freedom, 0.5)) / self.freedom
        return max(1.0 - self.noisy * middle, -1.0)

    def pairs(self, count: int, rng: np.random.Generator, *, sure: bool) -> tuple[Matrix, Matrix]:
        """Return the boards of pairs of votings, shape (count, runs) each.

        Parameters
        ----------
        count : int
        rng : Generator
        sure : bool
            Whether the signal is taken for known. A share below 0 then makes the signals of a pair opposite,
            so that the mean over studies is right. Else each pair has a share that the board allows, of 0 or
            more.
        """
        if sure:
            share = np.full(count, self.share)
        else:
            share = np.clip(1.0 - self.noisy * rng.chisquare(self.freedom, count) / self.freedom, 0.0, 1.0)
        centre, one = self.board.mean(), self._shrunk(np.abs(share))
        other = centre + np.where(share < 0, -1.0, 1.0)[:, None] * (one - centre)
        return one + self._noise(count, rng), other + self._noise(count, rng)

    def _shrunk(self, share: Column) -> Matrix:
        centre = self.board.mean()
        found: Matrix = centre + np.sqrt(share)[:, None] * (self.board - centre)
        return found

    def _noise(self, count: int, rng: np.random.Generator) -> Matrix:
        drawn: Matrix = rng.standard_normal((count, len(self.runs))) @ self.root.T
        return drawn


def measure_noise(
    rescore: Rescore, observed: Sequence[Scores], *, rng: np.random.Generator, told: bool = True
) -> list[VoteNoise]:
    """Find how the mean scores of runs vary over votings on the same queries, and what they may truly be.

    Parameters
    ----------
    rescore : callable
        Takes a generator and some of the queries, draws what is true of all, has two votings on some, and
        returns the scores of the same runs by the truth and under both votings, for each measure. A query
        that the votes do not decide may be absent.
    observed : sequence of Scores
        The scores with the votes as they were cast, one for each measure, over the same queries.
    rng : Generator
    told : bool
        Whether the votes tell how many of them are wrong.

    Raises
    ------
    ValueError
        The drawn scores are of other runs.

    Notes
    -----
    Two votings on one truth differ by noise alone: it varies by half the square of their difference. The
    truth is not known, so that is averaged over what it may be. Votes of different queries have nothing to
    do with each other: the covariance is the sum of the queries' own, and a sample of many queries tells it.
    What was observed is signal plus such noise, so the signal has the observed variance less the noise's. By
    the central limit theorem the noise of a mean over queries is normal.
    """
    queries = len(observed[0].queries)
    truths = int(np.clip(-(-_CELLS // max(1, queries)), _FEWEST, _MOST))
    many = min(queries, _CELLS // _FEWEST)
    squares = [np.zeros((len(scores.runs), len(scores.runs))) for scores in observed]
    drawn: list[list[Matrix]] = [[] for _ in observed]
    for stream in rng.spawn(truths):
        keep = np.zeros(queries, dtype=bool)
        keep[stream.choice(queries, many, replace=False)] = True
        some = [scores.where(keep) for scores in observed]
        truth, *votings = rescore(stream, some[0].queries)
        for number, (scores, one, other) in enumerate(zip(some, *votings, strict=True)):
            difference = _over(scores, one) - _over(scores, other)
            squares[number] += difference.T @ difference
            drawn[number].append(_over(observed[number], truth[number]))
    # The noise of a mean is that of one query, on average, divided by how many there are.
    pairs = max(1, truths * many * queries)
    return [
        _apart(scores, 0.5 * square / pairs, _boards(scores, np.stack(every), rng), told)
        for scores, square, every in zip(observed, squares, drawn, strict=True)
    ]


def _boards(scores: Scores, drawn: NDArray[np.float64], rng: np.random.Generator) -> Matrix:
    """Return boards of which each query has one of its drawn scores: queries have nothing to do with others.

    ``drawn`` has the shape (truths, queries, runs). Few draws so tell how boards vary.
    """
    truths, queries, runs = drawn.shape
    boards = np.zeros((_PAIRS, runs))
    for number in range(queries):
        boards += drawn[rng.integers(truths, size=_PAIRS), number]
    boards *= direction(scores.measure) / max(1, queries)
    return boards


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


def _between(products: Matrix) -> float:
    """Return how far runs differ, given sums of products: what all runs share moves no order."""
    return float(np.trace(products) - products.sum() / len(products)) if products.size else 0.0


def _apart(scores: Scores, covariance: Matrix, truths: Matrix, told: bool) -> VoteNoise:
    """Hold the noise against the observed leaderboard."""
    board = direction(scores.measure) * scores.values.mean(axis=0)
    runs = len(scores.runs)
    noisy, freedom = 1.0, 1.0
    if runs > 1:
        seen, noise = float(board.var(ddof=1)), _between(covariance) / (runs - 1)
        noisy = noise / seen if seen else 1.0
        # Satterthwaite: runs whose noise is alike are fewer than they seem.
        centred = covariance - covariance.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        squares = float((centred**2).sum())
        freedom = max(1.0, float(np.trace(centred)) ** 2 / squares) if squares else runs - 1.0
    values, vectors = np.linalg.eigh(covariance)
    # The root of a rounding error is none: it would part runs that tie in every voting.
    root = vectors * np.sqrt(np.where(values > _ROUNDING * values.max(initial=0.0), values, 0.0))
    return VoteNoise(
        runs=scores.runs, board=board, noisy=noisy, freedom=freedom, root=root, truths=truths, told=told
    )


def redrawn_votings(noise: VoteNoise, *, confidence: float = 0.95, rng: np.random.Generator) -> TwoVotings:
    """Return how well leaderboards of independent votings like this one agree, and this one with the truth.

    The value is right on average over studies, and so may be below 0 in one of few runs. The interval counts
    how badly the board tells its own signal. That of the truth is a posterior mean.

    Parameters
    ----------
    noise : VoteNoise
    confidence : float
        How much of the distribution ``low`` and ``high`` enclose.
    rng : Generator
    """
    value, spread = (
        compare_votings(_rounded(*noise.pairs(_PAIRS, rng, sure=sure)), confidence=confidence)
        for sure in (True, False)
    )
    truth = compare_votings(
        _rounded(noise.truths, np.tile(noise.board, (len(noise.truths), 1))), confidence=confidence
    )
    return replace(
        value,
        low=spread.low,
        high=spread.high,
        truth=truth.value,
        truth_low=truth.low,
        truth_high=truth.high,
        by="redrawn votes",
        rests_on="votes" if noise.told else "prior",
    )


def _rounded(one: Matrix, other: Matrix) -> list[tuple[Column, Column]]:
    """Return the pairs of boards. Noise below rounding is none: runs that tie in every voting still tie."""
    scale = max(np.abs(one).max(initial=1e-300), np.abs(other).max(initial=1e-300))
    return list(zip(np.round(one / scale, 12), np.round(other / scale, 12), strict=True))


def compare_votings(pairs: Sequence[tuple[Column, Column]], *, confidence: float = 0.95) -> TwoVotings:
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
    return TwoVotings(
        value=value, low=low, high=high, by="sets of judgments", pairs=int(taus.size), confidence=confidence
    )

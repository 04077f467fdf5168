"""Rank stability: would the leaderboard stand with other queries, other labels, or other votes?

Craswell et al. ("MS MARCO: Benchmarking Ranking Models in the Large-Data Regime", SIGIR 2021, section 3) draw
query sets of the same size with replacement and count at which rank each run ends up.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.vote_noise import VoteNoise
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.testing import resampling
from prefjudge.evaluation.testing.difference_sums import BLOCK
from prefjudge.evaluation.testing.integer_scores import Column, Matrix, to_grid


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability:
    """The ranks of runs under bootstrapping (Craswell et al., Tables 1 and 2, Figure 3).

    Attributes
    ----------
    measure, qrels : str
        What was scored.
    queries, trials : int
        How many queries a sample holds and how many samples were drawn.
    confidence : float
        The level of the rank intervals.
    votes : bool
        Whether a trial is another voting on the same queries, and not a sample of the queries. Such a sample
        carries the noise of the votes, too.
    runs : tuple of str
        In the order of the leaderboard, best first.
    mean : ndarray of float64, shape (runs,)
        The mean score over the queries as they are.
    share : ndarray of float64, shape (runs, runs)
        In which share of the trials the run (row) took each rank (column, from rank 1). Runs that tie share
        the ranks that they occupy, so that rows and columns sum to 1.
    expected : ndarray of float64, shape (runs,)
        The mean rank over the trials.
    low, high : ndarray of int64, shape (runs,)
        The rank interval: from and to which rank the run comes in the middle ``confidence`` of the trials.
    """

    measure: str
    qrels: str
    queries: int
    trials: int
    confidence: float
    votes: bool
    runs: tuple[str, ...]
    mean: Column
    share: Matrix
    expected: Column
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def bootstrap_ranks(
    scores: Scores,
    *,
    trials: int = 1000,
    confidence: float = 0.95,
    rng: np.random.Generator,
    block: int = BLOCK,
) -> RankStability:
    """Rank the runs on samples of the queries, as many as there are, drawn with replacement.

    Parameters
    ----------
    scores : Scores
    trials : int
        How many samples to draw.
    confidence : float
        The level of the rank intervals.
    rng : Generator
        The same state gives the same result with any ``block``.
    block : int
        How many numbers to hold at a time.
    """
    _check(trials, confidence, scores)
    grid = to_grid(scores.values)
    places = _Places(scores)
    for sums in resampling.bootstrap_sums(grid, trials, rng, block=block):
        places.add(sums, len(scores.queries) * grid.slack)
    return places.result(scores, trials, confidence, votes=False)


def redrawn_ranks(
    noise: VoteNoise,
    scores: Scores,
    *,
    trials: int = 1000,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> RankStability:
    """Rank the runs under other votings on the same queries.

    Parameters
    ----------
    noise : VoteNoise
        Of the same scores.
    scores : Scores
        The scores with the votes as they were cast: the order of the leaderboard.
    trials : int
    confidence : float
    rng : Generator

    Notes
    -----
    Samples of the queries (`bootstrap_ranks`) already carry the noise of the votes, since each query brings
    its own votes with it: this is how much of that the votes alone make.
    """
    _check(trials, confidence, scores)
    places = _Places(scores)
    boards = noise.boards(trials, rng)
    # Noise below rounding is none: runs that tie in every voting still tie.
    places.add(places.sign * boards, 1e-12 * float(np.abs(boards).max(initial=0.0)))
    return places.result(scores, trials, confidence, votes=True)


def split_queries(scores: Scores, held_out: Collection[str]) -> tuple[Scores, Scores]:
    """Split the scores into public and held-out queries (Craswell et al., section 3.2).

    Labels may judge one of the parts only, as TREC's do: then the other has no query.
    """
    kept = set(held_out)
    private = np.array([query in kept for query in scores.queries], dtype=np.bool_)
    return scores.where(~private), scores.where(private)


def _check(trials: int, confidence: float, scores: Scores) -> None:
    if trials < 1:
        raise InputError(many(trials, "trial"), "Ask for at least one.")
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence:g}", "Give a share between 0 and 1, such as 0.95.")
    if not scores.runs or len(scores.queries) < 2:
        raise InputError(
            f"{many(len(scores.runs), 'run')} and {many(len(scores.queries), 'judged query')} "
            f"under {scores.qrels}",
            "To ask for ranks under other queries takes a run and at least two queries.",
        )


class _Places:
    """Counts the ranks of runs over trials."""

    def __init__(self, scores: Scores) -> None:
        self.sign = direction(scores.measure)
        grid = to_grid(scores.values)
        self.mean = grid.values.sum(axis=0) * grid.unit / len(scores.queries)
        self.order = np.argsort(-self.sign * self.mean, kind="stable")
        runs = len(scores.runs)
        self.alone = np.zeros((runs, runs), dtype=np.int64)
        self.tied = np.zeros((runs, runs + 1))
        self.ranks = np.zeros(runs)

    def add(self, sums: Matrix, slack: float) -> None:
        """Count the ranks of some trials: ``sums`` has shape (trials, runs)."""
        runs = self.order.size
        goodness = self.sign * sums[:, self.order]
        down = np.argsort(-goodness, axis=1, kind="stable")
        ordered = np.take_along_axis(goodness, down, axis=1)
        # Every trial starts a group of ties, so no group reaches over two trials.
        fresh = np.ones(ordered.shape, dtype=np.bool_)
        fresh[:, 1:] = ordered[:, :-1] - ordered[:, 1:] > slack
        start = np.flatnonzero(fresh)
        size = np.diff(start, append=fresh.size)
        first = np.repeat(start % runs, size).reshape(ordered.shape)
        width = np.repeat(size, size).reshape(ordered.shape)
        single = width == 1
        self.alone += np.bincount(down[single] * runs + first[single], minlength=runs * runs).reshape(
            runs, runs
        )
        # Runs tied over s ranks take 1 / s of each: as a difference array, +1 / s at the first rank and
        # -1 / s behind the last, which `result` sums up: two additions for a tie of any size.
        who, at, several = down[~single], first[~single], width[~single]
        np.add.at(self.tied, (who, at), 1 / several)
        np.add.at(self.tied, (who, at + several), -1 / several)
        middle = first + (width + 1) / 2
        self.ranks += np.bincount(down.ravel(), weights=middle.ravel(), minlength=runs)

    def result(self, scores: Scores, trials: int, confidence: float, *, votes: bool) -> RankStability:
        share = (self.alone + np.cumsum(self.tied, axis=1)[:, :-1]) / trials
        reached = np.cumsum(share, axis=1)
        outside = (1 - confidence) / 2
        return RankStability(
            measure=scores.measure,
            qrels=scores.qrels,
            queries=len(scores.queries),
            trials=trials,
            confidence=confidence,
            votes=votes,
            runs=tuple(scores.runs[run] for run in self.order),
            mean=self.mean[self.order],
            share=np.clip(share, 0.0, 1.0),
            expected=self.ranks / trials,
            low=np.argmax(reached > outside + 1e-12, axis=1).astype(np.int64) + 1,
            high=np.argmax(reached >= 1 - outside - 1e-12, axis=1).astype(np.int64) + 1,
        )

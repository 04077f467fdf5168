"""Rank stability: would the leaderboard stand with other queries, or other labels?

Craswell et al. ("MS MARCO: Benchmarking Ranking Models in the Large-Data Regime", SIGIR 2021, section 3) draw
query sets of the same size with replacement and count at which rank each run ends up. The spread of these
ranks is no interval for the true ones: of few queries it holds too few of them.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.tiers import rank_intervals
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.testing import resampling
from prefjudge.evaluation.testing.difference_sums import BLOCK
from prefjudge.evaluation.testing.integer_scores import Column, Matrix, to_grid

SHARES_FROM = 30
"""The fewest queries whose samples tell a share of a rank: of fewer they are too much like each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability:
    """The ranks that runs may have, and those under bootstrapping (Craswell et al., Tables 1, 2, Figure 3).

    Attributes
    ----------
    measure, qrels : str
        What was scored.
    queries, trials : int
        How many queries a sample holds and how many samples were drawn.
    confidence : float
        The level of the rank intervals.
    interval : {'t tests', 'bootstrap'}
        What they rest on: paired t tests of all pairs with Holm's correction, as the tiers of a leaderboard
        do, so that all of them hold together; or the middle of the ranks over the trials, as in the paper.
    runs : tuple of str
        In the order of the leaderboard, best first.
    mean : ndarray of float64, shape (runs,)
        The mean score over the queries as they are.
    share : ndarray of float64, shape (runs, runs), or None
        In which share of the trials the run (row) took each rank (column, from rank 1). Runs that tie share
        the ranks that they occupy, so that rows and columns sum to 1. None of fewer than 30 queries.
    expected : ndarray of float64, shape (runs,), or None
        The mean rank over the trials; None of fewer than 30 queries.
    low, high : ndarray of int64, shape (runs,)
        The rank interval.
    """

    measure: str
    qrels: str
    queries: int
    trials: int
    confidence: float
    interval: Literal["t tests", "bootstrap"]
    runs: tuple[str, ...]
    mean: Column
    share: Matrix | None
    expected: Column | None
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
        How many samples to draw; none of fewer than 30 queries.
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
    drawn = trials if len(scores.queries) >= SHARES_FROM else 0
    for sums in resampling.bootstrap_sums(grid, drawn, rng, block=block) if drawn else ():
        places.add(sums, len(scores.queries) * grid.slack)
    return places.result(scores, drawn, confidence)


def in_the_middle(ranks: RankStability) -> RankStability:
    """Return the ranks with the paper's intervals: the middle ``confidence`` of the trials."""
    if ranks.share is None:
        return ranks
    reached = np.cumsum(ranks.share, axis=1)
    outside = (1 - ranks.confidence) / 2
    return replace(
        ranks,
        interval="bootstrap",
        low=np.argmax(reached > outside + 1e-12, axis=1).astype(np.int64) + 1,
        high=np.argmax(reached >= 1 - outside - 1e-12, axis=1).astype(np.int64) + 1,
    )


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

    def result(self, scores: Scores, trials: int, confidence: float) -> RankStability:
        taken = self.alone + np.cumsum(self.tied, axis=1)[:, :-1]
        firm = {one.run: one for one in rank_intervals(scores, alpha=round(1 - confidence, 12))}
        runs = tuple(scores.runs[run] for run in self.order)
        return RankStability(
            measure=scores.measure,
            qrels=scores.qrels,
            queries=len(scores.queries),
            trials=trials,
            confidence=confidence,
            interval="t tests",
            runs=runs,
            mean=self.mean[self.order],
            share=np.clip(taken / trials, 0.0, 1.0) if trials else None,
            expected=self.ranks / trials if trials else None,
            low=np.array([firm[run].highest for run in runs], dtype=np.int64),
            high=np.array([firm[run].lowest for run in runs], dtype=np.int64),
        )

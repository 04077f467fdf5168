"""Rank stability: would the leaderboard stand with other queries, other labels, or other votes?

Craswell et al. ("MS MARCO: Benchmarking Ranking Models in the Large-Data Regime", SIGIR 2021, section 3) draw
query sets of the same size with replacement and count at which rank each run ends up.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.correlation import kendall_tau
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.testing import resampling
from prefjudge.evaluation.testing.difference_sums import BLOCK
from prefjudge.evaluation.testing.integer_scores import Column, Matrix, to_grid

Rescore = Callable[[np.random.Generator], Scores]
"""Draws votes, resolves them again and scores the runs under the resulting qrels."""


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
        Whether each trial also redrew its votes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCeiling:
    """How well leaderboards agree that rest on independent votes, so that only the votes differ.

    Attributes
    ----------
    tau : float
        The mean of Kendall's tau over pairs of leaderboards. No leaderboard can agree better with these
        preferences than they agree with themselves.
    low, high : float
        The middle ``confidence`` of the taus.
    pairs : int
        How many pairs of leaderboards were compared.
    confidence : float
    """

    tau: float
    low: float
    high: float
    pairs: int
    confidence: float


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


def bootstrap_votes(
    rescore: Rescore,
    scores: Scores,
    *,
    trials: int = 200,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> tuple[RankStability, NoiseCeiling]:
    """Rank the runs on samples of both votes and queries, and find the noise ceiling of the votes.

    Parameters
    ----------
    rescore : callable
        Takes a generator, draws votes with it, resolves them and returns the scores of the same runs with the
        new preference qrels. It is called once a trial, each time with a generator of its own.
    scores : Scores
        The scores with all votes as they are: the order of the leaderboard.
    trials : int
        At least 2. The noise ceiling compares the first with the second trial, the third with the fourth and
        so on, each over all queries.
    confidence : float
    rng : Generator

    Returns
    -------
    RankStability, NoiseCeiling
    """
    _check(trials, confidence, scores)
    if trials < 2:
        raise InputError("one trial cannot be compared with another", "Ask for at least two trials.")
    places = _Places(scores)
    boards = []
    for stream in rng.spawn(trials):
        drawn = rescore(stream)
        if drawn.runs != scores.runs:
            raise ValueError("the scores with new votes have other runs, or the same in another order")
        grid = to_grid(drawn.values)
        boards.append(grid.values.sum(axis=0) * (grid.unit / max(1, len(drawn.queries))))
        for sums in resampling.bootstrap_sums(grid, 1, stream):
            places.add(sums, len(drawn.queries) * grid.slack)
    ceiling = noise_ceiling(list(zip(boards[0::2], boards[1::2], strict=False)), confidence=confidence)
    return places.result(scores, trials, confidence, votes=True), ceiling


def noise_ceiling(pairs: Sequence[tuple[Column, Column]], *, confidence: float = 0.95) -> NoiseCeiling:
    """Summarise Kendall's tau over pairs of leaderboards.

    Parameters
    ----------
    pairs : sequence of (ndarray, ndarray), each of shape (runs,)
        Mean scores of the same runs from independent votes.
    confidence : float
        How much of the distribution ``low`` and ``high`` enclose.
    """
    taus = np.array([kendall_tau(one, other) for one, other in pairs])
    taus = taus[np.isfinite(taus)]
    if not taus.size:
        nothing = float("nan")
        return NoiseCeiling(tau=nothing, low=nothing, high=nothing, pairs=0, confidence=confidence)
    low, high = np.quantile(taus, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return NoiseCeiling(
        tau=float(taus.mean()), low=float(low), high=float(high), pairs=int(taus.size), confidence=confidence
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

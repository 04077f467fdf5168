"""Leaderboards: runs in order of a score, with intervals and the perfect ranking."""

from dataclasses import dataclass, replace
from math import isfinite, nan

import numpy as np

from prefjudge.core.pooling.qrels import Scores
from prefjudge.core.pooling.runs import Order
from prefjudge.evaluation.leaderboards.perfect import against_perfect
from prefjudge.evaluation.scoring.measures import bounds, direction, in_logarithms
from prefjudge.evaluation.testing.intervals import Interval, Statistic, score_intervals

_ALPHA = 0.05
"""The level at which a run is better than perfect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One run of a leaderboard.

    Attributes
    ----------
    rank : int or None
        The place, from 1; equal scores share the best of their places. None for the perfect ranking.
    run : str
        The run tag, or what the perfect ranking is called.
    score, low, high : float
        The mean (or median) over the judged queries and its confidence interval, as far as the measure's
        scale reaches; NaN bounds where nothing can be said. Of GMAP the geometric mean.
    interval : str
        How the bounds were made: see `prefjudge.evaluation.testing.intervals.score_intervals`.
    hit : int
        On how many queries the run does not have the worst score of the scale.
    queries : int
        How many queries the score is over. The perfect ranking has those that both label sets judge.
    perfect : bool
        Whether this is the perfect ranking, which takes no rank.
    above_perfect : bool or None
        "Better than perfect": whether the run scores above the perfect ranking on the queries of the latter,
        and a paired test (of means t, of medians the sign test) with Holm's correction over the runs bears it
        out at 5 %. None where there is no perfect ranking.
    above_perfect_by : float
        By how much the run scores better than the perfect ranking on those queries; NaN without one.
    p_above_perfect : float
        The corrected p-value of that test, which is two-sided; NaN without a perfect ranking.
    """

    rank: int | None
    run: str
    score: float
    low: float
    high: float
    interval: Interval
    hit: int
    queries: int
    perfect: bool = False
    above_perfect: bool | None = None
    above_perfect_by: float = nan
    p_above_perfect: float = nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs from best to worst under one measure and one set of qrels.

    Attributes
    ----------
    measure, qrels : str
        What was computed from which labels.
    statistic : str
        ``mean`` or ``median``.
    confidence : float
        The intervals' level.
    queries : int
        How many judged queries the statistic is over.
    order : Order
        The ordering that ranked the documents.
    rows : tuple of LeaderboardRow
        Best first; equal scores stand in order of the run tag. The perfect ranking stands last where its
        queries are not all of the runs': there its score has no place among theirs.
    """

    measure: str
    qrels: str
    statistic: Statistic
    confidence: float
    queries: int
    order: Order
    rows: tuple[LeaderboardRow, ...]

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """The rows of runs, without the perfect ranking."""
        return tuple(row for row in self.rows if not row.perfect)

    @property
    def interval(self) -> str:
        """How the bounds were made: ``t``, ``Gaffke``, ``t and Gaffke``, or ``order statistics``."""
        return " and ".join(sorted({row.interval for row in self.rows}, reverse=True))

    @property
    def perfect(self) -> LeaderboardRow | None:
        """The row of the perfect ranking, where there is one."""
        return next((row for row in self.rows if row.perfect), None)


def leaderboard(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    confidence: float = 0.95,
    perfect: Scores | None = None,
) -> Leaderboard:
    """Order the runs of a score matrix and give each score an interval.

    Parameters
    ----------
    scores : Scores
        The query x run matrix.
    statistic : {'mean', 'median'}
        What a run is ordered by.
    confidence : float
        The level of the intervals.
    perfect : Scores, optional
        The scores of the perfect ranking under other labels, on some of the queries (see
        :func:`prefjudge.evaluation.leaderboards.perfect.perfect_scores`). It takes no rank, and each run is
        tested against it.

    Returns
    -------
    Leaderboard
        The rows from best to worst.
    """
    sign = direction(scores.measure)
    rows = _rows(scores, statistic, confidence)
    rivals = np.sort([-sign * row.score for row in rows])
    rows = [replace(row, rank=int(np.searchsorted(rivals, -sign * row.score)) + 1) for row in rows]
    if perfect is not None:
        apart = against_perfect(scores, perfect, statistic)
        rows = [
            replace(
                row,
                above_perfect=bool(sign * by > 0 and p <= _ALPHA),
                above_perfect_by=sign * float(by),
                p_above_perfect=float(p),
            )
            for row, by, p in zip(rows, apart.difference, apart.p, strict=True)
        ]
        rows += [replace(row, perfect=True) for row in _rows(perfect, statistic, confidence)]
    rows.sort(key=lambda row: (row.queries < len(scores.queries), -sign * row.score, row.run))
    return Leaderboard(
        measure=scores.measure,
        qrels=scores.qrels,
        statistic=statistic,
        confidence=confidence,
        queries=len(scores.queries),
        order=scores.order,
        rows=tuple(rows),
    )


def _rows(scores: Scores, statistic: Statistic, confidence: float) -> list[LeaderboardRow]:
    """Return each run's score with its interval, in the order of the columns and without a rank."""
    ends = bounds(scores.measure)
    found = score_intervals(scores.values, statistic=statistic, confidence=confidence, ends=ends)
    # Of logarithms the mean is that of a geometric mean; the exponential keeps the order and the interval.
    shown = np.exp if in_logarithms(scores.measure) else np.float64
    worst = ends[0] if direction(scores.measure) > 0 else ends[1]
    hit = (scores.values != (worst if isfinite(worst) else 0.0)).sum(axis=0)
    return [
        LeaderboardRow(
            rank=None,
            run=run,
            score=float(shown(found.centre[column])),
            low=_end(shown(found.low[column])),
            high=_end(shown(found.high[column])),
            interval=found.methods[column],
            hit=int(hit[column]),
            queries=len(scores.queries),
        )
        for column, run in enumerate(scores.runs)
    ]


def _end(bound: float) -> float:
    """Return an end of an interval; every NaN is one object, so that equal rows are equal."""
    return float(bound) if isfinite(bound) else nan

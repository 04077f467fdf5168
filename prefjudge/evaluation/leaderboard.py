"""Leaderboards: runs in order of a score, with intervals and the perfect ranking."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal

import numpy as np

from prefjudge.core.qrels import JudgedRanks, Qrels, Scores
from prefjudge.core.runs import Codes, Order, encode
from prefjudge.evaluation.intervals import Statistic, mean_interval, median_interval
from prefjudge.evaluation.measures import bounds, direction
from prefjudge.evaluation.placings import Floats, number_in_group

Interval = Literal["t", "order statistics"]


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
        scale reaches; NaN bounds where nothing varies, as with one query.
    perfect : bool
        Whether this is a perfect ranking, which takes no rank.
    beats : tuple of str
        The perfect rankings that the run scores better than: "better than perfect".
    """

    rank: int | None
    run: str
    score: float
    low: float
    high: float
    perfect: bool = False
    beats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs from best to worst under one measure and one set of qrels.

    Attributes
    ----------
    measure, qrels : str
        What was computed from which labels.
    statistic : str
        ``mean`` or ``median``.
    interval : str
        How the bounds were made: ``t`` for the mean, ``order statistics`` for the median.
    confidence : float
        The intervals' level.
    queries : int
        How many judged queries the statistic is over.
    order : Order
        The ordering that ranked the documents.
    rows : tuple of LeaderboardRow
        Best first; equal scores stand in order of the run tag.
    """

    measure: str
    qrels: str
    statistic: Statistic
    interval: Interval
    confidence: float
    queries: int
    order: Order
    rows: tuple[LeaderboardRow, ...]

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """The rows of runs, without perfect rankings."""
        return tuple(row for row in self.rows if not row.perfect)


def leaderboard(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    confidence: float = 0.95,
    perfect: Sequence[str] = (),
) -> Leaderboard:
    """Order the runs of a score matrix and give each score an interval.

    Parameters
    ----------
    scores : Scores
        The query x run matrix.
    statistic : {'mean', 'median'}
        What a run is ordered by. The mean's interval is Student's t; the median's is the distribution-free
        one from order statistics.
    confidence : float
        The level of the intervals.
    perfect : sequence of str
        The columns of ``scores`` that are perfect rankings (see :func:`perfect_ranks`): they are shown at
        their place but take no rank, and a run that scores better says so.

    Returns
    -------
    Leaderboard
        The rows from best to worst.
    """
    interval = mean_interval if statistic == "mean" else median_interval
    centre, *ends = interval(scores.values, confidence)
    low, high = (np.clip(end, *bounds(scores.measure)) for end in ends)
    badness = -direction(scores.measure) * centre
    is_perfect = np.array([run in perfect for run in scores.runs], dtype=bool)
    rivals = np.sort(badness[~is_perfect])
    ranks = np.searchsorted(rivals, badness) + 1
    rows = tuple(
        LeaderboardRow(
            rank=None if is_perfect[column] else int(ranks[column]),
            run=scores.runs[column],
            score=float(centre[column]),
            low=_end(low[column]),
            high=_end(high[column]),
            perfect=bool(is_perfect[column]),
            beats=tuple(
                scores.runs[bar]
                for bar in np.flatnonzero(is_perfect)
                if not is_perfect[column] and badness[column] < badness[bar]
            ),
        )
        for column in sorted(
            range(len(scores.runs)), key=lambda column: (badness[column], scores.runs[column])
        )
    )
    return Leaderboard(
        measure=scores.measure,
        qrels=scores.qrels,
        statistic=statistic,
        interval="t" if statistic == "mean" else "order statistics",
        confidence=confidence,
        queries=len(scores.queries),
        order=scores.order,
        rows=rows,
    )


def _end(bound: float) -> float:
    """Return an end of an interval; every NaN is one object, so that equal rows are equal."""
    return float(bound) if isfinite(bound) else nan


def perfect_ranks(top: Qrels, qrels: Qrels, *, order: Order) -> JudgedRanks:
    """Return the run that places the relevant documents of ``top`` first, as ``qrels`` see it.

    It scores 1 under ``top`` itself. Under other qrels its score is the bar that a run must pass to be better
    than perfect (Arabzadeh et al. 2021, sections 3 and 5).

    Parameters
    ----------
    top : Qrels
        The labels that the perfect ranking follows: positive grades, the highest first, equal grades as the
        file lists them.
    qrels : Qrels
        The labels that it will be scored by.
    order : Order
        The ordering of the runs that it stands among.

    Returns
    -------
    JudgedRanks
        Where the perfect ranking places the documents of ``qrels``; it is called ``perfect (<name of top>)``.
    """
    ranking = perfect_ranking(top)
    query = encode(top.queries, qrels.queries).astype(np.int64)[ranking.query]
    doc = encode(top.docs, qrels.docs).astype(np.int64)[ranking.doc]
    retrieved = np.bincount(query[query >= 0], minlength=len(qrels.queries)).astype(np.int32)
    labelled = {(int(q), int(d)): row for row, (q, d) in enumerate(zip(qrels.query, qrels.doc, strict=True))}
    judged = np.array(
        [labelled.get((int(q), int(d)), -1) for q, d in zip(query, doc, strict=True)], dtype=np.int32
    )
    rows, position = judged[judged >= 0], ranking.position[judged >= 0]
    return JudgedRanks(
        run=f"perfect ({top.name})",
        query=qrels.query[rows],
        judged=rows,
        position=position,
        best=position,
        worst=position,
        grade=qrels.grade[rows],
        retrieved=retrieved,
        order=order,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfectRanking:
    """The relevant documents of qrels in their best order: codes of the qrels, positions from 1."""

    query: Codes
    doc: Codes
    position: Codes


def perfect_ranking(top: Qrels) -> PerfectRanking:
    """Order the documents with a positive grade: the highest first, equal grades as the file lists them."""
    grade: Floats = top.grade
    rows = np.lexsort((np.arange(grade.size), -grade, top.query))
    rows = rows[grade[rows] > 0]
    return PerfectRanking(
        query=top.query[rows], doc=top.doc[rows], position=number_in_group(top.query[rows]).astype(np.int32)
    )

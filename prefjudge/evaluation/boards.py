"""Boards: runs in order of a score, and how firm that order is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan

import numpy as np

from prefjudge.core.pools import find_rows
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME
from prefjudge.core.runs import Heads, JudgedRanks, Order, Qrels, Scores, encode, restrict
from prefjudge.evaluation.firmness import Firmness, Standing, find_firmness
from prefjudge.evaluation.intervals import Interval, score_intervals
from prefjudge.evaluation.measures.measures import Measure, bounds, direction, in_logarithms, score_matrix
from prefjudge.evaluation.measures.placings import Floats, ideal_placings, number_in_group
from prefjudge.evaluation.tests import Correction, adjust, t_test
from prefjudge.words import told


def perfect_ranks(top: Qrels, qrels: Qrels, *, order: Order, pooled: Qrels | None = None) -> JudgedRanks:
    """Return the run that places the relevant documents of ``top`` first, as ``qrels`` see it."""
    # It scores 1 under `top` itself. Under other qrels its score is the bar that a run must pass to be better
    # than perfect (Arabzadeh et al. 2021, sections 3 and 5). The highest grade comes first, equal ones as the
    # file lists them. Those that were `pooled` stand first: a qrel that nobody was shown cannot be anybody's
    # choice, and above the one that was judged it would only push that one down.
    rows, unseen = np.arange(top.grade.size), np.zeros(top.grade.size, dtype=bool)
    if pooled is not None:
        unseen = find_rows(pooled, top.queries, top.docs, top.query, top.doc) < 0
    rows = np.lexsort((rows, -top.grade, unseen, top.query))
    rows = rows[top.grade[rows] > 0]
    position = number_in_group(top.query[rows]).astype(np.int32)
    query = encode(top.queries, qrels.queries)[top.query[rows]]
    retrieved = np.bincount(query[query >= 0], minlength=len(qrels.queries)).astype(np.int32)
    judged = find_rows(qrels, top.queries, top.docs, top.query[rows], top.doc[rows]).astype(np.int32)
    judged, position = judged[judged >= 0], position[judged >= 0]
    return JudgedRanks(
        run=f"perfect ({top.name})",
        query=qrels.query[judged],
        judged=judged,
        position=position,
        best=position,
        worst=position,
        grade=qrels.grade[judged],
        retrieved=retrieved,
        order=order,
    )


def perfect_scores(
    top: Qrels, qrels: Qrels, measure: Measure, *, order: Order, pooled: Qrels | None = None
) -> Scores | None:
    """Score the perfect ranking of ``top`` under ``qrels``, on the queries that both judge."""
    # On other queries it has no label to follow: to score 0 there would make it easy to beat.
    shared = restrict(qrels, top.queries)
    if not shared.queries:
        return None
    return score_matrix([perfect_ranks(top, shared, order=order, pooled=pooled)], shared, measure)


def against_perfect(scores: Scores, perfect: Scores) -> tuple[Floats, Floats]:
    """Return how each run's score differs from the perfect ranking's on the queries of the latter, and p."""
    # The test is two-sided, after Holm's correction over the runs; p is 1 where there is only one query.
    place = {query: row for row, query in enumerate(scores.queries)}
    apart: Floats = scores.values[[place[query] for query in perfect.queries]] - perfect.values
    difference = apart.mean(axis=0)
    total, squares = apart.sum(axis=0), (apart**2).sum(axis=0)
    p = t_test(total, squares, len(apart))[1] if len(apart) > 1 else np.ones(difference.shape)
    return difference, adjust(p, Correction.HOLM)


# Leaderboards: runs in order of a score, with intervals and the perfect ranking.

_ALPHA = 0.05
"""The level at which a run is better than perfect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One run of a leaderboard."""

    rank: int | None
    """The place, from 1; equal scores share the best of their places. None for the perfect ranking."""
    run: str
    """The run tag, or what the perfect ranking is called."""
    score: float
    low: float
    high: float
    """The mean over the judged queries and its confidence interval, as far as the measure's scale reaches;
    NaN bounds where nothing can be said. Of GMAP the geometric mean."""
    interval: Interval
    """How the bounds were made: see `prefjudge.evaluation.intervals.score_intervals`."""
    hit: int
    """On how many queries the run does not have the worst score of the scale."""
    queries: int
    """How many queries the score is over. The perfect ranking has those that both label sets judge."""
    perfect: bool = False
    """Whether this is the perfect ranking, which takes no rank."""
    above_perfect: bool | None = None
    """"Better than perfect": whether the run scores above the perfect ranking on the queries of the latter,
    and a paired t test with Holm's correction over the runs bears it out at 5 %. None where there is no
    perfect ranking."""
    above_perfect_by: float = nan
    """By how much the run scores better than the perfect ranking on those queries; NaN without one."""
    p_above_perfect: float = nan
    """The corrected p-value of that test, which is two-sided; NaN without a perfect ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs from best to worst under one measure and one set of qrels."""

    measure: str
    qrels: str
    """What was computed from which labels."""
    confidence: float
    """The intervals' level."""
    queries: int
    """How many judged queries the means are over."""
    order: Order
    """The ordering that ranked the documents."""
    rows: tuple[LeaderboardRow, ...]
    """Best first; equal scores stand in order of the run tag. The perfect ranking stands last where its
    queries are not all of the runs': there its score has no place among theirs."""

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
    confidence: float = 0.95,
    perfect: Scores | None = None,
) -> Leaderboard:
    """Order the runs of a score matrix and give each score an interval."""
    sign = direction(scores.measure)
    rows = _rows(scores, confidence)
    rivals = np.sort([-sign * row.score for row in rows])
    rows = [replace(row, rank=int(np.searchsorted(rivals, -sign * row.score)) + 1) for row in rows]
    if perfect is not None:
        apart = against_perfect(scores, perfect)
        rows = [
            replace(
                row,
                above_perfect=bool(sign * by > 0 and p <= _ALPHA),
                above_perfect_by=sign * float(by),
                p_above_perfect=float(p),
            )
            for row, by, p in zip(rows, *apart, strict=True)
        ]
        rows += [replace(row, perfect=True) for row in _rows(perfect, confidence)]
    rows.sort(key=lambda row: (row.queries < len(scores.queries), -sign * row.score, row.run))
    return Leaderboard(
        measure=scores.measure,
        qrels=scores.qrels,
        confidence=confidence,
        queries=len(scores.queries),
        order=scores.order,
        rows=tuple(rows),
    )


def _rows(scores: Scores, confidence: float) -> list[LeaderboardRow]:
    """Return each run's score with its interval, in the order of the columns and without a rank."""
    ends = bounds(scores.measure)
    found = score_intervals(scores.values, confidence=confidence, ends=ends)
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


# Tie sensitivity: how much of a score rests on the order of documents that the run scored alike.


@dataclass(frozen=True, slots=True, kw_only=True)
class TieSensitivity:
    """The mean score of a run as ranked, and at both ends of what its ties allow."""

    run: str
    measure: str
    """What was scored."""
    lowest: float
    score: float
    highest: float
    """The least value that an order of the tied documents gives, that under the declared order, and the
    greatest."""
    queries: int
    """On how many queries the order of ties matters."""


def with_ties_at(ranks: JudgedRanks, *, best: bool) -> JudgedRanks:
    """Return the ranks with tied documents in their best order, or in their worst."""
    # The best order puts the highest grades first in each span of equal scores, and unjudged documents last;
    # the worst does the opposite. For every measure that rises when a better document moves up these two
    # bound what any order gives.
    rows = np.lexsort((-ranks.grade, ranks.best, ranks.query))
    # Documents that tie share the best place of their span, so query and best place name it.
    spans = np.cumsum(
        np.r_[True, (np.diff(ranks.query[rows]) != 0) | (np.diff(ranks.best[rows]) != 0)][: rows.size]
    )
    place = (number_in_group(spans) - 1).astype(np.int32)
    position = np.empty_like(ranks.position)
    position[rows] = ranks.best[rows] + place if best else ranks.worst[rows] - place
    return replace(ranks, position=position)


def tie_sensitivity(
    ranks: Sequence[JudgedRanks], qrels: Qrels, measure: Measure
) -> tuple[TieSensitivity, ...]:
    """Bound the score of each run over all orders of its tied documents."""
    shown = np.exp if in_logarithms(str(measure)) else np.float64
    rows, ideal = [], ideal_placings(qrels)
    for placed in ranks:
        scores = measure.score_against(ideal, placed, qrels)
        if np.array_equal(placed.best, placed.worst):  # no judged document is tied with another one
            ends = np.stack([scores, scores])
        else:
            orders = (with_ties_at(placed, best=best) for best in (False, True))
            ends = np.stack([measure.score_against(ideal, order, qrels) for order in orders])
        # For measures that fall as a better document rises, the best order gives the lower end.
        low, high = ends.min(axis=0), ends.max(axis=0)
        rows.append(
            TieSensitivity(
                run=placed.run,
                measure=str(measure),
                lowest=float(shown(low.mean())),
                score=float(shown(scores.mean())),
                highest=float(shown(high.mean())),
                queries=int((high > low).sum()),
            )
        )
    return tuple(rows)


# Boards: a leaderboard with everything that says how firm it is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One leaderboard and what it rests on."""

    leaderboard: Leaderboard
    """The runs in order, with the perfect ranking."""
    standings: tuple[Standing, ...]
    """Tiers and rank intervals: empty where there are not two runs and two queries to test."""
    ties: tuple[TieSensitivity, ...]
    """What the order of tied documents could change, for each run; empty where it was not asked."""
    scores: Scores
    """The score of each query under each run."""
    perfect: Scores | None = None
    """The score of the perfect ranking, on the queries that it has labels for."""
    firmness: Firmness | None = None
    """What the board tells apart, and how little overturns it; None where there are no standings."""

    @property
    def matrices(self) -> tuple[Scores, ...]:
        """The score of each query: of the runs, and of the perfect ranking where there is one."""
        return (self.scores, self.perfect) if self.perfect else (self.scores,)


def by_people(boards: Sequence[Leaderboard]) -> int:
    """Return the place of the first board by people's answers; of the first one where there is none."""
    return next((place for place, one in enumerate(boards) if one.qrels == PREFERENCE_NAME), 0)


def make_board(
    scores: Scores,
    *,
    perfect: Scores | None = None,
    ties: Sequence[TieSensitivity] = (),
) -> Board:
    """Order the runs of a score matrix, and put them into tiers by paired t tests with Holm's correction."""
    standings: tuple[Standing, ...] = ()
    firmness = None
    if len(scores.runs) > 1 and len(scores.queries) > 1:
        standings, firmness = find_firmness(scores)
    return Board(
        leaderboard=leaderboard(scores, perfect=perfect),
        standings=standings,
        ties=tuple(ties),
        scores=scores,
        perfect=perfect,
        firmness=firmness,
    )


def label_board(
    ranks: Sequence[JudgedRanks],
    qrels: Qrels,
    measure: Measure,
    *,
    top: Qrels | None = None,
    pooled: Qrels | None = None,
) -> Board:
    """Score runs under labels."""
    return make_board(
        score_matrix(ranks, qrels, measure),
        perfect=perfect_scores(top, qrels, measure, order=ranks[0].order, pooled=pooled) if top else None,
        ties=tie_sensitivity(ranks, qrels, measure),
    )


def on_common_queries(a: Board, b: Board) -> tuple[Leaderboard, Leaderboard]:
    """Return the leaderboards of two boards over the queries that both have."""
    # Other labels and other queries both move runs; only over the same queries do two boards tell what the
    # labels do. Boards without the scores of queries are returned as they are.
    if set(a.scores.queries) == set(b.scores.queries):
        return a.leaderboard, b.leaderboard
    shared = set(a.scores.queries) & set(b.scores.queries)
    one, other = (_on_queries(board, shared) for board in (a, b))
    return one, other


def _on_queries(board: Board, queries: Collection[str]) -> Leaderboard:
    perfect = _rows_of(board.perfect, queries) if board.perfect else None
    return leaderboard(
        _rows_of(board.scores, queries),
        confidence=board.leaderboard.confidence,
        perfect=perfect if perfect and perfect.queries else None,
    )


def _rows_of(scores: Scores, queries: Collection[str]) -> Scores:
    return scores.where(np.array([query in queries for query in scores.queries], dtype=np.bool_))


# How much of what runs put on top people have compared: of runs that wait for it, and of those ranked.


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """How much of a run's top is judged."""

    run: str
    judged: int
    queries: int
    """Of the queries that it has a passage for, those whose top passage is judged; and all of them."""

    @told
    def share(self) -> float:
        """The share of its top passages that is judged; NaN where it has none."""
        return self.judged / self.queries if self.queries else float("nan")


def count_judged(heads: Heads, judged: Collection[tuple[str, str]]) -> tuple[NotJudged, ...]:
    """Count the judged among the top passages of each run."""
    tops, hits = [0] * len(heads.runs), [0] * len(heads.runs)
    for run, query, doc in zip(heads.run.tolist(), heads.query.tolist(), heads.doc.tolist(), strict=True):
        tops[run] += 1
        hits[run] += (heads.queries[query], heads.docs[doc]) in judged
    return tuple(
        NotJudged(run=run, judged=hits[place], queries=tops[place]) for place, run in enumerate(heads.runs)
    )


def judged_tops(
    ranks: Sequence[JudgedRanks], documents: Qrels, queries: Collection[str]
) -> tuple[NotJudged, ...]:
    """Count the judged ``documents`` among the top passages of each run, on some queries."""
    wanted = np.isin(np.array(documents.queries, dtype=object), list(queries))
    return tuple(
        NotJudged(
            run=one.run,
            judged=int(np.count_nonzero(wanted[one.query[one.position == 1]])),
            queries=int(np.count_nonzero(wanted & (one.retrieved > 0))),
        )
        for one in ranks
    )

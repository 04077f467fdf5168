"""Boards: a leaderboard with everything that says how firm it is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels, Scores
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard, leaderboard
from prefjudge.evaluation.leaderboards.perfect import perfect_scores
from prefjudge.evaluation.leaderboards.tie_sensitivity import TieSensitivity, tie_sensitivity
from prefjudge.evaluation.leaderboards.tiers import Standing, standings_of
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.evaluation.testing.intervals import Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One leaderboard and what it rests on.

    Attributes
    ----------
    leaderboard : Leaderboard
        The runs in order, with the perfect ranking.
    standings : tuple of Standing
        Tiers and rank intervals, from the means: empty on a board of medians, and where there are not two
        runs and two queries to test.
    ties : tuple of TieSensitivity
        What the order of tied documents could change, for each run; empty where it was not asked.
    scores : Scores
        The score of each query under each run.
    perfect : Scores or None
        The score of the perfect ranking, on the queries that it has labels for.
    """

    leaderboard: Leaderboard
    standings: tuple[Standing, ...]
    ties: tuple[TieSensitivity, ...]
    scores: Scores
    perfect: Scores | None = None

    @property
    def matrices(self) -> tuple[Scores, ...]:
        """The score of each query: of the runs, and of the perfect ranking where there is one."""
        return (self.scores, self.perfect) if self.perfect else (self.scores,)


def make_board(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    perfect: Scores | None = None,
    ties: Sequence[TieSensitivity] = (),
) -> Board:
    """Order the runs of a score matrix, and put them into tiers by paired t tests with Holm's correction."""
    firm: tuple[Standing, ...] = ()
    if statistic == "mean" and len(scores.runs) > 1 and len(scores.queries) > 1:
        firm = standings_of(scores)
    return Board(
        leaderboard=leaderboard(scores, statistic=statistic, perfect=perfect),
        standings=firm,
        ties=tuple(ties),
        scores=scores,
        perfect=perfect,
    )


def label_board(
    ranks: Sequence[JudgedRanks],
    qrels: Qrels,
    measure: Measure,
    *,
    top: Qrels | None = None,
    pooled: Qrels | None = None,
    statistic: Statistic = "mean",
) -> Board:
    """Score runs under labels.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        Where each run placed the documents of ``qrels``.
    qrels : Qrels
        The labels.
    measure : Measure
        How to score.
    top : Qrels, optional
        Other labels: the perfect ranking under them is scored on the queries that both judge.
    pooled : Qrels, optional
        Those of ``top`` that were judged, where that is known: the perfect ranking has them first.
    statistic : {'mean', 'median'}
        What orders the runs.
    """
    return make_board(
        score_matrix(ranks, qrels, measure),
        statistic=statistic,
        perfect=perfect_scores(top, qrels, measure, order=ranks[0].order, pooled=pooled) if top else None,
        ties=tie_sensitivity(ranks, qrels, measure, statistic=statistic),
    )


def on_common_queries(a: Board, b: Board) -> tuple[Leaderboard, Leaderboard]:
    """Return the leaderboards of two boards over the queries that both have.

    Other labels and other queries both move runs; only over the same queries do two boards tell what the
    labels do. Boards without the scores of queries are returned as they are.
    """
    if set(a.scores.queries) == set(b.scores.queries):
        return a.leaderboard, b.leaderboard
    shared = set(a.scores.queries) & set(b.scores.queries)
    one, other = (_on_queries(board, shared) for board in (a, b))
    return one, other


def _on_queries(board: Board, queries: Collection[str]) -> Leaderboard:
    perfect = _rows_of(board.perfect, queries) if board.perfect else None
    return leaderboard(
        _rows_of(board.scores, queries),
        statistic=board.leaderboard.statistic,
        confidence=board.leaderboard.confidence,
        perfect=perfect if perfect and perfect.queries else None,
    )


def _rows_of(scores: Scores, queries: Collection[str]) -> Scores:
    return scores.where(np.array([query in queries for query in scores.queries], dtype=np.bool_))

"""Boards: a leaderboard with everything that says how firm it is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.qrels import JudgedRanks, Qrels, Scores
from prefjudge.evaluation.intervals import Statistic
from prefjudge.evaluation.leaderboard import Leaderboard, leaderboard, perfect_ranks
from prefjudge.evaluation.measures import Measure, score_matrix
from prefjudge.evaluation.tie_sensitivity import TieSensitivity, tie_sensitivity
from prefjudge.evaluation.tiers import Standing, standings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One leaderboard and what it rests on.

    Attributes
    ----------
    leaderboard : Leaderboard
        The runs in order, with the perfect rankings.
    standings : tuple of Standing
        Tiers and rank intervals, from the means: empty on a board of medians, and where there are not two
        runs and two queries to test.
    ties : tuple of TieSensitivity
        What the order of tied documents could change, for each run; empty where it was not asked.
    scores : Scores
        The score of each query, perfect rankings included.
    """

    leaderboard: Leaderboard
    standings: tuple[Standing, ...]
    ties: tuple[TieSensitivity, ...]
    scores: Scores


def make_board(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    perfect: Sequence[str] = (),
    ties: Sequence[TieSensitivity] = (),
) -> Board:
    """Order the runs of a score matrix, and put them into tiers by paired t tests with Holm's correction."""
    ranked = only_runs(scores, [run for run in scores.runs if run not in perfect])
    firm: tuple[Standing, ...] = ()
    if statistic == "mean" and len(ranked.runs) > 1 and len(ranked.queries) > 1:
        firm = standings_of(ranked)
    return Board(
        leaderboard=leaderboard(scores, statistic=statistic, perfect=perfect),
        standings=firm,
        ties=tuple(ties),
        scores=scores,
    )


def label_board(
    ranks: Sequence[JudgedRanks],
    qrels: Qrels,
    measure: Measure,
    *,
    tops: Sequence[Qrels] = (),
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
    tops : sequence of Qrels
        Other labels: the perfect ranking under each takes its place on the board.
    statistic : {'mean', 'median'}
        What orders the runs.
    """
    bars = [perfect_ranks(top, qrels, order=ranks[0].order) for top in tops]
    return make_board(
        score_matrix([*ranks, *bars], qrels, measure),
        statistic=statistic,
        perfect=[bar.run for bar in bars],
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
    keep = np.array([query in queries for query in board.scores.queries], dtype=np.bool_)
    return leaderboard(
        board.scores.where(keep),
        statistic=board.leaderboard.statistic,
        confidence=board.leaderboard.confidence,
        perfect=[row.run for row in board.leaderboard.rows if row.perfect],
    )


def only_runs(scores: Scores, runs: Sequence[str]) -> Scores:
    """Return the columns of some runs, in their order."""
    columns = [scores.runs.index(run) for run in runs]
    return replace(scores, runs=tuple(runs), values=scores.values[:, columns])

"""A board holds what says how firm it is, and two boards meet on the queries that both have."""

import numpy as np

from prefjudge.core.runs import Scores
from prefjudge.evaluation.boards import (
    label_board,
    leaderboard,
    make_board,
    on_common_queries,
    perfect_scores,
    tie_sensitivity,
)
from prefjudge.evaluation.firmness import rank_intervals
from prefjudge.evaluation.measures.measures import Measure, score_matrix

from .samples import make_qrels, make_ranks
from .test_leaderboard import scores_of

RR = Measure.parse("RR@10")
QRELS = make_qrels({"1": {"x": 1}, "2": {"y": 1}, "3": {"z": 1}}, "new")
TOP = make_qrels({"1": {"x": 1}, "2": {"other": 1, "y": 1}, "9": {"z": 1}}, "old")
RUNS = {
    "tied": {"1": {"x": 1.0, "a": 1.0}, "2": {"y": 2.0}, "3": {"z": 1.0}},
    "last": {"1": {"a": 2.0, "x": 1.0}, "2": {"b": 2.0, "y": 1.0}, "3": {"b": 2.0, "z": 1.0}},
}
RANKS = [make_ranks(run, QRELS, name) for name, run in RUNS.items()]


def test_a_board_under_labels_is_made_of_its_parts() -> None:
    board = label_board(RANKS, QRELS, RR, top=TOP)
    scores = score_matrix(RANKS, QRELS, RR)
    perfect = perfect_scores(TOP, QRELS, RR, order=RANKS[0].order)
    assert perfect is not None
    assert board.perfect is not None
    assert (perfect.queries, perfect.values.tolist()) == (("1", "2"), [[1.0], [0.5]])
    assert board.perfect.values.tolist() == perfect.values.tolist()
    # written out, as records that hold NaN are not equal from Python 3.13 on
    assert repr(board.leaderboard) == repr(leaderboard(scores, perfect=perfect))
    assert board.standings == rank_intervals(scores)
    assert board.ties == tie_sensitivity(RANKS, QRELS, RR)
    assert [tie.queries for tie in board.ties] == [1, 0]
    assert board.scores.values.tolist() == scores.values.tolist()
    assert board.matrices == (board.scores, board.perfect)


def test_a_board_without_other_labels_has_no_perfect_ranking() -> None:
    board = label_board(RANKS[:1], QRELS, RR)
    assert (board.perfect, board.leaderboard.perfect, board.standings) == (None, None, ())
    assert board.matrices == (board.scores,)
    assert board.ties == tie_sensitivity(RANKS[:1], QRELS, RR)
    assert label_board(RANKS[:1], QRELS, RR, top=TOP).perfect is not None


def test_tiers_need_two_runs_and_two_queries() -> None:
    two = scores_of({"a": [1, 0.5], "b": [0, 0.1]})
    assert make_board(two).standings == rank_intervals(two) != ()
    assert make_board(two).ties == ()
    assert make_board(scores_of({"a": [1, 0.5]})).standings == ()
    assert make_board(scores_of({"a": [1], "b": [0]})).standings == ()


def on(scores: Scores, queries: str) -> Scores:
    return scores.where(np.array([query in queries for query in scores.queries]))


def test_two_boards_meet_on_the_queries_that_both_have() -> None:
    scores = scores_of({"a": [1.0, 0.0, 0.5, 0.25], "b": [0.0, 1.0, 0.5, 0.5]})  # queries 0 to 3
    bar = scores_of({"bar": [0.5, 0.5, 1.0, 1.0]})
    one = make_board(on(scores, "012"), perfect=on(bar, "01"))
    other = make_board(on(scores, "123"), perfect=on(bar, "3"))
    left, right = on_common_queries(one, other)
    # written out, as records that hold NaN are not equal from Python 3.13 on
    assert repr(left) == repr(leaderboard(on(scores, "12"), perfect=on(bar, "1")))
    assert repr(right) == repr(leaderboard(on(scores, "12")))  # none of the bar's is shared
    assert on_common_queries(one, one) == (one.leaderboard, one.leaderboard)

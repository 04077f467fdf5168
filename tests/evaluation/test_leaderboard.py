import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import (
    against_perfect,
    leaderboard,
    perfect_ranks,
    perfect_scores,
)
from prefjudge.evaluation.measures.measures import Measure

from .samples import make_qrels, make_ranks


def scores_of(columns: dict[str, list[float]], measure: str = "RR@10") -> Scores:
    values = np.array(list(columns.values()), dtype=np.float64).T
    return Scores(
        measure=measure,
        qrels="q",
        queries=tuple(str(number) for number in range(values.shape[0])),
        runs=tuple(columns),
        values=values,
        order=Order.SCORE,
    )


def test_equal_runs_share_a_rank_and_stand_in_order_of_the_tag() -> None:
    board = leaderboard(scores_of({"c": [1, 0], "a": [0.5, 0.5], "b": [1, 1], "d": [0, 0]}))
    assert [(row.run, row.rank) for row in board.rows] == [("b", 1), ("a", 2), ("c", 2), ("d", 4)]
    assert (board.queries, board.interval) == (2, "Gaffke")


def test_search_length_ranks_the_shortest_first() -> None:
    board = leaderboard(scores_of({"long": [9, 9], "short": [1, 2]}, "ESL@100"))
    assert [row.run for row in board.rows] == ["short", "long"]


def test_a_perfect_ranking_takes_no_rank_and_can_be_beaten() -> None:
    bar = scores_of({"bar": [0.5, 0, 0.5, 0] * 3})
    runs = scores_of({"best": [1, 1, 1, 0.9] * 3, "near": [0.6, 0, 0.5, 0] * 3, "bad": [0, 0, 0, 0] * 3})
    board = leaderboard(runs, perfect=bar)
    assert [(row.run, row.rank, row.perfect, row.above_perfect) for row in board.rows] == [
        ("best", 1, False, True),
        ("near", 2, False, False),
        ("bar", None, True, None),
        ("bad", 3, False, False),
    ]
    assert [row.run for row in board.ranked] == ["best", "near", "bad"]
    assert board.perfect == board.rows[2]
    assert [row.above_perfect_by for row in board.ranked] == pytest.approx([0.725, 0.025, -0.25])
    assert all(row.above_perfect is None for row in leaderboard(runs).rows)


def test_the_perfect_ranking_is_met_on_its_own_queries_only() -> None:
    """Ten runs' queries, four of them without a label to follow: there the ranking must not score 0."""
    runs = scores_of({"good": [0.4] * 6 + [1.0] * 4, "poor": [0.1] * 6 + [1.0] * 4})
    keep = np.arange(10) < 6
    bar = scores_of({"bar": [0.5, 0.4, 0.6, 0.5, 0.5, 0.5, 0, 0, 0, 0]}).where(keep)
    board = leaderboard(runs, perfect=bar)
    assert [(row.run, row.queries) for row in board.rows] == [("good", 10), ("poor", 10), ("bar", 6)]
    assert [row.above_perfect_by for row in board.ranked] == pytest.approx([-0.1, -0.4])
    assert [row.above_perfect for row in board.ranked] == [False, False]


def test_runs_against_the_perfect_ranking_are_tested_as_scipy_does() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    runs = scores_of({str(run): list(rng.random(30)) for run in range(5)})
    bar = scores_of({"bar": list(rng.random(30) * 0.8)})
    raw = sorted(stats.ttest_rel(runs.values[:, run], bar.values[:, 0]).pvalue for run in range(5))
    holm = np.minimum(np.maximum.accumulate([p * (5 - place) for place, p in enumerate(raw)]), 1)
    np.testing.assert_allclose(np.sort(against_perfect(runs, bar)[1]), holm)


def test_where_shorter_is_better_above_perfect_means_shorter() -> None:
    board = leaderboard(
        scores_of({"short": [1.0] * 9, "long": [9.0] * 9}, "ESL@100"),
        perfect=scores_of({"bar": [4.0, 5.0, 6.0] * 3}, "ESL@100"),
    )
    assert [(row.run, row.above_perfect) for row in board.rows] == [
        ("short", True),
        ("bar", None),
        ("long", False),
    ]


def test_one_query_shows_nothing_about_the_perfect_ranking() -> None:
    board = leaderboard(scores_of({"a": [1.0]}), perfect=scores_of({"bar": [0.0]}))
    assert (board.rows[0].above_perfect, board.rows[0].p_above_perfect) == (False, 1.0)


def test_the_perfect_ranking_scores_1_on_its_own_labels() -> None:
    labels = {"q1": {"a": 1, "b": 3, "c": 0}, "q2": {"d": 1}, "q3": {"e": 0}}
    qrels = make_qrels(labels)
    for name, expected in {
        "RR@10": [1, 1, 0],
        "nDCG@10": [1, 1, 0],
        "AP": [1, 1, 0],
        "Judged@10": [1, 1, 0],
    }.items():
        ranks = perfect_ranks(qrels, qrels, order=Order.SCORE)
        assert Measure.parse(name).score(ranks, qrels).tolist() == expected


def test_the_perfect_ranking_meets_other_labels() -> None:
    official = make_qrels({"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q9": {"a": 1}}, "official")
    preference = make_qrels({"q1": {"b": 1}, "q2": {"new": 1}, "q4": {"a": 1}}, "preference")
    scores = perfect_scores(official, preference, Measure.parse("RR@10"), order=Order.RANK)
    assert scores is not None
    assert (scores.runs, scores.queries) == (("perfect (official)",), ("q1", "q2"))
    assert scores.values.tolist() == [[0.5], [0]]
    apart = make_qrels({"q5": {"a": 1}})
    assert perfect_scores(official, apart, Measure.parse("RR@10"), order=Order.RANK) is None
    ranks = perfect_ranks(official, preference, order=Order.RANK)
    assert (ranks.run, ranks.order) == ("perfect (official)", Order.RANK)
    assert Measure.parse("RR@10").score(ranks, preference).tolist() == [0.5, 0, 0]
    assert ranks.retrieved.tolist() == [2, 1, 0]


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2"]),
        st.dictionaries(st.sampled_from("abcd"), st.integers(-1, 2)),
        min_size=1,
    )
)
def test_the_perfect_ranking_is_the_run_of_the_grades(labels: dict[str, dict[str, int]]) -> None:
    qrels = make_qrels(labels)
    # the file's order breaks ties: earlier lines score a little higher
    run = {
        query: {doc: grade - place / 100 for place, (doc, grade) in enumerate(judged.items()) if grade > 0}
        for query, judged in labels.items()
    }
    slow = make_ranks(run, qrels)
    fast = perfect_ranks(qrels, qrels, order=Order.SCORE)
    rows = np.lexsort((fast.position, fast.query))
    assert fast.judged[rows].tolist() == slow.judged.tolist()
    assert fast.position[rows].tolist() == slow.position.tolist()


def test_labels_that_were_pooled_come_first_in_the_perfect_ranking() -> None:
    top = make_qrels({"q1": {"a": 1, "b": 1}, "q2": {"c": 1, "a": 1, "b": 1}, "q3": {"b": 2, "a": 3}})
    # Listed in another order, with others in between; q1's "a" is pooled for another query only.
    pooled = make_qrels(
        {"q9": {"a": 1}, "q3": {"b": 1}, "q2": {"z": 1, "b": 1, "a": 1}, "q1": {"x": 1, "b": 1}}
    )
    ranking = perfect_ranks(top, top, order=Order.SCORE, pooled=pooled)
    order: dict[str, str] = {}
    for query, doc in zip(ranking.query.tolist(), top.doc[ranking.judged].tolist(), strict=True):
        order[top.queries[query]] = order.get(top.queries[query], "") + top.docs[doc]
    assert order == {"q1": "ba", "q2": "abc", "q3": "ba"}
    assert ranking.position.tolist() == [1, 2, 1, 2, 3, 1, 2]


def test_a_scale_without_ends_is_hit_where_the_score_is_not_0() -> None:
    (row,) = leaderboard(scores_of({"a": [0, 1, 2, 0.5]}, "wpref@10")).rows
    assert row.hit == 3


def test_the_perfect_rankings_row_has_the_boards_level() -> None:
    bar = scores_of({"bar": [0.0, 0.1, 1.0]})
    board = leaderboard(scores_of({"a": [0.0, 0.2, 1.0]}), confidence=0.5, perfect=bar)
    assert board.perfect is not None
    assert (board.perfect.rank, board.perfect.interval, board.confidence) == (None, "Gaffke", 0.5)
    assert board.perfect.high < leaderboard(bar).rows[0].high

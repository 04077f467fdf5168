import numpy as np
import pytest

from prefjudge.core.qrels import Scores
from prefjudge.core.runs import Order
from prefjudge.evaluation.correlation import correlate
from prefjudge.evaluation.leaderboard import leaderboard
from prefjudge.evaluation.tie_sensitivity import TieSensitivity
from prefjudge.evaluation.tiers import Standing
from prefjudge.render.leaderboard_tables import (
    correlation_table,
    leaderboard_table,
    per_query_table,
    scores_table,
    side_by_side_table,
)
from prefjudge.render.tables import Bold, render_terminal, to_records


def board_scores(measure: str, qrels: str, columns: dict[str, list[float]]) -> Scores:
    return Scores(
        measure=measure,
        qrels=qrels,
        queries=("q1", "q2"),
        runs=tuple(columns),
        values=np.array(list(columns.values())).T,
        order=Order.RANK,
    )


NIST = board_scores("RR@10", "nist", {"b": [1.0, 1.0], "a": [0.5, 0.0], "perfect (x)": [1.0, 0.0]})
PREFERENCE = board_scores("RR@10", "preference", {"b": [0.0, 0.5], "a": [1.0, 0.0]})
BOARDS = [leaderboard(NIST, perfect=["perfect (x)"]), leaderboard(PREFERENCE)]


def test_a_board_marks_what_is_better_than_perfect() -> None:
    table = leaderboard_table(BOARDS[0])
    assert [row[:2] for row in table.rows] == [(1, Bold("b")), (None, "perfect (x)"), (2, "a")]
    words = render_terminal(table)
    assert "better than perfect; 1 run(s) score above perfect (x)" in words
    assert "documents ordered by rank" in words


def test_a_board_takes_in_tiers_and_ties() -> None:
    table = leaderboard_table(
        BOARDS[1],
        [Standing(run="a", tier=1, highest=1, lowest=2)],
        [TieSensitivity(run="a", measure="RR@10", lowest=0.25, score=0.5, highest=0.75, queries=1)],
    )
    assert to_records(table)[0] | {"low": 0, "high": 0} == {
        "rank": 1,
        "run": "a",
        "score": 0.5,
        "low": 0,
        "high": 0,
        "tier": 1,
        "rank_low": 1,
        "rank_high": 2,
        "ties_low": 0.25,
        "ties_high": 0.75,
    }
    assert to_records(table)[1]["tier"] is None


def test_boards_side_by_side_follow_the_first() -> None:
    records = to_records(side_by_side_table(BOARDS))
    assert [(row["run"], row["rank_1"], row["rank_2"], row["score_2"]) for row in records] == [
        ("b", 1, 2, 0.25),
        ("perfect (x)", None, None, None),
        ("a", 2, 1, 0.5),
    ]


def test_long_forms_say_what_every_number_is() -> None:
    rows = to_records(scores_table(BOARDS))
    assert [(row["qrels"], row["run"], row["rank"]) for row in rows][-2:] == [
        ("preference", "a", 1),
        ("preference", "b", 2),
    ]
    queries = to_records(per_query_table([PREFERENCE]))
    assert queries[1] == {
        "qrels": "preference",
        "measure": "RR@10",
        "run": "b",
        "query_id": "q2",
        "score": 0.5,
    }


def test_agreement_names_the_run_that_moves() -> None:
    result = correlate(*BOARDS)
    assert to_records(correlation_table([result])) == [
        {
            "reference": "RR@10 nist",
            "other": "RR@10 preference",
            "runs": 2,
            "queries": 2,
            "tau": -1.0,
            "tau_ap": -1.0,
            "largest_shift": "b 1 to 2",
        }
    ]


def test_frames() -> None:
    pytest.importorskip("pandas")
    from prefjudge.render.frames import to_frame

    frame = to_frame(scores_table(BOARDS, provenance={"order": "rank"}))
    assert frame.attrs["provenance"] == {"order": "rank"}
    assert frame["run"].tolist()[-2:] == ["a", "b"]


def test_the_frame_of_win_ratios_is_square() -> None:
    pytest.importorskip("pandas")
    from prefjudge.evaluation.winratio import WinRatio, WinRatios
    from prefjudge.render.frames import winratio_frame

    pair = WinRatio(a="a", b="b", wins_a=3, wins_b=1, ties=0, same=0, unjudged=0, p=0.6, p_bonferroni=0.6)
    frame = winratio_frame(
        WinRatios(runs=("a", "b"), pairs=(pair,), wins={"a": 1, "b": 0}, count="votes", queries=4)
    )
    assert frame.loc["b", "a"] == 0.75
    assert frame.loc["a", "b"] == 0.25
    assert np.isnan(frame.loc["a", "a"])

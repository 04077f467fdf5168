import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import (
    Board,
    TieSensitivity,
    leaderboard,
    make_board,
)
from prefjudge.evaluation.correlation import correlate
from prefjudge.evaluation.firmness import Standing
from prefjudge.evaluation.measures.preferences import PairAgreement
from prefjudge.show.boards import (
    board_document,
    correlation_table,
    firmness_table,
    leaderboard_table,
    per_query_table,
    scores_table,
    side_by_side_table,
    too_few_words,
)
from prefjudge.show.cells import Bold, Unsure
from prefjudge.show.tables import render_terminal, to_records
from prefjudge.steps.score import ScoreResult


def board_scores(measure: str, qrels: str, columns: dict[str, list[float]]) -> Scores:
    return Scores(
        measure=measure,
        qrels=qrels,
        queries=tuple(f"q{number}" for number in range(1, 1 + len(next(iter(columns.values()))))),
        runs=tuple(columns),
        values=np.array(list(columns.values())).T,
        order=Order.RANK,
    )


NIST = board_scores("RR@10", "nist", {"b": [1.0, 1.0], "a": [0.5, 0.0]})
PREFERENCE = board_scores("RR@10", "preference", {"b": [0.0, 0.5], "a": [1.0, 0.0]})
BAR = board_scores("RR@10", "nist", {"perfect (x)": [1.0, 0.0]})
BOARDS = [leaderboard(NIST, perfect=BAR), leaderboard(PREFERENCE)]
MANY = board_scores(
    "RR@10", "many", {"best": [1.0] * 9, "near": [0.5] * 8 + [1.0], "poor": [0.1] * 8 + [0.0]}
)
BEATEN = board_scores("RR@10", "many", {"perfect (x)": [0.5, 0.25, 1 / 3] * 2})


def test_a_board_marks_what_is_better_than_perfect_and_what_is_above_by_chance() -> None:
    board = leaderboard(MANY, perfect=board_scores("RR@10", "many", {"perfect (x)": [0.5] * 9}))
    table = leaderboard_table(board)
    assert [row[1] for row in table.rows] == [Bold("best"), Unsure("near"), "perfect (x)", "poor"]
    words = render_terminal(table)
    assert "perfect (x) scores 0.5000 on the 9 queries that both label sets judge" in words
    assert "better than it: 1 of 3 runs; above it, not significant: 1." in words
    assert "best*" in words
    assert "near°" in words
    assert "documents ordered by rank" in words
    assert "--common" not in words


def test_the_number_of_queries_stands_by_the_perfect_ranking_and_in_the_heads_where_they_differ() -> None:
    boards = [leaderboard(NIST), leaderboard(MANY, perfect=BEATEN)]
    words = render_terminal(side_by_side_table(boards, same_queries=False))
    assert "RR@10 nist, 2 queries" in words
    assert "RR@10 many, 9 queries" in words
    assert "perfect (x), 6 queries" in words
    assert "0.3611 on the 6 queries that both label sets judge" in words
    assert "with --common all are over the same" in words
    same = side_by_side_table([leaderboard(NIST), leaderboard(PREFERENCE)])
    assert same.title == "Leaderboards over 2 queries"
    assert [column.heading for column in same.columns][1] == "RR@10 nist"


def test_every_form_says_the_same_of_a_run_above_the_perfect_ranking() -> None:
    board = leaderboard(MANY, perfect=BEATEN)
    table = leaderboard_table(board)
    records = board_document(Board(leaderboard=board, standings=(), ties=(), scores=MANY))["rows"]
    long = to_records(scores_table([board]))
    for shown, record, row, cells in zip(board.rows, records, long, table.rows, strict=True):
        keys = ("run", "queries", "above_perfect", "above_perfect_by", "p_above_perfect")
        assert [record[key] for key in keys] == [row[key] for key in keys]
        assert record["above_perfect"] is shown.above_perfect
        assert isinstance(cells[1], Bold) == bool(shown.above_perfect)
    assert [(record["run"], record["above_perfect"], record["queries"]) for record in records] == [
        ("best", True, 9),
        ("near", True, 9),
        ("poor", False, 9),
        ("perfect (x)", None, 6),
    ]


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


def test_boards_side_by_side_follow_peoples_answers() -> None:
    records = to_records(side_by_side_table(BOARDS))
    assert [(row["run"], row["rank_1"], row["rank_2"], row["score_2"]) for row in records] == [
        ("a", 2, 1, 0.5),
        ("b", 1, 2, 0.25),
        ("perfect (x), 2 queries", None, None, None),
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
    from prefjudge.show.tables import to_frame

    frame = to_frame(scores_table(BOARDS).made_with({"order": "rank"}))
    assert frame.attrs["provenance"] == {"order": "rank"}
    assert frame["run"].tolist()[-2:] == ["a", "b"]


def test_tiers_that_interleave_are_explained() -> None:
    board = leaderboard(MANY)

    def notes(*tiers: int) -> str:
        runs = [row.run for row in board.rows]
        firm = [
            Standing(run=run, tier=tier, highest=1, lowest=3) for run, tier in zip(runs, tiers, strict=True)
        ]
        return " ".join(leaderboard_table(board, firm).notes)

    assert "Tiers interleave" in notes(1, 2, 1)
    assert "Tiers interleave" not in notes(1, 1, 2)


def test_agreement_on_no_pair_has_no_table() -> None:
    """Runs of one document a query order no pair of passages."""
    alone = PairAgreement(run="a", agree=0, disagree=0)
    assert scored(alone).tables() == ()
    both = scored(alone, PairAgreement(run="b", agree=2, disagree=1))
    assert [table.title for table in both.tables()] == ["Agreement with the preferences"]


def scored(*agreement: PairAgreement) -> ScoreResult:
    empty = dict.fromkeys(("boards", "tau", "left_out", "health", "inputs", "out", "notices"), ())
    return ScoreResult(pair_agreement=agreement, winratio=None, provenance={}, rehearsal=None, **empty)


def test_a_board_says_what_would_settle_it_in_votes_and_dollars() -> None:
    rng = np.random.default_rng(1)
    few, enough = (
        make_board(board_scores("RR@10", "few", {name: rng.random(queries).tolist() for name in "ab"}))
        for queries in (4, 10)
    )
    assert too_few_words(few.leaderboard, 30.0, 2.5) == (
        "4 queries say nothing about which run is better: have at least 10 judged: 6 more, "
        "about 180 votes and $15."
    )
    assert too_few_words(few.leaderboard, None, None).endswith("10 judged, 6 more.")
    assert too_few_words(enough.leaderboard, 30.0, 2.5) == ""
    firm = enough.firmness
    assert firm is not None
    more = firm.settles - 10
    (note,) = firmness_table([enough], 30.0, 2.5).notes
    assert (
        f"{firm.settles:,.0f} queries like these: {more:,.0f} more, about {30 * more:,.0f} votes and $"
        in note
    )
    assert [row[1] for row in firmness_table([enough]).rows] == ["no", "no", "no", "skipped", "skipped"]

"""Runs on an official leaderboard, and the pairings that labelled passages win."""

from datetime import date
from math import isnan

import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import Leaderboard, leaderboard
from prefjudge.evaluation.measures.placings import compared_pairs
from prefjudge.evaluation.measures.preferences import Pairings, pairings
from prefjudge.evaluation.submissions import Submission, official_board, official_order
from prefjudge.show.boards import official_table

from .judging import make_judgments
from .samples import make_qrels


def entry(name: str, score: float | None, description: str = "") -> Submission:
    return Submission(
        line=1, submission_id=name, date=date(2021, 1, 1), team="T", description=description, type="",
        dev=None, eval=score,
    )  # fmt: skip


ENTRIES = (
    entry("x1", 0.50, "Best"),
    entry("a", 0.40, "first"),
    entry("x2", 0.40, "other"),
    entry("x3", 0.30, "Beta Run"),
    entry("x4", 0.20, "twice"),
    entry("x5", 0.10, "twice"),
    entry("d", None, "unscored"),
)


def board(qrels: str, scores: dict[str, float], perfect: float) -> Leaderboard:
    def matrix(values: dict[str, float]) -> Scores:
        return Scores(
            measure="RR@10", qrels=qrels, queries=("1", "2"), runs=tuple(values),
            values=np.tile(list(values.values()), (2, 1)), order=Order.SCORE,
        )  # fmt: skip

    return leaderboard(matrix(scores), perfect=matrix({"perfect": perfect}))


def test_table_3() -> None:
    every = board("original", {"beta run": 0.5, "a": 0.4, "twice": 0.3, "d": 0.2}, 1.0)
    selected = board("original", {"beta run": 0.6, "a": 0.5, "twice": 0.4, "d": 0.1}, 1.0)
    preference = board("preference", {"beta run": 0.2, "a": 0.7, "twice": 0.1, "d": 0.1}, 0.33)
    found = official_board(ENTRIES, every, selected, preference)
    rows = {row.run: row for row in found.rows}
    assert [row.run for row in found.rows] == ["perfect ranking", "a", "beta run", "twice", "d"]
    perfect = rows["perfect ranking"]
    assert (perfect.rank, perfect.evaluation, perfect.all_queries, perfect.selected) == (None, 1, 1, 1)
    assert perfect.preference == pytest.approx(0.33)
    one = rows["a"]
    assert (one.rank, one.evaluation, one.all_queries, one.selected, one.preference) == (
        2,
        0.4,
        0.4,
        0.5,
        0.7,
    )
    assert rows["beta run"].rank == 4  # by its description, whatever the case; two share the second place
    assert rows["beta run"].reference == "Beta Run (T)"
    assert (rows["twice"].rank, rows["twice"].reference) == (None, "")  # two entries are called so
    assert (rows["d"].rank, rows["d"].reference) == (None, "unscored (T)")
    assert found.tau == -1.0  # the leaderboard has a above beta run, the selected queries below
    assert [row.run for row in found.listed] == ["a", "beta run"]
    assert any("2 runs not found" in note for note in official_table(found).notes)
    assert official_order(["d", "beta run", "a"], ENTRIES) == ("a", "beta run", "d")
    alone = official_board(ENTRIES, every, every)
    assert alone.preference == ""
    assert isnan(alone.rows[1].preference)


def test_section_5_1() -> None:
    votes = [
        ("1", "best", "qrel", 1), ("1", "best", "other", 1), ("1", "qrel", "other", 1),
        ("2", "x", "y", 1), ("2", "y", "z", 1), ("2", "z", "x", 1),
        ("3", "best", "qrel", 1), ("3", "best", "qrel", -1),
    ]  # fmt: skip
    pairs = compared_pairs(make_judgments(votes))
    original = make_qrels(
        {"1": {"qrel": 1, "other": 0, "unseen": 1}, "2": {"x": 1}, "3": {"qrel": 1}, "4": {"q": 1}}
    )
    preference = make_qrels({"1": {"best": 1}, "2": {"x": 1, "y": 1, "z": 1}, "3": {"best": 1}})
    assert pairings(pairs, original) == Pairings(qrels="q", passages=3, won=2, lost=2, tied=1)
    found = pairings(pairs, preference)  # in a cycle each pair is won by one of the set, and lost by another
    assert found == Pairings(qrels="q", passages=5, won=5, lost=3, tied=1)
    assert found.share == pytest.approx(5 / 9)
    assert isnan(pairings(pairs, make_qrels({"9": {"d": 1}})).share)


def test_a_board_of_one_listed_run_has_no_tau() -> None:
    every = board("original", {"a": 0.4, "nobody": 0.5}, 0.9)
    found = official_board(ENTRIES, every, every)
    assert isnan(found.tau)
    assert [row.run for row in found.listed] == ["a"]
    assert (found.measure, found.original, found.preference) == ("RR@10", "original", "")
    assert (found.queries, found.selected) == (2, 2)
    perfect, one, other = found.rows
    assert (perfect.evaluation, perfect.all_queries, perfect.selected) == (None, 0.9, 0.9)
    assert isnan(perfect.preference)
    assert (one.run, one.rank, one.evaluation, one.reference) == ("a", 2, 0.4, "first (T)")
    assert (other.run, other.rank, other.evaluation, other.reference) == ("nobody", None, None, "")


def test_tau_is_between_the_leaderboard_and_the_selected_queries() -> None:
    every = board("original", {"beta run": 0.9, "a": 0.4, "best": 0.1}, 1.0)
    selected = board("original", {"beta run": 0.6, "a": 0.5, "best": 0.7}, 0.5)
    found = official_board(ENTRIES, every, selected, board("preference", {"a": 0.1}, 0.2))
    assert found.tau == pytest.approx(1 / 3)  # .30, .40, .50 against .6, .5, .7
    assert (found.preference, found.rows[0].evaluation, found.rows[0].selected) == ("preference", 1.0, 0.5)
    assert [row.preference for row in found.rows] == pytest.approx([0.2, np.nan, 0.1, np.nan], nan_ok=True)

"""What the page of a report holds for its script: every score and p-value, and no more text than fits."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import make_board
from prefjudge.evaluation.tests import SignificanceTest, compare_runs
from prefjudge.pages import page as closer_look
from prefjudge.pages.page import Candidate, CloserLook, QueryLook, Vote

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def scores(values: np.ndarray) -> Scores:
    names = [
        tuple(f"{kind}{number}" for number in range(size))
        for kind, size in zip("qr", values.shape, strict=True)
    ]
    return Scores(
        measure="nDCG@10", qrels="nist", queries=names[0], runs=names[1], values=values, order=Order.SCORE
    )  # fmt: skip


def decoded(text: str, values: int) -> np.ndarray:
    width = 1 if values <= 64 else 2 if values <= 4096 else 3
    digits = np.array([DIGITS.index(one) for one in text]).reshape(-1, width)
    return digits @ 64 ** np.arange(width)[::-1]


@pytest.mark.parametrize("kinds", [3, 64, 65, 4_000, 4_097])
def test_the_scores_and_p_values_are_those_of_the_board(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    values = rng.integers(0, kinds, (700, 7)) / 10_000
    values[:kinds, 0] = np.arange(min(kinds, 700)) / 10_000
    matrix = scores(values)
    board = json.loads(CloserLook(queries=(), boards=(make_board(matrix),)).to_json())["boards"][0]
    found = np.array(board["values"])[decoded(board["cells"], len(board["values"]))]
    assert np.array_equal(found.reshape(7, 700).T, values)
    tested = compare_runs(matrix, test=SignificanceTest.T, rng=rng)
    chances = decoded(board["p"], 10_001) / 10_000
    order = np.lexsort((tested.b, tested.a))
    assert chances == pytest.approx(tested.p_adjusted[order], abs=5.1e-5)


def look(text: str, count: int = 1) -> CloserLook:
    passages = tuple(
        Candidate(doc=f"d{side}", text=text, labelled=False, best=side == 1, chance=None, sources=("run",))
        for side in (1, 2)
    )
    vote = Vote("d1", "d2", 1, "w", 3, "")
    query = QueryLook(
        query="q0", text=text, status="single", missing=0, candidates=passages, votes=(vote,) * 2
    )
    return CloserLook(queries=tuple(replace(query, query=f"q{number}") for number in range(count)))


def held(one: CloserLook) -> Any:
    return json.loads(one.to_json())


def test_hostile_texts_are_no_markup_and_come_back_as_they_were() -> None:
    evil = "</script></template><!--<script>alert(1)\u2028\u2029&amp;'\"\\ \x00\r\n"
    text = look(evil).to_json()
    assert not {*"<>&\u2028\u2029\x00\r\n"} & {*text}
    assert held(look(evil))["texts"][0] == held(look(evil))["queries"][0]["text"] == evil
    assert held(look("caf\udce9"))["texts"][0] == "caf\\xe9"


def test_what_is_too_long_is_left_out_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = look("x" * 10_000_000)
    assert len(whole.to_json()) < 20_000
    assert held(whole)["texts"][0].endswith("x… (9,996,000 more characters)")
    assert whole.notices == ()
    monkeypatch.setattr(closer_look, "_MOST_TEXT", 3_999)
    monkeypatch.setattr(closer_look, "_MOST_VOTES", 3)
    some = look("y" * 1_000, count=2)
    assert held(some)["texts"] == []
    assert [one["votes"] for one in held(some)["queries"]] == [[], []]
    assert [one["count"] for one in held(some)["queries"]] == [2, 2]
    texts, votes = some.notices
    assert "The texts of the 4 passages are left out" in texts
    assert "The 4 votes are left out" in votes

"""A report in a browser: tables are sorted and filtered, and what is behind a number is opened."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.boards import make_board
from prefjudge.pages import page as closer_look
from prefjudge.pages.page import (
    Candidate,
    CloserLook,
    FirstScreen,
    QueryLook,
    Said,
    Section,
    Vote,
    report_page,
)
from prefjudge.show.boards import leaderboard_table
from prefjudge.show.cells import Column, Table
from tests.site.conftest import inspect, soon

EVIL = "</script><!--<img src=x onerror=alert(1)><script>alert(1)</script>"
RUNS = ("a'b\"c", "<b>bold</b>", "plain", "last", "r5", "r6", "r7", "r8", "r9")


@pytest.fixture(scope="module")
def html() -> str:
    rng = np.random.default_rng(3)
    queries = tuple(f"q/{number} &" for number in range(230))
    values = rng.integers(0, 3, (len(queries), len(RUNS))) / 2
    values[:, 2] = 0.5
    found = Scores(
        measure="RR@10", qrels="preference", queries=queries, runs=RUNS, values=values, order=Order.SCORE
    )
    board = make_board(found)
    passages = tuple(
        Candidate(
            doc=f"d{number}",
            text=EVIL,
            labelled=number == 2,
            best=number == 0,
            chance=chance,
            sources=RUNS[:2],
        )
        for number, chance in enumerate((0.7, 0.2, 0.1))
    )
    votes = (
        Vote("d0", "d1", 1, "ab12", 12, ""),
        Vote("d1", "d0", -1, "cd34", 9, ""),
        Vote("d2", "d1", 0, "ab12", 4, ""),
        Vote("d2", "d0", 1, "cd34", 1, "missed a gold pair"),
    )
    looked = [
        QueryLook(query=query, text=EVIL, status="single", missing=1, candidates=passages, votes=votes)
        for query in queries[:2]
    ]
    looked[0] = replace(looked[0], said=(Said("cd34", "d0", "d1", "", EVIL),))
    untold = replace(passages[0], doc="e0", text="")
    looked[1] = replace(looked[1], candidates=(untold,), votes=())
    people = Table(
        title="Workers", columns=(Column(name="worker"), Column(name="judgments", kind="integer")),
        rows=(("ab12", 4), ("cd34", 4)),
    )  # fmt: skip
    closer = CloserLook(queries=tuple(looked), boards=(board,), workers=people)
    tables = (leaderboard_table(board.leaderboard, board.standings), people)
    return report_page(
        "A study", FirstScreen(result="Judged."), [Section(heading="Boards", tables=tables)], closer=closer
    )


def column(page: Any, table: int, place: int) -> list[str]:
    cells: list[str] = (
        page.locator("table").nth(table).locator(f"tbody td:nth-child({place})").all_inner_texts()
    )
    return cells


def test_tables_are_sorted_and_filtered_by_any_column(open_page: Callable[..., Any], html: str) -> None:
    page = open_page()
    page.set_content(html)
    boards = page.locator("table").first
    ranked = column(page, 0, 3)
    assert ranked == sorted(ranked, reverse=True)
    boards.get_by_role("button", name="run", exact=True).press("Enter")
    assert column(page, 0, 2)[2:] == ["last", "plain", "r5", "r6", "r7", "r8", "r9"]
    assert boards.locator("th").nth(1).get_attribute("aria-sort") == "ascending"
    boards.get_by_role("button", name="RR@10").press("Enter")
    assert column(page, 0, 3) == ranked
    boards.get_by_role("button", name="RR@10").press("Enter")
    assert column(page, 0, 3) == ranked[::-1]
    field = page.get_by_role("searchbox").first
    field.fill("rank<=3")
    assert {*column(page, 0, 1)} == {"1", "2", "3"}
    field.fill("rank<=3 rr@10=0")
    assert column(page, 0, 1) == []
    field.fill("BOLD")
    assert column(page, 0, 2) == ["<b>bold</b>"]
    assert page.locator("output").first.inner_text() == f"1 of {len(RUNS)} rows"


def test_a_query_a_run_and_a_worker_are_opened_by_keyboard(open_page: Callable[..., Any], html: str) -> None:
    page = open_page()
    page.set_content(html)
    inspect(page)
    page.emulate_media(color_scheme="light")
    page.get_by_role("link", name="All 230 queries").press("Enter")
    soon(page, lambda: page.locator("#view tbody tr").count() == 200, "the first queries are shown")
    page.get_by_role("button", name="Show more rows").press("Enter")
    assert page.locator("#view tbody tr").count() == 230
    page.locator("#view tbody").get_by_role("link", name="q/0 &").press("Enter")
    soon(page, lambda: page.locator("#view svg").count() == 1, "the query")
    assert page.locator("#view h1").inner_text() == EVIL
    assert page.evaluate("document.activeElement.tagName") == "H1"
    assert page.locator("#view svg circle").count() == 3
    won, even = page.locator("#view svg > path.won"), page.locator("#view svg > path.even")
    assert (won.count(), even.count()) == (1, 1)
    assert page.locator("#view article p").all_inner_texts() == [EVIL] * 3
    assert column(page, 2, 4) == ["0.70", "0.20", "0.10"]
    assert column(page, 2, 5) == ["2", "0.5", "0.5"], (
        "half a vote each of a tie; what was dropped does not count"
    )
    assert column(page, 4, 6) == ["", "", "", "missed a gold pair"]
    assert EVIL in page.locator("#view").inner_text().split("What workers said")[1]
    inspect(page)
    page.emulate_media(color_scheme="light")
    page.locator("#view").get_by_role("link", name=RUNS[0]).first.press("Enter")
    soon(page, lambda: page.locator("#view h1").inner_text() == RUNS[0], "the run")
    assert page.locator("#view table").nth(1).locator("tbody tr").count() == len(RUNS) - 1
    inspect(page)
    page.go_back()
    soon(page, lambda: page.locator("#view h1").inner_text() == EVIL, "back")
    page.get_by_role("link", name="next query →").press("Enter")
    soon(page, lambda: page.locator("#view dd").first.inner_text() == "q/1 &", "the next query")
    assert page.locator("#view article").count() == 0, "nothing is shown of passages without texts"
    page.go_back()
    soon(page, lambda: page.locator("#view article").count() == 3, "back again")
    page.locator("#view").get_by_role("link", name="cd34").first.press("Enter")
    soon(page, lambda: page.locator("#view h1").inner_text() == "Worker cd34", "the worker")
    assert page.locator("#view tbody tr").count() == 2
    page.get_by_role("link", name="← Back to the report").press("Enter")
    soon(
        page,
        lambda: page.locator("#view").is_hidden() and page.locator("header h1").is_visible(),
        "the report",
    )


def test_an_address_that_opens_nothing_shows_the_report(open_page: Callable[..., Any], html: str) -> None:
    page = open_page()
    page.set_content(html)
    for address in ("#constructor", "#__proto__=x", "#query", "#run=%E0%A4%A", "#worker=none"):
        page.evaluate("address => { location.hash = address }", address)
        page.evaluate("new Promise(done => setTimeout(done))")  # what the address opens is there then
        assert page.locator("header h1").is_visible(), address
        assert page.locator("#view").is_hidden(), address


def test_without_scripts_the_page_is_read_all_the_same(open_page: Callable[..., Any], html: str) -> None:
    page = open_page(java_script_enabled=False)
    page.set_content(html)
    assert sorted(column(page, 0, 2)) == sorted(RUNS)
    assert page.locator("input, button").count() == 0


def test_what_a_page_does_not_hold_is_not_zero(
    open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def passages(best: int, chances: tuple[float | None, ...]) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(doc=f"d{place}", text="", labelled=False, best=place == best, chance=chance, sources=())
            for place, chance in enumerate(chances)
        )

    queries = [
        QueryLook(query="q0", text="", status="single", missing=0, votes=votes, candidates=found)
        for votes, found in (
            ((Vote("d0", "d1", 1, "ab", 4, ""), Vote("d1", "d0", 1, "cd", 9, "")), passages(0, (0.7, 0.3))),
            ((), passages(0, (None, 0.3))),
        )
    ]
    looked = CloserLook(queries=(queries[0], replace(queries[1], query="q1")))
    page = open_page()
    page.set_content(report_page("t", FirstScreen(result="r"), [], closer=looked))
    page.evaluate("location.hash = '#query=q0'")
    soon(page, lambda: page.locator("#view dd").first.inner_text() == "q0", "the query")
    assert page.locator("#view dd").last.inner_text() == "6.5 s", "the median of two"
    page.evaluate("location.hash = '#query=q1'")
    soon(page, lambda: page.locator("#view dd").first.inner_text() == "q1", "the query without a vote")
    assert page.locator("#view caption").all_inner_texts() == ["The passages"]
    page.evaluate("location.hash = '#queries'")
    soon(page, lambda: page.locator("#view tbody tr").count() == 2, "all queries")
    assert page.locator("#view tbody td:nth-child(5)").all_inner_texts() == ["0.70", "–"]

    monkeypatch.setattr(closer_look, "_MOST_VOTES", 1)
    page = open_page()
    page.set_content(report_page("t", FirstScreen(result="r"), [], closer=looked))
    page.evaluate("location.hash = '#query=q0'")
    soon(page, lambda: page.locator("#view dd").first.inner_text() == "q0", "the query")
    assert "of" not in page.locator("#view th").all_inner_texts(), "its votes are left out of the page"

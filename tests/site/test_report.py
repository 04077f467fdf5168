"""The page of a report in a browser: on a phone, in the dark, and on paper."""

from collections.abc import Callable
from typing import Any

import pytest

from prefjudge.pages.page import Change, Fact, FirstScreen, Passage, Picture, Place, Section, report_page
from prefjudge.show.cells import Column, Table
from tests.site.conftest import inspect

RUN = "a-run-with-a-name-of-many-parameters-" * 4
SCREEN = FirstScreen(
    result="People prefer run-0: 66% sure that it leads; 2 of the other 23 runs may be the best.",
    also="In 12 of 15 queries people prefer another passage to the labelled one.",
    figures=(
        Fact(what="queries decided", value="15 of 20"),
        Fact(what="votes that count", value="690"),
        Fact(what="agreement with the board of the original labels (τ)", value="0.07"),
    ),
    board="The best 10 of 24 runs by people's answers, 15 queries",
    measure="RR@10",
    places=tuple(
        Place(
            rank=rank + 1, run=f"run-{rank}", score=0.9 - rank / 20, low=0.8 - rank / 20,
            high=0.95 - rank / 20, was=24 - rank, rises=23 - 2 * rank, may_lead=rank < 3, ranks="1–3",
        )
        for rank in range(10)
    ),
    notes=("Bars: the 95% interval over queries.",),
    next=("prefjudge plan", "says what it costs to judge the 41,150 pairs without votes."),
)  # fmt: skip
TEXT = "how long \u202edoes it take"


@pytest.fixture(scope="module")
def html() -> str:
    names = [f"run-{number}" for number in range(20)]
    wide = Table(
        title="Win ratios",
        columns=(Column(name="beaten"), *(Column(name=name, kind="percent", digits=1) for name in names)),
        rows=tuple((name, *[0.5] * len(names)) for name in [RUN, *names]),
    )
    passage = Passage(doc="d1", text="x" * 400, votes=1)
    change = Change(query="q1", text=TEXT, labelled=passage, best=passage)
    return report_page(
        "A study",
        SCREEN,
        [Section(heading="S", changes=(change,), tables=(wide,)), Section(heading="T", fold="Crowd")],
    )


def open_all(page: Any) -> None:
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


def edges(page: Any, selector: str) -> list[dict[str, float]]:
    boxes: list[dict[str, float]] = page.locator(selector).evaluate_all(
        "all => all.map(one => { const {left, right, width} = one.getBoundingClientRect(); "
        "return {left, right, width} })"
    )
    assert boxes
    return boxes


def test_on_a_phone_only_tables_scroll_and_a_long_name_leaves_room_for_numbers(
    open_page: Callable[..., Any], html: str
) -> None:
    page = open_page(viewport={"width": 320, "height": 640})
    page.set_content(html)
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    inspect(page)
    page.locator(".wide").evaluate("frame => frame.scrollLeft = 300")
    for name in edges(page, ".wide tbody td:first-child"):
        assert 0 <= name["left"] < name["right"] < 200, "the name of the row stays in sight, and only it"


def test_on_paper_nothing_is_cut_off_and_the_dark_is_left_behind(
    open_page: Callable[..., Any], html: str
) -> None:
    page = open_page(viewport={"width": 1030, "height": 700}, color_scheme="dark")
    page.set_content(html)
    open_all(page)
    ink = "getComputedStyle(document.body).color"
    on_screen = page.evaluate(ink)
    page.emulate_media(media="print")
    assert page.evaluate(ink) != on_screen
    assert all(cell["right"] <= 1030 for cell in edges(page, "th, td, article"))
    assert all(answer["width"] < 1030 / 2 for answer in edges(page, ".fold article")), "two beside each other"


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 900, 500), (390, 844, 700)])
def test_the_answer_and_the_board_are_on_the_first_screen_and_alone_on_paper(
    open_page: Callable[..., Any], html: str, width: int, height: int, most: int
) -> None:
    page = open_page(viewport={"width": width, "height": height})
    page.set_content(html.replace("<main>", '<aside class="stamp" aria-label="R">Rehearsal</aside><main>'))
    inspect(page)
    (first, *_) = page.locator(".board tbody tr").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().top)"
    )
    assert first <= most
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator(".notes li").count() == 0 or not page.locator(".notes li").first.is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".fold").first.is_visible(), "what nobody opened is not printed"
    assert page.locator(".board").is_visible()


def test_a_heading_that_is_gone_to_is_below_the_stamp_and_a_tall_plot_fits_a_sheet(
    open_page: Callable[..., Any],
) -> None:
    tall = Picture(words="tall", svg=b'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="2000"/>')
    sections = [Section(heading=f"Part {number}", pictures=(tall,)) for number in range(3)]
    page = open_page(viewport={"width": 390, "height": 640})
    page.set_content(report_page("A study", SCREEN, sections, stamp="rehearsal: all are simulated " * 2))
    page.evaluate("location.hash = '#s2'")
    tops = "all => all.map(one => one.getBoundingClientRect())"
    (stamp,) = page.locator(".stamp").evaluate_all(tops)
    (heading,) = page.locator("#s2").evaluate_all(tops)
    assert stamp["bottom"] <= heading["top"] < 640
    page.emulate_media(media="print")
    heights = [box["height"] for box in page.locator("img").evaluate_all(tops)]
    assert max(heights) < 17 / 2.54 * 96, "as high as a sheet in landscape, without its margins"


def test_a_text_turns_round_nothing_but_itself(open_page: Callable[..., Any], html: str) -> None:
    page = open_page()
    page.set_content(html)
    open_all(page)
    (text,), (query,) = edges(page, "h4 bdi"), edges(page, "h4 span")
    assert text["right"] <= query["left"]

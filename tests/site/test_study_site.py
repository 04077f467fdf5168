"""The pages of a study's site in a browser, from a disk: on a phone, in the dark, on paper, under attack."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prefjudge.pages.page import Fact, Known, Page, Passage, Section, render_page, script_text, style_text
from prefjudge.show.cells import Bold, Column, Table
from prefjudge.steps.report.site.site import SiteResult
from tests.site.conftest import inspect
from tests.steps.test_site import driven as driven  # the fixtures
from tests.steps.test_site import made as made

RUN = "a-run-with-a-name-of-many-parameters-" * 4
EVIL = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
OF_AXE = ("Connecting to 'file:", "Couldn't load preload assets")
"""What axe reports that asks for the style again, which the page's policy does not let a script do."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a page in a folder that has everything that a page can have."""
    place = tmp_path_factory.mktemp("site")
    known = Known(
        site=f"A board {EVIL}",
        mark="abc",
        stamp="rehearsal: 1 of 2 judgments are simulated",
        runs=frozenset({RUN, EVIL}),
        queries=frozenset({"q1"}),
        versions=frozenset({1}),
    )
    table = Table(
        title="RR@10",
        columns=(
            Column(name="version", kind="integer"),
            Column(name="run"),
            *(Column(name=f"score{n}", kind="number") for n in range(12)),
        ),
        rows=tuple((1, name, *[Bold(0.5)] * 12) for name in (RUN, EVIL, "bm25")),
        notes=("How it was made.",),
    )
    part = Section(
        heading=table.title,
        words=("In words.",),
        facts=(Fact(what="Paper", value="https://example.org", address="https://example.org"),),
        passages=(Passage(role="Passage", doc=EVIL, text=f"how long \u202edoes it take {EVIL}" + "x" * 300),),
        tables=(table,),
        links=(Fact(what="q1", value="", address="query/q1.html"),),
    )
    page = Page(address="run/x.html", title=RUN, lead=("A lead.",), parts=(part,))
    (place / "run").mkdir()
    (place / "run" / "x.html").write_text(render_page(page, known))
    (place / "index.html").write_text(render_page(Page(address="index.html", title=known.site), known))
    (place / "style.css").write_text(style_text())
    (place / "tables.js").write_text(script_text())
    return place


@pytest.fixture
def page(browser: Any, folder: Path) -> Iterator[Any]:
    """The page, opened from the disk; nothing else may be asked for, and nothing be reported."""
    context = browser.new_context(viewport={"width": 320, "height": 640})
    context.set_default_timeout(10_000)
    opened, troubles = context.new_page(), list[str]()
    opened.on("console", lambda line: troubles.append(line.text))
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("request", lambda asked: troubles.extend(_strange(asked.url, folder)))
    opened.goto((folder / "run" / "x.html").as_uri())
    yield opened
    context.close()
    assert [line for line in troubles if not any(part in line for part in OF_AXE)] == []


def _strange(url: str, folder: Path) -> list[str]:
    return [] if url.startswith(folder.as_uri()) else [url]


def test_from_a_disk_a_phone_shows_it_and_only_tables_scroll(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px", "the style is loaded"
    inspect(page)
    assert page.title() != "taken"
    assert page.locator("img").count() == 0
    assert page.locator("script").evaluate_all("all => all.map(one => one.getAttribute('src'))") == [
        "../tables.js"
    ]
    page.get_by_role("button", name="run").click()
    assert page.locator("th[aria-sort=ascending]").count() == 1, "the site's own script sorts its tables"


def test_on_paper_nothing_is_cut_off_and_the_dark_is_left_behind(page: Any) -> None:
    page.set_viewport_size({"width": 1030, "height": 700})
    page.emulate_media(color_scheme="dark")
    ink = "getComputedStyle(document.body).color"
    on_screen = page.evaluate(ink)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ink) != on_screen
    right = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
    assert page.locator("th, td, article").evaluate_all(right) <= 1030


def test_each_page_finds_the_others_and_a_text_turns_round_nothing_but_itself(
    page: Any, folder: Path
) -> None:
    page.get_by_role("link", name="A board").click()
    page.wait_for_url((folder / "index.html").as_uri())
    page.go_back()
    assert page.locator("td a").evaluate_all("all => all.map(one => one.textContent)")[1] == RUN
    assert page.locator(".text bdi").count() == 1


def test_axe_finds_nothing_on_a_page_of_each_kind(browser: Any, made: tuple[SiteResult, Path]) -> None:
    _, site = made
    kinds = {page.parent if page.parent != site else page: page for page in sorted(site.rglob("*.html"))}
    assert {"index.html", "queries.html", "query", "run"} <= {kind.name for kind in kinds}
    opened = browser.new_page(viewport={"width": 390, "height": 844})
    for page in kinds.values():
        opened.goto(page.as_uri())
        inspect(opened)
        assert opened.evaluate("document.documentElement.scrollWidth") == 390, page
    opened.close()

"""A table looks the same on a report and on a site: one macro and one style make both."""

import re

from prefjudge.pages.page import (
    FirstScreen,
    Known,
    Page,
    Section,
    ground_style,
    render_page,
    report_page,
    style_text,
)
from prefjudge.show.cells import Bold, Column, Table, Unsure

TABLE = Table(
    title="The <best>",
    columns=(Column(name="run"), Column(name="made"), Column(name="score", kind="number")),
    rows=(("bm25", Bold("<b>"), Unsure(0.5)), ("\u05d0-rm3", "2026", Bold(1.0))),
    notes=("A <note>.",),
)


def test_a_report_and_a_site_show_one_table_but_for_the_links() -> None:
    known = Known(
        site="s",
        mark="m",
        stamp="stamped",
        runs=frozenset(["bm25"]),
        queries=frozenset(),
        versions=frozenset(),
    )
    page = Page(address="run/x.html", title="t", parts=(Section(heading="h", tables=(TABLE,)),))
    shown = [
        _table(
            report_page(
                "t", FirstScreen(result="r"), [Section(heading="h", tables=(TABLE,))], stamp="stamped"
            )
        ),
        _table(render_page(page, known)),
    ]
    assert re.findall('<a href="(.*?)"', shown[1]) == ["../run/bm25.html"]
    assert shown[0] == re.sub("</?a.*?>", "", shown[1])
    for text in (
        "<bdi>\u05d0-rm3</bdi>",
        "<strong><bdi>&lt;b&gt;</bdi></strong>",
        "0.5000°",
        "A &lt;note&gt;.",
    ):
        assert text in shown[0]


def test_both_begin_with_one_style() -> None:
    assert style_text().startswith(ground_style())
    assert ground_style() in report_page("t", FirstScreen(result="r"), [])


def _table(page: str) -> str:
    (found,) = re.findall('<div class="wide".*?</ul>', page, re.DOTALL)
    return found

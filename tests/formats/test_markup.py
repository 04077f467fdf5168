"""HTML in texts is told before people see it."""

from pathlib import Path

import pytest

from prefjudge import init, pool
from prefjudge.reading.texts.collections import markup_in
from tests.steps.conftest import COLLECTION


@pytest.mark.parametrize(
    "text", ["<b>bold", "a<br/>b", '<A HREF="x">', "</td>", "x<SUP>2</SUP>", "fish &amp; chips", "&#8217;"]
)
def test_markup_is_found(text: str) -> None:
    (notice,) = markup_in({"plain": "as it is", "marked": text}, "topics.tsv")
    assert str(notice).startswith("topics.tsv: 1 text of 2 holds HTML, such as '")
    assert "in 'marked'" in str(notice)


@pytest.mark.parametrize(
    "text", ["a < b > c", "x<y, y>z", "AT&T; R&D", "List<String>", "<title>", "if a<b: c", ""]
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert markup_in({"q1": text}, "topics.tsv") == []


def test_pool_says_so(tmp_path: Path) -> None:
    init(tmp_path / "study", config="demo")
    queries = (COLLECTION / "queries.tsv").read_text().splitlines()
    marked = tmp_path / "queries.tsv"
    marked.write_text("\n".join([f"{queries[0]} <i>now</i>", *queries[1:]]))
    found = pool(
        tmp_path / "study",
        runs=[COLLECTION / "runs"],
        queries=marked,
        collection=COLLECTION / "collection.tsv",
    )
    (said,) = [notice for notice in found.notices if "HTML" in notice]
    assert said.startswith(f"{marked}: 1 text of {len(queries)} holds HTML, such as '<i>'")

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


def test_what_turns_letters_is_told_below_a_passage_too(tmp_path: Path) -> None:
    (notice,) = markup_in({"d1": "one", "d2": "two \u202e"}, "c")
    assert str(notice).startswith(
        r"c: 1 text of 2 holds characters that reverse the reading order, such as '\u202e'"
    )
    (tmp_path / "c.jsonl").write_text(
        '{"id": "d1", "text": "a", "date": "1 \\u202e 2"}\n{"id": "d2", "text": "b", "date": "\\u0000"}\n'
    )
    (tmp_path / "q.tsv").write_text("q1\tone\n")
    for doc in ("d1", "d2"):
        (tmp_path / f"{doc}.run").write_text(f"q1 Q0 {doc} 1 2.0 {doc}\n")
    init(tmp_path / "study")
    given = {"queries": tmp_path / "q.tsv", "collection": tmp_path / "c.jsonl", "dataset": "show=date"}
    found = pool(tmp_path / "study", runs=[tmp_path / "d1.run", tmp_path / "d2.run"], **given)
    assert any("reverse the reading order" in one and "'d1'" in one for one in found.notices)
    assert any("field date: the text holds NUL" in one for one in found.notices)


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

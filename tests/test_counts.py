"""Counted nouns: one is not many."""

import re
from pathlib import Path

import pytest

import prefjudge
from prefjudge.words import many

SOURCES = Path(prefjudge.__path__[0])
NOUNS = "queries|runs|HITs|judgments|pairs|gold pairs|assignments|submissions|splits|trials|preference qrels"
COUNTED = re.compile(rf"\{{[^{{}}]*\}} (?:{NOUNS})\b")


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "query", "1 query"),
        (2, "query", "2 queries"),
        (0, "judged query", "0 judged queries"),
        (1, "HIT", "1 HIT"),
        (2_000, "gold pair", "2,000 gold pairs"),
        (3, "day", "3 days"),
    ],
)
def test_a_count_has_its_noun(count: int, noun: str, words: str) -> None:
    assert many(count, noun) == words


def test_a_verb_may_go_with_the_noun() -> None:
    assert [many(count, "query has", "queries have") for count in (1, 2)] == ["1 query has", "2 queries have"]


def test_the_command_line_counts_nothing_by_hand() -> None:
    found = [
        f"{path.name}:{number}"
        for path in sorted((SOURCES / "cli").glob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if COUNTED.search(line) and "{title}" not in line
    ]
    assert found == []

"""Vaswani's collection in NPL's own files: from there to a leaderboard."""

from pathlib import Path

import pytest

from prefjudge import pool, score
from prefjudge.errors import InputError
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.sniffing import sniff
from prefjudge.formats.texts.queries import read_queries
from prefjudge.formats.texts.texts import read_texts

DOCS = "1\ncompact memories have flexible capacities  a digital\ndata storage\n   /\n2\nan analogue\n   /\n"
QUERIES = "1\nMEASUREMENT OF\nCONSTANTS\n/\n2\nMATHEMATICAL ANALYSIS\n/\n"
QRELS = "1\n  2  1\n   /\n2\n     2\n   /\n"


def written(folder: Path, **texts: str) -> dict[str, Path]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in texts}


def test_npls_files_are_read_as_they_are(tmp_path: Path) -> None:
    given = written(
        tmp_path, collection=DOCS, queries=QUERIES, qrels=QRELS, runs="1 Q0 2 1 9 t\n2 Q0 1 1 8 t\n"
    )
    assert read_queries(given["queries"]) == {"1": "MEASUREMENT OF CONSTANTS", "2": "MATHEMATICAL ANALYSIS"}
    assert read_texts(given["collection"], ["1"])["1"].endswith("a digital data storage")
    labels = read_qrels(given["qrels"])
    assert [(labels.queries[q], labels.docs[d]) for q, d in zip(labels.query, labels.doc, strict=True)] == [
        ("1", "2"), ("1", "1"), ("2", "2"),
    ]  # fmt: skip
    assert sniff(given["qrels"]).kind == "qrels"
    assert pool(**given).pairs == 1  # type: ignore[arg-type]
    (board,) = score(runs=given["runs"], qrels=given["qrels"], measure="RR").leaderboards
    assert board.rows[0].score == 0.5


@pytest.mark.parametrize(
    ("text", "words"), [("1\n/\n2\nwords\n/\n", ":1:1: no text"), ("1 2\nx\n/\n", "no tab between")]
)
def test_a_bad_entry_is_named_by_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, queries=text)["queries"]
    with pytest.raises(InputError, match=words):
        read_queries(path)

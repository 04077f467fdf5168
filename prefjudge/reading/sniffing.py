"""Sniffing: what a file is, from its first lines, before a reader is chosen for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path

from prefjudge.errors import InputError, quoted
from prefjudge.reading.datasets import is_dataset, is_scored
from prefjudge.reading.files import shown
from prefjudge.reading.formats import qrels_columns
from prefjudge.reading.labels import TIES
from prefjudge.reading.lines import columns
from prefjudge.reading.runs.parquet import is_parquet, open_parquet
from prefjudge.reading.runs.rows import COLUMNS
from prefjudge.reading.signatures import BEIR_QRELS, OF_TEXTS, foreign_bytes, foreign_columns
from prefjudge.reading.texts.records import CSV_IDS, CSV_TEXTS
from prefjudge.reading.texts.texts import format_of
from prefjudge.reading.unpacking import can_reread

# Sniffing: what a file is, from its first lines, before a reader is chosen for it.
#
# This is where every format is told from every other: those that have a reader, and those that do not yet,
# with what to do about them.

_STUDY = "study.toml"
"""What makes a folder a study."""
_GLANCE = 1000
"""So many lines say what a file is: one of them may be wrong."""
_COLUMNS = 6
"""Lines of more words are no run's: sentences, though no tab may stand before them."""
_MOST = 1 << 20
"""Bytes of comments after which a file is left to its reader."""
_NUMBER = re.compile(rb"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?", re.IGNORECASE)
_GRADES = (b"-2", b"-1", b"0", b"1", b"2", b"3", b"4")


class Kind(StrEnum):
    """What is read here."""

    RUN = "run"
    QRELS = "qrels"
    JUDGMENTS = "judgments"
    TEXTS = "texts"
    """Queries or a collection, in a form of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sniffed:
    """What a file is."""

    kind: str
    """A `Kind`, or the name of a format that is not read here."""
    what: str = ""
    way: str = ""
    """For the latter, what it is and what to do, in words."""
    doubt: str = ""
    """What contradicts it."""


def sniff(path: str | Path) -> Sniffed:
    """Return what a file or folder is; what is empty, or cannot be opened, is left to the reader of runs."""
    if is_parquet(path):
        return _table(path)
    if Path(path).is_dir():
        return _folder(Path(path))
    if is_dataset(path):
        return Sniffed(kind=Kind.RUN if is_scored(str(path)) else Kind.QRELS)
    if str(path) == "-":
        return Sniffed(kind=Kind.RUN)  # looking ahead would swallow it
    try:
        head = _head(path)
    except InputError:
        return Sniffed(kind=Kind.RUN)
    found = foreign_bytes(head) or foreign_columns(head)
    if found is BEIR_QRELS:
        return Sniffed(kind=Kind.QRELS)
    if found in OF_TEXTS:
        return Sniffed(kind=Kind.TEXTS)
    if found:
        what, way = found.words(str(path))
        return Sniffed(kind=found.kind, what=what, way=way)
    if format_of(head.removeprefix(b"\xef\xbb\xbf")):
        return Sniffed(kind=Kind.TEXTS)
    return _columns_of_line(path, _lines(head))


def doubt_ranks(path: str | Path) -> str:
    """Return what contradicts a run of three columns whose last may be grades; empty where nothing does."""
    # A run's ranks differ within a query. Where all are as small as grades and they repeat, they are grades.
    if not can_reread(path):  # looking ahead into a pipe would swallow it
        return ""
    try:
        lines = _lines(_head(path))
    except InputError:  # its reader says it
        return ""
    if not lines or len(lines[0].split()) != 3:
        return ""
    rows = [row for row in map(bytes.split, lines) if len(row) == 3]
    if _of_three(rows).kind == Kind.RUN:
        return ""
    queries = _values_by_query(rows)
    if 2 * sum(len(set(values)) < len(values) for values in queries) > sum(len(q) > 1 for q in queries):
        raise InputError(
            f"{path} is not a run: its third column repeats "
            f"{', '.join(sorted({value.decode() for _, _, value in rows}))} within queries, as grades do",
            "If these are qrels, give them as qrels; ranks are 1, 2, 3 and so on in each query.",
        )
    return "its third column is taken for ranks; if it holds grades, give it as qrels"


def refuse_study(path: Path) -> None:
    """Refuse the folder of a study where a folder of runs is wanted."""
    if (found := _folder(path)).kind == "study":
        raise InputError(found.what, found.way)


def _folder(path: Path) -> Sniffed:
    if (path / _STUDY).is_file():
        what = f"{path} is the folder of a study, not of runs"
        way = f"See where it stands: prefjudge status {quoted(path)}; or name the files in it that you mean"
        return Sniffed(kind="study", what=what, way=way)
    return Sniffed(
        kind="folder", what=f"{path} is a folder, not a file", way=f"Name the files in it: '{path}/*'"
    )


def _table(path: str | Path) -> Sniffed:
    """Tell by their names what the columns of Parquet hold; a folder of it can only be runs."""
    try:
        with open_parquet(path) as file:
            names = file.schema_arrow.names
    except InputError:  # its reader says it
        return Sniffed(kind=Kind.RUN)
    there = {name.lower() for name in names}
    if not there.isdisjoint(("path", "rank")):
        return Sniffed(kind=Kind.RUN)
    if "preferred" in there:
        return Sniffed(kind=Kind.JUDGMENTS)
    if qrels_columns(names):
        return Sniffed(kind=Kind.QRELS)
    if not (there.isdisjoint(CSV_IDS) or there.isdisjoint(CSV_TEXTS)):
        return Sniffed(kind=Kind.TEXTS)
    what = f"{path} holds neither runs, qrels nor texts: it has the columns {', '.join(names)}"
    way = f"Runs have {', '.join(COLUMNS)}; qrels query-id, corpus-id, score; texts id, text."
    return Sniffed(kind="parquet", what=what, way=way)


def _head(path: str | Path) -> bytes:
    """Return the first piece that holds a line with something on it."""
    head = b""
    for piece in columns(path):
        head += piece
        if len(head) > _MOST or any(map(_says, head.split(b"\n")[:-1])):
            break
    return head


def _says(line: bytes) -> bool:
    return bool(line.strip()) and not line.startswith(b"#")


def _lines(head: bytes) -> list[bytes]:
    """Return the first lines that are neither blank nor comments, without one that the head may cut."""
    lines = re.split(rb"\r\n|\n|\r", head.removeprefix(b"\xef\xbb\xbf"))
    return [line for line in lines[:-1] or lines if _says(line)][:_GLANCE]


def _columns_of_line(path: str | Path, lines: list[bytes]) -> Sniffed:
    rows = [line.split() for line in lines]
    width = len(rows[0]) if rows else 0
    if width in (4, 5, 6) and 2 * sum(map(_is_vote, rows)) >= len(rows):
        return Sniffed(kind=Kind.JUDGMENTS)
    tabs, prose = all(line.count(b"\t") == 1 for line in lines), sum(len(row) > _COLUMNS for row in rows)
    if rows and (tabs or 2 * prose >= len(rows)) and 2 * sum(map(_is_text, rows)) >= len(rows):
        # a header of CSV, or ids that blanks follow: reading it as texts says what is missing
        header = re.fullmatch(rb"\S+[;,]\S+", lines[0])
        ids = 2 * sum(bool(re.search(rb"\d", row[0])) for row in rows) >= len(rows)
        if header or ids or any(b"\t" in line for line in lines):
            return Sniffed(kind=Kind.TEXTS)
        return Sniffed(
            kind="sentences",
            what=f"{path} is neither a run, qrels, votes nor texts: its first line is {shown(lines[0])}",
            way="Lines of a run are: query Q0 doc rank score tag; of qrels: query 0 doc grade; of texts: id, "
            "a tab, the text.",
        )
    if width == 4:
        return Sniffed(kind=Kind.QRELS)
    return _of_three(rows) if width == 3 else Sniffed(kind=Kind.RUN)


def _is_vote(row: list[bytes]) -> bool:
    """Say whether a line's fourth column repeats a document; in qrels the second is 0 or Q0."""
    documents = [name for name in row[1:3] if name not in (b"0", b"Q0")]
    if len(row) == 6:  # or a run's, in which a doc_id may be its rank
        numbered, scored = row[5].isdigit() or row[5] == b"-", _NUMBER.fullmatch(row[4])
        if len(documents) < 2 or (scored and not numbered):
            return False
        if numbered and not (scored or _NUMBER.fullmatch(row[3])):
            return True  # whatever is wrong in it
    return len(row) > 3 and (row[3] in documents or row[3] in TIES)


def _is_text(row: list[bytes]) -> bool:
    """Tell whether there are words where a rank, a grade or a score would be."""
    return len(row) < 3 or not any(_NUMBER.fullmatch(word) for word in row[2:5])


def _of_three(rows: list[list[bytes]]) -> Sniffed:
    """Tell ranks (1, 2, 3 in each query) from grades; the last query may be cut off."""
    rows = [row for row in rows if len(row) == 3]
    rows = rows[1:] if len(rows) > 1 and not _NUMBER.fullmatch(rows[0][2]) else rows  # without a header
    small = all(row[2] in _GRADES for row in rows)
    queries = _values_by_query(rows)
    counting = _count(queries)
    if not small or (counting and any(len(query) > 1 for query in queries)):
        doubt = "its third column is taken for ranks; if it holds grades, add --kind qrels" * small
        return Sniffed(kind=Kind.RUN, doubt=doubt)
    doubt = "its third column is taken for grades; if it holds ranks, add --kind run" * counting
    return Sniffed(kind=Kind.QRELS, doubt=doubt)


def _values_by_query(rows: list[list[bytes]]) -> list[list[bytes]]:
    return [[row[2] for row in group] for _, group in groupby(rows, key=lambda row: row[0])]


def _count(queries: list[list[bytes]]) -> bool:
    """Say whether the numbers of all queries are ranks: each once, from 0 on, or all from 1 on."""
    numbers = [
        sorted(int(value) for value in query if value.isdigit() and len(value) < 10) for query in queries
    ]
    return any(
        all(
            found == list(range(first, first + len(query)))
            for found, query in zip(numbers, queries, strict=True)
        )
        for first in (0, 1)
    )

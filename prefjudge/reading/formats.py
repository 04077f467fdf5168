"""Formats of runs and qrels besides lines of columns: each reader turns a file into such lines."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

from prefjudge.errors import ConfigError, InputError
from prefjudge.reading.files import COMPRESSIONS, csv_rows, need_words
from prefjudge.reading.runs.parquet import open_parquet

# Qrels in Parquet, as MTEB keeps them: a row for each judged document.

_QRELS_QUERIES = ("query-id", "query_id", "qid", "query", "q_id")
_QRELS_DOCS = ("corpus-id", "doc_id", "docno", "doc", "docid")
_QRELS_GRADES = ("score", "relevance", "label", "grade")


def read_parquet(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels."""
    del data  # a file that is read from its end
    with open_parquet(path) as file:
        columns, row = qrels_columns(file.schema_arrow.names), 0
        if not columns:
            raise InputError(
                f"{path} holds no qrels: it has the columns {', '.join(file.schema_arrow.names)}",
                "Name them query-id, corpus-id and score. If these are runs, give them as runs.",
            )
        for batch in file.iter_batches(columns=columns):
            cells = zip(*(batch[name].to_pylist() for name in columns), strict=True)
            yield "".join(_line(path, row + place, *line) for place, line in enumerate(cells)).encode()
            row += batch.num_rows


def _line(path: str, row: int, query: object, doc: object, grade: object) -> str:
    """Return a row as a line; rows count from 0. An id with a blank would be two columns, or two lines."""
    for cell in (query, doc):
        if cell is None or len(str(cell).split()) != 1 or str(cell).strip() != str(cell):
            raise InputError(
                f"{path}, row {row}: the id {cell!r} is empty or holds a blank", "Give ids without blanks."
            )
    if grade is None:
        raise InputError(f"{path}, row {row}: there is no grade", "Fill in the cell, or leave out the row.")
    if isinstance(grade, bool) or not isinstance(grade, Real | Decimal):
        raise InputError(f"{path}, row {row}: the grade {grade!r} is not a number", "Give grades as numbers.")
    return f"{query} 0 {doc} {grade:.17g}\n"


def qrels_columns(there: Collection[str]) -> list[str]:
    """Return the columns of the query, the document and the grade; none where this is no table of qrels."""
    found = [
        next((one for one in names if one in there), "")
        for names in (_QRELS_QUERIES, _QRELS_DOCS, _QRELS_GRADES)
    ]
    return found if all(found) and "rank" not in there else []


# Runs and qrels in CSV with a header, as Pyserini and PyTerrier write them: ``qid,docno,rank,score``.

_QUERIES = ("qid", "query_id", "q_id", "query-id", "topic_id")
_DOCS = ("docno", "doc_id", "docid", "corpus-id", "pid")
"""``docno`` comes first: beside it, PyTerrier's ``docid`` is a number inside its index."""
_GRADES = ("label", "relevance", "rel", "grade")
_CSV_HINT = "Name the columns qid, docno, rank and score; of qrels qid, docno and label."


def read_csv(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels; what has no header of CSV is left as it is."""
    head = _first_line(data)
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    mark = next((mark for mark in (",", "\t", ";") if mark.encode() in first), "")
    names = [name.strip().strip('"').lower() for name in first.decode("utf-8", "replace").split(mark or None)]
    if not mark or not any(name in _QUERIES for name in names):
        yield from chain([head], data)
        return
    rows = csv_rows(path, (_text(path, line) for line in _lines(chain([head], data))), mark)
    next(rows)
    yield from _columns(path, names, rows)


def _first_line(data: Iterator[bytes]) -> bytes:
    """Return the pieces that hold the first line."""
    head = b""
    while b"\n" not in head and (piece := next(data, b"")):
        head += piece
    return head


def _columns(path: str, names: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[bytes]:
    query, doc, grade = (_place(names, known) for known in (_QUERIES, _DOCS, _GRADES))
    assert query is not None, "else it is not read as CSV"
    rank, score = (_place(names, (name,)) for name in ("rank", "score"))
    if doc is None or rank is score is grade is None:
        lacks = "a column of documents" if doc is None else "a rank, a score or a label"
        raise InputError(f"{path}:1: the header lacks {lacks}: it has {', '.join(names)}", _CSV_HINT)
    place, last, written = 0, None, 0
    for line, row in rows:
        yield b"\n" * (line - 1 - written)  # so that messages count lines as the file has them
        written = line
        if len(row) != len(names):
            raise InputError(f"{path}:{line}: {len(row)} cells where the header has {len(names)}", _CSV_HINT)
        cells = [cell.strip() for cell in row]
        need_words(f"{path}:{line}: ", (cells[query], cells[doc]), _CSV_HINT)
        place = place + 1 if cells[query] == last else 1
        last = cells[query]
        if score is not None or rank is not None:
            at = str(place) if rank is None else cells[rank]
            words = [last, "Q0", cells[doc], at, f"-{at}" if score is None else cells[score]]
        else:
            words = [last, "0", cells[doc], cells[grade or 0]]
        yield " ".join(word or "-" for word in words).encode() + b"\n"


def _place(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def _lines(data: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in data:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _text(path: str, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig") + "\n"
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None


# Runs and qrels as one JSON object, ``{"query": {"doc": 1.5}}``: how ranx and pytrec_eval keep them.
#
# In ranx's ``NAME.lz4`` the same object is CBOR, a binary JSON, in LZ4 in LZ4.

_OF_QUERIES = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')
_OF_MTEB = re.compile(rb'\s*\{[^\n]*"corpus-id"')
_GLANCE = 4096


def read_json(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels: whole numbers throughout are grades, others are scores."""
    head = b""
    while len(head) < _GLANCE and (piece := next(data, b"")):
        head += piece
    text = head.removeprefix(b"\xef\xbb\xbf")
    if not _OF_QUERIES.match(text):
        yield from chain([head], data)
        return
    try:
        found = json.loads(b"".join([text, *data]))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}", "Was the file cut off? Write it again.") from None
    yield from _json_lines(path, found)


def read_lz4(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels that ranx keeps in LZ4; other texts in LZ4 stay as they are."""
    head = next(data, b"")
    if not head.startswith(COMPRESSIONS["lz4"]):
        yield from read_json(path, chain([head], data))
        return
    import lz4.frame  # it unpacked the head

    try:
        import cbor2
    except ImportError:
        raise ConfigError(
            f"{path} is a run of ranx, but the library that reads its CBOR is not installed",
            "Install it with the extra: pip install 'prefjudge[lz4]'",
        ) from None
    try:
        found = cbor2.loads(lz4.frame.decompress(b"".join([head, *data])))
    except (RuntimeError, ValueError, cbor2.CBORError) as error:
        raise InputError(f"{path} is damaged: {error}", "Copy the file again.") from None
    if not isinstance(found, dict):
        raise InputError(
            f"{path} holds no object of queries", "Write the run as ranx does: run.save(NAME.lz4)."
        )
    yield from _json_lines(path, found)


def _json_lines(path: str, found: dict[Any, Any]) -> Iterator[bytes]:
    rows = [(query, doc, value) for query, docs in found.items() for doc, value in _items(path, query, docs)]
    grades = all(isinstance(value, int) for _, _, value in rows)
    place, last = 0, None
    for query, doc, value in rows:
        place = place + 1 if query == last else 1
        last = query
        line = f"{query} 0 {doc} {value}\n" if grades else f"{query} Q0 {doc} {place} {value!r}\n"
        yield line.encode()


def read_json_lines(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels that MTEB keeps as an object a line; other JSON is left as it is."""
    head = _first_line(data)
    if not _OF_MTEB.match(head):
        yield from chain([head], data)
        return
    for line in filter(bytes.strip, _lines(chain([head], data))):
        try:
            row = json.loads(line)
            query, doc, grade = row["query-id"], row["corpus-id"], row["score"]
        except (ValueError, KeyError, TypeError, RecursionError):
            shown = line[:60].decode("utf-8", "replace")
            raise InputError(
                f"{path}: {shown!r} is not a judgment",
                'Write {"query-id": …, "corpus-id": …, "score": …} on each line.',
            ) from None
        for _ in _items(path, str(query), {str(doc): grade}):
            yield f"{query} 0 {doc} {grade:g}\n".encode()


def _items(path: str, query: Any, docs: Any) -> Iterator[tuple[str, int | float]]:
    if not isinstance(docs, dict):
        raise InputError(
            f"{path}: query {query!r} has no object of documents", "Write {query: {doc: score}}."
        )
    for doc, value in docs.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                f"{path}: query {query!r}, document {doc!r}: {json.dumps(value)[:60]} is not a number",
                "Write the score or grade as a number.",
            )
        need_words(f"{path}: ", (query, doc), "Ids have no blanks.")
        yield doc, value

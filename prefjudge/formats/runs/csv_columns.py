"""Runs and qrels in CSV with a header, as Pyserini and PyTerrier write them: ``qid,docno,rank,score``."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain

from prefjudge.errors import InputError

_QUERIES = ("qid", "query_id", "q_id", "query-id", "topic_id")
_DOCS = ("docno", "doc_id", "docid", "corpus-id", "pid")
"""``docno`` comes first: beside it, PyTerrier's ``docid`` is a number inside its index."""
_GRADES = ("label", "relevance", "rel", "grade")
_HINT = "Name the columns qid, docno, rank and score; of qrels qid, docno and label."


def read_csv(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels; what has no header of CSV is left as it is.

    Raises
    ------
    InputError
        A column is missing, or an id is nothing that stands in a column.
    """
    head = b""
    while b"\n" not in head and (piece := next(data, b"")):
        head += piece
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    mark = next((mark for mark in (",", "\t") if mark.encode() in first), "")
    names = [name.strip().strip('"').lower() for name in first.decode("utf-8", "replace").split(mark or None)]
    if not mark or not any(name in _QUERIES for name in names):
        yield from chain([head], data)
        return
    rows = csv.reader(_lines(path, chain([head], data)), delimiter=mark, strict=True)
    next(rows)
    yield b"# the header\n"  # a comment, so that messages count lines as the file has them
    try:
        yield from _columns(path, names, rows)
    except csv.Error as error:
        raise InputError(f"{path}: not CSV: {error}", "Close each quotation mark.") from None


def _columns(path: str, names: Sequence[str], rows: Iterator[list[str]]) -> Iterator[bytes]:
    query, doc, grade = (_place(names, known) for known in (_QUERIES, _DOCS, _GRADES))
    assert query is not None, "else it is not read as CSV"
    rank, score = (_place(names, (name,)) for name in ("rank", "score"))
    if doc is None or rank is score is grade is None:
        lacks = "a column of documents" if doc is None else "a rank, a score or a label"
        raise InputError(f"{path}:1: the header lacks {lacks}: it has {', '.join(names)}", _HINT)
    place, last = 0, None
    for line, row in enumerate(rows, 2):
        if not row:
            yield b"\n"
            continue
        if len(row) != len(names):
            raise InputError(f"{path}:{line}: {len(row)} cells where the header has {len(names)}", _HINT)
        cells = [cell.strip() for cell in row]
        for name in (cells[query], cells[doc]):
            if name.split() != [name]:
                raise InputError(f"{path}:{line}: the id {name!r} is empty or holds a blank", _HINT)
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


def _lines(path: str, data: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for piece in data:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (_text(path, line) for line in whole)
    if rest:
        yield _text(path, rest)


def _text(path: str, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig") + "\n"
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None

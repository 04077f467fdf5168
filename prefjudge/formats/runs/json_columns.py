"""Runs and qrels as one JSON object, ``{"query": {"doc": 1.5}}``: how ranx and pytrec_eval keep them.

In ranx's ``NAME.lz4`` the same object is CBOR, a binary JSON, in LZ4 in LZ4.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.compressions import COMPRESSIONS

_OF_QUERIES = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')
_OF_MTEB = re.compile(rb'\s*\{[^\n]*"corpus-id"')
_GLANCE = 4096


def read_json(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels: whole numbers throughout are grades, others are scores.

    Other JSON, such as a collection's lines, is left as it is.

    Raises
    ------
    InputError
        It is not JSON, or an id or a number is nothing that stands in a column.
    """
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
    yield from _lines(path, found)


def read_lz4(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels that ranx keeps in LZ4; other texts in LZ4 are left as they are.

    Raises
    ------
    InputError
        It is damaged.
    """
    head = next(data, b"")
    if not head.startswith(COMPRESSIONS["lz4"]):
        yield from read_json(path, chain([head], data))
        return
    import lz4.frame  # it unpacked the head

    try:
        import cbor2
    except ImportError:
        raise ConfigError(
            f"{path} is a run of ranx, and the library that reads its CBOR is not installed",
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
    yield from _lines(path, found)


def _lines(path: str, found: dict[Any, Any]) -> Iterator[bytes]:
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
    head = b""
    while b"\n" not in head and (piece := next(data, b"")):
        head += piece
    if not _OF_MTEB.match(head):
        yield from chain([head], data)
        return
    rest = b""
    for piece in chain([head], data, [b"\n"]):
        *lines, rest = (rest + piece).split(b"\n")
        for line in filter(bytes.strip, lines):
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
        for name in (query, doc):
            if not isinstance(name, str) or name.split() != [name]:
                raise InputError(f"{path}: the id {name!r} is empty or holds a blank", "Ids have no blanks.")
        yield doc, value

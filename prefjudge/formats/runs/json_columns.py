"""Runs and qrels as one JSON object, ``{"query": {"doc": 1.5}}``: how ranx and pytrec_eval keep them."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from prefjudge.errors import InputError

_OF_QUERIES = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')
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
    rows = [(query, doc, value) for query, docs in found.items() for doc, value in _items(path, query, docs)]
    grades = all(isinstance(value, int) for _, _, value in rows)
    place, last = 0, None
    for query, doc, value in rows:
        place = place + 1 if query == last else 1
        last = query
        line = f"{query} 0 {doc} {value}\n" if grades else f"{query} Q0 {doc} {place} {value!r}\n"
        yield line.encode()


def _items(path: str, query: str, docs: Any) -> Iterator[tuple[str, int | float]]:
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
            if not name or name.split() != [name]:
                raise InputError(f"{path}: the id {name!r} is empty or holds a blank", "Ids have no blanks.")
        yield doc, value

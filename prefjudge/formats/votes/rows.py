"""Rows: what a file of votes holds, each with its line, whether in CSV, in JSON, or a JSON object a line."""

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block, Holds, blocks
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON that strangers wrote: its reader checks each value that it takes."""

Row = tuple[int, JsonObject]
"""The number of a line, and what it holds by column."""

_BLANK = re.compile(r"[\s,]*")
_LONGEST = 1 << 24
"""Characters of one cell of CSV: the module's own limit is shorter than some answers."""


def held_rows(columns: Mapping[str, Any], name: str) -> Held[Sequence[Row]]:
    """Return votes in memory, by the columns of a table; rows count from 0, and what is missing is empty."""
    cells = [
        [None if value is None or value != value else value for value in one.tolist()]
        for one in columns.values()
    ]
    rows = zip(*cells, strict=True)
    return Held(name, [(row, dict(zip(columns, values, strict=True))) for row, values in enumerate(rows)])


def digest_of_rows(held: Held[Sequence[Row]]) -> str:
    """Return the digest of votes in memory: that of the same rows is the same."""
    rows = json.dumps([row for _, row in held.content], default=str, sort_keys=True)
    return "sha256:" + hashlib.sha256(rows.encode()).hexdigest()


def read_rows(path: str, notices: list[Notice]) -> Iterator[Row]:
    """Yield the rows of a file: of CSV or tabs with a header, a JSON list, or a JSON object on each line.

    Raises
    ------
    InputError
        It is none of these, is not UTF-8, or is empty.
    """
    rest = blocks(path, Holds.TEXTS, notices=notices)
    first = next((block for block in rest if block.data.strip()), None)
    if first is None:
        raise InputError(f"{path} is empty: a file of votes needs at least one", "Check how it was exported.")
    every = chain([first], rest)
    match first.data.lstrip()[:1]:
        case b"[":
            return _of_list(path, _whole(path, every))
        case b"{":
            return _of_objects(path, every)
    return _of_csv(path, every)


def _text(path: str, block: Block) -> str:
    try:
        return block.data.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}: the text is not UTF-8", "Save the file as UTF-8.") from None


def _whole(path: str, every: Iterator[Block]) -> str:
    return "".join(_text(path, block) for block in every)


def _of_list(path: str, text: str) -> Iterator[Row]:
    """Yield the objects of a JSON list; what is wrong is named by its line."""
    decoder, place, line = json.JSONDecoder(), text.index("[") + 1, 1
    counted = 0
    while True:
        found = _BLANK.match(text, place)
        place = found.end() if found else place
        line, counted = line + text.count("\n", counted, place), place
        if place >= len(text):
            raise InputError(f"{path}:{line}: the JSON list is cut off", "Export it again: it is incomplete.")
        if text[place] == "]":
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise _not_json(path, line, error) from None
        yield line, _object(path, line, value)


def _of_objects(path: str, every: Iterator[Block]) -> Iterator[Row]:
    """Yield the object of each line; a file that is one object over many lines is one row."""
    for block in every:
        for number, text in enumerate(_text(path, block).split("\n"), block.line):
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if number == block.line and text.strip() == "{":
                    whole = "\n".join(_text(path, block).split("\n")) + _whole(path, every)
                    yield number, _object(path, number, _one(path, whole))
                    return
                raise _not_json(path, number, error) from None
            yield number, _object(path, number, value)


def _one(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(path, getattr(error, "lineno", 1), error) from None


def _object(path: str, line: int, value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise InputError(f"{path}:{line}: not a JSON object", "Write one object for each vote.")
    return value


def _not_json(path: str, line: int, error: Exception) -> InputError:
    what = "nested too deeply" if isinstance(error, RecursionError) else f"not valid JSON: {error}"
    return InputError(f"{path}:{line}: {what}", "Write a JSON list of objects, or one object on each line.")


def _of_csv(path: str, every: Iterator[Block]) -> Iterator[Row]:
    lines = (line + "\n" for block in every for line in _text(path, block).split("\n")[:-1])
    header = next(lines)
    tabs = header.count("\t") > header.count(",")
    before = csv.field_size_limit(_LONGEST)
    rows = csv.reader(chain([header], lines), delimiter="\t" if tabs else ",", strict=True)
    try:
        names = [name.strip() for name in next(rows)]
        _check_names(path, names)
        line = rows.line_num + 1
        for row in rows:
            if row and len(row) != len(names):
                raise InputError(
                    f"{path}:{line}: {len(row)} cells where the header has {len(names)}",
                    "Quote cells that hold a comma, a tab or a line break.",
                )
            if row:
                yield line, dict(zip(names, row, strict=True))
            line = rows.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{rows.line_num}: not CSV: {error}",
            "Close each quotation mark, and double those in cells.",
        ) from None
    finally:
        csv.field_size_limit(before)


def _check_names(path: str, names: list[str]) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}:1: two columns are called {twice!r}", "Give each column a name of its own.")
    if len(names) < 3:
        raise InputError(
            f"{path}:1: not a file of votes: its first line has no columns separated by commas or tabs",
            "Write CSV with a header, a JSON object on each line, or lines of: query doc_1 doc_2 preferred.",
        )

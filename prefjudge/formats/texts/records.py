"""Records: lines that hold an id and a text, tab-separated or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice, Problems
from prefjudge.formats.texts.text_formats import Reading, Record
from prefjudge.formats.texts.text_readers import JSON_LINES, LINES, open_texts, read_as
from prefjudge.formats.texts.topic_fields import IDS, PLAIN, TextFields

_ID_KEYS = tuple(
    dict.fromkeys(
        ("_id", "id", "pid", "docid", "doc_id", "qid", "query_id", "document_id", "passage_id", *IDS)
    )
)
_TEXT_KEYS = ("text", "passage", "contents", "body", "segment", "query", "question", "query_txt")
_TITLE_KEYS = ("title",)
_AFTER_CR = re.compile(rb"\r[^\s]+\t")
"""A CR, and what may be an id."""
_NOT_UTF8 = "the text is not UTF-8"
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def read_records(reading: Reading) -> Iterator[Record]:
    """Yield the records of a file of queries, in any format; blank lines are passed over."""
    kind, every = open_texts(reading)
    if kind not in (LINES, JSON_LINES):
        yield from read_as(kind, every, reading)
        return
    problems = reading.problems
    parse = partial(parse_json, fields=reading.fields) if kind is JSON_LINES else parse_tabs
    for block in every:
        for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
            if (line := line.rstrip(b"\r")).strip() and (record := parse(line, number, problems)):
                yield record


def parse_tabs(line: bytes, number: int, problems: Problems) -> Record | None:
    """Read ``id<tab>text``. With four columns (id, address, title, body) the address is left out."""
    name, tab, text = line.partition(b"\t")
    name = name.strip()
    if not tab or not name:
        what = "no tab between an id and a text" if not tab else "no id before the tab"
        problems.add(number, 1, what, line, "Write each line as: id, a tab, the text.")
        return None
    if (place := hidden_line(line)) is not None:
        problems.add(
            number,
            place + 1,
            "a CR alone stands before what looks like another line",
            line[place:],
            "End every line with a newline, and remove CRs from the texts.",
        )
        return None
    columns = text.split(b"\t")
    if len(columns) > 1:
        columns = [part for part in (columns[1:] if len(columns) >= 3 else columns) if part.strip()]
        text = b"\n".join(columns)
    return Record(number, name, text.strip())


def hidden_line(line: bytes) -> int | None:
    """Return where a CR stands that may have ended a line: before an id, and as many tabs as before it."""
    if b"\r" not in line:
        return None
    tabs, before, start = line.count(b"\t"), 0, 0
    for found in _AFTER_CR.finditer(line):
        before += line.count(b"\t", start, found.start())
        start = found.start()
        if before and 2 * before == tabs:
            return start
    return None


def parse_json(line: bytes, number: int, problems: Problems, fields: TextFields = PLAIN) -> Record | None:
    """Read a JSON object: an id, a text, perhaps a title, under the names that collections use.

    A title alone is the text. Another field than the title is that of a topic.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        column = getattr(error, "colno", 1)
        what = "nested too deeply" if isinstance(error, RecursionError) else "not valid JSON"
        problems.add(number, column, what, line, "Write one JSON object with an id and a text on each line.")
        return None
    ids, keys, titles = _USUAL if fields is PLAIN else _keys(fields)
    name, title = _member(record, ids), _member(record, titles)
    text = _member(record, keys)
    if text is None and (title is None or not title.strip()):
        _refuse_vectors(record, number, problems)
    elif text is None:
        title, text = None, title
    if name is None or text is None:
        missing = "an id" if name is None else "a text"
        known = ", ".join(ids if name is None else (*keys, *titles))
        option = "id" if name is None else "text"
        problems.add(
            number,
            1,
            f"the JSON object has no {missing[missing.index(' ') + 1 :]}",
            line,
            f"Put it under one of: {known}. Or say under which name it stands: --dataset {option}=NAME.",
        )
        return None
    whole = f"{title}\n{text}" if title and title.strip() else text
    return Record(number, name.encode("utf-8", "surrogatepass"), _trimmed(whole).encode("utf-8", "replace"))


def _keys(fields: TextFields) -> tuple[tuple[str, ...], ...]:
    """Return the names that ids, texts and titles may have."""
    return fields.ids(_ID_KEYS), fields.texts(_TEXT_KEYS), _TITLE_KEYS if fields.with_title else ()


_USUAL = _keys(PLAIN)
"""The usual names: asking for them anew costs a sixth of the time that a line takes."""


def _refuse_vectors(record: Any, number: int, problems: Problems) -> None:
    """Refuse a file of vectors at its first line: every other would say the same."""
    if isinstance(record, dict) and isinstance(record.get("vector", record.get("embedding")), list):
        raise InputError(
            f"{problems.path}:{number}: holds vectors, which nobody can read",
            "Give the file of the texts that the vectors were made from.",
        )


def _trimmed(text: str) -> str:
    """Drop the blank lines around a text, and keep the indentation of its first line: it may be code."""
    return _BLANK_LINES.sub("", text).rstrip()


def _member(record: Any, keys: tuple[str, ...]) -> str | None:
    if isinstance(record, dict):
        for key in keys:
            value = record.get(key)
            if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                return str(value)
    return None


def readable(text: bytes, where: str, notices: list[Notice] | None) -> str:
    """Return text for people; NUL and what is not UTF-8 become the replacement character.

    The first of each file that is not UTF-8 is noticed.
    """
    if b"\0" in text:  # which no database keeps
        if notices is not None:
            notices.append(Notice(where=where, what="the text holds NUL bytes; they were replaced"))
        text = text.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        file = where.rpartition(":")[0]
        if notices is not None and not any(_NOT_UTF8 in one.what and file in one.where for one in notices):
            odd = f"{_NOT_UTF8}: byte 0x{text[error.start]:02x} behind {text[: error.start][-20:].decode()!r}"
            way = "odd bytes are replaced; if it is Latin-1, convert the file: iconv -f LATIN1 -t UTF-8"
            notices.append(Notice(where=where, what=f"{odd}; {way}"))
        return text.decode("utf-8", "replace")

"""TREC topics in SGML: ``<top> <num> Number: 401 <title> … </top>``, with end tags or without."""

import re
from collections.abc import Iterator

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record, as_text, unescaped, whole
from prefjudge.formats.texts.topic_fields import Field

_TOP = re.compile(r"<top\b[^<>]*>", re.IGNORECASE)
_END = re.compile(r"</top\s*>", re.IGNORECASE)
_TAG = re.compile(  # no others: a narrative may quote HTML
    r"</?(?:num|title|desc|narr|head|dom|smry|con|fac|nat|def|time|query\w*|docid|url|subtopics?|note|type)\b"
    r"[^<>\n]*>",
    re.IGNORECASE,
)
_NAME = re.compile(r"\w[\w.-]*")
_LABELS = {
    "num": re.compile(r"\s*(Number|Topic)\s*:", re.IGNORECASE),
    "title": re.compile(r"\s*(Topic|Title)\s*:", re.IGNORECASE),
    "desc": re.compile(r"\s*Description\s*:", re.IGNORECASE),
    "narr": re.compile(r"\s*Narrative\s*:", re.IGNORECASE),
}
"""What the older files write behind a tag."""
_OTHERS = {Field.TITLE: ("title", "query"), Field.DESC: ("desc",), Field.NARR: ("narr",)}
"""The tags of a field: the microblog track calls its titles queries."""


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file."""
    path = reading.problems.path
    text = as_text(whole(blocks, path), reading)
    tops = list(_TOP.finditer(text))
    starts = [found.end() for found in tops]
    ends = [*(found.start() for found in tops[1:]), len(text)]
    found, line, counted = [], 1, 0
    for start, end in zip(starts, ends, strict=True):
        line += text.count("\n", counted, start)
        counted = start
        closed = _END.search(text, start, end)
        if closed is None and end == len(text):
            raise InputError(
                f"{path}:{line}: the last topic has no </top>", "Was the file cut off? Get it again."
            )
        parts = _parts(text[start : closed.start() if closed else end])
        if record := _record(parts, line, text[start : start + 200], reading):
            found.append(record)
    yield from _unpadded(found, reading)


def _parts(topic: str) -> dict[str, str]:
    """Return the text of each tag; the first of those that are there twice."""
    parts: dict[str, str] = {}
    name, since = "", 0
    for tag in [*_TAG.finditer(topic), None]:
        text = topic[since : tag.start() if tag else len(topic)]
        if name:
            label = _LABELS.get(name)
            parts.setdefault(
                name,
                " ".join(
                    unescaped(label.sub("", text, count=1) if label and label.match(text) else text).split()
                ),
            )
        if tag is None:
            break
        raw = tag[0].strip()
        word = _NAME.search(raw)
        name = "" if raw.startswith("</") or word is None else word[0].lower()
        since = tag.end()
    return parts


def _record(parts: dict[str, str], line: int, raw: str, reading: Reading) -> Record | None:
    number = parts.get("num", "")
    text = next((parts[name] for name in _OTHERS[reading.fields.field] if parts.get(name)), "")
    if not number or number.split() != [number]:
        what = "the topic has no <num>" if not number else "the number of the topic holds a blank"
        reading.problems.add(
            line, 1, what, raw.encode(), "Write each topic as: <top> <num> 1 <title> words </top>."
        )
        return None
    if not text:
        there = ", ".join(name for name in parts if name != "num" and parts[name])
        ways = [str(field) for field, names in _OTHERS.items() if any(parts.get(name) for name in names)]
        hint = (
            f"Choose another field: --dataset field={' or field='.join(ways)}."
            if ways
            else "Write queries as lines of id, tab, text."
        )
        reading.problems.add(
            line,
            1,
            f"topic {number} has no <{reading.fields.field}>, only {there or 'a number'}",
            raw.encode(),
            hint,
        )
        return None
    return Record(line, number.encode(), text.encode())


def _unpadded(records: list[Record], reading: Reading) -> list[Record]:
    """Drop the zeros before numbers: TREC-1 to 3 wrote 051 in topics, and 51 in their qrels."""
    padded = [record.name for record in records if record.name.isdigit() and record.name[:1] == b"0"]
    if not padded or not all(record.name.isdigit() for record in records):
        return records
    short = [record.name.lstrip(b"0") or b"0" for record in records]
    short_one = (padded[0].lstrip(b"0") or b"0").decode()
    reading.notice(f"topic {padded[0].decode()} is read as {short_one}, as TREC's qrels have it")
    return [Record(record.line, name, record.text) for record, name in zip(records, short, strict=True)]

"""SMART's files (``.I`` id, ``.T`` title, ``.W`` text): Cranfield, CACM, CISI, MED as they are given away."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record, as_text

_MARK = re.compile(r"\.([A-Z])\s*")
_HINT = "Write each as: .I id, then .T and a title or .W and a text on lines of their own."


@dataclass(slots=True)
class _Entry:
    """A document or a query: the line that it starts on, and the lines below each mark."""

    line: int
    name: str
    parts: dict[str, list[str]] = field(default_factory=dict)


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the entries of a file, a title before the text; queries as their qrels number them."""
    records = (record for entry in _entries(blocks, reading) if (record := _record(entry, reading)))
    yield from records if reading.wanted is not None else _numbered(list(records), reading)


def _entries(blocks: Iterator[Block], reading: Reading) -> Iterator[_Entry]:
    entry, part = _Entry(0, ""), ""
    for block in blocks:
        for line, text in enumerate(as_text(block.data, reading).split("\n")[:-1], block.line):
            if text.startswith(".I "):
                if entry.line:
                    yield entry
                entry, part = _Entry(line, text[3:].strip()), ""
            elif mark := _MARK.fullmatch(text):
                part = mark[1]
            else:
                entry.parts.setdefault(part, []).append(text.rstrip())
    if entry.line:
        yield entry


def _record(entry: _Entry, reading: Reading) -> Record | None:
    if len(entry.name.split()) != 1:
        what = "the id holds a blank" if entry.name else "no id behind .I"
        reading.problems.add(entry.line, 1, what, entry.name.encode(), _HINT)
        return None
    title, text = (" ".join(" ".join(entry.parts.get(part, ())).split()) for part in "TW")
    if not title and not text and reading.wanted is None:
        reading.problems.add(entry.line, 1, f"{entry.name} has neither a .T nor a .W", b"", _HINT)
        return None
    # Cranfield's texts begin with their titles
    parts = [text] if title and text.startswith(title) else [title, text]
    return Record(entry.line, entry.name.encode(), "\n".join(filter(None, parts)).encode())


def _numbered(records: list[Record], reading: Reading) -> list[Record]:
    """Return queries by their places where their ids are padded and leave numbers out.

    Cranfield's queries are called 001, 002, 004 and so on to 365, and its qrels call them 1 to 225.
    """
    names = [record.name for record in records]
    padded = any(name.startswith(b"0") for name in names) and all(name.isdigit() for name in names)
    numbers = [int(name) for name in names] if padded else []
    if not padded or numbers != sorted(set(numbers)) or numbers == list(range(1, len(names) + 1)):
        return records
    last = names[-1].decode()
    reading.notice(f"query {last} is read as {len(names)}, its place, as Cranfield's qrels have it")
    return [Record(one.line, b"%d" % place, one.text) for place, one in enumerate(records, 1)]

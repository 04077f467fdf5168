"""Collections: the passages that are asked for, out of far more than memory holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from os import fspath
from pathlib import Path

import numpy as np

from prefjudge.core.hits import Passage
from prefjudge.errors import InputError
from prefjudge.reading.datasets import dataset_entries, is_dataset
from prefjudge.reading.files import LONGEST, Notice, Problems, compression, decode, encode
from prefjudge.reading.held import Held
from prefjudge.reading.lines import Block
from prefjudge.reading.texts.records import PLAIN, Reading, Record, TextFields
from prefjudge.reading.texts.texts import (
    JSON_LINES,
    LINES,
    OF_QUERIES,
    dataset_passages,
    document_text,
    hidden_line,
    open_texts,
    parse_json,
    parse_tabs,
    read_as,
    readable,
    records_of,
    texts_of,
)
from prefjudge.reading.unpacking import opened
from prefjudge.words import many

_WINDOW = 1 << 13
_SAMPLES = 33
_INDEX_NUMBER = 18
"""Digits of an id that is compared as a number."""


class NotSorted(Exception):  # noqa: N818 - a property of the file
    """The ids do not ascend: the file must be read from end to end."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that was seen: where it starts and ends, what its id is compared by, and all of it."""

    start: int
    end: int
    key: tuple[int, bytes]
    text: bytes


class SortedFile:
    """A plain file of ``id<tab>text`` lines whose ids ascend."""

    def __init__(self, handle: int) -> None:
        self.handle, self.size = handle, os.fstat(handle).st_size
        tail = os.pread(handle, _WINDOW, max(0, self.size - _WINDOW))
        self.size -= len(tail) - len(tail.rstrip(b"\r\n"))
        self.place, self.window = 0, b""
        self.numeric = True
        try:
            self.first, self.last = self._ends()
        except NotSorted:  # "10" stands before "9" in a file sorted as text
            self.numeric = False
            self.first, self.last = self._ends()

    def _ends(self) -> tuple[_Line, _Line]:
        """Return the first line and the last; the lines between that are looked at ascend."""
        seen = [self._line((self.size - 1) * n // _SAMPLES) for n in range(_SAMPLES + 1)]
        if seen[0].start == seen[-1].start or seen != sorted(seen, key=lambda line: line.key):
            raise NotSorted
        return seen[0], seen[-1]

    def _line(self, place: int) -> _Line:
        """Return the line that holds a place."""
        size = _WINDOW
        while True:
            start = self.window.rfind(b"\n", 0, max(0, place - self.place)) + 1
            end = self.window.find(b"\n", max(0, place - self.place))
            is_open = end < 0 and self.place + len(self.window) < self.size
            if (
                self.place <= place < self.place + len(self.window)
                and not is_open
                and (start or not self.place)
            ):
                break
            if size > LONGEST:  # one without end is left to who reads all
                raise NotSorted
            self.place = max(0, place - size // 2)
            self.window = os.pread(self.handle, min(size, self.size - self.place), self.place)
            size *= 4
            if not self.window:  # the file became shorter
                raise NotSorted
        text = self.window[start : end if end >= 0 else None]
        name, tab, _ = text.partition(b"\t")
        if not tab:
            raise NotSorted
        start += self.place
        return _Line(start, start + len(text) + 1, self._key(name), text.rstrip(b"\r"))

    def _key(self, name: bytes) -> tuple[int, bytes]:
        if not self.numeric:
            return 0, name
        if not name.isdigit() or len(name) > _INDEX_NUMBER:
            raise NotSorted
        return int(name), b""

    def find(self, name: bytes) -> bytes | None:
        """Return the line of an id; None where it is not in the file."""
        if self.numeric and not (name.isdigit() and len(name) <= _INDEX_NUMBER):
            return None
        key, low, high = self._key(name), self.first, self.last
        if not low.key <= key <= high.key:
            return None
        found = next((line for line in (low, high) if line.key == key), None)
        step = 0
        while found is None and low.end < high.start:
            share = 0.5
            # Ids that are spread unevenly make interpolation creep: every fourth step halves.
            if self.numeric and step % 4 < 3:
                share = (key[0] - low.key[0]) / (high.key[0] - low.key[0])
            line = self._line(low.end + int((high.start - 1 - low.end) * share))
            # Samples cannot prove an order: each look checks it again, and a full reading takes over.
            if not low.key <= line.key <= high.key:
                raise NotSorted
            if line.key == key:
                found = line
            low, high = (line, high) if line.key < key else (low, line)
            step += 1
        if found is not None and not found.text.startswith(name + b"\t"):  # 007 is looked for, and 7 is there
            raise NotSorted
        return None if found is None else found.text


@contextmanager
def sorted_file(path: str | Path) -> Iterator[SortedFile]:
    """Open a file for look-up; `NotSorted` where it is compressed, JSON, a pipe or not sorted."""
    with opened(path) as file:
        try:
            handle = file.fileno()
            head = os.pread(handle, 8, 0)
        except (OSError, ValueError, AttributeError):  # a pipe, or a system that cannot read at places
            raise NotSorted from None
        # A brace starts JSON, a blank or a BOM something else that has to be read in full.
        if compression(head) or not head[:1].isalnum():
            raise NotSorted
        yield SortedFile(handle)


# Texts: the passages that are asked for, out of a collection that may be far larger than memory.

_PLACED = re.compile(rb"(\w+_\d+)_(\d+)")


def read_texts(
    path: str | Path,
    doc_ids: Iterable[str],
    *,
    fields: TextFields = PLAIN,
    notices: list[Notice] | None = None,
) -> dict[str, str]:
    """Return the texts of those documents that are there by doc_id, in the order asked for."""
    plain = replace(fields, shown=()) if fields.shown else fields
    return {doc: one.text for doc, one in read_passages(path, doc_ids, fields=plain, notices=notices).items()}


def read_passages(
    path: str | Path,
    doc_ids: Iterable[str],
    *,
    fields: TextFields = PLAIN,
    notices: list[Notice] | None = None,
) -> dict[str, Passage]:
    """Return those passages that are there by doc_id, in the order asked for, with the fields to show."""
    if is_dataset(path):
        found = dataset_passages(fspath(path), doc_ids, fields)
    elif isinstance(path, Held):
        found = {doc: Passage(text) for doc, text in texts_of(path, doc_ids).items()}
    else:
        wanted = dict.fromkeys(map(encode, doc_ids))
        search = _Search(wanted=wanted, fields=fields, notices=[] if notices is None else notices)
        search.look_through(Path(path))
        found = {decode(name): search.found[name] for name in wanted if name in search.found}
    _refuse_fields(found, fields, path)
    return found


def every_text(
    path: str | Path, *, fields: TextFields = PLAIN, notices: list[Notice] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document of a collection: a file, a folder of files or a dataset."""
    notices = [] if notices is None else notices
    if is_dataset(path):
        for document in dataset_entries(fspath(path), "docs"):
            yield document.doc_id, document_text(path, document, fields.text_field)
        return
    if isinstance(path, Held):
        if not isinstance(path.content, Mapping):
            raise InputError(f"{path} is a function, of which nobody knows all ids", "Give a mapping.")
        yield from texts_of(path, path.content).items()
        return
    folder = Path(path)
    files = sorted(str(one) for one in folder.iterdir() if one.is_file()) if folder.is_dir() else [str(path)]
    for file in files:
        problems = Problems(file, "collection")
        with problems:
            reading = Reading(problems=problems, notices=notices, fields=fields)
            for one in records_of(*_open(reading), reading):
                yield decode(one.name), readable(one.text, f"{file}:{one.line}", notices)


def sample_texts(every: Iterable[tuple[str, str]], most: int, rng: np.random.Generator) -> dict[str, str]:
    """Return so many texts of a collection at most by doc_id, drawn from all of it."""
    kept: list[tuple[str, str]] = []
    for number, one in enumerate(every):
        if number < most:
            kept.append(one)
        elif (place := int(rng.integers(number + 1))) < most:
            kept[place] = one
    return dict(kept)


MOST_SHOWN = 1000
"""Letters of a field that people see below a passage."""


def _refuse_fields(found: Mapping[str, Passage], fields: TextFields, path: str | Path) -> None:
    """Refuse fields to show that no passage has, and those that are texts of their own."""
    known = {name for one in found.values() for name, _ in one.shown}
    if found and (lacking := next((name for name in fields.shown if name not in known), None)):
        raise InputError(
            f"{path}: no passage has a field {lacking} with a text, a number or a date, which --dataset "
            f"show={lacking} asks for",
            "Name a field of the collection: of JSON, CSV, Parquet, or irds:NAME.",
        )
    cells = ((doc, name, value) for doc, one in found.items() for name, value in one.shown)
    if long := next((cell for cell in cells if len(cell[2]) > MOST_SHOWN), None):
        doc, name, value = long
        raise InputError(
            f"{path}: the field {name} of {doc} has {len(value):,} letters, and people see at most "
            f"{MOST_SHOWN:,} below a passage",
            f"Shorten it, or leave show={name} out of --dataset.",
        )


def fields_missing(found: Mapping[str, Passage], path: str | Path) -> list[Notice]:
    """Return a notice for each field that people see below some of the passages and not below all."""
    notices = []
    for name in sorted({name for one in found.values() for name, _ in one.shown}):
        if bare := [doc for doc, one in found.items() if name not in dict(one.shown)]:
            of = f"{len(bare):,} of {many(len(found), 'passage')}, such as {bare[0]}"
            notices.append(Notice(where=str(path), what=f"people see no {name} below {of}"))
    return notices


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What is wanted of a collection, and what of it was found."""

    wanted: dict[bytes, None]
    fields: TextFields
    notices: list[Notice]
    found: dict[bytes, Passage] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return len(self.found) < len(self.wanted)

    def look_through(self, path: Path) -> None:
        """Look up what a collection has, a file or a folder of them."""
        # It has a line per document: `id<tab>text`, `id<tab>title<tab>text`, a JSON object, or
        # `id<tab>address<tab>title<tab>body`; or one of the text formats. A plain file of lines whose ids
        # ascend is not read but searched. MS MARCO v2's ids say where in which file of a folder they are.
        files = [fspath(path)]
        if path.is_dir():
            self.by_offset(path)
            files = [fspath(file) for file in sorted(path.iterdir()) if file.is_file()]
        sought = []
        for file in files:
            if self.missing:
                if self.by_id(file):
                    sought.append(file)
                else:
                    self.scan(file)
        for file in sought:
            if self.missing:  # a file may ascend at the samples and not between them
                self.scan(file)

    def by_id(self, path: str) -> bool:
        """Look up what one file has; False where it is not sorted, or its fields have names."""
        if self.fields.given:
            return False
        try:
            with sorted_file(path) as file:
                lines = {name: file.find(name) for name in self.wanted if name not in self.found}
        except NotSorted:
            return False
        with Problems(path, "collection") as problems:
            for name, line in lines.items():
                if line is not None and (record := parse_tabs(line, 1, problems)):
                    where = f"{path}, document {decode(name)}"
                    self.found[name] = self.passage(record, where)
        return True

    def by_offset(self, folder: Path) -> None:
        """Read documents whose ids say where they are: MS MARCO v2's ``file_offset``, in unpacked files."""
        for name in self.wanted:
            parts = _PLACED.fullmatch(name)
            path = folder / decode(parts[1]) if parts else None
            if parts is None or path is None or not path.is_file():
                continue
            with path.open("rb") as file:
                file.seek(int(parts[2]))
                line = file.readline(LONGEST)
            problems = Problems(fspath(path), "collection")
            record = parse_json(line, 1, problems, self.fields) if line else None
            if record is not None and record.name == name:
                self.found[name] = self.passage(record, fspath(path))

    def scan(self, path: str) -> None:
        """Read a collection from end to end."""
        problems = Problems(path, "collection")
        lines: dict[bytes, int] = {}
        reading = Reading(problems=problems, notices=self.notices, fields=self.fields, wanted=self.wanted)
        with problems:
            for record in _records(reading, self.wanted):
                one = self.passage(record, f"{path}:{record.line}")
                if self.found.setdefault(record.name, one).text != one.text:
                    before = f"on line {lines[record.name]}" if record.name in lines else "in another file"
                    hint = "Give each doc_id one text only."
                    problems.add(record.line, 1, f"the document has another text {before}", record.name, hint)
                lines.setdefault(record.name, record.line)

    def passage(self, record: Record, where: str) -> Passage:
        """Return a document as people see it."""
        shown = [
            (name, readable(text.encode("utf-8", "replace"), f"{where}, field {name}", self.notices))
            for name, text in record.shown
        ]
        return Passage(readable(record.text, where, self.notices), tuple(shown))


def _records(reading: Reading, wanted: dict[bytes, None]) -> Iterator[Record]:
    """Yield the records that are wanted: tabs and JSON lines in bulk, other formats by their readers."""
    kind, every = _open(reading)
    if kind not in (LINES, JSON_LINES):
        yield from (record for record in read_as(kind, every, reading) if record.name in wanted)
        return
    first = next(every, None)
    if first is None:
        raise InputError(
            f"{reading.path} is empty: a collection needs at least one line",
            "Write each line as: id, a tab, the text.",
        )
    for block in chain([first], every):
        if kind is JSON_LINES:
            yield from _json_records(block, wanted, reading)
        else:
            yield from _tab_records(block, wanted, reading.problems)


def _open(reading: Reading) -> tuple[str, Iterator[Block]]:
    """Return the format of a collection, and its blocks."""
    kind, every = open_texts(reading)
    if kind in OF_QUERIES:
        raise InputError(
            f"{reading.path} holds {OF_QUERIES[kind]}, not a collection", "Give it with --queries."
        )
    return kind, every


def _tab_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in block.lines():
        name, tab, _ = line.partition(b"\t")
        if name.strip() in wanted or not tab or hidden_line(line) is not None:
            line = line.rstrip(b"\r")
            if line.strip() and (record := parse_tabs(line, number, problems)):
                yield record


def _json_records(block: Block, wanted: dict[bytes, None], reading: Reading) -> Iterable[Record]:
    for number, line in block.lines():
        if (
            line.strip()
            and (record := parse_json(line, number, reading.problems, reading.fields))
            and record.name in wanted
        ):
            yield record


# Markup in texts that people are shown: a judging page shows every text as it is, tags and all.

_MARKUP = re.compile(
    r"</?(?:[abiup]|br|em|strong|code|pre|div|span|h[1-6]|[uod]l|li|d[dt]|table|t[drh]|su[bp]|img|font|html|body)"
    r"(?:\s[^<>]*)?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-f]{1,6});",
    re.IGNORECASE,
)
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def markup_in(texts: Mapping[str, str], path: str | Path) -> list[Notice]:
    """Return a notice where texts hold HTML, and one where they reverse the reading order."""
    notices = []
    for kind, pattern, seen in (
        ("HTML", _MARKUP, "people see it as it stands"),
        ("characters that reverse the reading order", _TURNING, "people may read other words than programs"),
    ):
        every = ((name, pattern.search(text)) for name, text in texts.items())
        marked = {name: found[0] for name, found in every if found}
        for name, found in [*marked.items()][:1]:
            hold = "holds" if len(marked) == 1 else "hold"
            said = f"{many(len(marked), 'text')} of {len(texts):,} {hold} {kind}, such as {found[:40]!a}"
            notices.append(Notice(where=str(path), what=f"{said} in {name!r}: {seen}"))
    return notices

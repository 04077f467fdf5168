"""Collections: the passages that are asked for, out of far more than memory holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from os import fspath
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.reading.datasets import is_dataset
from prefjudge.reading.files import Notice, Problems, Stop, compression, decode, encode
from prefjudge.reading.held import Held
from prefjudge.reading.lines import LONGEST, Block
from prefjudge.reading.texts.records import PLAIN, Reading, Record, TextFields
from prefjudge.reading.texts.texts import (
    JSON_LINES,
    LINES,
    OF_QUERIES,
    dataset_texts,
    hidden_line,
    open_texts,
    parse_json,
    parse_tabs,
    read_as,
    readable,
    texts_of,
)
from prefjudge.reading.unpacking import opened
from prefjudge.words import many

_WINDOW = 1 << 13
_SAMPLES = 33
_STEPS = 200
_INDEX_NUMBER = 18
"""Digits of an id that is compared as a number."""


class NotSorted(Exception):  # noqa: N818 - a property of the file
    """The ids do not ascend: the file must be read from end to end."""


Key = tuple[int, bytes]
"""What ids are compared by: a number, or 0 and the text."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that was seen: where it starts and the key of its id."""

    start: int
    key: Key


class SortedFile:
    """A plain file of ``id<tab>text`` lines whose ids ascend."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.size = os.fstat(handle).st_size
        places = [self.size * n // _SAMPLES for n in range(_SAMPLES)]
        samples = [line for line in map(self._line_after, places) if line is not None]
        if not samples:
            raise NotSorted
        # Without the last id, ids beyond the last sample could not be told from ids that are missing.
        samples.append(self._last_line(samples[-1]))
        self.numeric = all(raw.isdigit() and len(raw) <= _INDEX_NUMBER for _, raw in samples)
        # "10" stands before "9" in a file sorted as text.
        if self.numeric and not self._ascend(samples):
            self.numeric = False
        if samples[0][0] == samples[-1][0] or not self._ascend(samples):
            raise NotSorted
        self.first = _Line(samples[0][0], self._key(samples[0][1]))
        self.last = _Line(self.size, self._key(samples[-1][1]))

    def _ascend(self, samples: list[tuple[int, bytes]]) -> bool:
        keys = [self._key(raw) for _, raw in samples]
        return keys == sorted(keys)

    def _key(self, raw: bytes) -> Key:
        if not self.numeric:
            return 0, raw
        if not raw.isdigit() or len(raw) > _INDEX_NUMBER:
            raise NotSorted
        return int(raw), b""

    def find(self, raw: bytes) -> bytes | None:
        """Return the line of an id; None where it is not in the file."""
        if self.numeric and not (raw.isdigit() and len(raw) <= _INDEX_NUMBER):
            return None
        key = self._key(raw)
        if not self.first.key <= key <= self.last.key:
            return None
        low, high = self.first, self.last  # no line from ``high.start`` on has a key up to the wanted one
        for step in range(_STEPS):
            if high.start - low.start <= _WINDOW:
                lines = self._ids(low.start, self._read(low.start, high.start))
                break
            start = self._guess(low, high, key, step)
            lines = self._ids(start, os.pread(self.handle, _WINDOW, start))
            if not lines:
                after = self._line_after(start)  # a long line fills the window
                if after is None or after[0] >= high.start:
                    high = _Line(start, high.key)
                    continue
                lines = [after]
            first, last = (_Line(place, self._key(name)) for place, name in (lines[0], lines[-1]))
            # Samples cannot prove an order: each read checks it
            # again, and a full reading takes over where it fails.
            if not low.key <= first.key <= last.key <= max(high.key, self.last.key):
                raise NotSorted
            if first.key > key:
                high = first
            elif last.key < key:
                low = last
            else:
                break
        else:
            raise NotSorted
        return next((self._line(place) for place, name in lines if name == raw), None)

    def _guess(self, low: _Line, high: _Line, key: Key, step: int) -> int:
        """Return where to read: by the share of smaller keys, and now and then in the middle."""
        share = 0.5
        # Ids that are spread unevenly make interpolation creep;
        # every fourth step halves, which bounds the steps.
        if self.numeric and step % 4 < 3 and high.key > low.key:
            share = (key[0] - low.key[0]) / (high.key[0] - low.key[0])
        # Half a window early, so that the expected line lies in the middle of what is read.
        start = low.start + int((high.start - low.start) * min(max(share, 0.0), 1.0)) - _WINDOW // 2
        return max(low.start, min(start, high.start - _WINDOW))

    def _read(self, start: int, stop: int) -> bytes:
        """Return the lines that start between two places."""
        size = stop - start + _WINDOW
        while True:
            window = os.pread(self.handle, size, start)
            end = window.find(b"\n", stop - start)
            if end >= 0 or start + len(window) >= self.size:
                return window[: end + 1 or None]
            size = _larger(size)

    def _last_line(self, line: tuple[int, bytes]) -> tuple[int, bytes]:
        """Return the last line of the file, which starts at ``line`` or after it."""
        size = _WINDOW
        while self.size - size > line[0]:
            lines = self._ids(self.size - size, os.pread(self.handle, size, self.size - size))
            if lines:
                return lines[-1]
            size = _larger(size)
        return self._ids(line[0], os.pread(self.handle, self.size - line[0], line[0]))[-1]

    def _ids(self, start: int, window: bytes) -> list[tuple[int, bytes]]:
        """Return the place and id of each line that starts in a window and has its tab there."""
        place = 0
        # The window starts inside a line, unless the byte before it ends one.
        if start and os.pread(self.handle, 1, start - 1) != b"\n":
            place = window.find(b"\n") + 1
            if not place:
                return []
        found = []
        while (tab := window.find(b"\t", place)) >= 0:
            found.append((start + place, window[place:tab]))
            place = window.find(b"\n", tab) + 1
            if not place:
                break
        return found

    def _line_after(self, place: int) -> tuple[int, bytes] | None:
        """Return the first line that starts at or after a place, and its id."""
        size = _WINDOW
        while True:
            window = os.pread(self.handle, size, place)
            lines = self._ids(place, window)
            if lines or place + len(window) >= self.size:
                return lines[0] if lines else None
            size = _larger(size)

    def _line(self, start: int) -> bytes:
        size = _WINDOW
        while True:
            window = os.pread(self.handle, size, start)
            end = window.find(b"\n")
            if end >= 0 or start + len(window) >= self.size:
                return window[: end if end >= 0 else len(window)].rstrip(b"\r")
            size = _larger(size)


def _larger(size: int) -> int:
    """Return how much to read where a line did not end; one without end is left to who reads all."""
    if size > LONGEST:
        raise NotSorted
    return 4 * size


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
    """Return the texts of documents by doc_id, in the order asked for; those that are not there are left out.

    A collection has a line per document: ``id<tab>text``, ``id<tab>title<tab>text``,
    ``id<tab>address<tab>title<tab>body``, or a JSON object. Or it has one of the text formats. A plain
    file of lines whose ids ascend is not read but searched. A folder is read file by file; MS MARCO v2's
    ids say where in which file they are.
    """
    if is_dataset(path):
        return dataset_texts(fspath(path), doc_ids, fields)
    if isinstance(path, Held):
        return texts_of(path, doc_ids)
    wanted = dict.fromkeys(map(encode, doc_ids))
    search = _Search(wanted=wanted, fields=fields, notices=[] if notices is None else notices)
    folder = Path(path)
    files = [fspath(path)]
    if folder.is_dir():
        search.by_offset(folder)
        files = [fspath(file) for file in sorted(folder.iterdir()) if file.is_file()]
    sought = []
    for file in files:
        if search.missing:
            if search.by_id(file):
                sought.append(file)
            else:
                search.scan(file)
    for file in sought:
        if search.missing:  # a file may ascend at the samples and not between them
            search.scan(file)
    return {decode(name): search.found[name] for name in wanted if name in search.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What is wanted of a collection, and what of it was found."""

    wanted: dict[bytes, None]
    fields: TextFields
    notices: list[Notice]
    found: dict[bytes, str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return len(self.found) < len(self.wanted)

    def by_id(self, path: str) -> bool:
        """Look up what one file has; False where it is not sorted, or its fields have names."""
        if self.fields.given:
            return False
        try:
            with sorted_file(path) as file:
                lines = {name: file.find(name) for name in self.wanted if name not in self.found}
        except NotSorted:
            return False
        problems = Problems(path, "collection")
        for name, line in lines.items():
            if line is not None and (record := parse_tabs(line, 1, problems)):
                where = f"{path}, document {decode(name)}"
                self.found[name] = readable(record.text, where, self.notices)
        problems.check()
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
                self.found[name] = readable(record.text, fspath(path), self.notices)

    def scan(self, path: str) -> None:
        """Read a collection from end to end."""
        problems = Problems(path, "collection")
        lines: dict[bytes, int] = {}
        reading = Reading(problems=problems, notices=self.notices, fields=self.fields, wanted=self.wanted)
        try:
            for record in _records(reading, self.wanted):
                text = readable(record.text, f"{path}:{record.line}", self.notices)
                if self.found.setdefault(record.name, text) != text:
                    before = f"on line {lines[record.name]}" if record.name in lines else "in another file"
                    hint = "Give each doc_id one text only."
                    problems.add(record.line, 1, f"the document has another text {before}", record.name, hint)
                lines.setdefault(record.name, record.line)
        except Stop:
            pass
        problems.check()


def _records(reading: Reading, wanted: dict[bytes, None]) -> Iterator[Record]:
    """Yield the records that are wanted: tabs and JSON lines in bulk, other formats by their readers."""
    kind, every = open_texts(reading)
    if kind in OF_QUERIES:
        raise InputError(
            f"{reading.path} holds {OF_QUERIES[kind]}, not a collection", "Give it with --queries."
        )
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


def _tab_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
        name, tab, _ = line.partition(b"\t")
        if name.strip() in wanted or not tab or hidden_line(line) is not None:
            line = line.rstrip(b"\r")
            if line.strip() and (record := parse_tabs(line, number, problems)):
                yield record


def _json_records(block: Block, wanted: dict[bytes, None], reading: Reading) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
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


def markup_in(texts: Mapping[str, str], path: str | Path) -> list[Notice]:
    """Return a notice where texts hold tags or entities of HTML; else none."""
    marked = {name: found for name, text in texts.items() if (found := _MARKUP.search(text))}
    if not marked:
        return []
    name, found = next(iter(marked.items()))
    hold = "holds" if len(marked) == 1 else "hold"
    what = f"{many(len(marked), 'text')} of {len(texts):,} {hold} HTML, such as {found[0][:40]!r} in {name!r}"
    return [Notice(where=str(path), what=f"{what}: people see it as it stands")]

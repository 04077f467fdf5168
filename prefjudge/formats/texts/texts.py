"""Texts: the passages that are asked for, out of a collection that may be far larger than memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from os import fspath
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import LONGEST, Block
from prefjudge.formats.lines.datasets import is_dataset
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice, Problems, Stop, decode, encode
from prefjudge.formats.texts.datasets import dataset_texts
from prefjudge.formats.texts.held_texts import texts_of
from prefjudge.formats.texts.lookup import NotSorted, sorted_file
from prefjudge.formats.texts.records import hidden_line, parse_json, parse_tabs, readable
from prefjudge.formats.texts.text_formats import Reading, Record
from prefjudge.formats.texts.text_readers import JSON_LINES, LINES, OF_QUERIES, open_texts, read_as
from prefjudge.formats.texts.topic_fields import PLAIN, TextFields

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

    Raises
    ------
    InputError
        Where a line cannot be read, or a document has two texts.
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

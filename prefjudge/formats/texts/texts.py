"""Texts: the passages that are asked for, out of a collection that may be far larger than memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from os import fspath
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block, Holds, blocks
from prefjudge.formats.lines.problems import Notice, Problems, Stop, decode, encode
from prefjudge.formats.texts.lookup import NotSorted, sorted_file
from prefjudge.formats.texts.records import hidden_line, is_json, parse_json, parse_tabs, readable
from prefjudge.formats.texts.text_formats import Reading, Record, format_of, record_reader

_PLACED = re.compile(rb"(\w+_\d+)_(\d+)")


def read_texts(
    path: str | Path, doc_ids: Iterable[str], *, notices: list[Notice] | None = None
) -> dict[str, str]:
    """Return the texts of documents by doc_id, in the order asked for; those that are not there are left out.

    A collection has a line per document: ``id<tab>text``, ``id<tab>title<tab>text``,
    ``id<tab>address<tab>title<tab>body``, or a JSON object. Or it holds TREC documents, or CSV. A plain
    file of lines whose ids ascend is not read but searched. A folder is read file by file; MS MARCO v2's
    ids say where in which file they are.

    Raises
    ------
    InputError
        Where a line cannot be read, or a document has two texts.
    """
    wanted = dict.fromkeys(map(encode, doc_ids))
    found: dict[bytes, str] = {}
    folder = Path(path)
    files = [fspath(path)]
    if folder.is_dir():
        _read_by_offset(folder, wanted, found, notices)
        files = [fspath(file) for file in sorted(folder.iterdir()) if file.is_file()]
    searched = []
    for file in files:
        if len(found) < len(wanted):
            if _search(file, wanted, found, notices):
                searched.append(file)
            else:
                _scan(file, wanted, found, notices)
    for file in searched:
        if len(found) < len(wanted):  # a file may ascend at the samples and not between them
            _scan(file, wanted, found, notices)
    return {decode(name): found[name] for name in wanted if name in found}


def _search(
    path: str, wanted: dict[bytes, None], found: dict[bytes, str], notices: list[Notice] | None
) -> bool:
    """Look up what one file has; False where it is not sorted."""
    missing = [name for name in wanted if name not in found]
    try:
        with sorted_file(path) as file:
            lines = {name: file.find(name) for name in missing}
    except NotSorted:
        return False
    problems = Problems(path, "collection")
    for name, line in lines.items():
        if line is not None and (record := parse_tabs(line, 1, problems)):
            where = f"{path}, document {decode(name)}"
            found[name] = readable(record.text, where, notices)
    problems.check()
    return True


def _read_by_offset(
    folder: Path, wanted: dict[bytes, None], found: dict[bytes, str], notices: list[Notice] | None
) -> None:
    """Read documents whose ids say where they are: MS MARCO v2's ``file_offset``, in unpacked files."""
    for name in wanted:
        parts = _PLACED.fullmatch(name)
        path = folder / decode(parts[1]) if parts else None
        if parts is None or path is None or not path.is_file():
            continue
        with path.open("rb") as file:
            file.seek(int(parts[2]))
            line = file.readline()
        record = parse_json(line, 1, Problems(fspath(path), "collection")) if line else None
        if record is not None and record.name == name:
            found[name] = readable(record.text, fspath(path), notices)


def _scan(
    path: str, wanted: dict[bytes, None], found: dict[bytes, str], notices: list[Notice] | None
) -> None:
    """Read a collection from end to end."""
    problems = Problems(path, "collection")
    lines: dict[bytes, int] = {}
    try:
        for record in _records(path, wanted, problems, [] if notices is None else notices):
            text = readable(record.text, f"{path}:{record.line}", notices)
            if found.setdefault(record.name, text) != text:
                before = f"on line {lines[record.name]}" if record.name in lines else "in another file"
                hint = "Give each doc_id one text only."
                problems.add(record.line, 1, f"the document has another text {before}", record.name, hint)
            lines.setdefault(record.name, record.line)
    except Stop:
        pass
    problems.check()


def _records(
    path: str, wanted: dict[bytes, None], problems: Problems, notices: list[Notice]
) -> Iterator[Record]:
    """Yield the records that are wanted: tabs and JSON lines in bulk, other formats by their readers."""
    rest = blocks(path, Holds.TEXTS, notices=notices)
    first = next(rest, None)
    if first is None:
        raise InputError(
            f"{path} is empty: a collection needs at least one line",
            "Write each line as: id, a tab, the text.",
        )
    kind = format_of(first.data)
    if "topics" in kind:
        raise InputError(f"{path} holds topics, not a collection", "Give it with --queries.")
    every = chain([first], rest)
    if kind:
        reading = Reading(problems=problems, notices=notices, wanted=wanted)
        yield from (record for record in record_reader(kind)(every, reading) if record.name in wanted)
        return
    read = _json_records if is_json(first.data) else _tab_records
    for block in every:
        yield from read(block, wanted, problems)


def _tab_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
        name, tab, _ = line.partition(b"\t")
        if name.strip() in wanted or not tab or hidden_line(line) is not None:
            line = line.rstrip(b"\r")
            if line.strip() and (record := parse_tabs(line, number, problems)):
                yield record


def _json_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
        if line.strip() and (record := parse_json(line, number, problems)) and record.name in wanted:
            yield record

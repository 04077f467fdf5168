"""Texts: the passages that are asked for, out of a collection that may be far larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from os import fspath
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.problems import Notice, Problems, Stop, decode, encode
from prefjudge.formats.records import Record, is_json, parse_json, parse_tabs, readable
from prefjudge.formats.sources import Block, blocks


def read_texts(
    path: str | Path, doc_ids: Iterable[str], *, notices: list[Notice] | None = None
) -> dict[str, str]:
    """Return the texts of documents by doc_id, in the order asked for; those that are not there are left out.

    A collection has a line per document: ``id<tab>text``, ``id<tab>title<tab>text``,
    ``id<tab>address<tab>title<tab>body``, or a JSON object. A folder is read file by file.

    Raises
    ------
    InputError
        Where a line cannot be read, or a document has two texts.
    """
    wanted = dict.fromkeys(map(encode, doc_ids))
    found: dict[bytes, str] = {}
    files = sorted(file for file in Path(path).iterdir() if file.is_file()) if Path(path).is_dir() else [path]
    for file in files:
        if len(found) < len(wanted):
            _scan(fspath(file), wanted, found, notices)
    return {decode(name): found[name] for name in wanted if name in found}


def _scan(
    path: str, wanted: dict[bytes, None], found: dict[bytes, str], notices: list[Notice] | None
) -> None:
    """Read a collection from end to end."""
    problems = Problems(path, "collection")
    lines: dict[bytes, int] = {}
    json = None
    try:
        for block in blocks(path, notices=notices):
            if json is None:
                json = is_json(block.data)
            for record in (
                _json_records(block, wanted, problems) if json else _tab_records(block, wanted, problems)
            ):
                text = readable(record.text.strip(), f"{path}:{record.line}", notices)
                if found.setdefault(record.name, text) != text:
                    before = f"on line {lines[record.name]}" if record.name in lines else "in another file"
                    problems.add(
                        record.line,
                        1,
                        f"the document has another text {before}",
                        record.name,
                        "a doc_id stands on one line",
                    )
                lines.setdefault(record.name, record.line)
    except Stop:
        pass
    problems.check()
    if json is None:
        raise InputError(
            f"{path} is empty: a collection needs at least one line", "each line is: id, a tab, the text"
        )


def _tab_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
        name, tab, _ = line.partition(b"\t")
        if name.strip() in wanted or not tab:
            line = line.rstrip(b"\r")
            if line.strip() and (record := parse_tabs(line, number, problems)):
                yield record


def _json_records(block: Block, wanted: dict[bytes, None], problems: Problems) -> Iterable[Record]:
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.line):
        if line.strip() and (record := parse_json(line, number, problems)) and record.name in wanted:
            yield record

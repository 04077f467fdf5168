"""Runs: a run file read as chunks of whole queries, checked line by line, without an object per line.

Read are TREC runs (``query Q0 doc rank score tag``; the tag may hold blanks or be absent) and MS MARCO runs
(``query doc rank``). Which of them a file is, its first line says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Order
from prefjudge.core.tokens import FRONT, Places, Tokens, Words, same_token
from prefjudge.errors import InputError
from prefjudge.formats.ahead import ahead
from prefjudge.formats.fields import Fields, fields, joined
from prefjudge.formats.layouts import COLUMNS_HINT, Layout, layout_of
from prefjudge.formats.numerals import floats, integers
from prefjudge.formats.problems import Notice, Problems, Stop, decode
from prefjudge.formats.repeats import repeated_rows
from prefjudge.formats.sources import BLOCK, blocks, whole_lines

_SUFFIXES = (".gz", ".bz2", ".zst", ".txt", ".run", ".trec", ".tsv", ".res", ".input")


class OnDuplicate(StrEnum):
    """What to do where a run lists a document twice for a query."""

    ERROR = "error"
    FIRST = "first"
    """Keep the line that comes first."""
    BEST = "best"
    """Keep the line that ranks highest."""


class Scattered(Exception):  # noqa: N818 - a property of the file
    """The lines of a query do not stand together, so the run must be read as one chunk."""


@dataclass(frozen=True, slots=True)
class RunChunk:
    """Whole queries of a run: rows grouped by query, inside a query as the file lists them.

    Attributes
    ----------
    layout : Layout
        The file's columns.
    rows : Fields
        The lines; none where the chunk comes from a copy of the file.
    tag : bytes
        The tag of the chunk's first line; it may hold blanks, or be absent.
    queries : list of bytes
        The query of each group.
    bounds : ndarray of int64, shape (len(queries) + 1,)
        Group ``g`` is rows ``bounds[g]`` to ``bounds[g + 1]``.
    docs : Tokens
        The document of each row.
    codes : ndarray of uint64
        The code of each document.
    score : ndarray of float64
        The score of each row; minus the rank where the file has no scores.
    rank : ndarray of int64, or None
        The rank column where it was asked for.
    """

    layout: Layout
    rows: Fields
    tag: bytes
    queries: list[bytes]
    bounds: Places
    docs: Tokens
    codes: Words
    score: NDArray[np.float64]
    rank: NDArray[np.int64] | None

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def group(self) -> Places:
        """The group of each row."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.bounds))


def stem(path: str | Path) -> str:
    """Return a file's name without what says how it is stored."""
    name = Path(fspath(path)).name
    while (shorter := Path(name)).suffix.lower() in _SUFFIXES and shorter.stem:
        name = shorter.stem
    return name


def read_chunks(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
    size: int = BLOCK,
) -> Iterator[RunChunk]:
    """Yield a run as chunks of whole queries; memory is bounded by ``size`` and the largest query.

    Raises
    ------
    Scattered
        Where a query comes back after another: read the file with `read_whole` then.
    InputError
        With every problem of the file up to a limit, once the file was read.
    """
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    np.empty(8 * size, np.uint8)  # once given back, glibc keeps smaller blocks, and need not clear them anew
    try:
        for rows, changes in ahead(_queries(reader, whole_lines(path, size=size, notices=notices))):
            yield reader.chunk(rows, changes)
    except Stop:
        pass
    reader.close()


def _queries(reader: RunReader, texts: Iterator[bytes]) -> Iterator[tuple[Fields, Places]]:
    """Yield the fields of whole queries, and the rows where a query starts, the first aside."""
    kept: list[bytes] = []
    held, line, wanted = 0, 1, 0
    for data in texts:
        kept.append(data)
        held += len(data)
        if held < wanted:
            continue
        data = b"".join(kept)
        rows = reader.rows(data, line)
        changes = rows.ids(0).changes()
        if changes.size:
            start = int(changes[-1])
            yield rows.take(slice(0, start)), changes[:-1]
            line = int(rows.lines[start])
            data = data[rows.text.rfind(b"\n", 0, int(rows.starts[start, 0])) + 1 - FRONT :]
        kept, held = [data], len(data)
        wanted = 2 * held  # a query that fills blocks is not tokenised anew for each
    rows = reader.rows(b"".join(kept), line)
    if len(rows):
        yield rows, rows.ids(0).changes()


def read_whole(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
) -> RunChunk:
    """Read a run as one chunk, its lines brought together by query: for files that are not grouped."""
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    chunk = None
    try:
        rows = joined(reader.rows(block.data, block.line) for block in blocks(path, notices=notices))
        if len(rows):
            chunk = reader.chunk(_grouped(rows))
    except Stop:
        pass
    reader.close()
    assert chunk is not None
    return chunk


def _grouped(rows: Fields) -> Fields:
    """Bring the rows of each query together, queries in the order in which they first come."""
    queries = rows.ids(0)
    _, firsts, member = np.unique(queries.codes(), return_index=True, return_inverse=True)
    if same_token(queries, queries.take(firsts[member])).all():
        group = np.argsort(np.argsort(firsts))[member]
    else:  # two queries share a code
        places: dict[bytes, int] = {}
        group = np.array([places.setdefault(raw, len(places)) for raw in queries.to_bytes()])
    return rows.take(np.argsort(group, kind="stable"))


class RunReader:
    """Turns lines into chunks and collects what is wrong with them.

    Parameters
    ----------
    path : str
        The file, for messages.
    order : Order
        ``rank`` needs a readable rank column.
    on_duplicate : OnDuplicate
        What to do with a document listed twice.
    """

    def __init__(self, path: str, order: Order, on_duplicate: OnDuplicate) -> None:
        self.path, self.order, self.on_duplicate = path, order, on_duplicate
        self.layout: Layout | None = None
        self.problems = Problems(path, "run")
        self.seen: set[bytes] = set()

    def rows(self, data: bytes, line: int) -> Fields:
        """Find the fields of lines; the first line of the file settles the layout."""
        return fields(data, line, self._columns)

    def _columns(self, count: int) -> int:
        if self.layout is None:
            self.layout = layout_of(self.path, count)
        return self.layout.columns

    def chunk(self, rows: Fields, changes: Places | None = None) -> RunChunk:
        """Check rows that are grouped by query and make a chunk of them.

        ``changes`` are the rows where a query starts, the first aside, where they are known.
        """
        assert self.layout is not None
        layout = self.layout
        count = len(rows)
        rows, score, rank = self.checked(rows, ranks=self.order is Order.RANK)
        if changes is None or len(rows) != count:
            changes = rows.ids(0).changes()
        bounds = np.concatenate([[0], changes, [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
        names = rows.take(bounds[:-1]).ids(0).to_bytes()
        for name in names:
            if name in self.seen:
                raise Scattered(self.path)
            self.seen.add(name)
        docs = rows.ids(layout.doc)
        made = RunChunk(layout, rows, _tag(rows, layout), names, bounds, docs, docs.codes(), score, rank)
        return self._unrepeated(made)

    def checked(
        self, rows: Fields, *, ranks: bool
    ) -> tuple[Fields, NDArray[np.float64], NDArray[np.int64] | None]:
        """Return the sound rows, their scores, and their ranks if asked for, or in place of scores."""
        assert self.layout is not None
        layout = self.layout
        rows = self._counted(rows, layout)
        score, fine = self._scores(rows, layout)
        rank = None
        if ranks or layout.score is None:
            rank, whole = self._ranks(rows, layout)
            fine &= whole
            if layout.score is None:
                score = -rank.astype(np.float64)
        if not fine.all():
            rows, score = rows.take(fine), score[fine]
            rank = rank[fine] if rank is not None else None
        return rows, score, rank

    def _counted(self, rows: Fields, layout: Layout) -> Fields:
        fine = rows.counts == layout.columns
        if layout.tag is not None:
            fine |= rows.counts > layout.columns
        if fine.all():
            return rows
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                1,
                f"{rows.counts[row]} columns where {layout.columns} are expected, as in the first line",
                rows.line_of(row),
                COLUMNS_HINT,
            )
        return rows.take(fine)

    def _scores(self, rows: Fields, layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if layout.score is None:
            return np.zeros(len(rows)), np.ones(len(rows), bool)
        values, fine = floats(rows.ids(layout.score))
        for row in np.flatnonzero(~fine).tolist():
            raw = rows.raw(row, layout.score)
            what, hint = _bad_score(raw)
            self.problems.add(int(rows.lines[row]), rows.column_of(row, layout.score), what, raw, hint)
        return values, fine

    def _ranks(self, rows: Fields, layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values, fine = integers(rows.ids(layout.rank))
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                rows.column_of(row, layout.rank),
                "the rank is not a whole number",
                rows.raw(row, layout.rank),
                "a rank is a whole number: 1, 2, 3"
                + ("; or order by score: --order score" if layout.score is not None else ""),
            )
        return values, fine

    def _unrepeated(self, chunk: RunChunk) -> RunChunk:
        again, first = repeated_rows(chunk.group, chunk.codes, chunk.docs)
        if not again.size:
            return chunk
        if self.on_duplicate is OnDuplicate.ERROR:
            for row, before in zip(again.tolist(), first.tolist(), strict=True):
                self.problems.add(
                    int(chunk.rows.lines[row]),
                    chunk.rows.column_of(row, chunk.layout.doc),
                    f"document repeated for query {decode(chunk.rows.raw(row, 0))!r}"
                    f" (first on line {chunk.rows.lines[before]})",
                    chunk.docs.raw(row),
                    "keep one of the lines, or say which counts: --on-duplicate first, or best",
                )
        keep = np.ones(len(chunk), bool)
        keep[again] = False
        if self.on_duplicate is OnDuplicate.BEST:
            by = chunk.score if chunk.rank is None else -chunk.rank
            best: dict[int, int] = {}
            for row, before in zip(again.tolist(), first.tolist(), strict=True):
                if by[row] > by[best.get(before, before)]:
                    keep[best.get(before, before)] = False
                    keep[row] = True
                    best[before] = row
        return _kept(chunk, keep)

    def close(self) -> None:
        """Raise what was found."""
        self.problems.check()
        if self.layout is None:
            raise InputError(
                f"{self.path} is empty: a run needs at least one line", "check the program that wrote it"
            )


def _kept(chunk: RunChunk, keep: NDArray[np.bool_]) -> RunChunk:
    before = np.concatenate([[0], np.cumsum(keep)])
    return RunChunk(
        chunk.layout,
        chunk.rows.take(keep),
        chunk.tag,
        chunk.queries,
        before[chunk.bounds],
        chunk.docs.take(keep),
        chunk.codes[keep],
        chunk.score[keep],
        chunk.rank[keep] if chunk.rank is not None else None,
    )


def _tag(rows: Fields, layout: Layout) -> bytes:
    """Return the rest of the first line after the score."""
    if layout.tag is None or not len(rows):
        return b""
    start = int(rows.starts[0, layout.tag])
    return rows.text[start : rows.text.index(b"\n", start)].rstrip()


def _bad_score(raw: bytes) -> tuple[str, str]:
    if raw.lower().lstrip(b"+-") == b"nan":
        return "the score is NaN", "give the document a score, or leave its line out"
    if raw.count(b",") == 1 and raw.replace(b",", b"").lstrip(b"+-").isdigit():
        return "the score has a decimal comma", "write a decimal point: " + decode(raw).replace(",", ".")
    return "the score is not a number", "a score is a number with a decimal point, such as 12.5 or 1e-3"

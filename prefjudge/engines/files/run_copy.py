"""Copies: a checked run in columns, on disk, so that the next look at it reads only what it needs.

A copy is a folder: ``copy.json`` says what it holds, ``queries`` are its query ids, a line each, and
``bounds``, ``docs``, ``scores`` and perhaps ``ranks`` are columns. Documents have a fixed width, padded with
zero bytes. A checksum of each of these files tells a copy that is damaged from one that is not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np
from isal.isal_zlib import crc32  # ten times as fast as zlib's
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import FRONT, Places, Tokens, Words
from prefjudge.engines.files.ranking import is_ranked, ranking_key, stretches
from prefjudge.formats.lines.fields import Fields
from prefjudge.formats.lines.problems import Notice, decode
from prefjudge.formats.runs.chunks import RunChunk
from prefjudge.formats.runs.layouts import RunForm, layout_of

VERSION = 3
"""Raised when the columns change; older copies are then not used."""

_PADDING = b"\n" * 64
_ROWS = 1 << 16
_NO_LINES = Fields(b"", *(np.zeros((0, 1), np.int64),) * 2, *(np.zeros(0, np.int64),) * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a copy holds.

    ``by_score`` and ``by_rank`` tell whether the lines of every query are in that order; ``ranked`` whether
    the rank column was read. ``remarks`` are what the reader noticed, as (line or nothing, what).
    ``checksums`` are those of the files, by name.
    """

    version: int
    columns: int
    tag: str
    rows: int
    width: int
    by_score: bool
    by_rank: bool
    ranked: bool
    remarks: list[tuple[str, str]]
    checksums: dict[str, int]


class CopyWriter:
    """Writes a copy chunk by chunk into a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, BinaryIO] = {}
        self.clear()

    def clear(self) -> None:
        """Start over."""
        self.abandon()
        self.folder.mkdir(parents=True)
        self.queries: list[bytes] = []
        self.sizes: list[NDArray[np.int64]] = []
        self.width = self.rows = self.columns = 0
        self.tag = b""
        self.by_score = self.by_rank = True
        self.ranked = True
        self.usable = True

    def abandon(self) -> None:
        """Remove what was written."""
        for file in self.files.values():
            file.close()
        self.files = {}
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, chunk: RunChunk) -> None:
        """Append whole queries."""
        if not self.usable or not len(chunk):
            return
        words = chunk.docs.width()
        if b"\0" in chunk.rows.text:
            self.usable = False  # zero bytes pad the column
            return
        if 8 * words > self.width:
            self._widen(8 * words)
        columns = [chunk.docs.words(index) for index in range(self.width // 8)]
        self._file("docs").write(np.stack(columns, axis=1).tobytes())
        self._file("scores").write(chunk.score.tobytes())
        self.by_score &= is_ranked(chunk, Order.SCORE)
        if chunk.rank is None:
            self.ranked = False
        else:
            self._file("ranks").write(chunk.rank.tobytes())
            self.by_rank &= is_ranked(chunk, Order.RANK)
        self.queries += chunk.queries
        self.sizes.append(np.diff(chunk.bounds))
        self.tag = self.tag or chunk.tag
        self.columns = chunk.layout.columns
        self.rows += len(chunk)

    def _file(self, name: str) -> BinaryIO:
        if name not in self.files:
            self.files[name] = (self.folder / name).open("wb")
            if name == "docs":
                self.files[name].write(_PADDING[:FRONT])
        return self.files[name]

    def _widen(self, width: int) -> None:
        """Rewrite the documents so far with more bytes for each."""
        old, self.width = self.width, width
        if not self.rows:
            return
        self.files.pop("docs").close()
        before = np.fromfile(self.folder / "docs", dtype=f"S{old}", offset=FRONT)
        self._file("docs").write(before.astype(f"S{width}").tobytes())

    def close(self, remarks: list[tuple[str, str]]) -> bool:
        """Finish the copy; False where the run cannot be copied."""
        if not self.usable or not self.rows:
            return False
        self._file("docs").write(_PADDING)
        bounds = np.concatenate([[0], np.cumsum(np.concatenate(self.sizes))]).astype(np.int64)
        self._file("bounds").write(bounds.tobytes())
        self._file("queries").write(b"\n".join(self.queries))
        names = [*self.files]
        for file in self.files.values():
            file.close()
        self.files = {}
        contents = Contents(
            version=VERSION,
            columns=self.columns,
            tag=decode(self.tag),
            rows=self.rows,
            width=self.width,
            by_score=self.by_score,
            by_rank=self.ranked and self.by_rank,
            ranked=self.ranked,
            remarks=remarks,
            checksums={name: _checksum(self.folder / name) for name in names},
        )
        (self.folder / "copy.json").write_text(json.dumps(asdict(contents)))
        return True


class Copy:
    """A copy opened for reading. Columns are mapped, not read."""

    def __init__(self, folder: Path) -> None:
        """Open a copy; `OSError`, `ValueError` or `TypeError` where there is none that can be used."""
        self.contents = Contents(**json.loads((folder / "copy.json").read_text()))
        if self.contents.version != VERSION:
            raise ValueError("a copy of another version")
        if any(_checksum(folder / name) != found for name, found in self.contents.checksums.items()):
            raise ValueError("a damaged copy")
        self.queries = (folder / "queries").read_bytes().split(b"\n")
        self.bounds: Places = np.fromfile(folder / "bounds", np.int64)
        self.score = np.memmap(folder / "scores", np.float64, mode="r")
        self.rank = np.memmap(folder / "ranks", np.int64, mode="r") if self.contents.ranked else None
        with (folder / "docs").open("rb") as file:
            self.docs = mmap(file.fileno(), 0, access=ACCESS_READ)
        whole = self.score.size == self.contents.rows == self.bounds[-1]
        if not whole or len(self.docs) != FRONT + self.contents.rows * self.contents.width + len(_PADDING):
            raise ValueError("a damaged copy")

    @property
    def form(self) -> RunForm:
        """What the run was taken for."""
        layout = layout_of("", self.contents.columns)
        return RunForm(layout=layout, lines=self.contents.rows, queries=len(self.queries))

    @property
    def tag(self) -> bytes:
        """The run tag."""
        return self.contents.tag.encode("utf-8", "surrogateescape")

    def notices(self, path: str) -> list[Notice]:
        """Return what the reader noticed when the copy was made."""
        return [Notice(where=path + line, what=what) for line, what in self.contents.remarks]

    def in_order(self, order: Order) -> bool:
        """Tell whether the lines of every query are ranked as the file lists them, ties aside."""
        if order is Order.RANK:
            return self.contents.by_rank
        return order is Order.FILE or self.contents.by_score

    def chunks(self) -> Iterator[RunChunk]:
        """Yield the whole run."""
        start = 0
        while start < len(self.queries):
            stop = int(np.searchsorted(self.bounds, self.bounds[start] + _ROWS, side="left"))
            stop = min(max(stop, start + 1), len(self.queries))
            yield self.queries_chunk(start, stop)
            start = stop

    def queries_chunk(self, start: int, stop: int) -> RunChunk:
        """Return some queries, all their lines."""
        rows = np.arange(self.bounds[start], self.bounds[stop])
        bounds = self.bounds[start : stop + 1] - self.bounds[start]
        return self._chunk(rows, self.queries[start:stop], bounds)

    def doc_words(self) -> Words:
        """Return the documents as words, a column for each eight bytes."""
        words = np.frombuffer(self.docs, "<u8", self.contents.rows * self.contents.width // 8, FRONT)
        return words.reshape(self.contents.rows, -1)

    def ranking_column(self, order: Order) -> NDArray[np.float64] | None:
        """Return what ranks a line, higher is better; None where their order in the file does."""
        if order is Order.FILE:
            return None
        return ranking_key(self.score, self.rank, order)

    def heads(self, k: int, order: Order) -> RunChunk:
        """Return the first ``k`` lines of each query, and those that tie with the last, of a run in order."""
        sizes = np.diff(self.bounds)
        chunk = self._first(np.minimum(sizes, k + 1))
        if order is Order.FILE:
            return chunk
        key = ranking_key(chunk.score, chunk.rank, order)
        last = chunk.bounds[1:] - 1
        kth = np.minimum(chunk.bounds[:-1] + k - 1, last)
        # Line k + 1 shows whether the k-th is tied; the tie may go on, so such a query is taken whole.
        open_ = (np.diff(chunk.bounds) < sizes) & (key[kth] == key[last])
        return self._first(np.where(open_, sizes, np.minimum(sizes, k))) if open_.any() else chunk

    def _first(self, sizes: Places) -> RunChunk:
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return self._chunk(stretches(self.bounds[:-1], sizes), self.queries, bounds)

    def _chunk(self, rows: Places, queries: list[bytes], bounds: Places) -> RunChunk:
        width = self.contents.width
        starts = FRONT + rows * width
        docs = Tokens(self.docs, starts, starts + width)
        columns = np.stack([docs.words(index) for index in range(width // 8)], axis=1)
        # Zero bytes only pad (`add` refuses ids with one), so counting the others gives the length.
        docs = Tokens(self.docs, starts, starts + (columns.view(np.uint8) != 0).sum(axis=1))
        return RunChunk(
            self.form.layout,
            _NO_LINES,
            self.tag,
            queries,
            bounds,
            docs,
            docs.codes(),
            np.asarray(self.score[rows]),
            None if self.rank is None else np.asarray(self.rank[rows]),
        )


def _checksum(path: Path) -> int:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return int(crc32(data))


def open_copy(folder: Path) -> Copy | None:
    """Open a copy; None where there is none that can be used."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return Copy(folder)
    return None

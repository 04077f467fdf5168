"""Judgments files: ``query doc_1 doc_2 preferred``, and perhaps the worker."""

from __future__ import annotations

from os import fspath
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.errors import InputError
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.fields import Fields, fields
from prefjudge.formats.problems import Notice, Problems, Stop, column, decode
from prefjudge.formats.sources import blocks

_LINE_HINT = "a line of judgments is: query doc_1 doc_2 preferred, and perhaps a fifth column, the worker"
_TIES = (b"tie", b"TIE", b"=")


def read_judgments(path: str | Path, *, notices: list[Notice] | None = None) -> Judgments:
    """Read side-by-side judgments; ``preferred`` repeats a document, or is ``tie``.

    Raises
    ------
    InputError
        With every problem up to a limit: columns, a preferred document that is none of the two, a document
        against itself.
    """
    reader = _Reader(fspath(path))
    try:
        for block in blocks(path, notices=notices):
            rows = fields(block.data, block.line, reader.columns)
            if len(rows):
                reader.take(rows)
    except Stop:
        pass
    reader.problems.check()
    if reader.width is None:
        raise InputError(f"{path} is empty: a judgments file needs at least one line", _LINE_HINT)
    return Judgments(
        queries=tuple(map(decode, reader.queries)),
        docs=tuple(map(decode, reader.docs)),
        workers=tuple(map(decode, reader.workers)),
        query=np.array(reader.query, dtype=np.int32),
        left=np.array(reader.left, dtype=np.int32),
        right=np.array(reader.right, dtype=np.int32),
        choice=np.array(reader.choice, dtype=np.int8),
        strength=np.ones(len(reader.choice), dtype=np.int8),
        worker=np.array(reader.worker, dtype=np.int32),
    )


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.problems = Problems(path, "judgments file")
        self.width: int | None = None
        self.queries: dict[bytes, int] = {}
        self.docs: dict[bytes, int] = {}
        self.workers: dict[bytes, int] = {}
        self.query: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.choice: list[int] = []
        self.worker: list[int] = []

    def columns(self, count: int) -> int:
        if self.width is None:
            if count not in (4, 5):
                raise InputError(
                    f"{self.path} is not a judgments file: its first line has {count}"
                    f" column{'s'[: count != 1]}",
                    _LINE_HINT,
                )
            self.width = count
        return self.width

    def take(self, rows: Fields) -> None:
        """Read the rows of a block."""
        assert self.width is not None
        columns = [rows.ids(column).to_bytes() for column in range(self.width)]
        for row, line in enumerate(rows.lines.tolist()):
            if rows.counts[row] != self.width:
                what = f"{rows.counts[row]} columns where {self.width} are expected, as in the first line"
                self.problems.add(line, 1, what, rows.line_of(row), _LINE_HINT)
                continue
            query, left, right, preferred = (column[row] for column in columns[:4])
            if left == right:
                self.problems.add(
                    line, rows.column_of(row, 2), "the document is compared with itself", right, _LINE_HINT
                )
                continue
            choice = 1 if preferred == left else -1 if preferred == right else 0
            if choice == 0 and preferred not in _TIES:
                self.problems.add(
                    line,
                    rows.column_of(row, 3),
                    f"the preferred document is neither {decode(left)!r} nor {decode(right)!r}",
                    preferred,
                    "the last column repeats one of the two documents, or is: tie",
                )
                continue
            self.query.append(self.queries.setdefault(query, len(self.queries)))
            self.left.append(self.docs.setdefault(left, len(self.docs)))
            self.right.append(self.docs.setdefault(right, len(self.docs)))
            self.choice.append(choice)
            named = self.width == 5
            self.worker.append(self.workers.setdefault(columns[4][row], len(self.workers)) if named else -1)


def write_judgments(path: str | Path, judgments: Judgments) -> None:
    """Write judgments atomically: ``query doc_1 doc_2 preferred``, and the worker where all are known."""
    queries, docs, workers = (
        [column(name) for name in names] for names in (judgments.queries, judgments.docs, judgments.workers)
    )
    named = bool(len(judgments)) and int(judgments.worker.min()) >= 0
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice, judgments.worker)
    with atomic_write(path) as file:
        for query, left, right, choice, worker in zip(*(column.tolist() for column in columns), strict=True):
            preferred = b"tie" if choice == 0 else docs[left if choice > 0 else right]
            parts = [queries[query], docs[left], docs[right], preferred]
            file.write(b" ".join([*parts, workers[worker]] if named else parts) + b"\n")

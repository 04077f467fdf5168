"""Qrels files: TREC (``query Q0 doc grade``) and three columns (``query doc grade``)."""

from __future__ import annotations

from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.qrels import Qrels
from prefjudge.errors import InputError
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.fields import Fields, fields
from prefjudge.formats.numerals import floats
from prefjudge.formats.problems import Notice, Problems, Stop, column, decode
from prefjudge.formats.runs import stem
from prefjudge.formats.sources import blocks

_LINE_HINT = "a line of qrels is: query Q0 doc grade, or: query doc grade"


def read_qrels(
    path: str | Path, name: str | None = None, *, fractions: bool = False, notices: list[Notice] | None = None
) -> Qrels:
    """Read judged documents.

    Parameters
    ----------
    path : path
        The file.
    name : str, optional
        What leaderboards call the set; the file's name by default.
    fractions : bool
        Accept grades such as 0.5, which programs that read whole numbers take for 0.
    notices : list of Notice, optional
        Receives what was odd: a line that repeats another.

    Raises
    ------
    InputError
        With every problem up to a limit: columns, grades, and documents judged twice and differently.
    """
    reader = _Reader(fspath(path), fractions, notices)
    try:
        for block in blocks(path, notices=notices):
            rows = fields(block.data, block.line, reader.columns)
            if len(rows):
                reader.take(rows)
    except Stop:
        pass
    reader.problems.check()
    if reader.width is None:
        raise InputError(f"{path} is empty: qrels need at least one line", "check the program that wrote it")
    return Qrels(
        name=stem(path) if name is None else name,
        queries=tuple(map(decode, reader.queries)),
        docs=tuple(map(decode, reader.docs)),
        query=np.array(reader.query, dtype=np.int32),
        doc=np.array(reader.doc, dtype=np.int32),
        grade=np.array(reader.grade, dtype=np.float64),
    )


class _Reader:
    def __init__(self, path: str, fractions: bool, notices: list[Notice] | None) -> None:
        self.path, self.fractions, self.notices = path, fractions, notices
        self.problems = Problems(path, "qrels file")
        self.width: int | None = None
        self.queries: dict[bytes, int] = {}
        self.docs: dict[bytes, int] = {}
        self.query: list[int] = []
        self.doc: list[int] = []
        self.grade: list[float] = []
        self.lines: dict[tuple[int, int], tuple[int, float]] = {}

    def columns(self, count: int) -> int:
        if self.width is None:
            if count >= 5:
                raise InputError(
                    f"{self.path} is not a qrels file: its first line has {count} columns, as a run has",
                    "if runs and qrels were swapped, swap them back. " + _LINE_HINT,
                )
            if count < 3:
                raise InputError(
                    f"{self.path} is not a qrels file: its first line has {count} column{'s'[: count != 1]}",
                    _LINE_HINT,
                )
            self.width = count
        return self.width

    def take(self, rows: Fields) -> None:
        """Read the rows of a block."""
        assert self.width is not None
        grades, fine = self._grades(rows, self.width - 1)
        raw = (
            rows.ids(0).to_bytes(),
            rows.ids(self.width - 2).to_bytes(),
            grades.tolist(),
            rows.lines.tolist(),
        )
        for row, (query, doc, grade, line) in enumerate(zip(*raw, strict=True)):
            if not fine[row]:
                continue
            pair = (
                self.queries.setdefault(query, len(self.queries)),
                self.docs.setdefault(doc, len(self.docs)),
            )
            before = self.lines.setdefault(pair, (line, grade))
            if before[0] == line:
                self.query.append(pair[0])
                self.doc.append(pair[1])
                self.grade.append(grade)
            elif before[1] != grade:
                self.problems.add(
                    line,
                    rows.column_of(row, self.width - 1),
                    f"document {decode(doc)!r} of query {decode(query)!r} has grade {before[1]:g} on line"
                    f" {before[0]} and another here",
                    rows.raw(row, self.width - 1),
                    "keep the line with the right grade",
                )
            elif self.notices is not None:
                what = f"repeats line {before[0]}; counted once"
                self.notices.append(Notice(where=f"{self.path}:{line}", what=what))

    def _grades(self, rows: Fields, column: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        fine = rows.counts == self.width
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                1,
                f"{rows.counts[row]} columns where {self.width} are expected, as in the first line",
                rows.line_of(row),
                _LINE_HINT,
            )
        grades, numbers = floats(rows.ids(column))
        numbers &= np.isfinite(grades)
        whole = np.ones(len(rows), bool) if self.fractions else np.mod(np.where(numbers, grades, 0), 1) == 0
        for row in np.flatnonzero(fine & ~(numbers & whole)).tolist():
            if numbers[row]:
                what = "fractional grade, which most programs read as a whole number"
                hint = "use whole grades, or read it with fractional grades allowed (fractions=True)"
            else:
                what, hint = (
                    "the grade is not a number",
                    "a grade is a whole number: 0 is not relevant, 1 or more is",
                )
            self.problems.add(
                int(rows.lines[row]), rows.column_of(row, column), what, rows.raw(row, column), hint
            )
        return grades, fine & numbers & whole


def write_qrels(path: str | Path, qrels: Qrels, *, fractions: bool = False) -> None:
    """Write qrels in TREC format, atomically; grades are whole numbers unless ``fractions``."""
    if not fractions and np.mod(qrels.grade, 1).any():
        row = int(np.flatnonzero(np.mod(qrels.grade, 1))[0])
        raise InputError(
            f"{path}: grade {qrels.grade[row]:g} of document {qrels.docs[qrels.doc[row]]!r} is a fraction",
            "most programs read whole grades; write it with fractional grades allowed (fractions=True)",
        )
    queries = [column(name) for name in qrels.queries]
    docs = [column(name) for name in qrels.docs]
    with atomic_write(path) as file:
        for query, doc, grade in zip(
            qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist(), strict=True
        ):
            written = repr(grade) if fractions and grade % 1 else str(int(grade))
            file.write(b"%b Q0 %b %b\n" % (queries[query], docs[doc], written.encode()))

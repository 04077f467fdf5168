"""Qrels files: TREC (``query Q0 doc grade``), or three columns (``query doc grade``) as BEIR has them."""

from __future__ import annotations

from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.core.pooling.qrels import MOST_SUBTOPICS, Qrels, number_subtopics, with_subtopics
from prefjudge.core.pooling.runs import Codes
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.labels.held_labels import qrels_of
from prefjudge.formats.labels.stamps import second_column, with_stamps
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.blocks import Holds, blocks
from prefjudge.formats.lines.fields import Fields, fields, joined
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.numerals import floats
from prefjudge.formats.lines.problems import Notice, Problems, Stop, column, decode
from prefjudge.formats.lines.readers import stem
from prefjudge.formats.lines.repeats import repeated_rows

_MEND = "Keep the line with the right grade."
_GREATEST_GRADE = 7
"""No scale of relevance in use has more."""
_LINE_HINT = "Write each line as: query Q0 doc grade, or: query doc grade."


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
    if isinstance(path, Held):
        return qrels_of(path, name, fractions=fractions)
    reader = _Reader(fspath(path), fractions, notices)
    rows = joined(
        fields(block.data, block.line, reader.columns)
        for block in with_stamps(path, blocks(path, Holds.QRELS, notices=notices), notices)
    )
    if not len(rows):
        raise InputError(f"{path} is empty: qrels need at least one line", "Check the program that wrote it.")
    try:
        qrels = reader.qrels(rows, stem(path) if name is None else name)
    except Stop:
        raise reader.problems.error() from None
    reader.problems.check()
    return qrels


class _Reader:
    def __init__(self, path: str, fractions: bool, notices: list[Notice] | None) -> None:
        self.path, self.fractions, self.notices = path, fractions, notices
        self.problems = Problems(path, "qrels file")
        self.width: int | None = None

    def columns(self, count: int) -> int:
        if self.width is None:
            if count in (5, 6):
                raise InputError(
                    f"{self.path} is not a qrels file: its first line has {many(count, 'column')}, "
                    f"as a run has",
                    "If runs and qrels were swapped, swap them back. " + _LINE_HINT,
                )
            if count == 1:
                raise InputError(
                    f"{self.path} is not a qrels file: it holds a word a line, as lists of ids do", _LINE_HINT
                )
            if count not in (3, 4):
                raise InputError(
                    f"{self.path} is not a qrels file: its first line has {many(count, 'column')}",
                    _LINE_HINT,
                )
            self.width = count
        return self.width

    def qrels(self, rows: Fields, name: str) -> Qrels:
        """Read all rows; the vocabularies list what they hold as it first comes."""
        assert self.width is not None
        grade, fine = self._grades(rows, self.width - 1)
        if not fine.all():
            rows, grade = rows.take(fine), grade[fine]
        queries, docs = Numbering(), Numbering()
        query, doc = queries.add_runs(rows.ids(0)), docs.add(rows.ids(self.width - 2))
        if self.width == 3 and _are_ranks(query, grade):
            raise InputError(
                f"{self.path} is not a qrels file: its third column counts 1, 2, 3 and so on in each "
                "query, as the ranks of a run do",
                "If runs and qrels were swapped, swap them back. " + _LINE_HINT,
            )
        subtopic = self._subtopics(rows, query)
        group = query.astype(np.int64)
        if subtopic is not None:  # a document may come once for each subtopic
            group = group * MOST_SUBTOPICS + subtopic
        keep = self._unrepeated(rows, group, doc, grade)
        found = Qrels(
            name=name,
            queries=tuple(queries.vocabulary()),
            docs=tuple(docs.vocabulary()),
            query=query[keep],
            doc=doc[keep],
            grade=grade[keep],
        )
        return found if subtopic is None else with_subtopics(found, subtopic[keep])

    def _subtopics(self, rows: Fields, query: Codes) -> NDArray[np.int64] | None:
        """Return each row's subtopic, numbered within its query; None where the file tells none apart."""
        if self.width != 4 or not rows.ids(1).changes().size:
            return None
        found = number_subtopics(query, Numbering().add_runs(rows.ids(1)))
        if self.notices is not None:
            how = (
                "too often for subtopics: it is not looked at"
                if found is None
                else "and is taken for subtopics: a document's grade is its greatest"
            )
            what = f"the second column differs from line to line, {how}"
            self.notices.append(Notice(where=self.path, what=what))
        return found

    def _unrepeated(
        self, rows: Fields, group: NDArray[np.int64], doc: Codes, grade: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which rows say something new; it is a problem where a repeated one has another grade."""
        assert self.width is not None
        docs = rows.ids(self.width - 2)
        again, first = repeated_rows(group, doc.astype(np.uint64), docs)
        for row, before in zip(again.tolist(), first.tolist(), strict=True):
            line = int(rows.lines[row])
            if grade[row] != grade[before]:
                self.problems.add(
                    line,
                    rows.column_of(row, self.width - 1),
                    f"document {decode(docs.raw(row))!r} of query {decode(rows.raw(row, 0))!r} has grade"
                    f" {grade[before]:g} on line {rows.lines[before]} and another here",
                    rows.raw(row, self.width - 1),
                    _MEND,
                )
            elif self.notices is not None:
                what = f"repeats line {rows.lines[before]}; counted once"
                self.notices.append(Notice(where=f"{self.path}:{line}", what=what))
        keep = np.ones(len(rows), bool)
        keep[again] = False
        return keep

    def _grades(self, rows: Fields, column: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        fine = rows.counts == self.width
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                1,
                f"{many(rows.counts[row], 'column')} where {self.width} are expected, as in the first line",
                rows.line_of(row),
                _LINE_HINT,
            )
        grades, numbers = floats(rows.ids(column))
        numbers &= np.isfinite(grades)
        whole = np.ones(len(rows), bool) if self.fractions else np.mod(np.where(numbers, grades, 0), 1) == 0
        for row in np.flatnonzero(fine & ~(numbers & whole)).tolist():
            if numbers[row]:
                what = "fractional grade, which most programs read as a whole number"
                hint = "Use whole grades, or read it with fractional grades allowed (fractions=True)."
            else:
                what, hint = (
                    "the grade is not a number",
                    "Write a grade as a whole number: 0 is not relevant, 1 or more is.",
                )
            self.problems.add(
                int(rows.lines[row]), rows.column_of(row, column), what, rows.raw(row, column), hint
            )
        return grades, fine & numbers & whole


def _are_ranks(query: Codes, grade: NDArray[np.float64]) -> bool:
    """Tell whether the numbers of every query are 1, 2 and so on, each once, beyond all grades."""
    size = np.bincount(query)
    if size.max(initial=0) <= _GREATEST_GRADE:
        return False
    order = np.lexsort((grade, query))
    places = np.arange(query.size) - np.repeat(np.cumsum(size) - size, size) + 1
    return bool((grade[order] == places).all())


def write_qrels(
    path: str | Path, qrels: Qrels, *, fractions: bool = False, rehearsal: Rehearsal | None = None
) -> None:
    """Write qrels in TREC format, atomically; grades are whole numbers unless ``fractions``.

    A ``rehearsal`` stands in the second column of each line, which programs that read qrels do not look at.
    """
    if not fractions and np.mod(qrels.grade, 1).any():
        row = int(np.flatnonzero(np.mod(qrels.grade, 1))[0])
        raise InputError(
            f"{path}: grade {qrels.grade[row]:g} of document {qrels.docs[qrels.doc[row]]!r} is a fraction",
            "Allow fractional grades (fractions=True), or use whole ones, which most programs read.",
        )
    queries = [column(name) for name in qrels.queries]
    docs, second = [column(name) for name in qrels.docs], second_column(rehearsal)
    with atomic_write(path) as file:
        for query, doc, grade in zip(
            qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist(), strict=True
        ):
            written = repr(grade) if fractions and grade % 1 else str(int(grade))
            file.write(b"%b %b %b %b\n" % (queries[query], second, docs[doc], written.encode()))

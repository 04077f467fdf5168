"""Judgments files: ``query doc_1 doc_2 preferred``, and perhaps the worker."""

from __future__ import annotations

from dataclasses import replace
from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import Codes
from prefjudge.core.pooling.tokens import Tokens, same_token
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.labels.stamps import with_stamps
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.blocks import Holds, blocks
from prefjudge.formats.lines.fields import Fields, fields
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.problems import Notice, Problems, Stop, column, decode

_LINE_HINT = "Write each line as: query doc_1 doc_2 preferred, and perhaps a fifth column, the worker."
_PREFERRED_HINT = "the last column repeats one of the two documents, or is: tie"
TIES = (b"tie", b"TIE", b"=")


def read_judgments(
    path: str | Path, *, sides: bool = False, notices: list[Notice] | None = None
) -> Judgments:
    """Read side-by-side judgments; ``preferred`` repeats a document, or is ``tie``.

    Parameters
    ----------
    path : path
        The file.
    sides : bool
        Whether the first document of a line was shown on the left; a file does not say so itself.
    notices : list of Notice, optional
        Receives what is odd.

    Raises
    ------
    InputError
        With every problem up to a limit: columns, a preferred document that is neither of the two, a document
        against itself.
    """
    if isinstance(path, Held):
        if not isinstance(path.content, Judgments):
            raise InputError(f"{path} does not hold judgments", _LINE_HINT)
        return replace(path.content, sides=sides)
    reader = _Reader(fspath(path), sides=sides)
    try:
        for block in with_stamps(path, blocks(path, Holds.COLUMNS, notices=notices), notices):
            rows = fields(block.data, block.line, reader.columns)
            if len(rows):
                reader.take(rows)
    except Stop:
        pass
    reader.problems.check()
    if reader.width is None:
        raise InputError(f"{path} is empty: a judgments file needs at least one line", _LINE_HINT)
    return reader.judgments()


class _Reader:
    def __init__(self, path: str, *, sides: bool) -> None:
        self.path, self.sides = path, sides
        self.problems = Problems(path, "judgments file")
        self.width: int | None = None
        self.queries, self.docs, self.workers = Numbering(), Numbering(), Numbering()
        self.parts: list[tuple[Codes, Codes, Codes, NDArray[np.int8], Codes]] = []

    def columns(self, count: int) -> int:
        if self.width is None:
            if count not in (3, 4, 5):
                raise InputError(
                    f"{self.path} is not a judgments file: its first line has {count}"
                    f" column{'s'[: count != 1]}",
                    _LINE_HINT,
                )
            self.width = max(count, 4)  # where the first line lacks the preferred document, it is said below
        return self.width

    def take(self, rows: Fields) -> None:
        """Read the rows of a block."""
        whole = rows.counts == self.width
        left, right, preferred = rows.ids(1), rows.ids(2), rows.ids(3)
        choice = same_token(preferred, left).astype(np.int8) - same_token(preferred, right)
        for row in np.flatnonzero(~whole | (choice == 0)).tolist():
            self._check(rows, row)
        pairs = Tokens(rows.text, *(side[whole, 1:3].ravel() for side in (rows.starts, rows.ends)))
        docs = self.docs.add(pairs).reshape(-1, 2)
        rows = rows.take(whole)
        query = self.queries.add(rows.ids(0))
        worker = self.workers.add(rows.ids(4)) if self.width == 5 else np.full_like(query, -1)
        self.parts.append((query, docs[:, 0], docs[:, 1], choice[whole], worker))

    def _check(self, rows: Fields, row: int) -> None:
        """Report a line without a preferred document, unless it is a tie."""
        if rows.counts[row] != self.width:
            where, raw, hint = 1, rows.line_of(row), _LINE_HINT
            if rows.counts[row] == 3:
                self.problems.add(
                    int(rows.lines[row]), 1, "the preferred document is missing", raw, _PREFERRED_HINT
                )
                return
            what = f"{many(rows.counts[row], 'column')} where {self.width} are expected, as in the first line"
        else:
            left, right, preferred = (rows.raw(row, column) for column in (1, 2, 3))
            if left == right:
                where, raw, hint = rows.column_of(row, 2), right, _LINE_HINT
                what = "the document is compared with itself"
            elif preferred not in TIES:
                where, raw = rows.column_of(row, 3), preferred
                what = f"the preferred document is neither {decode(left)!r} nor {decode(right)!r}"
                hint = _PREFERRED_HINT
            else:
                return
        self.problems.add(int(rows.lines[row]), where, what, raw, hint)

    def judgments(self) -> Judgments:
        """Return all that was read."""
        columns = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        query, left, right, choice, worker = columns
        return Judgments(
            queries=tuple(self.queries.vocabulary()),
            docs=tuple(self.docs.vocabulary()),
            workers=tuple(self.workers.vocabulary()),
            query=query,
            left=left,
            right=right,
            choice=choice,
            strength=np.ones(choice.size, dtype=np.int8),
            worker=worker,
            sides=self.sides,
        )


def write_judgments(path: str | Path, judgments: Judgments, *, comment: str = "") -> None:
    """Write judgments atomically: ``query doc_1 doc_2 preferred``, and the worker where all are known.

    A comment is a line above them, behind a ``#``.
    """
    queries, docs, workers = (
        [column(name) for name in names] for names in (judgments.queries, judgments.docs, judgments.workers)
    )
    named = bool(len(judgments)) and int(judgments.worker.min()) >= 0
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice, judgments.worker)
    with atomic_write(path) as file:
        if comment:
            file.write(f"# {comment}\n".encode())
        for query, left, right, choice, worker in zip(*(column.tolist() for column in columns), strict=True):
            preferred = b"tie" if choice == 0 else docs[left if choice > 0 else right]
            parts = [queries[query], docs[left], docs[right], preferred]
            file.write(b" ".join([*parts, workers[worker]] if named else parts) + b"\n")

"""Run lines: the lines of a run turned into chunks of whole queries, and checked on the way.

Which columns there are, the first line says: TREC (``query Q0 doc rank score tag``; the tag may hold blanks,
or be absent) or MS MARCO (``query doc rank``). All lines have as many as the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import Places, same_token, tokens_of
from prefjudge.errors import InputError
from prefjudge.formats.lines.fields import Fields, fields
from prefjudge.formats.lines.numerals import floats, integers
from prefjudge.formats.lines.problems import Problems, decode
from prefjudge.formats.lines.repeats import repeated_rows
from prefjudge.formats.runs.chunks import OnDuplicate, RunChunk, Scattered, kept_rows
from prefjudge.formats.runs.layouts import COLUMNS_HINT, TREC, Layout, layout_of

_MOVED = (
    "Check for a blank in a document id, or a column too many before the score. Beyond six columns there can"
    " only be a tag with blanks, the same on every line."
)


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
        self.words: list[bytes] = []
        """The words of a tag with blanks."""
        self.fresh = True

    def rows(self, data: bytes | Sequence[bytes], line: int) -> Fields:
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
        # Rows were dropped: the changes that were known are places among other rows.
        if changes is None or len(rows) != count:
            changes = rows.ids(0).changes()
        if self.fresh and len(rows):
            self.fresh = False
            inside = np.ones(len(rows), bool)  # lines below another of the same query
            inside[changes] = inside[0] = False
            # What rises by one from line to line within each query is the rank; scores fall.
            counted = bool((score[inside] == score[np.flatnonzero(inside) - 1] + 1).all())
            self._check_places(rows, counted)
            if counted and inside.any():
                self._check_swapped(rows)
        bounds = np.concatenate([[0], changes, [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
        names = rows.take(bounds[:-1]).ids(0).to_bytes()
        for name in names:
            # The query was closed before: a chunk of it would be ranked as if it were all there is.
            if name in self.seen:
                raise Scattered(self.path)
            self.seen.add(name)
        docs = rows.ids(layout.doc)
        made = RunChunk(layout, rows, _tag(rows, layout), names, bounds, docs, docs.codes(), score, rank)
        return self._unrepeated(made)

    def checked(
        self, rows: Fields, *, ranks: bool
    ) -> tuple[Fields, NDArray[np.float64], NDArray[np.int64] | None]:
        """Return the sound rows, their scores, and their ranks if asked for or if there are no scores."""
        assert self.layout is not None
        layout = self.layout
        rows = self._tagged(self._counted(rows, layout), layout)
        score, fine = self._scores(rows, layout)
        rank = None
        if ranks or layout.score is None:
            rank, whole = self._ranks(rows, layout)
            fine &= whole
            if layout.score is None:
                # Ascending ranks are descending scores.
                score = -rank.astype(np.float64)
        if not fine.all():
            rows, score = rows.take(fine), score[fine]
            rank = rank[fine] if rank is not None else None
        return rows, score, rank

    def _counted(self, rows: Fields, layout: Layout) -> Fields:
        fine = rows.counts == layout.columns
        if fine.all():
            return rows
        for row in np.flatnonzero(~fine).tolist():
            many = int(rows.counts[row])
            self.problems.add(
                int(rows.lines[row]),
                1,
                f"{many} columns where {layout.columns} are expected, as in the first line",
                rows.line_of(row),
                _MOVED if max(many, layout.columns) > TREC.columns else COLUMNS_HINT,
            )
        return rows.take(fine)

    def _tagged(self, rows: Fields, layout: Layout) -> Fields:
        """Check a tag with blanks: it is that of the first line, else a column before it is too many."""
        if layout.tag is None or layout.columns == TREC.columns or not len(rows):
            return rows
        if not self.words:
            self.words = [rows.raw(0, column) for column in range(layout.tag, layout.columns)]
        fine = np.ones(len(rows), bool)
        for column, word in enumerate(self.words, layout.tag):
            fine &= same_token(rows.ids(column), tokens_of([word]).take(np.zeros(len(rows), np.int64)))
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                rows.column_of(row, layout.tag),
                f"columns 6 to {layout.columns} are not those of the first line",
                _rest(rows, row, layout.tag),
                _MOVED,
            )
        return rows.take(fine)

    def _check_places(self, rows: Fields, counted: bool) -> None:
        """Refuse six columns without a tag, of which the fifth is the rank and the sixth the score.

        A blank in every document id, or a column too many, makes such lines of those that have no tag: the
        sixth column then holds numbers that change, and the fifth counts the lines or the fourth does not.
        """
        if rows.counts[0] != TREC.columns:
            return
        tags = rows.ids(TREC.columns - 1)
        change = tags.changes()
        if not change.size or not floats(tags)[1].all():
            return
        if (counted and integers(rows.ids(4))[1].all()) or not integers(rows.ids(TREC.rank))[1].all():
            self.problems.add(
                int(rows.lines[change[0]]),
                rows.column_of(int(change[0]), TREC.columns - 1),
                "the sixth column holds numbers that change, so it is not the tag",
                tags.raw(int(change[0])),
                _MOVED,
            )

    def _check_swapped(self, rows: Fields) -> None:
        """Refuse scores that count the lines of a query beside ranks that are numbers, but not whole ones."""
        assert self.layout is not None
        layout = self.layout
        if layout.score is None:
            return
        ranks = rows.ids(layout.rank)
        if floats(ranks)[1].all() and not integers(ranks)[1].all():
            self.problems.add(
                int(rows.lines[0]),
                rows.column_of(0, layout.rank),
                "the score counts the lines of a query and the rank does not: the two columns are swapped",
                rows.raw(0, layout.rank),
                COLUMNS_HINT,
            )

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
                "Write ranks as whole numbers: 1, 2, 3"
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
                    "Keep one of the lines, or say which counts: --on-duplicate first, or best",
                )
        by = chunk.score if chunk.rank is None else -chunk.rank
        return chunk.take(kept_rows(again, first, by, self.on_duplicate))

    def close(self) -> None:
        """Raise what was found."""
        self.problems.check()
        if self.layout is None:
            raise InputError(
                f"{self.path} is empty: a run needs at least one line", "Check the program that wrote it."
            )


def _tag(rows: Fields, layout: Layout) -> bytes:
    """Return the tag of the first line; it may hold blanks."""
    return b"" if layout.tag is None or not len(rows) else _rest(rows, 0, layout.tag)


def _rest(rows: Fields, row: int, column: int) -> bytes:
    """Return a line from a column on."""
    start = int(rows.starts[row, column])
    return rows.text[start : rows.text.index(b"\n", start)].rstrip()


def _bad_score(raw: bytes) -> tuple[str, str]:
    if raw.lower().lstrip(b"+-") == b"nan":
        return "the score is NaN", "Give the document a score, or leave its line out."
    if raw.count(b",") == 1 and raw.replace(b",", b"").lstrip(b"+-").isdigit():
        return "the score has a decimal comma", "Write a decimal point: " + decode(raw).replace(",", ".")
    return (
        "the score is not a number",
        "Write a score as a number with a decimal point, such as 12.5 or 1e-3.",
    )

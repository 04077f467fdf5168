"""Run chunks: whole queries of a run in columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.tokens import Places, Tokens, Words
from prefjudge.formats.lines.fields import Fields
from prefjudge.formats.runs.layouts import Layout, RunForm


class OnDuplicate(StrEnum):
    """What to do where a run lists a document twice for a query."""

    ERROR = "error"
    FIRST = "first"
    """Keep the line that comes first."""
    BEST = "best"
    """Keep the line that ranks highest."""


class Scattered(Exception):  # noqa: N818 - a property of the file
    """The lines of a query are not contiguous, so the run must be read as one chunk."""


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

    def take(self, keep: NDArray[np.bool_]) -> RunChunk:
        """Return the chunk with some of its rows."""
        # How many rows are kept before each row: where each bound moves.
        before = np.concatenate([[0], np.cumsum(keep)])
        return RunChunk(
            self.layout,
            self.rows.take(keep),
            self.tag,
            self.queries,
            before[self.bounds],
            self.docs.take(keep),
            self.codes[keep],
            self.score[keep],
            self.rank[keep] if self.rank is not None else None,
        )


def kept_rows(
    again: Places, first: Places, by: NDArray[np.number[Any]], on_duplicate: OnDuplicate
) -> NDArray[np.bool_]:
    """Tell which rows stay of documents that are listed twice, where that is no error.

    Parameters
    ----------
    again, first : ndarray of int64
        The rows that repeat a document, and the row where each was listed first.
    by : ndarray
        What ranks each row, higher first.
    on_duplicate : OnDuplicate
        ``best`` keeps the row that ranks highest; anything else keeps the first.
    """
    keep = np.ones(by.size, bool)
    keep[again] = False
    if on_duplicate is OnDuplicate.BEST:
        best: dict[int, int] = {}
        for row, before in zip(again.tolist(), first.tolist(), strict=True):
            # Strictly: of equal lines the first stays.
            if by[row] > by[best.get(before, before)]:
                keep[best.get(before, before)] = False
                keep[row] = True
                best[before] = row
    return keep


@dataclass(slots=True)
class FormTally:
    """What the chunks of a run say of its form, as they come."""

    layout: Layout | None = None
    lines: int = 0
    queries: int = 0
    met: list[bytes] | None = None
    """The queries, where they are asked for."""

    def add(self, chunk: RunChunk) -> RunChunk:
        """Count a chunk, and return it."""
        self.layout = chunk.layout
        self.lines += len(chunk)
        self.queries += len(chunk.queries)
        if self.met is not None:
            self.met += chunk.queries
        return chunk

    def form(self) -> RunForm:
        """Return the form of the run."""
        assert self.layout is not None, "a run without a line is an error before"
        return RunForm(
            layout=self.layout,
            lines=self.lines,
            queries=self.queries,
            met=tuple(self.met or ()),
        )

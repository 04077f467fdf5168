"""Layouts: which column of a run file holds what."""

from dataclasses import dataclass

from prefjudge.counts import many
from prefjudge.errors import InputError

COLUMNS_HINT = (
    "Write each line of a TREC run as: query Q0 doc rank score tag; of an MS MARCO run: query doc rank."
)

_WIDEST = 64
"""The most columns of a run: a tag may hold blanks, but a line of more words is a text."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a run file holds what; None where it has no such column.

    A tag is the last column, or where it holds blanks, all from its own to the last.
    """

    name: str
    columns: int
    doc: int
    rank: int
    score: int | None
    tag: int | None


TREC = Layout(name="TREC", columns=6, doc=2, rank=3, score=4, tag=5)
TREC_UNTAGGED = Layout(name="TREC without tag", columns=5, doc=2, rank=3, score=4, tag=None)
MSMARCO = Layout(name="MS MARCO", columns=3, doc=1, rank=2, score=None, tag=None)


def layout_of(path: str, count: int) -> Layout:
    """Return the layout of a file whose first line has ``count`` columns."""
    for layout in (TREC, TREC_UNTAGGED, MSMARCO):
        if count == layout.columns:
            return layout
    if TREC.columns < count <= _WIDEST:
        return Layout(name="TREC", columns=count, doc=2, rank=3, score=4, tag=5)
    if count == 4:
        raise InputError(
            f"{path} is not a run: its first line has 4 columns, as qrels have",
            "If runs and qrels were swapped, swap them back. " + COLUMNS_HINT,
        )
    commas = "Separate columns by blanks or tabs, not by commas.\n" if count == 1 else ""
    raise InputError(
        f"{path} is not a run: its first line has {many(count, 'column')}", commas + COLUMNS_HINT
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """What a run file was taken for; ``met`` are the queries of a part of it, by which two are compared."""

    layout: Layout
    lines: int
    queries: int
    met: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        counts = (many(self.layout.columns, "column"), many(self.lines, "line"), many(self.queries, "query"))
        return ", ".join([self.layout.name, *counts])

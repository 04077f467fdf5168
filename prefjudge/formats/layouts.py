"""Layouts: which column of a run file holds what."""

from dataclasses import dataclass

from prefjudge.errors import InputError

COLUMNS_HINT = "a line of a TREC run is: query Q0 doc rank score tag; of an MS MARCO run: query doc rank"


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a run file holds what; None where it has no such column."""

    columns: int
    doc: int
    rank: int
    score: int | None
    tag: int | None


TREC = Layout(columns=6, doc=2, rank=3, score=4, tag=5)
TREC_UNTAGGED = Layout(columns=5, doc=2, rank=3, score=4, tag=None)
MSMARCO = Layout(columns=3, doc=1, rank=2, score=None, tag=None)


def layout_of(path: str, count: int) -> Layout:
    """Return the layout of a file whose first line has ``count`` columns."""
    for layout in (TREC_UNTAGGED, MSMARCO):
        if count == layout.columns:
            return layout
    if count >= TREC.columns:
        return TREC
    if count == 4:
        raise InputError(
            f"{path} is not a run: its first line has 4 columns, as qrels have",
            "if runs and qrels were swapped, swap them back. " + COLUMNS_HINT,
        )
    parted = "columns are parted by blanks or tabs, not by commas\n" if count == 1 else ""
    raise InputError(
        f"{path} is not a run: its first line has {count} column{'s'[: count != 1]}", parted + COLUMNS_HINT
    )

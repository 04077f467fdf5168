"""Runs beside their places on an official leaderboard, as tables."""

from collections.abc import Mapping

from prefjudge.counts import many
from prefjudge.evaluation.submissions.official import OfficialBoard
from prefjudge.render.text.cells import Column, Table


def official_table(board: OfficialBoard, *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return the runs in the official order with their scores (shallow pooling, Table 3)."""
    unlisted = sum(row.rank is None and not row.perfect for row in board.rows)
    notes = [
        f"{board.measure}: {many(board.queries, 'query')}, all of the {board.original} qrels, and the "
        f"{board.selected:,} selected ones, under the {board.original} qrels"
        + (f" and under the {board.preference} qrels." if board.preference else "."),
        "Rank and evaluation score are the leaderboard's own.",
    ]
    if unlisted:
        runs = many(unlisted, "run")
        notes.append(
            f"{runs} not found: the run tag is not the id of an entry, nor the description of just one."
        )
    return Table(
        title="The runs on the leaderboard",
        columns=(
            Column(name="run", priority=0),
            Column(name="rank", head="leaderboard rank", kind="integer"),
            Column(name="evaluation", head="evaluation set", kind="number"),
            Column(name="all_queries", head="all queries", kind="number"),
            Column(name="selected", head="selected queries", kind="number"),
            Column(name="preference", head="preference qrels", kind="number"),
            Column(name="reference", priority=5),
        ),
        rows=tuple(
            (
                row.run,
                row.rank,
                row.evaluation,
                row.all_queries,
                row.selected,
                row.preference,
                row.reference or None,
            )
            for row in board.rows
        ),
        notes=tuple(notes),
        provenance=provenance or {},
    )

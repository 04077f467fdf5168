"""Runs beside their places on an official leaderboard, as a table and as a plot."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.submissions.official import OfficialBoard
from prefjudge.render.cells import Column, Table
from prefjudge.render.figures import BLUE, drawing
from prefjudge.render.plain_text import printable
from prefjudge.render.point_labels import label_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        notes.append(f"{runs} not found: the run tag is no entry's id and no single entry's description.")
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


def plot_official(board: OfficialBoard) -> "Figure":
    """Draw the leaderboard's scores against those on the selected queries (shallow pooling, Figure 5)."""
    points = [(row.evaluation or 0.0, row.selected, printable(row.run)) for row in board.listed]
    with drawing(6, 5) as (figure, axes):
        axes.plot(
            [x for x, _, _ in points], [y for _, y, _ in points], "o",
            color=BLUE, markersize=5.5, markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        axes.margins(0.08)
        label_points(axes, points, ([], []))
        axes.grid()
        axes.set_xlabel("evaluation score on the leaderboard")
        axes.set_ylabel(printable(f"{board.measure}, {board.original} qrels"))
        tau = f", Kendall's τ {board.tau:.2f}" if math.isfinite(board.tau) else ""
        queries = many(board.selected, "selected query")
        axes.set_title(f"{many(len(points), 'run')}, {queries}{tau}")
    return figure

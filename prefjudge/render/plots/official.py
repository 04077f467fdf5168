"""Runs beside their places on an official leaderboard, as a plot."""

import math
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.submissions.official import OfficialBoard
from prefjudge.render.plots.figures import BLUE, drawing
from prefjudge.render.plots.point_labels import label_points
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

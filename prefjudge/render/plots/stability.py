"""Rank stability as plots (Craswell et al., SIGIR 2021, Figures 3 and 4)."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.stability import RankStability
from prefjudge.evaluation.testing.integer_scores import Matrix
from prefjudge.render.plots.figures import BLUE, INK, MUTED, ORANGE, RED, drawing, drawing_grid, shades
from prefjudge.render.tables.stability import Named, label
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = (BLUE, ORANGE, "#4d7c3a", RED, "#7a4a9e", MUTED)
COLUMNS = 3
"""How many panels are in a row: one measure's, where there are no more."""


def plot_ranks(result: RankStability) -> "Figure":
    """Draw how often each run took each rank under bootstrapping (Figure 3), and the ranks it may have."""
    runs = len(result.runs)
    shares = np.zeros((runs, runs)) if result.share is None else result.share
    side = 0.26 * runs
    with drawing(2.6 + max(2.4, side), 1.5 + max(1.6, side)) as (figure, axes):
        colors = shades("ranks", "#ffffff", "#9dc1e6", BLUE, "#12314f")
        image = axes.imshow(100 * shares, cmap=colors, vmin=0, vmax=100, aspect="equal")
        if runs <= 30:
            _write_shares(axes, shares)
        below = np.arange(runs) + 0.4
        axes.hlines(below, result.low - 1.35, result.high - 0.65, color=RED, linewidth=1, clip_on=False)
        if result.expected is not None:
            axes.plot(result.expected - 1, below, "^", color=RED, markersize=3.2, clip_on=False)
        axes.set_yticks(range(runs), [*map(printable, result.runs)])
        step = 1 if runs <= 30 else 5
        axes.set_xticks(range(0, runs, step), [str(rank + 1) for rank in range(0, runs, step)])
        axes.tick_params(length=0)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("rank")
        axes.spines[:].set_visible(False)
        if result.share is not None:
            bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
            bar.set_label(f"% of {result.trials:,} trials (bootstrapping)")
            bar.outline.set_visible(False)
        named = printable(f"{result.measure} under {result.qrels}")
        red = "rank interval" if result.expected is None else "expected rank, rank interval"
        figure.suptitle(
            f"{named}, {many(result.queries, 'query')}; red: {red}",
            fontsize=10.5, fontweight="bold", x=0.01, ha="left",
        )  # fmt: skip
    return figure


def _write_shares(axes: "Axes", shares: Matrix) -> None:
    for run, row in enumerate(shares.tolist()):
        for rank, share in enumerate(row):
            if share >= 0.005:
                axes.text(
                    rank, run, f"{100 * share:.0f}", ha="center", va="center", fontsize=6,
                    color="white" if share > 0.45 else INK,
                )  # fmt: skip


def plot_conditions(named: Sequence[Named], runs: Sequence[str]) -> "Figure":
    """Draw how often a few runs took each rank, in a panel for each condition (Figure 4).

    Of few queries there are no shares: a line spans the ranks that a run may have.

    Parameters
    ----------
    named : sequence of (str, RankStability)
        The conditions: which part of the queries, and the ranks there. Those of a measure share a row.
    runs : sequence of str
        Which runs to draw; a dashed line is at the expected rank.
    """
    rows = _rows(named)
    columns = max(map(len, rows))
    with drawing_grid(1 + 2.9 * columns, 0.9 + 2.1 * len(rows), len(rows), columns) as (figure, grid):
        for panels, row in zip(grid, rows, strict=True):
            for axes, (part, result) in zip(panels, row, strict=False):
                _draw_panel(axes, result, runs)
                axes.set_title(fill(printable(label(part, result)), 38), fontsize=8.5)
        for column in range(columns):
            used = sum(column < len(row) for row in rows)
            for panels in grid[used:]:
                panels[column].set_visible(False)
            grid[used - 1][column].tick_params(labelbottom=True)
            grid[used - 1][column].set_xlabel("rank")
        trials = {result.trials for _, result in named if result.trials}
        words = {0: "", 1: f"% of {max(trials, default=0):,} trials"}.get(len(trials), "% of trials")
        for panels in grid:
            panels[0].set_ylabel(words)
        longest = max(len(printable(run)) for run in runs)
        handles, names = grid[0][0].get_legend_handles_labels()
        space = int(36 * columns / (longest + 4))
        figure.legend(handles, names, loc="outside upper left", ncols=max(1, min(len(names), space)))
    return figure


def _rows(named: Sequence[Named]) -> list[list[Named]]:
    """Return the conditions in rows, the longest first: each measure begins a new one."""
    found = []
    for measure in dict.fromkeys(result.measure for _, result in named):
        row = [one for one in named if one[1].measure == measure]
        found += [row[start : start + COLUMNS] for start in range(0, len(row), COLUMNS)]
    return sorted(found, key=len, reverse=True)


def _draw_panel(axes: "Axes", result: RankStability, runs: Sequence[str]) -> None:
    ranks = range(1, len(result.runs) + 1)
    for number, run in enumerate(runs):
        at = result.runs.index(run)
        color = COLORS[number % len(COLORS)]
        if result.share is None or result.expected is None:
            ends = [int(result.low[at]), int(result.high[at])]
            axes.plot(ends, [number] * 2, "o-", color=color, markersize=3, label=printable(run))
            axes.set_yticks([])
            continue
        axes.bar(ranks, 100 * result.share[at], width=0.9, color=color, alpha=0.65, label=printable(run))
        axes.axvline(float(result.expected[at]), color=color, linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xlim(0.5, len(result.runs) + 0.5)
    axes.grid(axis="y")

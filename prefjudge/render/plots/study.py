"""How a study went: which ranks are possible, how sure the answers are, the work, and the workers."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard
from prefjudge.evaluation.leaderboards.tiers import Standing
from prefjudge.render.plots.figures import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    PALE,
    RED,
    count_by_whole_numbers,
    drawing,
)
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_WORKERS = 40
"""Workers that a plot has room for: the least reliable ones."""


def plot_rank_intervals(board: Leaderboard, standings: Sequence[Standing]) -> "Figure":
    """Draw the ranks that no significant difference rules out for each run, best on top; tiers are bands."""
    ranks = {row.run: row.rank for row in board.ranked}
    with drawing(6, 1.2 + 0.22 * len(standings)) as (figure, axes):
        for place, one in enumerate(standings):
            if one.tier % 2 == 0:
                axes.axhspan(place - 0.5, place + 0.5, color=PALE, alpha=0.55, linewidth=0)
            axes.plot([one.highest, one.lowest], [place, place], color=BLUE, linewidth=2.4, alpha=0.5)
            axes.plot([ranks[one.run] or math.nan], [place], "o", color=BLUE, markersize=4.5)
        axes.set_yticks(range(len(standings)), [printable(one.run) for one in standings])
        axes.set_ylim(len(standings) - 0.5, -0.5)
        axes.set_xlim(0.5, len(standings) + 0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_xlabel("rank: as scored (dot), and those that no significant difference rules out")
        axes.set_title(printable(f"{board.measure}, {board.qrels} qrels; bands are tiers"))
    return figure


BINS = 10


def count_chances(chances: Sequence[float]) -> list[int]:
    """Count probabilities in ten bins of the same width."""
    counts = [0] * BINS
    for chance in chances:
        counts[min(int(BINS * chance), BINS - 1)] += 1
    return counts


def plot_chances(chances: Sequence[float]) -> "Figure":
    """Draw how probable it is that the winners are the best: how many queries have each probability."""
    with drawing(6, 3.2) as (figure, axes):
        places = [(place + 0.5) / BINS for place in range(BINS)]
        axes.bar(places, count_chances(chances), width=0.92 / BINS, color=BLUE)
        mean = sum(chances) / len(chances) if chances else math.nan
        if chances:
            axes.axvline(mean, color=RED, linewidth=1.2, linestyle=(0, (4, 2)))
            axes.annotate(
                f"mean {mean:.2f}", (mean, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
                textcoords="offset points", va="top", fontsize=8, color=RED,
            )  # fmt: skip
        axes.set_xlim(0, 1)
        axes.margins(y=0.12)
        count_by_whole_numbers(axes.yaxis)
        axes.grid(axis="y")
        axes.set_xlabel("P(best) of the winner")
        axes.set_ylabel("queries")
        axes.set_title(f"{sum(chances):.1f} of {many(len(chances), 'winner')} expected to be the best")
    return figure


def plot_work(
    times: Sequence[float], judgments: Sequence[int], dollars: Sequence[float], *, unit: str
) -> "Figure":
    """Draw how many comparisons had been made, and for how much, by the time since the first was sent in."""
    with drawing(6, 3.2) as (figure, axes):
        axes.step(times, judgments, where="post", color=BLUE, linewidth=1.8)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.set_xlabel(f"{unit} since the first assignment")
        axes.set_ylabel("comparisons", color=BLUE)
        paid = axes.twinx()
        paid.step(times, dollars, where="post", color=ORANGE, linewidth=1.4, linestyle=(0, (4, 2)))
        paid.set_ylim(bottom=0)
        paid.set_ylabel("rewards of their HITs, dollars (dashed)", color=ORANGE)
        axes.set_title("Time and money")
    return figure


WorkerPoint = tuple[str, float | None, float | None, float | None, bool]
"""A worker, how often they look, the bounds of their share of gold pairs right, whether they are barred."""


def plot_workers(rows: Sequence[WorkerPoint]) -> "Figure":
    """Draw how reliable each worker is, beside the share of gold pairs that they may get right."""
    shown = rows[:MOST_WORKERS]
    with drawing(6, 1.2 + 0.2 * len(shown)) as (figure, axes):
        for place, (_, looks, low, high, barred) in enumerate(shown):
            color = ORANGE if barred else BLUE
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=MUTED, linewidth=2.2, alpha=0.45)
            if looks is not None:
                axes.plot([looks], [place], "o", color=color, markersize=4.5)
        axes.set_yticks(range(len(shown)), [row[0] for row in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.02)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.grid(axis="x")
        axes.set_xlabel("how often they look (dot; orange: barred), and gold pairs right (bar, 95 %)")
        left = f", {len(shown)} of them shown" if len(shown) < len(rows) else ""
        axes.set_title(f"{many(len(rows), 'worker')}, the least reliable first{left}")
    return figure

"""The plots of the papers: each takes a result and returns a figure."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prefjudge.counts import many
from prefjudge.evaluation.comparing.winratio import WinRatios
from prefjudge.evaluation.leaderboards.correlation import RankCorrelation
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard, LeaderboardRow
from prefjudge.evaluation.leaderboards.tiers import Standing
from prefjudge.render.plots.figures import (
    BLUE,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PALE,
    RED,
    count_by_whole_numbers,
    drawing,
    shades,
)
from prefjudge.render.plots.point_labels import label_points
from prefjudge.render.tables.leaderboard import votings_words
from prefjudge.render.text.plain_text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_leaderboard(
    board: Leaderboard,
    standings: Sequence[Standing] = (),
    *,
    order: Sequence[str] = (),
    order_name: str = "",
) -> "Figure":
    """Draw each run's score with its interval, best on top; tiers are bands, the perfect ranking a line.

    Another ``order`` of the runs shows where it and the board part (shallow pooling, Figure 6, bottom); tiers
    are no bands then. Runs that it does not have stand below.

    There is no line where the perfect ranking lacks queries: its score cannot be compared with the runs'
    then. Runs that are better than perfect are filled in orange; those above it, not significantly, are
    orange rings.
    """
    rows = [row for row in board.rows if not row.perfect]
    if order:
        places = {run: place for place, run in enumerate(order)}
        rows.sort(key=lambda row: places.get(row.run, len(places)))
        standings = ()
    tiers = {one.run: one.tier for one in standings}
    with drawing(7, 1.4 + 0.24 * len(rows)) as (figure, axes):
        for place, row in enumerate(rows):
            if tiers.get(row.run, 1) % 2 == 0:
                axes.axhspan(place - 0.5, place + 0.5, color=PALE, alpha=0.55, linewidth=0)
            color = _color(row)
            if math.isfinite(row.low):
                axes.plot([row.low, row.high], [place, place], color=color, linewidth=2.2, alpha=0.4)
            axes.plot([row.score], [place], "o", color=color, markersize=5, markerfacecolor=_fill(row))
        for row in _drawn_bars(board):
            axes.axvline(row.score, color=RED, linewidth=1.2, linestyle=(0, (4, 2)))
            axes.annotate(
                printable(row.run),
                (row.score, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8,
                color=RED,
            )
        axes.set_yticks(range(len(rows)), [printable(row.run) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        scale = f"{board.measure} ({board.statistic} and {board.confidence:.0%} interval)"
        axes.set_xlabel("\n".join(map(printable, [scale, *_perfect_key(board)])))
        extra = "; bands are tiers" if standings else f", in the order of {order_name}" if order_name else ""
        axes.set_title(printable(f"{board.qrels} qrels, {many(board.queries, 'query')}{extra}"), pad=16)
    return figure


def plot_two_boards(x: Leaderboard, y: Leaderboard, *, tau: RankCorrelation | None = None) -> "Figure":
    """Draw each run's score under one set of qrels against another (shallow pooling, Figure 6).

    Lines mark the perfect rankings; points are filled as in :func:`plot_leaderboard`.
    """
    found = {row.run: row for row in x.rows}
    shared = [(found[row.run], row) for row in y.rows if row.run in found and not row.perfect]
    with drawing(6, 5.4) as (figure, axes):
        for one, other in shared:
            color, fill = _color(one, other), _fill(one, other)
            axes.plot(
                [one.score],
                [other.score],
                "o",
                markersize=5.5,
                markerfacecolor=fill,
                markeredgecolor=color if fill == "white" else "white",
                markeredgewidth=1.2 if fill == "white" else 0.6,
            )
        _perfect_lines(axes, x, y)
        axes.margins(0.08)
        bars = ([row.score for row in _drawn_bars(x)], [row.score for row in _drawn_bars(y)])
        label_points(axes, [(one.score, other.score, printable(one.run)) for one, other in shared], bars)
        axes.grid()
        axes.set_xlabel("\n".join(map(printable, [f"{x.measure}, {x.qrels} qrels", *_perfect_key(x, y)])))
        axes.set_ylabel(printable(f"{y.measure}, {y.qrels} qrels"))
        words = ""
        if tau is not None and math.isfinite(tau.tau):
            words = f"\nKendall's τ {tau.tau:.2f}{votings_words(tau)}"
        queries = " and ".join(f"{count:,}" for count in dict.fromkeys((x.queries, y.queries)))
        plural = "query" if queries == "1" else "queries"
        axes.set_title(f"{many(len(shared), 'run')}, {queries} {plural}, two label sets{words}")
    return figure


def _color(*rows: LeaderboardRow) -> str:
    """Return the colour of a run: orange where it is above a perfect ranking."""
    return ORANGE if any(row.above_perfect_by > 0 for row in rows) else BLUE


def _fill(*rows: LeaderboardRow) -> str:
    """Return what fills a run's point: nothing where it is above a perfect ranking by chance, perhaps."""
    return _color(*rows) if _color(*rows) == BLUE or any(row.above_perfect for row in rows) else "white"


def _drawn_bars(board: Leaderboard) -> list[LeaderboardRow]:
    """Return the perfect ranking of a board that may be drawn among its runs: it has all their queries."""
    return [board.perfect] if board.perfect and board.perfect.queries == board.queries else []


def _perfect_key(*boards: Leaderboard) -> list[str]:
    """Return what the colours mean, where some board has a perfect ranking."""
    bars = [(board.perfect, board.queries) for board in boards if board.perfect]
    if not bars:
        return []
    absent = {
        f"{bar.run}, no line: it has {many(bar.queries, 'query')}"
        for bar, count in bars
        if bar.queries < count
    }
    return ["orange: better than perfect; orange ring: above, not significant", *sorted(absent)]


def _perfect_lines(axes: "Axes", x: Leaderboard, y: Leaderboard) -> None:
    style: Any = {"color": RED, "linewidth": 1.1, "linestyle": (0, (4, 2))}
    for row in _drawn_bars(x):
        axes.axvline(row.score, **style)
        axes.annotate(
            printable(row.run), (row.score, 0.01), xycoords=("data", "axes fraction"), xytext=(3, 0),
            textcoords="offset points", rotation=90, va="bottom", fontsize=7.5, color=RED,
        )  # fmt: skip
    for row in _drawn_bars(y):
        axes.axhline(row.score, **style)
        axes.annotate(
            printable(row.run), (0.01, row.score), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", va="bottom", fontsize=7.5, color=RED,
        )  # fmt: skip


def plot_pool_sizes(sizes: Mapping[int, int], *, title: str = "Sizes of the pools") -> "Figure":
    """Draw how many queries have a pool of each size (shallow pooling, Figures 3 and 4)."""
    total = sum(sizes.values())
    mean = sum(size * count for size, count in sizes.items()) / total if total else 0.0
    with drawing(6, 3.4) as (figure, axes):
        # bars that stand close have no room for numbers above them, nor for one below each
        close = bool(sizes) and max(sizes) - min(sizes) >= 24
        axes.bar(list(sizes), list(sizes.values()), width=0.82, color=BLUE)
        if not close:
            for size, count in sizes.items():
                axes.annotate(
                    f"{count:,}", (size, count), xytext=(0, 2), textcoords="offset points",
                    ha="center", fontsize=7.5, color=MUTED,
                )  # fmt: skip
        if total:
            axes.axvline(mean, color=RED, linewidth=1.2, linestyle=(0, (4, 2)))
            axes.annotate(
                f"mean {mean:.2f}", (mean, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
                textcoords="offset points", va="top", fontsize=8, color=RED,
            )  # fmt: skip
        count_by_whole_numbers(axes.xaxis, most=12 if close else 24)
        count_by_whole_numbers(axes.yaxis)
        axes.grid(axis="y")
        axes.margins(y=0.12)
        axes.set_xlabel("documents in the pool")
        axes.set_ylabel("queries")
        axes.set_title(f"{title}: {many(total, 'query')}")
    return figure


MOST_WRITTEN = 30
"""Up to so many runs, the win ratios are written into the cells; the colours of more tell them."""


def plot_win_ratios(result: WinRatios, *, alpha: float = 0.05) -> "Figure":
    """Draw the matrix of win ratios as percentages: the column beats the row; bold: significant (Table 4)."""
    found, runs = result.matrix(alpha), result.runs
    written = len(runs) <= MOST_WRITTEN
    side = (0.46 if written else 0.16) * len(runs)
    with drawing(3.4 + max(2.6, side), 1.9 + max(1.6, side)) as (figure, axes):
        colors = shades("wins", ORANGE, "#ffffff", BLUE)
        # "none": one pixel of the file for each cell, which a viewer enlarges. By default every pixel of the
        # screen is computed, in 100 MB for 64 runs.
        image = axes.imshow(
            100 * found.ratio, cmap=colors, vmin=0, vmax=100, aspect="equal", interpolation="none"
        )
        for row, ratios in enumerate(found.ratio.tolist()):
            place, width = row / len(runs), 1 / len(runs)
            axes.axhspan(row - 0.5, row + 0.5, place, place + width, color=GRID, linewidth=0)
            for column, ratio in enumerate(ratios):
                if row != column and written:
                    axes.text(
                        column, row, f"{100 * ratio:.1f}" if math.isfinite(ratio) else "–",
                        ha="center", va="center", fontsize=7.5,
                        fontweight="bold" if found.significant[row, column] else "normal",
                        color="white" if abs(ratio - 0.5) > 0.38 else INK,
                        in_layout=False,  # it is in its cell: measuring it would cost as much as drawing it
                    )  # fmt: skip
        axes.set_yticks(range(len(runs)), [*map(printable, runs)])
        axes.set_xticks(
            range(len(runs)), [printable(f"{run}  ({result.wins[run]})") for run in runs],
            rotation=45, ha="left", rotation_mode="anchor",
        )  # fmt: skip
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02)
        bar.set_label("% won by the column")
        bar.outline.set_visible(False)
        figure.suptitle(
            f"How often the column beats the row, {many(result.queries, 'query')} "
            "(bold: significant)\nin parentheses: the runs that each column beats",
            fontsize=9.5, fontweight="bold", x=0.01, ha="left",
        )  # fmt: skip
    return figure

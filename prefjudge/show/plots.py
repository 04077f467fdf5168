"""Plots: leaderboards, stability, progress, and a run's top against the labels."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from prefjudge.evaluation.boards import Leaderboard, LeaderboardRow
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.evaluation.firmness import Standing
from prefjudge.evaluation.intervals import Matrix
from prefjudge.evaluation.stability import RankStability
from prefjudge.evaluation.submissions import OfficialBoard, Submission
from prefjudge.evaluation.winratios import Example, TopAgainstQrel, WinRatios
from prefjudge.show.boards import votings_words
from prefjudge.show.cells import shorten
from prefjudge.show.figures import (
    BLUE,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PALE,
    RED,
    count_by_whole_numbers,
    drawing,
    drawing_grid,
    label_points,
    shades,
)
from prefjudge.show.statistics import Named, label
from prefjudge.words import many, printable

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
        scale = f"{board.measure} (mean and {board.confidence:.0%} interval)"
        axes.set_xlabel("\n".join(map(printable, [scale, *_perfect_key(board)])))
        extra = "; bands are tiers" if standings else f", in the order of {order_name}" if order_name else ""
        axes.set_title(printable(f"{board.qrels} qrels, {many(board.queries, 'query')}{extra}"), pad=16)
    return figure


def plot_two_boards(
    x: Leaderboard, y: Leaderboard, *, tau: RankCorrelation | None = None, shown: Sequence[str] = ()
) -> "Figure":
    """Draw each run's score under one set of qrels against another (shallow pooling, Figure 6).

    Lines mark the perfect rankings; points are filled as in :func:`plot_leaderboard`. Of many runs some are
    named, those that are ``shown`` before others.
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
        points = [(one.score, other.score, printable(one.run)) for one, other in shared]
        axes.grid()
        axes.set_xlabel("\n".join(map(printable, [f"{x.measure}, {x.qrels} qrels", *_perfect_key(x, y)])))
        axes.set_ylabel(printable(f"{y.measure}, {y.qrels} qrels"))
        words = ""
        if tau is not None and math.isfinite(tau.tau):
            words = f"Kendall's τ {tau.tau:.2f}{votings_words(tau)}"
        queries = " and ".join(f"{count:,}" for count in dict.fromkeys((x.queries, y.queries)))
        plural = "query" if queries == "1" else "queries"
        title = f"{many(len(shared), 'run')}, {queries} {plural}, two label sets"
        axes.set_title("\n".join((title, *wrap(words, 72))))
        label_points(axes, points, bars, shown)
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


def plot_pool_sizes(sizes: Mapping[int, int]) -> "Figure":
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
                    f"{count:,}", (size, count), xytext=(0, 3.5), textcoords="offset points",
                    ha="center", fontsize=7.5, color=MUTED, zorder=3,
                    bbox={"facecolor": "white", "linewidth": 0, "pad": 0.4},  # the mean may pass here
                )  # fmt: skip
        if total:
            _mark_mean(axes, mean)
        count_by_whole_numbers(axes.xaxis, most=12 if close else 24)
        count_by_whole_numbers(axes.yaxis)
        axes.grid(axis="y")
        axes.margins(y=0.12)
        axes.set_xlabel("documents in the pool")
        axes.set_ylabel("queries")
        axes.set_title(f"Sizes of the pools: {many(total, 'query')}")
    return figure


def _mark_mean(axes: "Axes", mean: float) -> None:
    axes.axvline(mean, color=RED, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.annotate(
        f"mean {mean:.2f}", (mean, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
        textcoords="offset points", va="top", fontsize=8, color=RED,
    )  # fmt: skip


MOST_WRITTEN = 30
"""Up to so many runs, the win ratios are written into the cells; the colours of more tell them."""


def plot_win_ratios(result: WinRatios, *, most: int | None = None) -> "Figure":
    """Draw the matrix of win ratios as percentages: the column beats the row; bold: significant (Table 4).

    Pairs that were never compared are hatched. With ``most`` only so many runs are drawn, the first ones.
    """
    found, runs = result.matrix(), result.runs[:most]
    ratio = found.ratio[:most, :most]
    written = len(runs) <= MOST_WRITTEN
    side = (0.46 if written else 0.16) * len(runs)
    with drawing(3.4 + max(2.6, side), 1.9 + max(1.6, side)) as (figure, axes):
        colors = shades("wins", ORANGE, "#ffffff", BLUE).with_extremes(under=GRID)  # each beside itself
        np.fill_diagonal(ratio, -1.0)
        if np.isnan(ratio).any():
            span = len(runs) / 2 - 0.5
            axes.bar(
                span, len(runs) - 0.1, len(runs) - 0.1, -0.45,
                color="white", edgecolor=MUTED, linewidth=0, hatch="////", zorder=-1,
            )  # fmt: skip
        # "none": one pixel of the file for each cell, which a viewer enlarges. By default every pixel of the
        # screen is computed, in 100 MB for 64 runs.
        image = axes.imshow(100 * ratio, cmap=colors, vmin=0, vmax=100, aspect="equal", interpolation="none")
        for row, ratios in enumerate(ratio.tolist()):
            for column, share in enumerate(ratios):
                if row != column and written and math.isfinite(share):
                    axes.text(
                        column, row, f"{100 * share:.1f}",
                        ha="center", va="center", fontsize=7.5,
                        fontweight="bold" if found.significant[row, column] else "normal",
                        color="white" if abs(share - 0.5) > 0.38 else INK,
                        in_layout=False,  # it is in its cell: measuring it would cost as much as drawing it
                    )  # fmt: skip
        named = [printable(run) for run in runs]
        short = shorten(named, _LONGEST)
        names = [short.get(run, run) for run in named]
        wins = [f"{name}  ({result.wins[run]})" for name, run in zip(names, runs, strict=True)]
        axes.set_yticks(range(len(runs)), names)
        axes.set_xticks(
            range(len(runs)), wins,
            rotation=45 if written else 90, ha="left", va="center", rotation_mode="anchor",
        )  # fmt: skip
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, cax=axes.inset_axes((1.06, 0.2, 0.03, 0.6)))
        bar.set_label("% won by the column")
        bar.outline.set_visible(False)
        part = (
            f", the first {len(runs)} of {len(result.runs)} rankings" if len(runs) < len(result.runs) else ""
        )
        figure.suptitle(
            f"How often the column beats the row, {many(result.queries, 'query')}{part}\n"
            "(bold: significant; hatched: never compared; in parentheses: the runs that it beats)",
            fontsize=9.5, fontweight="bold", x=0.01, ha="left",
        )  # fmt: skip
    return figure


_LONGEST = 28
"""Characters of a name beside a plot of many runs."""


# Runs beside their places on an official leaderboard, as a plot.


def plot_official(board: OfficialBoard, shown: Sequence[str] = ()) -> "Figure":
    """Draw the leaderboard's scores against those on the selected queries (shallow pooling, Figure 5)."""
    points = [(row.evaluation or 0.0, row.selected, printable(row.run)) for row in board.listed]
    with drawing(6, 5) as (figure, axes):
        axes.plot(
            [x for x, _, _ in points], [y for _, y, _ in points], "o",
            color=BLUE, markersize=5.5, markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        axes.margins(0.08)
        axes.grid()
        axes.set_xlabel(printable(f"{board.measure.partition('@')[0]} on the leaderboard's evaluation set"))
        axes.set_ylabel(printable(f"{board.measure}, {board.original} qrels"))
        tau = f", Kendall's τ {board.tau:.2f}" if math.isfinite(board.tau) else ""
        queries = many(board.selected, "selected query")
        axes.set_title(f"{many(len(points), 'run')}, {queries}{tau}")
        label_points(axes, points, ([], []), shown)
    return figure


# The progress of a leaderboard as a plot (Craswell et al., SIGIR 2021, Figure 1).

_PLAIN = "#aab4c0"


def plot_progress(
    submissions: Sequence[Submission], records: Sequence[str], *, measure: str = "", highlight: str = ""
) -> "Figure":
    """Draw a leaderboard over time; red points beat everything before them."""
    from matplotlib.dates import AutoDateLocator

    scored = [one for one in submissions if one.eval is not None]
    best = sorted((one for one in scored if one.name in records), key=lambda one: one.date)
    told = [one for one in scored if highlight and highlight.casefold() in one.description.casefold()]
    rest = [one for one in scored if one not in best and one not in told]
    with drawing(7, 3.8) as (figure, axes):
        for group, color, words in (
            (rest, _PLAIN, "other submissions" if told else "submissions"),
            (
                [one for one in told if one not in best],
                ORANGE,
                f"“{printable(highlight)}” in the description",
            ),
            (best, RED, "best so far"),
        ):
            if group:
                axes.plot(
                    [one.date for one in group], [one.eval for one in group],  # type: ignore[arg-type]
                    "o", color=color, markersize=5 if group is best else 4, label=words,
                )  # fmt: skip
        axes.step(
            [one.date for one in best], [one.eval for one in best],  # type: ignore[arg-type]
            where="post", color=RED, linewidth=1, alpha=0.5, zorder=1,
        )  # fmt: skip
        axes.grid(axis="y", color=GRID)
        locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call] # more dates run into each other
        axes.xaxis.set_major_locator(locator)
        axes.set_ylabel(printable(measure) or "score")
        share = f", {len(told)} with “{printable(highlight)}”" if highlight else ""
        axes.set_title(f"{many(len(scored), 'submission')}, {many(len(best), 'record')}{share}")
        axes.legend(loc="best")
    return figure


# Rank stability as plots (Craswell et al., SIGIR 2021, Figures 3 and 4).

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
            bar = figure.colorbar(image, cax=axes.inset_axes((1.06, 0.2, 0.03, 0.6)))
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
            height = [1 - (number + 1) / (len(runs) + 1)] * 2  # of the panel: its scale may be that of shares
            place = axes.get_xaxis_transform()
            axes.plot(ends, height, "o-", color=color, markersize=3, label=printable(run), transform=place)
            axes.tick_params(left=False, labelleft=False)
            continue
        axes.bar(ranks, 100 * result.share[at], width=0.9, color=color, alpha=0.65, label=printable(run))
        axes.axvline(float(result.expected[at]), color=color, linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xlim(0.5, len(result.runs) + 0.5)
    count_by_whole_numbers(axes.xaxis)
    axes.grid(axis="y")


# How a study went: which ranks are possible, how sure the answers are, the work, and the workers.

MOST_WORKERS = 40
"""Workers that a plot has room for: the least reliable ones."""


def plot_rank_intervals(board: Leaderboard, standings: Sequence[Standing]) -> "Figure":
    """Draw the ranks that no significant difference rules out for each run, best on top; tiers are bands."""
    ranks = {row.run: row.rank for row in board.ranked}
    with drawing(4.2, 1.2 + 0.22 * len(standings)) as (figure, axes):
        for place, one in enumerate(standings):
            if one.tier % 2 == 0:
                axes.axhspan(place - 0.5, place + 0.5, color=PALE, alpha=0.55, linewidth=0)
            axes.plot([one.highest, one.lowest], [place, place], color=BLUE, linewidth=2.4, alpha=0.5)
            axes.plot([ranks[one.run] or math.nan], [place], "o", color=BLUE, markersize=4.5)
        axes.set_yticks(range(len(standings)), [printable(one.run) for one in standings])
        axes.set_ylim(len(standings) - 0.5, -0.5)
        axes.set_xlim(0.5, len(standings) + 0.5)
        count_by_whole_numbers(axes.xaxis)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_xlabel("rank: as scored (dot),\nand those that no test rules out")
        axes.set_title(printable(f"{board.measure}, {board.qrels}; bands are tiers"), x=0, ha="left")
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
            _mark_mean(axes, mean)
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


# Plots of one run's top passages against the qrels (shallow pooling, section 3).

_PARTS = (
    ("disagreed on the top passage; the run's is preferred", ORANGE),
    ("disagreed on the top passage; the qrel is preferred", BLUE),
    ("agreed on the top passage; the second is preferred", "#f3c78e"),
    ("agreed on the top passage; it is preferred", "#9dc1e6"),
)
"""The parts in the order of `TopAgainstQrel.shares`; orange wherever people prefer another than the qrel."""


def plot_shares(result: TopAgainstQrel) -> "Figure":
    """Draw the four outcomes as shares of the decided queries (Figure 2)."""
    decided = sum(part.qrel + part.rival for part in (result.a, result.b))
    with drawing(7, 2.5) as (figure, axes):
        left = 0.0
        for share, (words, color) in zip(result.shares, _PARTS, strict=True):
            if not decided:
                continue
            label = f"{100 * share:.2f} %  run and qrel {words}"
            axes.barh([0], [100 * share], left=left, color=color, height=0.7, edgecolor="white", label=label)
            if share >= 0.06:
                dark = color in (ORANGE, BLUE)
                axes.text(
                    left + 50 * share, 0, f"{100 * share:.2f}%", ha="center", va="center",
                    fontsize=9, color="white" if dark else INK,
                )  # fmt: skip
            left += 100 * share
        axes.set_xlim(0, 100)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"% of {many(decided, 'decided query')}")
        axes.set_title(printable(f"The qrel against the top results of {result.run}"))
        if decided:
            # below the axes, and not of the figure: a stamp below that would be printed over it
            axes.legend(loc="upper left", bbox_to_anchor=(-0.01, -0.42), fontsize=8)
    return figure


_WIDTH = 96
_MOST = 700
"""Characters of a passage that are shown."""


def example_lines(examples: Sequence[Example]) -> list[tuple[str, bool, bool]]:
    """Return the lines of Figure 1, and whether each belongs to a question and to a preferred passage."""
    lines: list[tuple[str, bool, bool]] = []
    for number, one in enumerate(examples, 1):
        sides = ("qrel", "non-qrel") if one.qrel_preferred else ("non-qrel", "qrel")
        question = wrap(printable(f"{number}) query {one.query}: {one.query_text}"), _WIDTH - 14)
        best = _passage(f"preferred {sides[0]}", one.preferred, one.preferred_text)
        other = _passage(sides[1], one.other, one.other_text)
        lines += [(words, True, False) for words in question]
        lines += [(words, False, True) for words in best]
        lines += [(words, False, False) for words in [*other, ""]]
    return lines


def plot_examples(examples: Sequence[Example]) -> "Figure":
    """Set examples as a picture, the preferred passage first (Figure 1)."""
    lines = example_lines(examples)
    with drawing(7.6, 0.3 + 0.165 * len(lines)) as (figure, axes):
        axes.set_axis_off()
        axes.set_ylim(len(lines) + 0.5, 0)
        axes.set_xlim(0, 1)
        for place, (words, question, preferred) in enumerate(lines, 1):
            text = axes.text(
                0, place, words, fontsize=8.2, va="center", color=INK if question or preferred else MUTED,
                fontweight="bold" if question else "normal",
            )  # fmt: skip
            text.set_in_layout(False)  # the lines are as wide as the picture
    return figure


def _passage(kind: str, doc: str, text: str) -> list[str]:
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _MOST else shown[:_MOST].rsplit(" ", 1)[0] + " …"
    return wrap(printable(f"{kind} passage {doc}: {shown}"), _WIDTH)

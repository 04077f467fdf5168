"""The report's sections on runs: the leaderboards, and how they agree."""

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.correlation import RankCorrelation
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard
from prefjudge.render.pages.report import Section
from prefjudge.render.plots.leaderboards import plot_leaderboard, plot_two_boards
from prefjudge.render.tables.leaderboard import ceiling_words, perfect_words
from prefjudge.render.tables.score import score_tables
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.papers import drawn, outcomes_section
from prefjudge.steps.score.files import compared_boards

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def boards_section(material: Material) -> list[Section]:
    """Return the sections on the leaderboards, and on the outcomes that their differences are made of."""
    result = material.scored
    shown: list[tuple[Sequence[Leaderboard], RankCorrelation | None, Callable[[], Figure]]] = [
        ((a, b), pair, partial(plot_two_boards, a, b, tau=pair))
        for pair, (a, b) in zip(result.tau, compared_boards(result), strict=True)
    ] or [
        ((one.leaderboard,), None, partial(plot_leaderboard, one.leaderboard, one.standings))
        for one in result.boards
    ]
    pictures = [
        picture
        for boards, _, draw in shown
        for picture in drawn(
            draw,
            " and ".join(f"{one.measure}, {one.qrels} qrels" for one in boards),
            material.notices,
            result.rehearsal,
        )
    ]
    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        not_judged=result.not_judged,
        pairings=result.pairings,
        cycles=result.cycles,
    )
    finding = " ".join(_best_runs(boards, pair) for boards, pair, _ in shown)
    return [
        Section(heading="Leaderboards", finding=finding, pictures=tuple(pictures), tables=tuple(tables)),
        *outcomes_section(material),
    ]


def _best_runs(boards: Sequence[Leaderboard], pair: RankCorrelation | None) -> str:
    """Return sentences on the best run of one leaderboard or of two, and on those better than perfect."""
    ranked = [[row.run for row in board.ranked if row.rank == 1] for board in boards]
    first = [runs[0] if len(runs) == 1 else f"any of {len(runs)} runs" for runs in ranked]
    best = [f"{run} under the {board.qrels} qrels" for run, board in zip(first, boards, strict=True)]
    if len(ranked) > 1 and ranked[0] == ranked[1]:
        best = [f"{first[0]} under both qrels"]
    over = " and ".join(dict.fromkeys(many(board.queries, "query") for board in boards))
    beyond = [f" By {board.measure} {perfect_words(board)}." for board in boards if board.perfect]
    return (
        f"By {boards[0].measure} over {over} the best run is {', and '.join(best)}{_kendall(pair)}."
        + "".join(beyond)
    )


def _kendall(pair: RankCorrelation | None) -> str:
    if pair is None or not isfinite(pair.tau):
        return ""
    others = (
        "" if pair.same_queries else f", and {pair.common.tau:.2f} over the {pair.queries:,} common queries"
    )
    if pair.over == "common queries":
        others = f", and {pair.printed.tau:.2f} between the boards as printed"
    return f"; Kendall's τ is {pair.tau:.2f}{ceiling_words(pair)}{others}"

"""The report's sections on runs: the leaderboards, and how they agree."""

from collections.abc import Sequence
from functools import partial
from math import isfinite

from prefjudge.evaluation.boards import Board, Leaderboard
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.pages.page import Picture, Section
from prefjudge.show.boards import (
    leaderboard_table,
    perfect_words,
    score_tables,
    side_by_side_table,
    votings_words,
)
from prefjudge.show.plots import plot_leaderboard, plot_two_boards
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.papers import outcomes_section
from prefjudge.steps.report.pictures import drawn, rank_picture, win_ratio_picture
from prefjudge.steps.score.files import compared_boards
from prefjudge.study.pools import has_runs
from prefjudge.words import chance_text, many


def boards_section(material: Material) -> list[Section]:
    """Return the sections on the leaderboards, and on the outcomes that their differences are made of."""
    with material.study.transaction(write=False) as db:
        scored = has_runs(db)
    if not scored and not material.given.get("runs"):
        material.notices.append("the study has no runs, and so no leaderboards; --runs gives it some")
        return []
    result = material.scored
    pairs = list(zip(result.tau, compared_boards(result), strict=True))
    pictures = [_against(material, a, b, pair) for pair, (a, b) in pairs] or [
        _alone(material, one) for one in result.boards
    ]
    firm = next((one for one in reversed(result.boards) if one.standings), None)
    if firm:
        pictures.append(rank_picture(material, firm))
    if result.winratio and result.winratio.pairs:
        pictures.append(win_ratio_picture(material, result.winratio))
    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        not_judged=result.not_judged,
        pairings=result.pairings,
        cycles=result.cycles,
    )
    finding = " ".join(
        [_best_runs(boards, pair) for pair, boards in pairs]
        or [_best_runs((one.leaderboard,), None) for one in result.boards]
    )
    if firm:
        finding += f" {_how_firm(firm)}"
    return [
        Section(heading="Leaderboards", finding=finding, pictures=tuple(pictures), tables=tuple(tables)),
        *outcomes_section(material),
    ]


def _against(material: Material, a: Leaderboard, b: Leaderboard, pair: RankCorrelation) -> Picture:
    words = " and ".join(f"{one.measure}, {one.qrels} qrels" for one in (a, b))
    table = side_by_side_table((a, b), same_queries=a.queries == b.queries)
    return drawn(material, "old-against-new", words, partial(plot_two_boards, a, b, tau=pair), table)


def _alone(material: Material, one: Board) -> Picture:
    board = one.leaderboard
    words = f"{board.measure}, {board.qrels} qrels"
    table = leaderboard_table(board, one.standings)
    draw = partial(plot_leaderboard, board, one.standings)
    return drawn(material, "leaderboard", words, draw, table)


def _how_firm(board: Board) -> str:
    """Return how sure it is which run is the best on a board, over the queries and the votes behind them."""
    first, shown = board.standings[0], board.leaderboard
    row = next(row for row in shown.ranked if row.run == first.run)
    level = f"{shown.confidence:.0%} interval over queries"
    interval = f" ({row.low:.4f} to {row.high:.4f}, {level})" if isfinite(row.low) else ""
    rivals = sum(one.highest == 1 for one in board.standings) - 1
    others = f"{many(rivals, 'other run')} may be the best, too" if rivals else "no other run may be the best"
    best = (
        f" and is the best over many such queries with a probability of {chance_text(first.first)}"
        if isfinite(first.first)
        else ""
    )
    return (
        f"Under the {shown.qrels} qrels {first.run} has {shown.measure} {row.score:.4f}{interval}{best}; by "
        f"the tests of all pairs {others}."
    )


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
    return f"; Kendall's τ is {pair.tau:.2f}{votings_words(pair)}{others}"

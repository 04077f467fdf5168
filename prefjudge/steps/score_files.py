"""The files that ``score`` leaves behind."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefjudge.evaluation.leaderboard import Leaderboard
    from prefjudge.steps.labels import Sources
    from prefjudge.steps.score import ScoreResult

LEADERBOARD_FILE = "leaderboard.csv"
WIN_RATIO_FILE = "winratio.csv"


def write_score(
    result: "ScoreResult", found: "Sources", *, out: Path | None, per_query: bool, plot: Path | None
) -> tuple[str, ...]:
    """Write the boards, the scores of each query, what they were made from, plots, and a study's win ratios.

    Returns the files written, the boards first.
    """
    from prefjudge.formats.atomic import write_text
    from prefjudge.render.leaderboard_tables import per_query_table, scores_table
    from prefjudge.render.tables import render_table, to_csv
    from prefjudge.render.winratio_tables import winratio_matrix

    target = out or (found.study.folder / LEADERBOARD_FILE if found.study else None)
    texts: dict[Path, str] = {}
    if target:
        boards = scores_table(result.leaderboards, provenance=result.provenance)
        texts[target] = render_table(boards, target.suffix)
    if target and per_query:
        queries = per_query_table([board.scores for board in result.boards], provenance=result.provenance)
        beside = target.with_name(f"{target.stem}.per-query{target.suffix}")
        texts[beside] = render_table(queries, target.suffix)
    if target:
        texts[target.with_suffix(".provenance.json")] = _sidecar(result)
    if found.study and result.winratio:
        matrix = winratio_matrix(result.winratio, numbered=False)
        texts[found.study.folder / WIN_RATIO_FILE] = to_csv(matrix)
    for path, text in texts.items():
        write_text(path, text)
    plots = _draw(result, plot) if plot else []
    return tuple(map(str, [*texts, *plots]))


def _draw(result: "ScoreResult", plot: Path) -> list[Path]:
    """Draw each board, each two boards of a measure against each other, and the win ratios."""
    from prefjudge.formats.figures import write_figure
    from prefjudge.render.plots import plot_leaderboard, plot_two_boards, plot_win_ratios

    figures = [
        *(("", partial(plot_leaderboard, board.leaderboard, board.standings)) for board in result.boards),
        *(
            (".against", partial(plot_two_boards, a, b, tau=pair.tau))
            for pair, (a, b) in zip(result.tau, _pairs(result), strict=True)
        ),
        *([(".winratio", partial(plot_win_ratios, result.winratio))] if result.winratio else []),
    ]
    drawn: list[Path] = []
    for number, (kind, draw) in enumerate(figures):
        count = 1 + sum(other == kind for other, _ in figures[:number])
        numeral = f".{count}" if count > 1 else ""
        drawn.append(plot.with_name(f"{plot.stem}{kind}{numeral}{plot.suffix}"))
        write_figure(drawn[-1], draw())
    return drawn


def _pairs(result: "ScoreResult") -> list[tuple["Leaderboard", "Leaderboard"]]:
    """Return the boards that each correlation compares."""
    found = {(board.measure, board.qrels): board for board in result.leaderboards}
    return [
        (found[pair.measures[0], pair.qrels[0]], found[pair.measures[1], pair.qrels[1]])
        for pair in result.tau
    ]


def _sidecar(result: "ScoreResult") -> str:
    """Return what the written tables were made from: a CSV file has no room for it."""
    import json
    from dataclasses import asdict

    whole = {"provenance": result.provenance, "inputs": [asdict(found) for found in result.inputs]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"

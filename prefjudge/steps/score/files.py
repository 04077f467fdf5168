"""The files that ``score`` leaves behind."""

from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePath

from prefjudge.evaluation.boards import Leaderboard, on_common_queries
from prefjudge.findings.inputs import RunOrder, ScoreInputs
from prefjudge.findings.outputs import beside, own_file, stamp_of, write_figure, write_table
from prefjudge.reading.files import write_text
from prefjudge.show.boards import official_table, per_query_table, scores_table, winratio_matrix
from prefjudge.show.plots import plot_leaderboard, plot_official, plot_two_boards, plot_win_ratios
from prefjudge.show.tables import Column, Table
from prefjudge.steps.score.result import ScoreResult
from prefjudge.study.store import Study
from prefjudge.words import json_text

LEADERBOARD_FILE = "leaderboard.csv"
WIN_RATIO_FILE = "winratio.csv"


def write_score(
    result: ScoreResult,
    found: ScoreInputs,
    *,
    out: str | Path | None,
    per_query: bool,
    plot: Path | None,
    order: RunOrder | None = None,
    engine: str = "files",
) -> tuple[str, ...]:
    """Write the boards, the scores of each query, what they were made from, plots, and a study's win ratios.

    Returns the files written, the boards first.
    """
    target = board_file(out, found.study)
    tables: dict[str | Path, Table] = {}
    if target:
        tables[target] = scores_table(result.leaderboards, provenance=result.provenance)
    if target and per_query:
        matrices = [scores for board in result.boards for scores in board.matrices]
        tables[per_query_file(target)] = per_query_table(matrices, provenance=result.provenance)
    if target and result.official:
        tables[official_file(target)] = official_table(result.official, provenance=result.provenance)
    own = own_file(found.study, WIN_RATIO_FILE) if found.study else None
    if own and result.winratio:
        tables[own] = winratio_matrix(result.winratio, numbered=False)
    for path, table in tables.items():
        write_table(path, table, engine, stamp=stamp_of(result.rehearsal))
    written = [*tables, *([_sidecar(result, target, engine)] if target else [])]
    plots = _draw(result, plot, order) if plot else []
    return tuple(map(str, [*written, *plots]))


def board_file(out: str | Path | None, study: Study | None) -> str | Path | None:
    """Return the file of the boards: what was asked for, or the study's."""
    return out or (own_file(study, LEADERBOARD_FILE) if study else None)


def score_files(out: str | Path | None, study: Study | None) -> list[str | Path]:
    """Return every file that may be written, but for plots."""
    target = board_file(out, study)
    boards = (
        [target, per_query_file(target), official_file(target), provenance_file(target)] if target else []
    )
    return [*boards, *([study.folder / WIN_RATIO_FILE] if study else [])]


def per_query_file(target: str | Path) -> str | Path:
    """Return the file of the scores of each query, beside that of the boards."""
    return beside(target, f"per-query{PurePath(target).suffix}")


def official_file(target: str | Path) -> str | Path:
    """Return the file of the runs on the official leaderboard, beside that of the boards."""
    return beside(target, f"official{PurePath(target).suffix}")


def provenance_file(target: str | Path) -> str | Path:
    """Return the file of what the boards were made from, beside them."""
    return beside(target, "provenance.json" if isinstance(target, Path) else "provenance.parquet")


def _sidecar(result: ScoreResult, target: str | Path, engine: str) -> str | Path:
    """Write what the tables were made from, beside them: a CSV file has no room for it."""
    path = provenance_file(target)
    if isinstance(target, Path):
        whole = {"provenance": result.provenance, "inputs": [asdict(found) for found in result.inputs]}
        write_text(path, json_text(whole) + "\n")
        return path
    rows = [*result.provenance.items(), *((f"{one.kind} {one.path}", one.digest) for one in result.inputs)]
    columns = (Column(name="name"), Column(name="value"))
    write_table(path, Table(title="Provenance", columns=columns, rows=tuple(rows)), engine)
    return path


def _draw(result: ScoreResult, plot: Path, order: RunOrder | None) -> list[Path]:
    """Draw each board, each two boards of a measure against each other, and the win ratios."""
    ordered = {"order": order.runs, "order_name": order.name} if order else {}
    board_plot = partial(plot_leaderboard, **ordered)  # type: ignore[arg-type]
    figures = [
        *(("", partial(board_plot, board.leaderboard, board.standings)) for board in result.boards),
        *(
            (".against", partial(plot_two_boards, a, b, tau=pair))
            for pair, (a, b) in zip(result.tau, compared_boards(result), strict=True)
        ),
        *([(".winratio", partial(plot_win_ratios, result.winratio))] if result.winratio else []),
        *([(".official", partial(plot_official, result.official))] if result.official else []),
    ]
    drawn: list[Path] = []
    for number, (kind, draw) in enumerate(figures):
        count = 1 + sum(other == kind for other, _ in figures[:number])
        numeral = f".{count}" if count > 1 else ""
        drawn.append(plot.with_name(f"{plot.stem}{kind}{numeral}{plot.suffix}"))
        write_figure(drawn[-1], draw(), stamp_of(result.rehearsal))
    return drawn


def compared_boards(result: ScoreResult) -> list[tuple[Leaderboard, Leaderboard]]:
    """Return the boards that each correlation compares."""
    found = {(board.leaderboard.measure, board.leaderboard.qrels): board for board in result.boards}
    boards = [[found[key] for key in zip(pair.measures, pair.qrels, strict=True)] for pair in result.tau]
    return [
        on_common_queries(a, b) if pair.over == "common queries" else (a.leaderboard, b.leaderboard)
        for pair, (a, b) in zip(result.tau, boards, strict=True)
    ]

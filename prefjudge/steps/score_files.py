"""The files that ``score`` leaves behind."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefjudge.steps.labels import Sources
    from prefjudge.steps.score import ScoreResult

LEADERBOARD_FILE = "leaderboard.csv"
WIN_RATIO_FILE = "winratio.csv"


def targets(out: Path | None, folder: Path | None, per_query: bool) -> tuple[str, ...]:
    """Return the files to write: the boards, and the scores of each query beside them."""
    target = out or (folder / LEADERBOARD_FILE if folder else None)
    if target is None:
        return ()
    beside = (target.with_name(f"{target.stem}.per-query{target.suffix}"),) if per_query else ()
    return tuple(map(str, (target, *beside)))


def write_score(result: "ScoreResult", found: "Sources") -> None:
    """Write the boards, the scores of each query, what they were made from, and a study's win ratios."""
    from prefjudge.formats.atomic import write_text
    from prefjudge.render.leaderboard_tables import per_query_table, scores_table
    from prefjudge.render.tables import render_table, to_csv
    from prefjudge.render.winratio_tables import winratio_matrix

    if result.out:
        boards = scores_table(result.leaderboards, provenance=result.provenance)
        write_text(result.out[0], render_table(boards, Path(result.out[0]).suffix))
    if len(result.out) > 1:
        queries = per_query_table([board.scores for board in result.boards], provenance=result.provenance)
        write_text(result.out[1], render_table(queries, Path(result.out[1]).suffix))
    if result.out:
        write_text(Path(result.out[0]).with_suffix(".provenance.json"), _sidecar(result))
    if found.study and result.winratio:
        write_text(
            found.study.folder / WIN_RATIO_FILE, to_csv(winratio_matrix(result.winratio, numbered=False))
        )


def _sidecar(result: "ScoreResult") -> str:
    """Return what the written tables were made from: a CSV file has no room for it."""
    import json
    from dataclasses import asdict

    whole = {"provenance": result.provenance, "inputs": [asdict(found) for found in result.inputs]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"

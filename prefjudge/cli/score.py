"""``prefjudge score``."""

from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.options import Format, Target
from prefjudge.cli.output import print_tables, print_words, say, to_plain
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.evaluation.boards import Leaderboard
    from prefjudge.steps.score.score import ScoreResult


def score(
    result: "ScoreResult", *, out: Target = None, per_query: bool = False, format: Format = "terminal"
) -> None:
    """Print the boards, their correlation and what else was asked for."""
    from prefjudge.reading.opened import run_surprises
    from prefjudge.show.boards import official_table, per_query_table, score_tables

    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        pairings=result.pairings,
        cycles=result.cycles,
        not_judged=result.not_judged,
        left_out=result.left_out,
        left_out_votings=result.left_out_votings,
        samples=result.samples,
        long=format == "csv",
        provenance=result.provenance,
    )
    if result.official and format != "csv":
        tables.append(official_table(result.official))
    if per_query and not result.out:
        tables = [per_query_table([scores for board in result.boards for scores in board.matrices])]
    print_tables(tables, format, rehearsal=result.rehearsal)
    for run in result.health:
        size = f"{many(run.queries, 'query')}, {many(run.lines, 'line')}"
        typer.echo()
        print_words(f"{run.tag}: {size}")
        for note in run_surprises(run):
            print_words(f"  {note}")
    for path in result.out:
        say(f"wrote {path}")


def to_json(result: "ScoreResult", *, per_query: bool = False) -> dict[str, Any]:
    """Return the documented JSON of ``score``."""
    from prefjudge.show.boards import leaderboard_records, per_query_table, samples_table
    from prefjudge.show.tables import to_records

    plain: dict[str, Any] = {
        "leaderboards": [
            {
                "qrels": board.leaderboard.qrels,
                "measure": board.leaderboard.measure,
                "queries": board.leaderboard.queries,
                "statistic": board.leaderboard.statistic,
                "interval": board.leaderboard.interval,
                "confidence": board.leaderboard.confidence,
                "order": board.leaderboard.order,
                "perfect": _perfect(board.leaderboard),
                "rows": leaderboard_records(board.leaderboard, board.standings, board.ties),
            }
            for board in result.boards
        ],
        "tau": [
            {
                "a": pair.qrels[0],
                "b": pair.qrels[1],
                "measure": pair.measures[0],
                "runs": pair.runs,
                "queries": pair.queries,
                "over": pair.over,
                "tau": to_plain(pair.tau),
                "tau_ap": to_plain(pair.tau_ap),
                "two_votings": to_plain(pair.two_votings),
                "printed": to_plain(pair.printed),
                "common": to_plain(pair.common),
                "shifts": to_plain(pair.shifts),
            }
            for pair in result.tau
        ],
        "not_judged": [{**to_plain(row), "share": to_plain(row.share)} for row in result.not_judged],
        "judged_tops": [{**to_plain(row), "share": to_plain(row.share)} for row in result.judged_tops],
        "winratio": to_plain(result.winratio),
        "pair_agreement": to_plain(result.pair_agreement),
        "leave_one_out": to_plain(result.left_out),
        "leave_one_out_tau": to_plain(result.left_out_tau),
        "leave_one_out_two_votings": to_plain(result.left_out_votings),
        "pairings": [{**to_plain(row), "share": to_plain(row.share)} for row in result.pairings],
        "cycles": result.cycles,
        "official": to_plain(result.official),
        "samples": to_records(samples_table(result.samples)),
        "health": to_plain(result.health),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out[0] if result.out else None,
        "files": list(result.out),
    }
    if per_query:
        plain["per_query"] = to_records(
            per_query_table([scores for board in result.boards for scores in board.matrices])
        )
    return plain


def _perfect(board: "Leaderboard") -> dict[str, Any] | None:
    row = board.perfect
    return {"name": row.run, "score": row.score, "queries": row.queries} if row else None

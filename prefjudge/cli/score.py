"""``prefjudge score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, one_of, print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.engines.health import RunHealth
    from prefjudge.steps.score import ScoreResult


def score(
    study: MaybeStudy = None,
    runs: Annotated[list[str], typer.Option(help="Run files, or a quoted pattern such as 'runs/*.gz'.")] = [],  # noqa: B006
    qrels: Annotated[list[str], typer.Option(help="FILE or NAME=FILE. May be repeated.")] = [],  # noqa: B006
    measure: Annotated[
        list[str], typer.Option(help="RR@10, nDCG@10, AP(rel=2)@100 …; may be repeated.")
    ] = [],  # noqa: B006
    judgments: Annotated[
        Path | None, typer.Option(help="Adds win ratios, pair agreement, and measures such as ppref@10.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="Score the queries of this file only.")] = None,
    order: Annotated[str | None, typer.Option(help="score, score-f32, rank or file.")] = None,
    statistic: Annotated[str, typer.Option(help="mean or median: what orders the runs.")] = "mean",
    per_query: Annotated[bool, typer.Option("--per-query", help="Give the score of each query too.")] = False,
    health: Annotated[bool, typer.Option("--health", help="Report each run's health.")] = False,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Re-score each run without its own pooled passages.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option(help="Do samples of so many queries rank the runs as all of them?")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the samples.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Read only what is needed of the runs.")] = False,
    on_duplicate: Annotated[
        str, typer.Option(help="error, first or best: a document listed twice.")
    ] = "error",
    workers: Annotated[int, typer.Option(min=1, help="Processes that read runs side by side.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="Keep copies of checked runs here.")] = None,
    out: Out = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the boards: a .svg or .png file.")] = None,
    format: Annotated[str, typer.Option(help="What to print: terminal, csv, md or tex.")] = "terminal",
    json: Json = False,
) -> None:
    """Score runs under one or more qrels, with intervals, and compare the leaderboards."""
    from prefjudge.core.runs import Order
    from prefjudge.evaluation.intervals import named_statistic
    from prefjudge.steps.score import score as run

    result = run(
        study,
        runs=runs,
        qrels=qrels,
        measure=measure,
        judgments=judgments,
        queries=queries,
        order=one_of(Order, order, "--order"),
        statistic=named_statistic(statistic),
        per_query=per_query,
        health=health,
        leave_one_out=leave_one_out,
        sample=sample,
        seed=seed,
        trust=trust,
        on_duplicate=on_duplicate,
        workers=workers,
        cache=cache,
        out=out,
        plot=plot,
    )
    notice(result.notices)
    if json:
        print_json(to_json(result, per_query=per_query))
    else:
        show(result, format, per_query=per_query)


def show(result: "ScoreResult", form: str = "terminal", *, per_query: bool = False) -> None:
    """Print the boards, their correlation and whatever else was asked for."""
    from prefjudge.render.leaderboard_tables import per_query_table
    from prefjudge.render.score_tables import score_tables
    from prefjudge.render.tables import render_table

    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        left_out=result.left_out,
        samples=result.samples,
        long=form == "csv",
        provenance=result.provenance,
    )
    if per_query and not result.out:
        tables = [per_query_table([board.scores for board in result.boards])]
    typer.echo("\n".join(render_table(table, form) for table in tables), nl=False)
    for run in result.health:
        typer.echo("\n".join([f"\n{run.tag}: {run.queries:,} queries, {run.lines:,} lines", *_notes(run)]))
    for path in result.out:
        say(f"wrote {path}")


def _notes(run: "RunHealth") -> list[str]:
    from prefjudge.steps.surprises import run_surprises

    return [f"  {text}" for text in run_surprises(run)]


def to_json(result: "ScoreResult", *, per_query: bool = False) -> dict[str, Any]:
    """Return the documented JSON of ``score``."""
    from prefjudge.render.leaderboard_tables import leaderboard_table, per_query_table
    from prefjudge.render.score_tables import samples_table
    from prefjudge.render.tables import to_records

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
                "rows": to_records(leaderboard_table(board.leaderboard, board.standings, board.ties)),
            }
            for board in result.boards
        ],
        "tau": [
            {
                "a": pair.qrels[0],
                "b": pair.qrels[1],
                "measure": pair.measures[0],
                "runs": pair.runs,
                "tau": to_plain(pair.tau),
                "tau_ap": to_plain(pair.tau_ap),
                "shifts": to_plain(pair.shifts),
            }
            for pair in result.tau
        ],
        "winratio": to_plain(result.winratio),
        "pair_agreement": to_plain(result.pair_agreement),
        "leave_one_out": to_plain(result.left_out),
        "samples": to_records(samples_table(result.samples)),
        "health": to_plain(result.health),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "out": result.out[0] if result.out else None,
        "files": list(result.out),
    }
    if per_query:
        plain["per_query"] = to_records(per_query_table([board.scores for board in result.boards]))
    return plain

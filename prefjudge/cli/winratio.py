"""``prefjudge winratio``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, one_of, print_json, say, to_plain


def winratio(
    study: MaybeStudy = None,
    runs: Annotated[list[str], typer.Option(help="Run files, or a quoted pattern such as 'runs/*.gz'.")] = [],  # noqa: B006
    judgments: Annotated[Path | None, typer.Option(help="Query, document, document, preferred.")] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="Adds the perfect ranking as a row and a column.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="Look at the queries of this file only.")] = None,
    count: Annotated[
        str, typer.Option(help="majority: one outcome a query; votes: every vote.")
    ] = "majority",
    against_qrel: Annotated[
        str | None, typer.Option(help="A run whose top passages are compared with the qrels.")
    ] = None,
    order: Annotated[str | None, typer.Option(help="score, score-f32, rank or file.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Read only what is needed of the runs.")] = False,
    on_duplicate: Annotated[
        str, typer.Option(help="error, first or best: a document listed twice.")
    ] = "error",
    workers: Annotated[int, typer.Option(min=1, help="Processes that read runs side by side.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="Keep copies of checked runs here.")] = None,
    out: Out = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the matrix: a .svg or .png file.")] = None,
    format: Annotated[str, typer.Option(help="What to print: terminal, csv, md or tex.")] = "terminal",
    json: Json = False,
) -> None:
    """Compare runs directly: whose top passage do people prefer?"""
    from prefjudge.core.runs import Order
    from prefjudge.evaluation.winratio import named_count
    from prefjudge.steps.winratio import winratio as run

    result = run(
        study,
        runs=runs,
        judgments=judgments,
        qrels=qrels,
        queries=queries,
        count=named_count(count),
        against_qrel=against_qrel,
        order=one_of(Order, order, "--order"),
        trust=trust,
        on_duplicate=on_duplicate,
        workers=workers,
        cache=cache,
        out=out,
        plot=plot,
    )
    notice(result.notices)
    if json:
        against = result.against_qrel
        print_json(
            {
                **to_plain(result.winratio),
                "pairs": [
                    {**to_plain(pair), "ratio": to_plain(pair.ratio)} for pair in result.winratio.pairs
                ],
                "against_qrel": against and {**to_plain(against), "shares": to_plain(against.shares)},
                "provenance": result.provenance,
                "inputs": to_plain(result.inputs),
                "out": result.out,
            }
        )
        return
    from prefjudge.render.score_tables import top_against_qrel_table
    from prefjudge.render.tables import render_table
    from prefjudge.render.winratio_tables import winratio_list, winratio_matrix

    table = winratio_list if format == "csv" else winratio_matrix
    typer.echo(render_table(table(result.winratio, provenance=result.provenance), format), nl=False)
    if result.against_qrel:
        typer.echo(render_table(top_against_qrel_table(result.against_qrel), format), nl=False)
    if result.out:
        say(f"wrote {result.out}")

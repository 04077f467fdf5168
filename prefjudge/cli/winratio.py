"""``prefjudge winratio``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import (
    Format,
    Json,
    MaybeStudy,
    OnlyQueries,
    OrderBy,
    Out,
    Plot,
    Pool,
    ReadOptions,
    Runs,
    Seed,
    reads_runs,
)
from prefjudge.cli.output import notice, one_of, print_json, print_tables, print_words, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.winratio import WinRatioResult


@reads_runs
def winratio(
    study: MaybeStudy = None,
    runs: Runs = [],
    judgments: Annotated[Path | None, typer.Option(help="Query, document, document, preferred.")] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="Adds the perfect ranking as a row and a column.")
    ] = None,
    queries: OnlyQueries = None,
    count: Annotated[
        str, typer.Option(help="majority: one outcome a query; votes: every vote, tested by query.")
    ] = "majority",
    against_qrel: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="A run (a tag or a file) whose top passages are compared with the qrels."
        ),
    ] = None,
    runs_shown: Annotated[
        list[str],
        typer.Option(help="So many of the best runs in the matrix, or a run by name. May be repeated."),
    ] = ["12"],
    examples: Annotated[int, typer.Option(min=0, help="Draw so many pairs of --against-qrel.")] = 0,
    seed: Seed = None,
    pool: Pool = None,
    order: OrderBy = None,
    out: Out = None,
    plot: Plot = None,
    format: Format = "terminal",
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Compare runs directly: whose top passage do people prefer?"""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.winratio import winratio as run

    result = run(
        study,
        runs=runs,
        judgments=judgments,
        qrels=qrels,
        queries=queries,
        count=count,
        against_qrel=against_qrel,
        runs_shown=runs_shown,
        examples=examples,
        seed=seed,
        pool=pool,
        order=one_of(Order, order, "--order"),
        out=out,
        plot=plot,
        **reading,
    )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(to_json(result), result.notices)
    else:
        show(result, format)


def show(result: "WinRatioResult", format: str = "terminal") -> None:
    """Print the matrix, and the run against the qrels where that was asked for."""
    from prefjudge.render.top_plots import example_lines
    from prefjudge.render.top_tables import categories_table, preferred_table
    from prefjudge.render.winratio_tables import winratio_list, winratio_matrix

    if format == "csv":
        tables = [winratio_list(result.winratio, provenance=result.provenance)]
    else:
        tables = [winratio_matrix(result.winratio, shown=result.shown, provenance=result.provenance)]
    if against := result.against_qrel:
        tables += [categories_table(against.split, against.run), preferred_table(against)]
    print_tables(tables, format, rehearsal=result.rehearsal)
    for words, *_ in example_lines(result.examples):
        print_words(words)
    for path in result.files:
        say(f"wrote {path}")


def to_json(result: "WinRatioResult") -> dict[str, Any]:
    """Return the documented JSON of ``winratio``."""
    against = result.against_qrel
    return {
        **to_plain(result.winratio),
        "pairs": [{**to_plain(pair), "ratio": to_plain(pair.ratio)} for pair in result.winratio.pairs],
        "against_qrel": against and {**to_plain(against), "shares": to_plain(against.shares)},
        "examples": to_plain(result.examples),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
        "files": list(result.files),
    }

"""``prefjudge agreement``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, one_of, print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.agreement import AgreementResult


def agreement(
    study: MaybeStudy = None,
    runs: Annotated[list[str], typer.Option(help="Run files, or a quoted pattern such as 'runs/*.gz'.")] = [],  # noqa: B006
    qrels: Annotated[list[str], typer.Option(help="FILE or NAME=FILE. May be repeated.")] = [],  # noqa: B006
    measure: Annotated[list[str], typer.Option(help="RR@10, nDCG@10 …; may be repeated.")] = [],  # noqa: B006
    queries: Annotated[Path | None, typer.Option(help="Look at the queries of this file only.")] = None,
    order: Annotated[str | None, typer.Option(help="score, score-f32, rank or file.")] = None,
    splits: Annotated[int, typer.Option(help="How many times to split the queries.")] = 100,
    alpha: Annotated[float, typer.Option(help="The level of each test.")] = 0.05,
    seed: Annotated[int | None, typer.Option(help="Of the splits.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Read only what is needed of the runs.")] = False,
    on_duplicate: Annotated[
        str, typer.Option(help="error, first or best: a document listed twice.")
    ] = "error",
    workers: Annotated[int, typer.Option(min=1, help="Processes that read runs side by side.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="Keep copies of checked runs here.")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Split the queries into random halves: do both say the same about which run is better?"""
    from prefjudge.core.runs import Order
    from prefjudge.steps.agreement import agreement as run

    result = run(
        study,
        runs=runs,
        qrels=qrels,
        measure=measure,
        queries=queries,
        order=one_of(Order, order, "--order"),
        splits=splits,
        alpha=alpha,
        seed=seed,
        trust=trust,
        on_duplicate=on_duplicate,
        workers=workers,
        cache=cache,
        out=out,
    )
    notice(result.notices)
    if json:
        print_json(to_json(result))
    else:
        show(result)


def show(result: "AgreementResult") -> None:
    """Print the agreement rates."""
    from prefjudge.render.agreement_tables import agreement_table
    from prefjudge.render.tables import render_terminal

    typer.echo(render_terminal(agreement_table(result.agreements)))
    if result.out:
        say(f"wrote {result.out}")


def to_json(result: "AgreementResult") -> dict[str, Any]:
    """Return the documented JSON of ``agreement``."""
    return {
        "agreements": to_plain(result.agreements),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "out": result.out,
    }

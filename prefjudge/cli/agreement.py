"""``prefjudge agreement``."""

from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import (
    Json,
    Judgments,
    Labels,
    MaybeStudy,
    Measures,
    OnlyQueries,
    OrderBy,
    Out,
    ReadOptions,
    Runs,
    Seed,
    reads_runs,
)
from prefjudge.cli.output import notice, one_of, print_json, print_tables, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.agreement import AgreementResult


@reads_runs
def agreement(
    study: MaybeStudy = None,
    runs: Runs = [],
    qrels: Labels = [],
    measure: Measures = [],
    judgments: Judgments = None,
    queries: OnlyQueries = None,
    order: OrderBy = None,
    splits: Annotated[int, typer.Option(help="How many times to split the queries.")] = 100,
    alpha: Annotated[float, typer.Option(help="The level of each test.")] = 0.05,
    seed: Seed = None,
    out: Out = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Split the queries into random halves: do both say the same about which run is better?"""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.agreement import agreement as run

    result = run(
        study,
        runs=runs,
        qrels=qrels,
        measure=measure,
        judgments=judgments,
        queries=queries,
        order=one_of(Order, order, "--order"),
        splits=splits,
        alpha=alpha,
        seed=seed,
        out=out,
        **reading,
    )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(to_json(result), result.notices)
    else:
        show(result)


def show(result: "AgreementResult") -> None:
    """Print the agreement rates."""
    from prefjudge.render.agreement_tables import agreement_table

    print_tables([agreement_table(result.agreements)], rehearsal=result.rehearsal)
    if result.out:
        say(f"wrote {result.out}")


def to_json(result: "AgreementResult") -> dict[str, Any]:
    """Return the documented JSON of ``agreement``."""
    return {
        "agreements": to_plain(result.agreements),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
    }

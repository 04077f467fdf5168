"""``prefjudge stability``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import (
    Json,
    Labels,
    MaybeStudy,
    Measures,
    OnlyQueries,
    OrderBy,
    Out,
    Plot,
    ReadOptions,
    Runs,
    Seed,
    reads_runs,
)
from prefjudge.cli.output import notice, one_of, print_json, print_tables, print_words, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.stability.stability import Condition, StabilityResult


@reads_runs
def stability(
    study: MaybeStudy = None,
    runs: Runs = [],
    qrels: Labels = [],
    measure: Measures = [],
    judgments: Annotated[
        list[Path], typer.Option(help="Draw the votes too; several independent sets are compared.")
    ] = [],
    held_out: Annotated[
        Path | None, typer.Option(help="Query ids, one a line, to rank apart from the public ones.")
    ] = None,
    queries: OnlyQueries = None,
    order: OrderBy = None,
    draw: Annotated[
        list[str],
        typer.Option(metavar="RUN", help="Draw these runs (tags or files) side by side; may be repeated."),
    ] = [],
    trials: Annotated[int, typer.Option(help="How many query sets to draw.")] = 1000,
    confidence: Annotated[float, typer.Option(help="The level of the rank intervals.")] = 0.95,
    seed: Seed = None,
    plot: Plot = None,
    out: Out = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Rank the runs on query sets drawn with replacement: would the leaderboard stand with other queries?"""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.stability.stability import stability as run

    result = run(
        study,
        runs=runs,
        qrels=qrels,
        measure=measure,
        judgments=judgments,
        held_out=held_out,
        queries=queries,
        order=one_of(Order, order, "--order"),
        draw=draw,
        trials=trials,
        confidence=confidence,
        seed=seed,
        plot=plot,
        out=out,
        **reading,
    )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(to_json(result), result.notices)
    else:
        show(result)


def show(result: "StabilityResult") -> None:
    """Print the ranks under each condition, all side by side, and the noise ceilings."""
    from prefjudge.render.stability_tables import conditions_table, describe_ceiling, rank_table

    for one in result.conditions:
        print_tables([rank_table(one.part, one.stability)], rehearsal=result.rehearsal)
        if one.ceiling:
            source = f"votes drawn like those of {one.stability.qrels}"
            print_words(describe_ceiling(one.ceiling, source))
        typer.echo()
    if len(result.conditions) > 1:
        named = [(one.part, one.stability) for one in result.conditions]
        print_tables([conditions_table(named)], rehearsal=result.rehearsal)
    if result.ceiling:
        print_words(describe_ceiling(result.ceiling, "the sets of judgments given"))
    for path in result.out:
        say(f"wrote {path}")


def to_json(result: "StabilityResult") -> dict[str, Any]:
    """Return the documented JSON of ``stability``."""
    return {
        "conditions": [_condition(one) for one in result.conditions],
        "ceiling": to_plain(result.ceiling),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
    }


def _condition(one: "Condition") -> dict[str, Any]:
    ranks = one.stability
    return {
        "measure": ranks.measure,
        "qrels": ranks.qrels,
        "part": one.part,
        "queries": ranks.queries,
        "trials": ranks.trials,
        "confidence": ranks.confidence,
        "votes": ranks.votes,
        "runs": [
            {
                "run": run,
                "rank": place + 1,
                "mean": ranks.mean[place].item(),
                "expected": ranks.expected[place].item(),
                "low": ranks.low[place].item(),
                "high": ranks.high[place].item(),
                "share": ranks.share[place].tolist(),
            }
            for place, run in enumerate(ranks.runs)
        ],
        "ceiling": to_plain(one.ceiling),
    }

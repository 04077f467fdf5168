"""``prefjudge stability``."""

from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.output import print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.stability.stability import Condition, StabilityResult


def stability(result: "StabilityResult") -> None:
    """Print the ranks under each condition, all side by side, and the noise ceilings."""
    from prefjudge.render.tables.stability import conditions_table, describe_ceiling, rank_table

    for one in result.conditions:
        print_tables([rank_table(one.part, one.stability)], rehearsal=result.rehearsal)
        if one.ceiling:
            source = f"independent votes like those of {one.stability.qrels}"
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

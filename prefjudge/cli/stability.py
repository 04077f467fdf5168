"""``prefjudge stability``."""

from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.output import print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.stability import Condition, StabilityResult


def stability(result: "StabilityResult") -> None:
    """Print the ranks under each condition, all side by side, and how far votings agree."""
    from prefjudge.show.boards import voting_sentence
    from prefjudge.show.statistics import conditions_table, rank_table

    for one in result.conditions:
        print_tables([rank_table(one.part, one.stability)], rehearsal=result.rehearsal)
        typer.echo()
    if len(result.conditions) > 1:
        named = [(one.part, one.stability) for one in result.conditions]
        print_tables([conditions_table(named)], rehearsal=result.rehearsal)
    for each in result.voted:
        if each.two_votings.pairs:
            print_words(f"{each.measure} under {each.qrels}: {voting_sentence(each.two_votings)}")
    for path in result.out:
        say(f"wrote {path}")


def to_json(result: "StabilityResult") -> dict[str, Any]:
    """Return the documented JSON of ``stability``."""
    return {
        "conditions": [_condition(one) for one in result.conditions],
        "two_votings": [
            {"qrels": one.qrels, "measure": one.measure, **to_plain(one.two_votings)} for one in result.voted
        ],
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
        "interval": ranks.interval,
        "runs": [
            {
                "run": run,
                "rank": place + 1,
                "mean": ranks.mean[place].item(),
                "low": ranks.low[place].item(),
                "high": ranks.high[place].item(),
                "expected": None if ranks.expected is None else ranks.expected[place].item(),
                "share": None if ranks.share is None else ranks.share[place].tolist(),
            }
            for place, run in enumerate(ranks.runs)
        ],
    }

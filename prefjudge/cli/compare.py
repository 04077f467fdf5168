"""``prefjudge compare``."""

from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.output import print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.compare import CompareResult, Comparison


def compare(result: "CompareResult") -> None:
    """Print the tests and the outcomes, each with its sentences."""
    from prefjudge.show.statistics import naive_table, outcomes_table, pairs_table

    for one in result.comparisons:
        print_tables([pairs_table([one.significance])], rehearsal=result.rehearsal)
        typer.echo()
        for words in one.words[:_SENTENCES]:
            print_words(words)
        typer.echo()
        if one.no_outcomes:
            print_words(one.no_outcomes)
            typer.echo()
        if one.outcomes:
            rows = [(one.significance, row) for row in one.outcomes]
            print_tables([naive_table(rows), outcomes_table(rows)], rehearsal=result.rehearsal)
            typer.echo()
            for words in one.outcome_words[:_SENTENCES]:
                print_words(words)
            typer.echo()
    for path in result.out:
        say(f"wrote {path}")


_SENTENCES = 12


def to_json(result: "CompareResult") -> dict[str, Any]:
    """Return the documented JSON of ``compare``."""
    return {
        "comparisons": [_comparison(one) for one in result.comparisons],
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
    }


def _comparison(one: "Comparison") -> dict[str, Any]:
    tested = one.significance
    columns = ("difference", "low", "high", "effect", "wins_a", "wins_b", "p", "p_adjusted", "identical")
    return {
        "measure": tested.measure,
        "qrels": tested.qrels,
        "queries": tested.queries,
        "test": tested.test,
        "variant": tested.variant,
        "reason": tested.reason,
        "correction": tested.correction,
        "alpha": tested.alpha,
        "resamples": tested.resamples,
        "pairs": [
            {
                "a": tested.runs[tested.a[pair]],
                "b": tested.runs[tested.b[pair]],
                **{name: getattr(tested, name)[pair].item() for name in columns},
                "significant": tested.significant[pair].item(),
                "words": words,
            }
            for pair, words in enumerate(one.words)
        ],
        "outcomes": [
            {**to_plain(row), "words": words}
            for row, words in zip(one.outcomes, one.outcome_words, strict=True)
        ],
        "no_outcomes": one.no_outcomes or None,
    }

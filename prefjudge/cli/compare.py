"""``prefjudge compare``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import (
    Json,
    Judgments,
    Labels,
    Measures,
    OnlyQueries,
    OrderBy,
    Out,
    ReadOptions,
    Runs,
    Seed,
    reads_runs,
)
from prefjudge.cli.output import notice, one_of, print_json, print_tables, print_words, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.compare import CompareResult, Comparison


@reads_runs
def compare(
    a: Annotated[Path | None, typer.Argument(metavar="[A]", help="The run to compare with.")] = None,
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="The contender.")] = None,
    study: Annotated[Path | None, typer.Option(help="Compare a study's runs under its label sets.")] = None,
    runs: Runs = [],
    baseline: Annotated[
        list[str],
        typer.Option(
            metavar="RUN",
            help="Compare with this run (a tag or a file); may be repeated. Without it, all pairs.",
        ),
    ] = [],
    qrels: Labels = [],
    measure: Measures = [],
    judgments: Judgments = None,
    queries: OnlyQueries = None,
    order: OrderBy = None,
    test: Annotated[
        str | None, typer.Option(help="t, wilcoxon, rank-sum, sign, permutation or bootstrap.")
    ] = None,
    correction: Annotated[str, typer.Option(help="none, bonferroni, holm, bh or tukey.")] = "holm",
    alpha: Annotated[float, typer.Option(help="The level of the verdicts.")] = 0.05,
    resamples: Annotated[int | None, typer.Option(help="For the tests that draw.")] = None,
    seed: Seed = None,
    out: Out = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Test whether runs differ, in words and numbers; for RR, whether they answer more or rank better."""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.compare import compare as run

    result = run(
        a,
        b,
        study=study,
        runs=runs,
        baseline=baseline,
        qrels=qrels,
        measure=measure,
        judgments=judgments,
        queries=queries,
        order=one_of(Order, order, "--order"),
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
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


def show(result: "CompareResult") -> None:
    """Print the tests and the outcomes, each with its sentences."""
    from prefjudge.render.comparison_tables import naive_table, outcomes_table, pairs_table

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

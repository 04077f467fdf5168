"""``prefjudge resolve``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, one_of, print_json, print_tables, say, stamp
from prefjudge.counts import many
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.resolve.resolve import ResolveResult


def resolve(
    study: MaybeStudy = None,
    judgments: Annotated[
        Path | None, typer.Option(help="A file instead of a study: query, document, document, preferred.")
    ] = None,
    rule: Annotated[
        list[str],
        typer.Option(
            help="shallow-pooling, most-wins …; the first one's winners are written. study.toml's by default."
        ),
    ] = [],
    ties: Annotated[
        str, typer.Option(help="What a tie is worth to each side: ignore, or half a vote.")
    ] = "ignore",
    strengths: Annotated[
        bool, typer.Option("--strengths", help="Count a vote as often as it is strong.")
    ] = False,
    sparse_rule: Annotated[
        str | None,
        typer.Option(help="A rule to name provisional winners of queries with unjudged pairs: unbeaten …"),
    ] = None,
    without: Annotated[
        list[str], typer.Option(help="Leave out this worker, or model. May be repeated.")
    ] = [],
    with_models: Annotated[
        bool, typer.Option("--with-models", help="Count the votes of models, too; give --out.")
    ] = False,
    confidence: Annotated[
        bool | None,
        typer.Option(help="The probability that each is the best; unasked up to 20,000 queries."),
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Report what rules, ties, workers and runs change.")
    ] = False,
    runs: Annotated[list[str], typer.Option(help="Runs whose order the sensitivity report compares.")] = [],
    measure: Annotated[str | None, typer.Option(help="What orders them: RR@10 …")] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Give each query's resolution.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of the probabilities' samples.")] = None,
    form: Annotated[str, typer.Option("--format", help="trec, pref, prefs, values or jsonl.")] = "trec",
    out: Out = None,
    json: Json = False,
) -> None:
    """Resolve each query's judgments as a tournament into preference qrels."""
    from prefjudge.core.resolving.counting import TieWorth
    from prefjudge.steps.resolve.resolve import Form
    from prefjudge.steps.resolve.resolve import resolve as run

    result = run(
        study,
        judgments=judgments,
        rule=rule,
        ties=one_of(TieWorth, ties, "--ties") or TieWorth.IGNORE,
        strengths=strengths,
        sparse_rule=sparse_rule,
        without=without,
        with_models=with_models,
        confidence=confidence,
        sensitivity=sensitivity,
        runs=runs,
        measure=measure,
        per_query=per_query,
        seed=seed,
        form=one_of(Form, form, "--format") or Form.TREC,
        out=out,
    )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
        return
    show(result)
    if study is not None and out is None and result.out:
        say(f"next: prefjudge score {quoted(study)}")


def show(result: "ResolveResult") -> None:
    """Print what each rule decided, how sure it is, and what would change it."""
    from prefjudge.render.resolution_tables import per_query_table, rules_table, sensitivity_table

    tables = [rules_table(result.rules)] if len(result.rules) > 1 else []
    tables += [per_query_table(result.per_query)] if result.per_query else []
    tables += [sensitivity_table(result.rule, result.sensitivity)] if result.sensitivity else []
    print_tables(tables, rehearsal=result.rehearsal)
    decided = ", ".join(f"{count} {status}" for status, count in result.statuses.items() if count)
    say(
        f"{result.rule}: {many(result.queries, 'query')} from {many(result.judgments, 'judgment')}: {decided}"
    )
    for query, docs in list(result.cycles.items())[:10]:
        say(f"  query {query}: {' > '.join([*docs, docs[0]])}")
    sure = result.confidence
    if sure is not None and result.qrels:
        say(
            f"a winner is the best with a probability of {sure.mean:.2f} on average, {sure.at_80} with "
            f"0.8 or more; the judgments suggest that {sure.error:.0%} of votes on a random pair are wrong"
        )
    if result.out:
        say(
            f"wrote {many(result.qrels, 'preference qrel')} to {result.out}"
            if result.form == "trec"
            else f"wrote {result.out}"
        )

"""``prefjudge resolve``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.output import opened, print_tables, say
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.resolve.result import ResolveResult


def resolve(
    result: "ResolveResult",
    *,
    study: Path | None,
    form: Annotated[str, typer.Option("--format")],
    out: Path | None,
) -> None:
    """Print what was decided, and what leads on."""
    show(result)
    if study is not None and out is None and result.out:
        say(f"next: prefjudge {_next(study)} {quoted(study)}")


def _next(study: Path) -> str:
    """Return the verb that leads on: a study of imported votes may have no runs to score."""
    from prefjudge.study.pools import has_runs

    with opened(study).transaction(write=False) as db:
        return "score" if has_runs(db) else "report"


def show(result: "ResolveResult") -> None:
    """Print what each rule decided, how sure it is, and what would change it."""
    print_tables(result.asked_tables(), rehearsal=result.rehearsal)
    decided = ", ".join(f"{count} {status}" for status, count in result.statuses.items() if count)
    say(
        f"{result.rule}: {many(result.queries, 'query')} from {many(result.judgments, 'judgment')}: {decided}"
    )
    for query, docs in list(result.cycles.items())[:10]:
        say(f"  query {query}: {' > '.join([*docs, docs[0]])}")
    if result.difference:
        say(result.difference)
    sure = result.confidence
    if sure is not None and result.qrels:
        for words in sure.words:
            say(words)
    if result.out:
        say(
            f"wrote {many(result.qrels, 'preference qrel')} to {result.out}"
            if result.form == "trec"
            else f"wrote {result.out}"
        )

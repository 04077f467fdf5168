"""``prefjudge resolve``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, print_json, say


def resolve(
    study: MaybeStudy = None,
    judgments: Annotated[
        Path | None, typer.Option(help="A file instead of a study: query, document, document, preferred.")
    ] = None,
    rule: Annotated[
        list[str], typer.Option(help="shallow-pooling, most-wins …; the first one's winners are written.")
    ] = [],  # noqa: B006 - typer reads the default
    out: Out = None,
    json: Json = False,
) -> None:
    """Resolve each query's judgments as a tournament into preference qrels."""
    from prefjudge.steps.resolve import resolve as run

    result = run(study, judgments=judgments, rule=rule, out=out)
    notice(result.notices)
    if json:
        print_json(result)
        return
    for name, counts in result.rules.items():
        decided = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        say(f"{name}: {result.queries:,} queries from {result.judgments:,} judgments: {decided}")
    for query, docs in list(result.cycles.items())[:10]:
        say(f"  query {query}: {' > '.join([*docs, docs[0]])}")
    if result.out:
        say(f"wrote {result.qrels:,} preference qrels to {result.out}")
    if study is not None:
        say(f"next: prefjudge score {study}")

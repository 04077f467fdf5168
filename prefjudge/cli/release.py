"""``prefjudge release``."""

from typing import Annotated

import typer

from prefjudge.cli.options import Json, Out, StudyFolder
from prefjudge.cli.output import notice, print_json, say, stamp


def release(
    study: StudyFolder,
    out: Out = None,
    texts: Annotated[bool, typer.Option("--texts", help="Add the texts of queries and passages.")] = False,
    gold: Annotated[
        bool, typer.Option("--gold", help="Add the gold pairs, which then screen nobody any more.")
    ] = False,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Release simulated judgments, which then say that they are.")
    ] = False,
    json: Json = False,
) -> None:
    """Write judgments and answers into a folder for others, with pseudonyms for the workers."""
    from prefjudge.steps.release import release as run

    result = run(study, out=out, texts=texts, gold=gold, rehearsal=rehearsal)
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
        return
    width = max(len(one.name) for one in result.files)
    for one in result.files:
        typer.echo(f"{one.name:<{width}}  {one.rows:>9,}  {one.holds}")
    say(f"wrote {result.out}; read its README.md, and add a licence, before you publish it")

"""``prefjudge gold``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json, StudyFolder
from prefjudge.cli.output import print_json, say
from prefjudge.counts import many
from prefjudge.errors import quoted


def gold(
    study: StudyFolder,
    suggest: Annotated[
        int | None, typer.Option(min=1, help="Write this many suggestions for review.")
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Make the pairs in the file the study's.")] = False,
    file: Annotated[Path | None, typer.Option(help="The file; gold.tsv in the study by default.")] = None,
    json: Json = False,
) -> None:
    """Suggest gold pairs for review, and accept the reviewed ones."""
    from prefjudge.steps.gold import gold as run

    result = run(study, suggest=suggest, accept=accept, file=file)
    if json:
        print_json(result)
        return
    if result.suggested:
        say(f"wrote {many(result.suggested, 'suggestion')} to {result.file}")
    if accept:
        withdrew = f", withdrew {result.withdrawn} that the file does not have" if result.withdrawn else ""
        say(f"accepted {result.accepted}{withdrew}; the study has {many(result.gold, 'gold pair')}")
        say(f"next: prefjudge publish {quoted(study)} --sandbox")
    elif result.suggested:
        say("read them, delete the lines that are not obvious to everyone, then:")
        say(f"  prefjudge gold {quoted(study)} --accept")
    else:
        say(f"the study has {many(result.gold, 'gold pair')}; --suggest 12 writes more for review")

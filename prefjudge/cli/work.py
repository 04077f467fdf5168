"""``prefjudge work``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json, StudyFolder
from prefjudge.cli.output import print_json, say
from prefjudge.counts import many
from prefjudge.errors import InputError, quoted


def work(
    study: StudyFolder,
    workers: Annotated[int, typer.Option(min=1, help="How many workers.")] = 20,
    error: Annotated[
        str, typer.Option(help="How often an honest choice is wrong; 0.1:0.35 spreads the workers' errors.")
    ] = "0.2",
    careless: Annotated[int, typer.Option(min=0, help="How many of them choose at random.")] = 0,
    temper: Annotated[list[str], typer.Option(help="Further kinds: left, hasty, quitter …")] = [],
    truth: Annotated[Path | None, typer.Option(help="Utilities: query_id, doc_id, utility (tsv).")] = None,
    most: Annotated[int | None, typer.Option(min=1, help="The most HITs one worker takes.")] = None,
    json: Json = False,
) -> None:
    """Let simulated workers judge at the sandbox, over HTTP as people would."""
    from prefjudge.steps.work import work as run

    result = run(
        study,
        workers=workers,
        error=_spread(error),
        careless=careless,
        temper=temper,
        truth=truth,
        most=most,
    )
    if json:
        print_json(result)
        return
    who = many(result.workers, "simulated worker")
    say(f"{who} submitted {many(result.submitted, 'assignment')}")
    if result.submitted:
        say(f"next: prefjudge collect {quoted(study)}")
    else:
        say("no HIT that is open is for them: others hold it, or these have judged it, or are barred")


def _spread(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise InputError(
            f"--error {text}: not a number, or two with a colon between them",
            "For instance: --error 0.1:0.35",
        ) from None

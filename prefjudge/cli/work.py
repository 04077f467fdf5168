"""``prefjudge work``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say
from prefjudge.errors import InputError, quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.work import WorkResult


def work(
    call: "Callable[..., WorkResult]",
    *,
    study: Path,
    error: Annotated[
        str, typer.Option(help="How often an honest choice is wrong; 0.1:0.35 spreads the workers' errors.")
    ] = "0.2",
    json: Json = False,
) -> None:
    """Print how much was judged, and what leads on."""
    result = call(error=_spread(error))
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
            "Give, for instance: --error 0.1:0.35",
        ) from None

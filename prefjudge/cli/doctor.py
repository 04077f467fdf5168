"""``prefjudge doctor``."""

from typing import Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import print_json, say

_COLORS = {"well": "green", "wrong": "red", "skipped": "yellow"}


def doctor(
    study: MaybeStudy = None,
    store: Annotated[str | None, typer.Option(help="Examine the store at this URL instead.")] = None,
    json: Json = False,
) -> None:
    """Examine a study or a store: damage, ledger, marketplace, file modes, clock, room and versions."""
    from prefjudge.steps.doctor.doctor import doctor as run

    result = run(study, store=store)
    if json:
        print_json(result)
    else:
        width = max(len(check.name) for check in result.checks)
        for check in result.checks:
            say(f"{check.state:<7}  {check.name:<{width}}  {check.found}", _COLORS[check.state], err=False)
            if check.hint:
                say(f"{'':<{width + 11}}{check.hint}", err=False)
    if not result.well:
        raise typer.Exit(1)

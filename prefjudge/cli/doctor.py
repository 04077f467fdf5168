"""``prefjudge doctor``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.doctor.doctor import DoctorResult

_COLORS = {"well": "green", "wrong": "red", "skipped": "yellow"}


def doctor(call: "Callable[..., DoctorResult]", json: Json = False) -> None:
    """Print each check; the exit code is 1 where something is wrong."""
    result = call()
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

"""``prefjudge reproduce``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.reproduce.reproduce import ReproduceResult


def reproduce(call: "Callable[..., ReproduceResult]", json: Json = False) -> None:
    """Print which tables and figures were made, and why others were not."""
    result = call()
    notice(result.notices)
    if json:
        print_json(result)
        return
    for one in result.exhibits:
        typer.echo(f"{one.name}: {', '.join(one.files) or f'not made: {one.missing}'}")
    say(f"wrote {result.index}")

"""``prefjudge reproduce``."""

from typing import TYPE_CHECKING

import typer

from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.reproduce.reproduce import ReproduceResult


def reproduce(result: "ReproduceResult") -> None:
    """Print which tables and figures were made, and why others were not."""
    for one in result.exhibits:
        typer.echo(f"{one.name}: {', '.join(one.files) or f'not made: {one.missing}'}")
    say(f"wrote {result.index}")

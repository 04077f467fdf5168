"""``prefjudge release``."""

from typing import TYPE_CHECKING

import typer

from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.release import ReleaseResult


def release(result: "ReleaseResult") -> None:
    """Print what each file of the release holds."""
    width = max(len(one.name) for one in result.files)
    for one in result.files:
        typer.echo(f"{one.name:<{width}}  {one.rows:>9,}  {one.holds}")
    say(f"wrote {result.out}; read its README.md, and add a licence, before you publish it")

"""``prefjudge release``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say, stamp

if TYPE_CHECKING:
    from prefjudge.steps.release import ReleaseResult


def release(call: "Callable[..., ReleaseResult]", json: Json = False) -> None:
    """Print what each file of the release holds."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
        return
    width = max(len(one.name) for one in result.files)
    for one in result.files:
        typer.echo(f"{one.name:<{width}}  {one.rows:>9,}  {one.holds}")
    say(f"wrote {result.out}; read its README.md, and add a licence, before you publish it")

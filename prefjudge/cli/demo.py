"""``prefjudge demo``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.pool import PoolResult


def demo(
    folder: Annotated[Path | None, typer.Argument(help="A new folder; prefjudge-demo by default.")] = None,
    json: Json = False,
) -> None:
    """Walk the whole road on a small collection, with simulated workers. Start here."""
    from prefjudge.steps.demo import demo as run

    result = run(folder, tell=say, show_pool=None if json else _show_pool)
    if json:
        print_json({"folder": result.folder, "commands": result.commands})
        return
    from prefjudge.cli.score import show

    show(result.score)
    say(f"\nEverything is in {result.folder}. The same, typed by hand:\n")
    for command in result.commands:
        say(f"  {command}")


def _show_pool(result: "PoolResult") -> None:
    from prefjudge.render.histogram import render_histogram

    typer.echo(render_histogram(result.sizes, "pool size", "queries"))

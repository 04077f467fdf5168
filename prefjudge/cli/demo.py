"""``prefjudge demo``."""

import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say, stamp
from prefjudge.cli.pool import show_sizes
from prefjudge.cli.score import score

if TYPE_CHECKING:
    from prefjudge.steps.demo import DemoResult


def demo(call: "Callable[..., DemoResult]", json: Json = False) -> None:
    """Print each step, the leaderboards and what can be typed by hand."""
    result = call(tell=say, show_pool=None if json else show_sizes)
    if json:
        print_json({"folder": result.folder, "report": result.report, "commands": result.commands})
        return
    stamp(result.score.rehearsal)
    score(result.score)
    say(f"\nEverything is in {result.folder}; the report is {result.report} (--open shows it).")
    say("The same, typed by hand:\n")
    for command in result.commands:
        say(f"  {command}")
    if which("prefjudge") is None:
        say(
            f"\nwhere prefjudge is {Path(sys.argv[0]).absolute()}, which your shell does not find by its name"
        )

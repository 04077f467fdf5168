"""``prefjudge recover``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, progress, say
from prefjudge.counts import many
from prefjudge.errors import NotFinished, quoted

if TYPE_CHECKING:
    from prefjudge.steps.recover.recover import RecoverResult


def recover(call: "Callable[..., RecoverResult]", *, study: Path, live: bool, json: Json = False) -> None:
    """Print what was learnt, and what remains to be done; the exit code is 3 until nothing does."""
    with progress("recovering") as bar:
        result = call(progress=bar)
    if json:
        print_json(result)
    else:
        say(f"{many(result.hits, 'HIT')} of this study at {result.target}: {result.rebuilt:,} rebuilt now")
        say(
            f"learnt {many(result.assignments, 'assignment')}, {many(result.decisions, 'decision')} and "
            f"{many(result.bonuses, 'bonus', 'bonuses')}"
        )
        if result.given_up:
            say(f"gave up {many(result.given_up, 'HIT')}, whose pairs are asked for again")
        notice(result.notices)
        for text in result.remains:
            say(f"remains: {text}", "yellow")
        if not result.remains:
            then = f"collect or run{' --live' * live}"
            say(f"the store is whole; next: prefjudge status {quoted(study)}, then {then}")
    if result.remains:
        raise typer.Exit(NotFinished.exit_code)

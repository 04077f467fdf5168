"""``prefjudge release``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.release.release import ReleaseResult


def release(call: "Callable[..., ReleaseResult]", *, json: Json = False) -> None:
    """Print what each file of the release holds; the exit code is 1 where what is verified is wrong."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json({**to_plain(result), "ok": result.ok})
    else:
        show(result)
    if not result.ok:
        raise typer.Exit(1)


def show(result: "ReleaseResult") -> None:
    """Print what is wrong; or else what each file holds, and what was made again."""
    for problem in result.problems:
        say(f"wrong: {problem}", "red", err=False)
    if result.problems:
        return
    width = max(len(one.name) for one in result.files)
    for one in result.files:
        again = "  made again" if one.name in result.derived else ""
        typer.echo(f"{one.name:<{width}}  {one.rows:>9,}  {one.holds}{again}")
    say(
        f"{result.out} is whole: every byte is as it was written, and {len(result.derived)} files were made "
        "again from its judgments alone"
    )

"""``prefjudge board``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.check import Form
from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say, stamp, to_plain
from prefjudge.errors import quoted
from prefjudge.words import many, printable

if TYPE_CHECKING:
    from prefjudge.steps.board.board import BoardResult


def board(
    call: "Callable[..., BoardResult]",
    *,
    folder: Path,
    format: Annotated[Form, typer.Option(help="For people, or as annotations.")] = Form.TERMINAL,
    json: Json = False,
) -> None:
    """Print what was done, or the paths of the runs; the exit code is 1 where something is wrong."""
    result = call(folder=folder)
    stamp(result.rehearsal)
    if json:
        print_json({**to_plain(result), "ok": result.ok})
    elif result.action == "runs":
        for one in result.submissions:
            typer.echo(Path(folder, one.run))
    elif format is Form.GITHUB:
        annotate(result)
    else:
        show(result)
    if not result.ok:
        raise typer.Exit(1)


def show(result: "BoardResult") -> None:
    """Print what was written, and what is wrong."""
    # Strangers name files: a name that breaks the line could give commands to a terminal, or to a workflow.
    for found in result.problems:
        say(f"error: {printable(str(found))}", "red", err=False)
    for found in result.warnings:
        say(f"note: {printable(str(found))}", "yellow", err=False)
    for text in result.audit:
        say(f"audit: {printable(text)}", err=False)
    for one in result.submissions:
        say(f"{one.name} ({one.team}): {one.state}", err=False)
    if result.action == "log":
        say(f"added {many(result.logged, 'line')} to the log")
    elif result.action == "check" and result.ok:
        say("in order", "green", err=False)
    for path in result.written if result.action != "log" else ():
        say(f"wrote {path}")
    if result.action == "init":
        say(
            f"next: name yourself under [board] in {Path(result.board) / 'study.toml'}, then: "
            f"cd {quoted(result.board)}; git init -b main; make hooks; git add .; git commit"
        )


def annotate(result: "BoardResult") -> None:
    """Print errors and warnings as annotations of GitHub Actions."""
    from prefjudge.show.tables import annotation

    for level, found in (("error", result.problems), ("warning", result.warnings)):
        for one in found:
            typer.echo(annotation(level, one.path, str(one)))

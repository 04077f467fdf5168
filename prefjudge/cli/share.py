"""What the verbs print that write for others: pages, releases, exhibits, boards."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import at_work, notice, print_json, say, stamp
from prefjudge.cli.road import score
from prefjudge.cli.sure import Form
from prefjudge.errors import quoted
from prefjudge.words import many, printable

if TYPE_CHECKING:
    from prefjudge.steps.board.board import BoardResult
    from prefjudge.steps.demo import DemoResult
    from prefjudge.steps.export import ExportResult
    from prefjudge.steps.release.verify import ReleaseResult


def demo(call: "Callable[..., DemoResult]", json: Json = False) -> None:
    """Print each step, the leaderboard, and where the same stands to be typed by hand."""
    from prefjudge.steps.demo import BY_HAND

    result = call(tell=say)
    if json:
        print_json({"folder": result.folder, "report": result.report, "commands": result.commands})
        return
    score(replace(result.score, notices=(), out=()))
    say(f"Everything is in {result.folder}; the report is {result.report}.")
    say(f"The commands of all this, to type by hand: {Path(result.folder, BY_HAND)}")
    if which("prefjudge") is None:
        say(f"where prefjudge is {Path(sys.argv[0]).absolute()}, which your shell does not find by its name")


def report(
    call: Callable[..., Any],
    *,
    site: Path | None,
    tables: Annotated[tuple[str, Path] | None, typer.Option("--tables", metavar="FORM DIR")] = None,
    json: Json = False,
) -> None:
    """Print where the page is, its sections and other files, or the address it is served at; or the site."""
    with at_work("report") as done:

        def ready(address: str) -> None:
            done()
            say(f"{address}   (made again when the study changes; Ctrl-C stops)")

        result = call(ready=ready)
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result, result.notices)
        return
    if site is not None:
        removed = f", removed {many(result.removed, 'old page')}" if result.removed else ""
        say(f"wrote {result.written:,} of {many(result.files, 'file')}{removed}: {result.out}/index.html")
        return
    say(f"wrote {result.out}: {', '.join(result.sections).lower()}")
    for folder in dict.fromkeys(str(Path(file).parent) for file in result.files):
        beside = [Path(file).name for file in result.files if str(Path(file).parent) == folder]
        named = ", ".join(beside) if len(beside) < 4 else many(len(beside), "file")
        say(f"wrote {named} in {folder}")


def release(call: "Callable[..., ReleaseResult]", *, json: Json = False) -> None:
    """Print what each file of the release holds; the exit code is 1 where what is verified is wrong."""
    with at_work("release"):
        result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        show_release(result)
    if not result.ok:
        raise typer.Exit(1)


def show_release(result: "ReleaseResult") -> None:
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


def export(result: "ExportResult") -> None:
    """Print what was written, and how passages were found in another collection."""
    of = f" of {many(result.judgments, 'judgment')}" if result.judgments else ""
    say(f"wrote {many(result.rows, 'row')}{of} to {result.out}")
    if result.carried:
        counts = ", ".join(f"{count:,} {how}" for how, count in result.carried.items())
        say(f"{many(sum(result.carried.values()), 'passage')}: {counts}; see {', '.join(result.files)}")


def board(
    call: "Callable[..., BoardResult]",
    *,
    folder: Path,
    format: Annotated[Form, typer.Option(help="Text for people, or annotations for GitHub.")] = Form.TERMINAL,
    json: Json = False,
) -> None:
    """Print what was done, or the paths of the runs; the exit code is 1 where something is wrong."""
    result = call(folder=folder)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    elif result.action == "runs":
        for one in result.submissions:
            typer.echo(Path(folder, one.run))
    elif format is Form.GITHUB:
        annotate_board(result)
    else:
        show_board(result)
    if not result.ok:
        raise typer.Exit(1)


def show_board(result: "BoardResult") -> None:
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


def annotate_board(result: "BoardResult") -> None:
    """Print errors and warnings as annotations of GitHub Actions."""
    from prefjudge.show.tables import annotation

    for level, found in (("error", result.problems), ("warning", result.warnings)):
        for one in found:
            typer.echo(annotation(level, one.path, str(one)))

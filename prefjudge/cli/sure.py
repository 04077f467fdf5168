"""What the verbs print that say how sure a result is."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Details, Format, Json
from prefjudge.cli.output import briefly, print_json, print_tables, print_words, say

if TYPE_CHECKING:
    from prefjudge.steps.check import CheckResult
    from prefjudge.steps.winratio import WinRatioResult


class Form(StrEnum):
    """The form of the findings: for people, or as annotations of GitHub Actions."""

    TERMINAL = "terminal"
    GITHUB = "github"


def check(
    call: "Callable[..., CheckResult]",
    *,
    format: Annotated[Form, typer.Option(help="Text for people, or annotations for GitHub.")] = Form.TERMINAL,
    details: Details = False,
    json: Json = False,
) -> None:
    """Print what was found; the exit code is 1 where a file cannot be used."""
    result = call()
    if json:
        print_json(result)
    elif format is Form.GITHUB:
        annotate_check(result)
    elif not briefly(result, details):
        show_check(result)
    if not result.ok:
        raise typer.Exit(1)


def show_check(result: "CheckResult") -> None:
    """Print each file's state, its errors and its warnings."""
    for file in result.files:
        head = "ok" if file.ok else "cannot be used"
        size = f": {file.words}" if file.words else ""
        say(f"{file.path} ({file.kind}) {head}{size}", None if file.ok else "red", err=False)
        for text in file.errors:
            say(f"  error: {text}", "red", err=False)
        for text in file.hint.splitlines():
            say(f"  {text}", err=False)
        for text in file.warnings:
            say(f"  note: {text.removeprefix(f'{file.path}: ')}", "yellow", err=False)
    for group in result.identical:
        typer.echo(f"runs with the same ranking: {', '.join(group)}")
    for found in result.manifest:
        what = f": {'; '.join(found.problems)}" if found.problems else ""
        say(f"{found.status:6} {found.name}{what}", "red" if found.status == "wrong" else None, err=False)


def annotate_check(result: "CheckResult") -> None:
    """Print errors and warnings as annotations of GitHub Actions."""
    from prefjudge.show.tables import annotation

    for file in result.files:
        for level, texts in (("error", file.errors), ("warning", file.warnings)):
            for text in texts:
                typer.echo(annotation(level, file.path, text))
    for found in result.manifest:
        for text in found.problems:
            typer.echo(annotation("error", found.path, f"{found.name}: {text}"))


def winratio(result: "WinRatioResult", *, format: Format = "terminal", details: Details = False) -> None:
    """Print who beats whom, or the matrix; and the run against the qrels where that was asked for."""
    from prefjudge.show.boards import winratio_list
    from prefjudge.show.plots import example_lines

    if not briefly(result, details or format != "terminal"):
        tables = result.tables()
        if format == "csv":
            tables = (winratio_list(result.winratio).made_with(result.provenance), *tables[1:])
        print_tables(tables, format, rehearsal=result.rehearsal)
    for words, *_ in example_lines(result.examples):
        print_words(words)
    for path in result.files:
        say(f"wrote {path}")

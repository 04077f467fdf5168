"""``prefjudge check``."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.check import CheckResult


class Form(StrEnum):
    """The form of the findings: for people, or as annotations of GitHub Actions."""

    TERMINAL = "terminal"
    GITHUB = "github"


def check(
    call: "Callable[..., CheckResult]",
    *,
    format: Annotated[Form, typer.Option(help="For people, or as annotations.")] = Form.TERMINAL,
    json: Json = False,
) -> None:
    """Print what was found; the exit code is 1 where a file cannot be used."""
    result = call()
    if json:
        files_plain = [{**to_plain(file), "ok": file.ok} for file in result.files]
        print_json({**to_plain(result), "files": files_plain, "ok": result.ok})
    elif format is Form.GITHUB:
        annotate(result)
    else:
        show(result)
    if not result.ok:
        raise typer.Exit(1)


def show(result: "CheckResult") -> None:
    """Print each file's state, its errors and its warnings."""
    for file in result.files:
        head = "ok" if file.ok else "cannot be used"
        size = ""
        if file.health:
            size = f": {file.health.read_as}; tag {file.health.tag}"
        elif file.counts:
            size = ": " + ", ".join(f"{count:,} {name}" for name, count in file.counts.items())
        say(f"{file.path} ({file.kind}) {head}{size}", None if file.ok else "red", err=False)
        for text in file.errors:
            say(f"  error: {text}", "red", err=False)
        for text in file.hint.splitlines():
            say(f"  {text}", err=False)
        for text in file.warnings:
            say(f"  note: {text.removeprefix(f'{file.path}: ')}", "yellow", err=False)
    for group in result.identical:
        typer.echo(f"these runs rank alike: {', '.join(group)}")
    for found in result.manifest:
        what = f": {'; '.join(found.problems)}" if found.problems else ""
        say(f"{found.status:6} {found.name}{what}", "red" if found.status == "wrong" else None, err=False)


def annotate(result: "CheckResult") -> None:
    """Print errors and warnings as annotations of GitHub Actions."""
    from prefjudge.show.tables import annotation

    for file in result.files:
        for level, texts in (("error", file.errors), ("warning", file.warnings)):
            for text in texts:
                typer.echo(annotation(level, file.path, text))
    for found in result.manifest:
        for text in found.problems:
            typer.echo(annotation("error", found.path, f"{found.name}: {text}"))

"""``prefjudge check``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, OrderBy, Workers
from prefjudge.cli.output import one_of, print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.check import CheckResult


def check(
    files: Annotated[list[str], typer.Argument(help="Run, qrels or judgments files, or a folder.")],
    kind: Annotated[str, typer.Option(help="auto, run, qrels or judgments.")] = "auto",
    qrels: Annotated[Path | None, typer.Option(help="Adds Judged@cutoff and the expected queries.")] = None,
    queries: Annotated[Path | None, typer.Option(help="The queries that a run should have.")] = None,
    cutoff: Annotated[int, typer.Option(min=1, help="The depth at which ties matter.")] = 10,
    order: OrderBy = None,
    workers: Workers = None,
    manifest: Annotated[str | None, typer.Option(help="trec-dl-2020, or a TOML list of files.")] = None,
    format: Annotated[str, typer.Option(help="terminal, or github for annotations.")] = "terminal",
    json: Json = False,
) -> None:
    """Check files for mistakes and surprises; the exit code is 1 where a file cannot be used."""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.check import check as run

    result = run(
        files,
        kind=kind,
        qrels=qrels,
        queries=queries,
        cutoff=cutoff,
        order=one_of(Order, order, "--order"),
        workers=workers,
        manifest=manifest,
    )
    if json:
        files_plain = [{**to_plain(file), "ok": file.ok} for file in result.files]
        print_json({**to_plain(result), "files": files_plain, "ok": result.ok})
    elif format == "github":
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
    from prefjudge.render.annotations import annotation

    for file in result.files:
        for level, texts in (("error", file.errors), ("warning", file.warnings)):
            for text in texts:
                typer.echo(annotation(level, file.path, text))
    for found in result.manifest:
        for text in found.problems:
            typer.echo(annotation("error", found.path, f"{found.name}: {text}"))

"""``prefjudge report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.output import say
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.report.report import ReportResult


def report(
    result: "ReportResult",
    *,
    tables: Annotated[tuple[str, Path] | None, typer.Option("--tables", metavar="FORM DIR")] = None,
) -> None:
    """Print where the page is, its sections, and where other files are."""
    say(f"wrote {result.out}: {', '.join(result.sections).lower()}")
    for folder in dict.fromkeys(str(Path(file).parent) for file in result.files):
        beside = [Path(file).name for file in result.files if str(Path(file).parent) == folder]
        named = ", ".join(beside) if len(beside) < 4 else many(len(beside), "file")
        say(f"wrote {named} in {folder}")

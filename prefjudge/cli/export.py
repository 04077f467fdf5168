"""``prefjudge export``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import say
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.export import ExportResult


def export(result: "ExportResult") -> None:
    """Print what was written."""
    say(f"wrote {many(result.rows, 'row')} of {many(result.judgments, 'judgment')} to {result.out}")

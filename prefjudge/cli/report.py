"""``prefjudge report``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.report.report import ReportResult


def report(result: "ReportResult") -> None:
    """Print where the page is, and its sections."""
    say(f"wrote {result.out}: {', '.join(result.sections).lower()}")

"""``prefjudge report``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say, stamp

if TYPE_CHECKING:
    from prefjudge.steps.report.report import ReportResult


def report(call: "Callable[..., ReportResult]", json: Json = False) -> None:
    """Print where the page is, and its sections."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        say(f"wrote {result.out}: {', '.join(result.sections).lower()}")

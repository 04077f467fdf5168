"""``prefjudge workers``."""

from typing import TYPE_CHECKING

from prefjudge.cli.options import Format
from prefjudge.cli.output import print_tables

if TYPE_CHECKING:
    from prefjudge.steps.workers.workers import WorkersResult


def workers(result: "WorkersResult", *, format: Format = "terminal") -> None:
    """Print the workers, their agreement as a whole, and what stands out."""
    tables = result.tables()[:1] if format == "csv" else result.tables()
    print_tables(tables, format, rehearsal=result.rehearsal)

"""``prefjudge workers``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Format, Json
from prefjudge.cli.output import notice, print_json, print_tables, stamp

if TYPE_CHECKING:
    from prefjudge.steps.workers.workers import WorkersResult


def workers(call: "Callable[..., WorkersResult]", *, format: Format = "terminal", json: Json = False) -> None:
    """Print a row for each worker."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        show(result, format)


def show(result: "WorkersResult", format: str = "terminal") -> None:
    """Print the workers, their agreement as a whole, and what stands out."""
    tables = result.tables()[:1] if format == "csv" else result.tables()
    print_tables(tables, format, rehearsal=result.rehearsal)

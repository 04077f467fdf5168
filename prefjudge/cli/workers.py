"""``prefjudge workers``."""

from typing import TYPE_CHECKING

from prefjudge.cli.options import Format
from prefjudge.cli.output import print_json, print_tables, say
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.workers.conduct import PersonResult
    from prefjudge.steps.workers.workers import WorkersResult


def workers(
    result: "WorkersResult | PersonResult",
    *,
    forget: str | None,
    export: str | None,
    format: Format = "terminal",
) -> None:
    """Print the workers, their agreement as a whole, and what stands out; or what was done with one."""
    if export is not None:
        print_json(result)
    elif forget is not None:
        _show_receipt(result)  # type: ignore[arg-type]
    else:
        tables = result.tables()[:1] if format == "csv" else result.tables()
        print_tables(tables, format, rehearsal=getattr(result, "rehearsal", None))


def _show_receipt(result: "PersonResult") -> None:
    what = (
        ", ".join(f"{kind} ({count:,})" for kind, count in result.erased.items())
        or "nothing was left to erase"
    )
    say(f"forgot {result.worker_id} in {' and '.join(result.stores)}")
    say(f"erased: {what}")
    kept = many(result.assignments, "assignment")
    say(f"kept: {kept} under the worker id; the ledger, which owes ${result.owed}")
    say("backups made before still hold it: delete them, or forget again after restoring one")

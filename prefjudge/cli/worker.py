"""``prefjudge worker``."""

from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.worker import WorkerResult


def worker(result: "WorkerResult", *, json: Json = False) -> None:
    """Print the receipt, or, as JSON, everything that is stored."""
    if json or result.action == "export":
        print_json(result)
        return
    what = (
        ", ".join(f"{kind} ({count:,})" for kind, count in result.erased.items())
        or "nothing was left to erase"
    )
    say(f"forgot {result.worker_id} in {' and '.join(result.stores)}")
    say(f"erased: {what}")
    kept = many(result.assignments, "assignment")
    say(f"kept: {kept} under the worker id; the ledger, which owes ${result.owed}")
    say("backups made before still hold it: delete them, or forget again after restoring one")

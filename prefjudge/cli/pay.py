"""``prefjudge pay``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, print_tables, say

if TYPE_CHECKING:
    from prefjudge.steps.pay import PayResult


def pay(call: "Callable[..., PayResult]", json: Json = False) -> None:
    """Print who is owed what, or was paid."""
    result = call()
    if json:
        print_json(result)
    else:
        _show(result)


def _show(result: "PayResult") -> None:
    from prefjudge.render.text.tables import Column, Table

    if result.dues:
        columns = (
            Column(name="assignment", priority=0),
            Column(name="worker"),
            Column(name="due", priority=2),
            Column(name="amount", kind="money"),
            Column(name="why"),
        )
        rows = tuple((due.assignment_id, due.worker_id, due.act, due.amount, due.why) for due in result.dues)
        print_tables([Table(title="Settlement", columns=columns, rows=rows)])
    for decision, count in result.decided.items():
        say(f"{count:>6,} {decision}")
    say(f"${result.owed} {'paid' if result.paid else 'owed'}")

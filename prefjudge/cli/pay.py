"""``prefjudge pay``."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, Live, StudyFolder
from prefjudge.cli.output import print_json, print_tables, say

if TYPE_CHECKING:
    from prefjudge.steps.pay import PayResult


def pay(
    study: StudyFolder,
    live: Live = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show who is owed what; pay nothing.")] = False,
    json: Json = False,
) -> None:
    """Show who is owed what and why, and pay it; nothing is paid twice."""
    from prefjudge.steps.pay import pay as run

    result = run(study, live=live, dry_run=dry_run)
    if json:
        print_json(result)
    else:
        _show(result)


def _show(result: "PayResult") -> None:
    from prefjudge.render.tables import Column, Table

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

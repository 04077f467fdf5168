"""Shows the settlement, and pays it."""

from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from prefjudge.field.crowd import open_crowd
from prefjudge.field.pay import lock_crowd
from prefjudge.field.publish import settle_elsewhere
from prefjudge.field.settle import Act, Due, find_dues, pay_dues, release_unused
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Screen, Shown
from prefjudge.study.progress import count_decisions
from prefjudge.study.store import LIVE, SANDBOX, Study, open_study
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PayResult(Shown):
    """Who is, or was, owed what and why, by pseudonyms; ``decided`` counts the assignments settled by now.

    Where people come from elsewhere, as from Prolific, ``there`` is what was paid there just now, which may
    be for what was accepted earlier, and ``notices`` says what a person decided on its pages.
    """

    endpoint: str
    dues: tuple[Due, ...]
    owed: Decimal
    paid: bool
    decided: dict[str, int]
    there: Decimal | None = None
    notices: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return who is, or was, owed what and why."""
        columns = (
            Column(name="assignment", priority=0),
            Column(name="worker"),
            Column(name="due", priority=2),
            Column(name="amount", kind="money"),
            Column(name="why"),
        )
        rows = tuple((due.assignment_id, due.worker_id, due.act, due.amount, due.why) for due in self.dues)
        return (Table(title="Settlement", columns=columns, rows=rows),)

    def screen(self) -> Screen:
        """Return how much is owed, or was paid, to how many, and the first of it."""
        to = many(len({due.worker_id for due in self.dues}), "worker")
        what = f"${self.owed} {'paid' if self.paid else 'owed'} to {to}" if self.dues else "nothing is owed"
        if self.there is not None:  # what is accepted waits there for all of a visit, or for a person
            accepted = f"${self.owed} of work by {to}" if self.owed else "no more work"
            what = f"{accepted} accepted; ${self.there} paid just now"
        return Screen(found=(what,), tables=self.tables() if self.dues else ())


def pay(
    study: str | Path | Study, *, live: bool = False, dry_run: bool = False, held: bool = False
) -> PayResult:
    """Pay what is owed to the workers whose assignments were collected; nothing is paid twice.

    Parameters
    ----------
    study : Path
        The study's folder.
    live : bool
        Pay at the live target.
    dry_run : bool
        Show the settlement only.
    held : bool
        Also pay what waits for a person's decision, or for more gold pairs of its worker. Look at it first.
    """
    opened = open_study(study)
    target = LIVE if live else SANDBOX
    with (open_crowd if dry_run else lock_crowd)(opened, target) as crowd:
        dues = find_dues(opened, target, held=held)
        if not dry_run:
            pay_dues(opened, crowd, dues)
            release_unused(opened, crowd, target)
        there, happened = settle_elsewhere(opened, crowd, held=held, dry_run=dry_run)
        endpoint = crowd.endpoint
    with opened.transaction(write=False) as db:
        decided = count_decisions(db, target)
    return PayResult(
        endpoint=endpoint,
        dues=tuple(replace(due, worker_id=opened.opaque("worker", due.worker_id)) for due in dues),
        owed=sum((due.amount for due in dues if dry_run or due.act is not Act.WAIT), Decimal("0.00")),
        paid=bool(there)
        if there is not None
        else not dry_run and any(due.act in (Act.APPROVE, Act.PRORATE) for due in dues),
        decided=decided,
        there=there,
        notices=happened,
    )

"""The HITs of a visit: how many a panel's participant has had, and when that is enough."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import panels
from prefjudge.marketplace.people.panels import Visit
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.store.store import Transaction

DONE = ("Unconfirmed", "Submitted", "Approved", "Rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitWork:
    """How many HITs a visit has (``wanted``; 0: as many as there are), and what became of those taken.

    ``last`` is the state of the one that ended last, empty where none has.
    """

    wanted: int
    held: int
    done: int
    last: str

    @property
    def is_complete(self) -> bool:
        """Tell whether all is done."""
        return 0 < self.wanted <= self.done


def work_of(tx: Transaction, visit: Visit) -> VisitWork:
    """Return what was done in a visit."""
    counts = tx.tally(
        "SELECT status, count(*) FROM assignments WHERE visit = :v GROUP BY status", v=visit.visit
    )
    last = tx.rows(
        "SELECT status FROM assignments WHERE visit = :v AND ended_at IS NOT NULL"
        " ORDER BY ended_at DESC, seq DESC LIMIT 1",
        v=visit.visit,
    )
    return VisitWork(
        wanted=panels.find(tx, visit.panel).hits,
        held=counts.get("Accepted", 0),
        done=sum(counts.get(status, 0) for status in DONE),
        last=str(last[0][0]) if last else "",
    )


def need_room(tx: Transaction, number: int) -> None:
    """Lock a visit, to which its worker's next HIT belongs.

    Raises
    ------
    Refusal
        ``visit_over``: it has ended, or has its HITs.
    """
    visit = panels.find_visit(tx, number, lock=True)
    if visit.outcome:
        raise Refusal(
            "visit_over", "Your visit has ended. Your way back to your panel is on the page of all HITs."
        )
    wanted = panels.find(tx, visit.panel).hits
    (taken,) = tx.rows(
        f"SELECT count(*) FROM assignments WHERE visit = :v AND status IN {HAD}", v=visit.visit
    )[0]
    if 0 < wanted <= taken:
        raise Refusal("visit_over", "You have the last HIT of your visit. Submit it to get your code.")


def end_if_complete(tx: Transaction, visit: Visit) -> None:
    """End a visit whose HITs are all submitted."""
    if work_of(tx, visit).is_complete:
        panels.record_outcome(tx, visit.visit, "submitted")

"""Decisions: a submitted assignment is approved, and paid for, or rejected."""

from prefjudge.marketplace.errors import refused, wrong_state
from prefjudge.marketplace.hits import hits
from prefjudge.marketplace.hits.assignments import Assignment
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction

OVERTURN_WITHIN = 30 * 86400


def approve(
    tx: Transaction, assignment: Assignment, *, feedback: str | None = None, overturn: bool = False
) -> None:
    """Pay for an assignment.

    Raises
    ------
    RequestError
        ``InvalidAssignmentState``: it is already decided, and this does not overturn a recent rejection.
    """
    # everywhere the assignment is locked before its HIT, so that no two transactions wait for each other
    hit = hits.get(tx, assignment.hit_id, lock=True)
    assert hit is not None, "an assignment has its HIT"
    was = assignment.status
    if was == "Rejected" and overturn:
        _refuse_overturning(tx, assignment, hit)
    elif was != "Submitted":
        raise _decided(assignment)
    requester_id, worker_id = assignment.requester_id, assignment.worker_id
    reward, reference = assignment.reward, assignment.assignment_id
    cost = hits.unit_cost(tx, reward, hit.first_max)
    account = ledger.hold(requester_id)
    if was == "Rejected":  # what was held for it went back when it was rejected
        ledger.spend(tx, requester_id, account, cost, "hold", hit.hit_id)
    ledger.transfer(tx, account, ledger.FEES, cost - reward, "fee", reference)
    ledger.transfer(tx, account, ledger.earned(worker_id), reward, "reward", reference)
    counted = was == "Rejected" and not is_paid_in_part(tx, reference, assignment.rejected_at)
    _decide(tx, assignment, "Approved", feedback)
    _count_decision(tx, worker_id, approved=1, rejected=-1 if counted else 0)
    hits.note(tx, "AssignmentApproved", hit, assignment.assignment_id, assignment.worker_id)
    if was == "Submitted":
        hits.shift(tx, hit, submitted=-1, completed=1, held=-cost)


def _refuse_overturning(tx: Transaction, assignment: Assignment, hit: Hit) -> None:
    if (assignment.submitted_at or 0) < tx.now - OVERTURN_WITHIN:
        raise refused(
            "InvalidAssignmentState", "A rejection can be overturned within 30 days of the submission."
        )
    if hit.disposed:
        raise refused("InvalidHITState", f"The HIT {hit.hit_id} is Disposed.")


def reject(tx: Transaction, assignment: Assignment, feedback: str) -> None:
    """Refuse to pay for an assignment.

    A worker who was paid a bonus for it has stopped early and was paid in part: that does not count against
    the approval rate.

    Raises
    ------
    RequestError
        ``InvalidAssignmentState``: it is already decided.
    """
    if assignment.status != "Submitted":
        raise _decided(assignment)
    hit = hits.get(tx, assignment.hit_id, lock=True)
    assert hit is not None, "an assignment has its HIT"
    _decide(tx, assignment, "Rejected", feedback)
    if not is_paid_in_part(tx, assignment.assignment_id, tx.now):
        _count_decision(tx, assignment.worker_id, rejected=1)
    hits.note(tx, "AssignmentRejected", hit, assignment.assignment_id, assignment.worker_id)
    hits.shift(tx, hit, submitted=-1, completed=1, held=hits.release_unit(tx, hit))


def is_paid_in_part(tx: Transaction, assignment_id: str, rejected_at: float | None) -> bool:
    """Tell whether a rejected assignment was paid a bonus before, instead of its reward."""
    return bool(
        tx.rows(
            "SELECT 1 FROM bonuses WHERE assignment_id = :id AND granted <= :rejected LIMIT 1",
            id=assignment_id,
            rejected=rejected_at,
        )
    )


def _decided(assignment: Assignment) -> Exception:
    return wrong_state(
        "InvalidAssignmentState",
        "Submitted",
        f"The assignment {assignment.assignment_id} is {assignment.status}.",
    )


def _decide(tx: Transaction, assignment: Assignment, status: str, feedback: str | None) -> None:
    column = "approved_at" if status == "Approved" else "rejected_at"
    tx.run(
        f"UPDATE assignments SET status = :status, {column} = :now, feedback = coalesce(:feedback, feedback)"
        " WHERE assignment_id = :id",
        status=status,
        now=tx.now,
        feedback=feedback,
        id=assignment.assignment_id,
    )


def _count_decision(tx: Transaction, worker_id: str, *, approved: int = 0, rejected: int = 0) -> None:
    tx.run(
        "UPDATE workers SET approved = approved + :approved, rejected = rejected + :rejected"
        " WHERE worker_id = :worker",
        approved=approved,
        rejected=rejected,
        worker=worker_id,
    )

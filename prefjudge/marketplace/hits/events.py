"""What happened to HITs and their assignments, in order: the admin page and a requester's pulse read it."""

from dataclasses import dataclass

from prefjudge.marketplace.store.marketplace import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a HIT, or to an assignment of it."""

    time: float
    event: str
    requester_id: str
    hit_type_id: str = ""
    hit_id: str = ""
    assignment_id: str | None = None
    worker_id: str | None = None


def count_submissions(tx: Transaction, requester_id: str) -> int:
    """Return how often work was submitted to a requester."""
    # Counted: the last event's number would hide one of a smaller number that another process commits later.
    (count,) = tx.rows(
        "SELECT count(*) FROM events WHERE requester_id = :id AND event = 'AssignmentSubmitted'",
        id=requester_id,
    )[0]
    return int(count)

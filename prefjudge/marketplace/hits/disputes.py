"""Disputes: what a worker says against a rejection, and what the requester's side answers, each once."""

from dataclasses import dataclass
from typing import TypedDict

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import own_work
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.store.store import Transaction, iso

LONGEST = 2000


class Dispute(TypedDict):
    """A dispute, as the admin page and JSON show it; ``answer`` is empty until there is one."""

    assignment_id: str
    worker_id: str
    requester: str
    title: str
    status: str
    feedback: str
    text: str
    raised: str | None
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDispute:
    """A dispute that waits for the requester's answer."""

    assignment_id: str
    worker_id: str
    dispute: str
    disputed_at: float


OPEN = (
    "FROM assignments WHERE requester_id = :requester AND dispute IS NOT NULL AND dispute_answer IS NULL"
    " AND status = 'Rejected'"
)
"""A requester's disputes that wait: an approval after all is an answer, too."""


def find_open(tx: Transaction, requester_id: str, assignment_id: str) -> OpenDispute | None:
    """Return the dispute of an assignment, where it waits for this requester."""
    return tx.find(OpenDispute, f"{OPEN} AND assignment_id = :id", requester=requester_id, id=assignment_id)


def dispute(tx: Transaction, worker_id: str, assignment_id: str, text: str) -> None:
    """Keep what a worker says against the rejection of the worker's own assignment.

    Raises
    ------
    Refusal
        ``no_assignment``: it is not the worker's. ``not_rejected``: it is not rejected, or was paid in part.
        ``disputed``: it was disputed before. ``invalid``: nothing is said, or too much.
    """
    row = own_work.find(tx, worker_id, assignment_id)
    if row.status != "Rejected" or own_work.view(tx, row)["in_part"]:
        raise Refusal("not_rejected", "Only a rejection can be disputed.")
    if row.dispute is not None:
        raise Refusal("disputed", "You have disputed this rejection already.")
    tx.run(
        "UPDATE assignments SET dispute = :text, disputed_at = :now WHERE assignment_id = :id",
        text=_said(text),
        now=tx.now,
        id=assignment_id,
    )


def answer(tx: Transaction, assignment_id: str, text: str) -> None:
    """Answer a dispute; the worker reads it beside the work, and as a message.

    Raises
    ------
    Refusal
        ``no_dispute``: there is none, or it was answered before. ``invalid``: nothing is said, or too much.
    """
    said = _said(text)
    rows = tx.rows(
        "UPDATE assignments SET dispute_answer = :text WHERE assignment_id = :id AND dispute IS NOT NULL"
        " AND dispute_answer IS NULL RETURNING requester_id, worker_id",
        text=said,
        id=assignment_id,
    )
    if not rows:
        raise Refusal("no_dispute", "There is no such dispute that waits for an answer.", 404)
    requester_id, worker_id = rows[0]
    workers.tell(tx, requester_id, worker_id, "An answer to your dispute", said)


def disputes(tx: Transaction) -> list[Dispute]:
    """Return the disputes, those without an answer first, then the newest."""
    rows = tx.rows(
        "SELECT a.assignment_id, a.worker_id, r.name, t.title, a.status, a.feedback, a.dispute,"
        " a.disputed_at, a.dispute_answer FROM assignments a JOIN hits h ON h.hit_id = a.hit_id"
        " JOIN hit_types t ON t.hit_type_id = h.hit_type_id"
        " JOIN requesters r ON r.requester_id = a.requester_id WHERE a.dispute IS NOT NULL"
        " ORDER BY (a.dispute_answer IS NOT NULL), a.disputed_at DESC LIMIT 200"
    )
    return [
        {
            "assignment_id": ident,
            "worker_id": worker,
            "requester": name,
            "title": title,
            "status": status,
            "feedback": feedback or "",
            "text": text,
            "raised": iso(raised),
            "answer": said or "",
        }
        for ident, worker, name, title, status, feedback, text, raised, said in rows
    ]


def _said(text: str) -> str:
    kept = text.replace("\0", "").strip()
    if not kept or len(kept) > LONGEST:
        raise Refusal("invalid", f"Write something, of at most {LONGEST:,} characters.", 400)
    return kept

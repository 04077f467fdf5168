"""A worker's own work: what is open and what is past, its pace and earnings, and disputes of rejections."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal, View, from_cents
from prefjudge.marketplace.hits.assignments import UNCONFIRMED, Assignment, is_paid_in_part
from prefjudge.marketplace.hits.hits import count_open
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso

PER_PAGE = 25
_JOINED = (
    "FROM assignments a JOIN (SELECT hit_id, hit_type_id, kind, height, address FROM hits) h USING (hit_id)"
    " JOIN (SELECT hit_type_id, title, duration FROM hit_types) t USING (hit_type_id)"
    " JOIN (SELECT requester_id, name FROM requesters) r USING (requester_id)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAssignment(Assignment):
    """An assignment with what its worker sees of its HIT; ``name`` is the requester's."""

    expected: int | None
    dispute: str | None
    dispute_answer: str | None
    hit_type_id: str
    kind: str
    height: int
    address: str | None
    title: str
    duration: int
    name: str


def find(tx: Transaction, worker_id: str, assignment_id: str) -> OwnAssignment:
    """Return a worker's own assignment, with its HIT."""
    found = tx.find(
        OwnAssignment,
        f"{_JOINED} WHERE a.assignment_id = :id AND a.worker_id = :worker",
        id=assignment_id,
        worker=worker_id,
    )
    if found is None:
        raise Refusal("no_assignment", "You have no such assignment.", 404)
    return found


def view(tx: Transaction, row: OwnAssignment) -> View:
    """Show an assignment to its worker."""
    bonus = tx.value("SELECT sum(cents) FROM bonuses WHERE assignment_id = :id", id=row.assignment_id)
    left = max(0, int(row.deadline - tx.now)) if row.status == "Accepted" else 0
    return {
        "assignment_id": row.assignment_id,
        "hit_id": row.hit_id,
        "group_id": row.hit_type_id,
        "title": row.title,
        "reward": from_cents(row.reward),
        "expected": None if row.expected is None else from_cents(row.expected),
        "requester": row.name,
        "status": "Submitted" if row.status == UNCONFIRMED else row.status,
        "in_part": row.status == "Rejected" and is_paid_in_part(tx, row.assignment_id, row.rejected_at),
        "accepted": iso(row.accepted_at),
        "deadline": iso(row.deadline),
        "duration": row.duration,
        "seconds_left": left,
        "submitted": iso(row.submitted_at),
        "feedback": row.feedback or "",
        "bonus": from_cents(int(bonus or 0)),
        "dispute": row.dispute or "",
        "dispute_answer": row.dispute_answer or "",
    }


def held(tx: Transaction, worker_id: str, visit: int | None = None) -> list[View]:
    """Return what the worker has accepted, for a panel's ``visit`` if any, and not yet submitted."""
    of_visit = "" if visit is None else " AND a.visit = :visit"
    rows = tx.select(
        OwnAssignment,
        f"{_JOINED} WHERE a.worker_id = :worker AND a.status = 'Accepted' AND a.deadline > :now{of_visit}"
        " ORDER BY a.deadline",
        worker=worker_id,
        now=tx.now,
        **({} if visit is None else {"visit": visit}),
    )
    return [view(tx, row) for row in rows]


def history(tx: Transaction, worker_id: str, number: int = 1) -> View:
    """Return one page of the worker's past work, newest first, and what it earned."""
    counts = tx.tally(
        "SELECT status, count(*) FROM assignments WHERE worker_id = :w GROUP BY status", w=worker_id
    )
    total = sum(counts.values()) - counts.get("Accepted", 0)
    pages = max(1, -(-total // PER_PAGE))
    number = min(max(number, 1), pages)
    rows = tx.select(
        OwnAssignment,
        f"{_JOINED} WHERE a.worker_id = :worker AND a.status <> 'Accepted' ORDER BY a.seq DESC"
        " LIMIT :size OFFSET :skip",
        worker=worker_id,
        size=PER_PAGE,
        skip=(number - 1) * PER_PAGE,
    )
    return {
        "progress": progress(tx, worker_id, -counts.get("Accepted", 0)),
        "assignments": [view(tx, row) for row in rows],
        "page": number,
        "pages": pages,
        "earnings": _earnings(tx, worker_id, counts),
    }


def _earnings(tx: Transaction, worker_id: str, counts: dict[str, int]) -> View:
    account = ledger.earned(worker_id)
    paid = tx.tally(
        "SELECT kind, sum(cents) FROM transfers WHERE target = :account GROUP BY kind", account=account
    )
    pending = tx.value(
        "SELECT sum(coalesce(expected, reward)) FROM assignments"
        " WHERE worker_id = :worker AND status IN ('Submitted', 'Unconfirmed')",
        worker=worker_id,
    )
    in_part = tx.value(
        "SELECT count(*) FROM assignments a WHERE a.worker_id = :worker AND a.status = 'Rejected' AND EXISTS"
        " (SELECT 1 FROM bonuses b WHERE b.assignment_id = a.assignment_id AND b.granted <= a.rejected_at)",
        worker=worker_id,
    )
    return {
        "approved": from_cents(int(paid.get("reward", 0))),
        "bonus": from_cents(int(paid.get("bonus", 0))),
        "pending": from_cents(int(pending or 0)),
        "balance": from_cents(ledger.balance(tx, account)),
        "approved_count": counts.get("Approved", 0),
        "rejected_count": counts.get("Rejected", 0) - in_part,
        "submitted_count": counts.get("Submitted", 0) + counts.get(UNCONFIRMED, 0),
    }


def inbox(tx: Transaction, worker_id: str) -> list[View]:
    """Return the worker's messages, newest first, and count them as read from now on."""
    rows = tx.execute(
        "SELECT m.subject, m.body, r.name, m.sent, m.is_read"
        " FROM messages m LEFT JOIN requesters r ON r.requester_id = m.requester_id"
        " WHERE m.worker_id = :worker ORDER BY m.message_id DESC LIMIT 200",
        worker=worker_id,
    )
    tx.update("messages", {"is_read": 1}, worker_id=worker_id, is_read=0)
    return [
        {"subject": subject, "text": body, "from": name or "", "sent": iso(sent), "read": bool(is_read)}
        for subject, body, name, sent, is_read in rows
    ]


# How far a worker has come with the HITs of a group, and what the work has paid of late.

_DAY = 86_400
_ENOUGH = 60
"""Seconds of work from which on an hourly pay says something."""


def pace(tx: Transaction, worker_id: str, group_id: str, available: int | None = None) -> View:
    """Return how far the worker has come, and what the work has paid in the last 24 hours.

    ``available`` HITs of the group can be had, if that is known. ``today`` is what was earned, what awaits
    review included, and ``hourly`` what an hour of it paid.
    """
    cents, seconds = _recent(tx, worker_id)
    hourly = from_cents(round(3600 * cents / seconds)) if cents and seconds >= _ENOUGH else None
    return {
        **progress(
            tx, worker_id, count_open(tx, worker_id, group_id) if available is None else available, group_id
        ),
        "today": from_cents(cents),
        "hourly": hourly,
    }


def progress(tx: Transaction, worker_id: str, available: int, group_id: str = "") -> View:
    """Return how far the worker has come, in a group or in all, where so many more HITs can be had.

    A pair counts as soon as it is submitted, whatever comes of it, and a gold pair as any other.
    """
    of_group = " AND h.hit_type_id = :group" if group_id else ""
    had, held, pairs = tx.execute(
        "SELECT count(*), sum(CASE a.status WHEN 'Accepted' THEN 1 ELSE 0 END), sum(a.visible_pairs)"
        " FROM assignments a JOIN hits h USING (hit_id)"
        f" WHERE a.worker_id = :worker AND a.status IN {HAD}{of_group}",
        worker=worker_id,
        **({"group": group_id} if group_id else {}),
    )[0]
    done = int(had) - int(held or 0)
    return {"done": done, "total": int(had) + available, "pairs": int(pairs or 0)}


def _recent(tx: Transaction, worker_id: str) -> tuple[int, float]:
    """Return the cents and the seconds of the work that was submitted in the last 24 hours.

    Rejected work has its bonuses only. Where pages measured how long they were looked at, that is the time:
    who holds several HITs at once works on one of them.
    """
    cents, seconds = tx.execute(
        "SELECT sum(CASE a.status WHEN 'Rejected' THEN 0 WHEN 'Approved' THEN a.reward"
        " ELSE coalesce(a.expected, a.reward) END),"
        " sum(CASE WHEN a.visible_ms > 0 THEN a.visible_ms / 1000.0 ELSE a.submitted_at - a.accepted_at END)"
        " FROM assignments a WHERE a.worker_id = :worker AND a.submitted_at > :since",
        worker=worker_id,
        since=tx.now - _DAY,
    )[0]
    bonuses = tx.value(
        "SELECT sum(b.cents) FROM assignments a JOIN bonuses b USING (assignment_id)"
        " WHERE a.worker_id = :worker AND a.submitted_at > :since",
        worker=worker_id,
        since=tx.now - _DAY,
    )
    return int(cents or 0) + int(bonuses or 0), float(seconds or 0.0)


# Disputes: what a worker says against a rejection, and what the requester's side answers, each once.

LONGEST_DISPUTE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDispute:
    """A dispute that waits for the requester's answer."""

    assignment_id: str
    worker_id: str
    dispute: str
    disputed_at: float


OPEN_DISPUTES = (
    "FROM assignments WHERE requester_id = :requester AND dispute IS NOT NULL AND dispute_answer IS NULL"
    " AND status = 'Rejected'"
)
"""A requester's disputes that wait: an approval after all is an answer, too."""


def find_dispute(tx: Transaction, requester_id: str, assignment_id: str) -> OpenDispute | None:
    """Return the dispute of an assignment, where it waits for this requester."""
    return tx.find(
        OpenDispute, f"{OPEN_DISPUTES} AND assignment_id = :id", requester=requester_id, id=assignment_id
    )


def dispute(tx: Transaction, worker_id: str, assignment_id: str, text: str) -> None:
    """Keep what a worker says against the rejection of the worker's own assignment."""
    row = find(tx, worker_id, assignment_id)
    if row.status != "Rejected" or view(tx, row)["in_part"]:
        raise Refusal("not_rejected", "Only a rejection can be disputed.")
    if row.dispute is not None:
        raise Refusal("disputed", "You have disputed this rejection already.")
    said = {"dispute": _said(text), "disputed_at": tx.now}
    tx.update("assignments", said, assignment_id=assignment_id)


def answer(tx: Transaction, assignment_id: str, text: str) -> None:
    """Answer a dispute; the worker reads it beside the work, and as a message."""
    said = _said(text)
    rows = tx.execute(
        "UPDATE assignments SET dispute_answer = :text WHERE assignment_id = :id AND dispute IS NOT NULL"
        " AND dispute_answer IS NULL RETURNING requester_id, worker_id",
        text=said,
        id=assignment_id,
    )
    if not rows:
        raise Refusal("no_dispute", "There is no such dispute that waits for an answer.", 404)
    requester_id, worker_id = rows[0]
    workers.tell(tx, requester_id, worker_id, "An answer to your dispute", said)


def disputes(tx: Transaction) -> list[View]:
    """Return the disputes, those without an answer first, then the newest."""
    found = tx.dicts(
        "a.assignment_id, a.worker_id, r.name AS requester, t.title, a.status, a.feedback, a.dispute AS text,"
        " a.disputed_at AS raised, a.dispute_answer AS answer",
        "FROM assignments a JOIN hits h ON h.hit_id = a.hit_id"
        " JOIN hit_types t ON t.hit_type_id = h.hit_type_id"
        " JOIN requesters r ON r.requester_id = a.requester_id WHERE a.dispute IS NOT NULL"
        " ORDER BY (a.dispute_answer IS NOT NULL), a.disputed_at DESC LIMIT 200",
    )
    return [
        {
            **one,
            "feedback": one["feedback"] or "",
            "raised": iso(one["raised"]),
            "answer": one["answer"] or "",
        }
        for one in found
    ]


def _said(text: str) -> str:
    kept = text.replace("\0", "").strip()
    if not kept or len(kept) > LONGEST_DISPUTE:
        raise Refusal("invalid", f"Write something, of at most {LONGEST_DISPUTE:,} characters.", 400)
    return kept

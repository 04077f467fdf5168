"""A worker's own work: what is held, what was done, what was earned."""

from typing import Any

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits.decisions import is_paid_in_part
from prefjudge.marketplace.money import ledger
from prefjudge.marketplace.money.amounts import from_cents
from prefjudge.marketplace.store.marketplace import Record, Transaction
from prefjudge.marketplace.store.times import iso

PER_PAGE = 25
_COLUMNS = (
    "a.seq, a.assignment_id, a.hit_id, a.worker_id, a.status, a.accepted_at, a.deadline, a.submitted_at,"
    " a.rejected_at, a.feedback, a.draft, a.reward, h.hit_type_id, h.kind, h.height, h.address, t.title,"
    " t.duration, r.name"
)
_JOINED = (
    "FROM assignments a JOIN hits h ON h.hit_id = a.hit_id JOIN hit_types t ON t.hit_type_id = h.hit_type_id"
    " JOIN requesters r ON r.requester_id = a.requester_id"
)


def find(tx: Transaction, worker_id: str, assignment_id: str) -> Record:
    """Return a worker's own assignment, with its HIT.

    Raises
    ------
    Refusal
        ``no_assignment``.
    """
    found = tx.record(
        _COLUMNS,
        f"{_JOINED} WHERE a.assignment_id = :id AND a.worker_id = :worker",
        id=assignment_id,
        worker=worker_id,
    )
    if found is None:
        raise Refusal("no_assignment", "You have no such assignment.", 404)
    return found


def view(tx: Transaction, row: Record) -> dict[str, Any]:
    """Show an assignment to its worker."""
    rows = tx.rows("SELECT sum(cents) FROM bonuses WHERE assignment_id = :id", id=row["assignment_id"])
    left = max(0, int(row["deadline"] - tx.now)) if row["status"] == "Accepted" else 0
    return {
        "assignment_id": row["assignment_id"],
        "hit_id": row["hit_id"],
        "group_id": row["hit_type_id"],
        "title": row["title"],
        "reward": from_cents(row["reward"]),
        "requester": row["name"],
        "status": row["status"],
        "in_part": row["status"] == "Rejected" and is_paid_in_part(tx, row),
        "accepted": iso(row["accepted_at"]),
        "deadline": iso(row["deadline"]),
        "duration": row["duration"],
        "seconds_left": left,
        "submitted": iso(row["submitted_at"]),
        "feedback": row["feedback"] or "",
        "bonus": from_cents(int(rows[0][0] or 0)),
    }


def held(tx: Transaction, worker_id: str) -> list[dict[str, Any]]:
    """Return what the worker has accepted and not yet submitted."""
    rows = tx.records(
        _COLUMNS,
        f"{_JOINED} WHERE a.worker_id = :worker AND a.status = 'Accepted' AND a.deadline > :now"
        " ORDER BY a.deadline",
        worker=worker_id,
        now=tx.now,
    )
    return [view(tx, row) for row in rows]


def history(tx: Transaction, worker_id: str, number: int = 1) -> dict[str, Any]:
    """Return one page of the worker's past work, newest first, and what it earned."""
    counts = tx.tally(
        "SELECT status, count(*) FROM assignments WHERE worker_id = :w GROUP BY status", w=worker_id
    )
    total = sum(counts.values()) - counts.get("Accepted", 0)
    pages = max(1, -(-total // PER_PAGE))
    number = min(max(number, 1), pages)
    rows = tx.records(
        _COLUMNS,
        f"{_JOINED} WHERE a.worker_id = :worker AND a.status <> 'Accepted' ORDER BY a.seq DESC"
        " LIMIT :size OFFSET :skip",
        worker=worker_id,
        size=PER_PAGE,
        skip=(number - 1) * PER_PAGE,
    )
    return {
        "assignments": [view(tx, row) for row in rows],
        "page": number,
        "pages": pages,
        "earnings": _earnings(tx, worker_id, counts),
    }


def _earnings(tx: Transaction, worker_id: str, counts: dict[str, int]) -> dict[str, Any]:
    account = ledger.earned(worker_id)
    paid = tx.tally(
        "SELECT kind, sum(cents) FROM transfers WHERE target = :account GROUP BY kind", account=account
    )
    (pending,) = tx.rows(
        "SELECT sum(reward) FROM assignments WHERE worker_id = :worker AND status = 'Submitted'",
        worker=worker_id,
    )[0]
    (in_part,) = tx.rows(
        "SELECT count(*) FROM assignments a WHERE a.worker_id = :worker AND a.status = 'Rejected' AND EXISTS"
        " (SELECT 1 FROM bonuses b WHERE b.assignment_id = a.assignment_id AND b.granted <= a.rejected_at)",
        worker=worker_id,
    )[0]
    return {
        "approved": from_cents(int(paid.get("reward", 0))),
        "bonus": from_cents(int(paid.get("bonus", 0))),
        "pending": from_cents(int(pending or 0)),
        "balance": from_cents(ledger.balance(tx, account)),
        "approved_count": counts.get("Approved", 0),
        "rejected_count": counts.get("Rejected", 0) - in_part,
        "submitted_count": counts.get("Submitted", 0),
    }


def inbox(tx: Transaction, worker_id: str) -> list[dict[str, Any]]:
    """Return the worker's messages, newest first, and count them as read from now on."""
    rows = tx.records(
        "m.subject, m.body, r.name, m.sent, m.is_read",
        "FROM messages m LEFT JOIN requesters r ON r.requester_id = m.requester_id"
        " WHERE m.worker_id = :worker ORDER BY m.message_id DESC LIMIT 200",
        worker=worker_id,
    )
    tx.run("UPDATE messages SET is_read = 1 WHERE worker_id = :worker AND is_read = 0", worker=worker_id)
    return [
        {
            "subject": row["subject"],
            "text": row["body"],
            "from": row["name"] or "",
            "sent": iso(row["sent"]),
            "read": bool(row["is_read"]),
        }
        for row in rows
    ]

"""The admin page's figures: counts, money, the last events."""

from typing import TypedDict

from prefjudge.marketplace.errors import from_cents
from prefjudge.marketplace.hits.disputes import Dispute, disputes
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.qualifications import MASTERS, SIMULATED
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso

ACTIVE_WITHIN = 600
EVENTS = 50
WORKERS = 200
STATUSES = ("Assignable", "Unassignable", "Reviewable", "Reviewing", "Disposed")
_STATUS_SQL = (
    "SELECT CASE WHEN disposed = 1 THEN 'Disposed' WHEN reviewing = 1 THEN 'Reviewing'"
    " WHEN available > 0 AND expiration > :now THEN 'Assignable' WHEN pending > 0 THEN 'Unassignable'"
    " ELSE 'Reviewable' END AS status, count(*) FROM hits GROUP BY 1"
)


class Counts(TypedDict):
    """HITs and assignments by status, workers and requesters."""

    hits: dict[str, int]
    assignments: dict[str, int]
    workers: int
    active_workers: int
    requesters: int


class Money(TypedDict):
    """What was paid and is owed, in dollars."""

    paid: str
    bonus: str
    fees: str
    held: str
    owed: str
    paid_out: str


class WorkerView(TypedDict):
    """A worker, as the admin page and JSON show it."""

    worker_id: str
    name: str | None
    locale: str
    submitted: int
    approved: int
    rejected: int
    earned: str
    owed: str
    blocked: bool
    simulated: bool
    master: bool


class RequesterView(TypedDict):
    """A requester, as the admin page and JSON show it."""

    requester_id: str
    name: str
    balance: str
    access_keys: list[str]


class EventView(TypedDict):
    """An event, as the admin page and JSON show it."""

    time: str | None
    event: str
    hit_id: str
    assignment_id: str | None
    worker_id: str | None


class Overview(TypedDict):
    """The admin page."""

    counts: Counts
    money: Money
    seconds_per_pair: float | None
    rejected: int
    workers: list[WorkerView]
    requesters: list[RequesterView]
    events: list[EventView]
    disputes: list[Dispute]
    ledger_imbalance: list[str]


def counts(tx: Transaction) -> Counts:
    """Count HITs and assignments by status, workers and requesters."""
    (workers,) = tx.rows("SELECT count(*) FROM workers")[0]
    (requesters,) = tx.rows("SELECT count(*) FROM requesters")[0]
    (active,) = tx.rows(
        "SELECT count(DISTINCT worker_id) FROM assignments"
        " WHERE accepted_at > :since OR submitted_at > :since",
        since=tx.now - ACTIVE_WITHIN,
    )[0]
    return {
        "hits": dict.fromkeys(STATUSES, 0) | tx.tally(_STATUS_SQL, now=tx.now),
        "assignments": tx.tally(
            "SELECT status, count(*) FROM assignments WHERE status <> 'Unconfirmed'"
            " GROUP BY status ORDER BY status"
        ),
        "workers": workers,
        "active_workers": active,
        "requesters": requesters,
    }


def overview(tx: Transaction) -> Overview:
    """Return everything on the admin's page."""
    paid = tx.tally(
        "SELECT kind, sum(cents) FROM transfers WHERE kind IN ('reward', 'bonus', 'fee')"
        " AND target <> source AND target NOT LIKE 'hold:%' GROUP BY kind"
    )
    (held,) = tx.rows("SELECT sum(cents) FROM accounts WHERE account LIKE 'hold:%'")[0]
    (owed,) = tx.rows("SELECT sum(cents) FROM accounts WHERE account LIKE 'worker:%'")[0]
    (spent, pairs) = tx.rows(
        "SELECT sum(visible_ms), sum(visible_pairs) FROM assignments WHERE status <> 'Unconfirmed'"
    )[0]
    seen = counts(tx)
    return {
        "counts": seen,
        "money": {
            "paid": from_cents(int(paid.get("reward", 0))),
            "bonus": from_cents(int(paid.get("bonus", 0))),
            "fees": from_cents(int(paid.get("fee", 0))),
            "held": from_cents(int(held or 0)),
            "owed": from_cents(int(owed or 0)),
            "paid_out": from_cents(ledger.balance(tx, ledger.PAID_OUT)),
        },
        "seconds_per_pair": round(int(spent) / int(pairs) / 1000, 1) if pairs else None,
        "rejected": seen["assignments"].get("Rejected", 0),
        "workers": worker_list(tx),
        "requesters": _requesters(tx),
        "events": last_events(tx),
        "disputes": disputes(tx),
        "ledger_imbalance": ledger.imbalance(tx),
    }


def worker_list(tx: Transaction) -> list[WorkerView]:
    """List the workers, newest first."""
    rows = tx.rows(
        "SELECT w.worker_id, w.name, w.locale, w.approved, w.rejected, a.cents"
        " FROM workers w LEFT JOIN accounts a ON a.account = 'worker:' || w.worker_id"
        f" ORDER BY w.created DESC, w.worker_id LIMIT {WORKERS}"
    )
    submitted = tx.tally(
        "SELECT worker_id, count(*) FROM assignments WHERE status = 'Submitted' GROUP BY worker_id"
    )
    paid = workers.paid_out(tx)
    simulated, masters = (_who_has(tx, type_id) for type_id in (SIMULATED, MASTERS[0]))
    blocked = {row[0] for row in tx.rows("SELECT DISTINCT worker_id FROM blocks")}
    return [
        {
            "worker_id": worker_id,
            "name": name,
            "locale": locale,
            "submitted": submitted.get(worker_id, 0),
            "approved": approved,
            "rejected": rejected,
            "earned": from_cents((cents or 0) + paid.get(ledger.earned(worker_id), 0)),
            "owed": from_cents(cents or 0),
            "blocked": worker_id in blocked,
            "simulated": worker_id in simulated,
            "master": worker_id in masters,
        }
        for worker_id, name, locale, approved, rejected, cents in rows
    ]


def _who_has(tx: Transaction, type_id: str) -> set[str]:
    rows = tx.rows(
        "SELECT worker_id FROM qualifications WHERE qualification_type_id = :type AND status = 'Granted'",
        type=type_id,
    )
    return {str(worker_id) for (worker_id,) in rows}


def _requesters(tx: Transaction) -> list[RequesterView]:
    rows = tx.rows(
        "SELECT r.requester_id, r.name, a.cents FROM requesters r"
        " LEFT JOIN accounts a ON a.account = 'requester:' || r.requester_id ORDER BY r.name"
    )
    keys: dict[str, list[str]] = {}
    for requester_id, access_key in tx.rows("SELECT requester_id, access_key FROM access_keys ORDER BY 2"):
        keys.setdefault(requester_id, []).append(access_key)
    return [
        {
            "requester_id": requester_id,
            "name": name,
            "balance": from_cents(cents or 0),
            "access_keys": keys.get(requester_id, []),
        }
        for requester_id, name, cents in rows
    ]


def last_events(tx: Transaction, most: int = EVENTS) -> list[EventView]:
    """List the last events, newest first."""
    rows = tx.rows(
        "SELECT time, event, hit_id, assignment_id, worker_id FROM events ORDER BY seq DESC LIMIT :most",
        most=most,
    )
    return [
        {
            "time": iso(time),
            "event": event,
            "hit_id": hit_id,
            "assignment_id": assignment_id,
            "worker_id": worker_id,
        }
        for time, event, hit_id, assignment_id, worker_id in rows
    ]

"""The admin page's figures: counts, money, the last events."""

from dataclasses import dataclass
from typing import TypedDict

from prefjudge.marketplace.money import ledger
from prefjudge.marketplace.money.amounts import from_cents
from prefjudge.marketplace.people import payouts
from prefjudge.marketplace.people.requirements import SIMULATED
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.store.times import iso

ACTIVE_WITHIN = 600
EVENTS = 50
WORKERS = 200
STATUSES = ("Assignable", "Unassignable", "Reviewable", "Reviewing", "Disposed")
_STATUS_SQL = (
    "SELECT CASE WHEN disposed = 1 THEN 'Disposed' WHEN reviewing = 1 THEN 'Reviewing'"
    " WHEN available > 0 AND expiration > :now THEN 'Assignable' WHEN pending > 0 THEN 'Unassignable'"
    " ELSE 'Reviewable' END AS status, count(*) FROM hits GROUP BY 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """A worker, and what is owed to the worker, if anything ever was."""

    worker_id: str
    name: str | None
    locale: str
    approved: int
    rejected: int
    cents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Requester:
    """A requester, and what the requester may spend."""

    requester_id: str
    name: str
    cents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """An event, as it is listed."""

    time: float
    event: str
    hit_id: str
    assignment_id: str | None
    worker_id: str | None


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
        "assignments": tx.tally("SELECT status, count(*) FROM assignments GROUP BY status ORDER BY status"),
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
    (spent, pairs) = tx.rows("SELECT sum(visible_ms), sum(visible_pairs) FROM assignments")[0]
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
        "ledger_imbalance": ledger.imbalance(tx),
    }


def worker_list(tx: Transaction) -> list[WorkerView]:
    """List the workers, newest first."""
    rows = tx.select(
        _Worker,
        "FROM workers w LEFT JOIN accounts a ON a.account = 'worker:' || w.worker_id"
        f" ORDER BY w.created DESC, w.worker_id LIMIT {WORKERS}",
    )
    submitted = tx.tally(
        "SELECT worker_id, count(*) FROM assignments WHERE status = 'Submitted' GROUP BY worker_id"
    )
    paid = payouts.paid_out(tx)
    simulated = {
        row[0]
        for row in tx.rows(
            "SELECT worker_id FROM qualifications WHERE qualification_type_id = :type", type=SIMULATED
        )
    }
    blocked = {row[0] for row in tx.rows("SELECT DISTINCT worker_id FROM blocks")}
    return [
        {
            "worker_id": row.worker_id,
            "name": row.name,
            "locale": row.locale,
            "submitted": submitted.get(row.worker_id, 0),
            "approved": row.approved,
            "rejected": row.rejected,
            "earned": from_cents((row.cents or 0) + paid.get(ledger.earned(row.worker_id), 0)),
            "owed": from_cents(row.cents or 0),
            "blocked": row.worker_id in blocked,
            "simulated": row.worker_id in simulated,
        }
        for row in rows
    ]


def _requesters(tx: Transaction) -> list[RequesterView]:
    rows = tx.select(
        _Requester,
        "FROM requesters r LEFT JOIN accounts a ON a.account = 'requester:' || r.requester_id"
        " ORDER BY r.name",
    )
    keys: dict[str, list[str]] = {}
    for requester_id, access_key in tx.rows("SELECT requester_id, access_key FROM access_keys ORDER BY 2"):
        keys.setdefault(requester_id, []).append(access_key)
    return [
        {
            "requester_id": row.requester_id,
            "name": row.name,
            "balance": from_cents(row.cents or 0),
            "access_keys": keys.get(row.requester_id, []),
        }
        for row in rows
    ]


def last_events(tx: Transaction, most: int = EVENTS) -> list[EventView]:
    """List the last events, newest first."""
    return [
        {
            "time": iso(row.time),
            "event": row.event,
            "hit_id": row.hit_id,
            "assignment_id": row.assignment_id,
            "worker_id": row.worker_id,
        }
        for row in tx.select(_Event, "FROM events ORDER BY seq DESC LIMIT :most", most=most)
    ]

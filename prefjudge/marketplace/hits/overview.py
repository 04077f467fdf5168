"""What the admin sees: counts, money, the last events."""

from typing import Any

from prefjudge.marketplace.money import ledger
from prefjudge.marketplace.money.amounts import from_cents
from prefjudge.marketplace.people import payouts
from prefjudge.marketplace.people.requirements import SIMULATED
from prefjudge.marketplace.store.marketplace import Turn
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


def counts(turn: Turn) -> dict[str, Any]:
    """Count HITs and assignments by status, workers and requesters."""
    (workers,) = turn.rows("SELECT count(*) FROM workers")[0]
    (requesters,) = turn.rows("SELECT count(*) FROM requesters")[0]
    (active,) = turn.rows(
        "SELECT count(DISTINCT worker_id) FROM assignments"
        " WHERE accepted_at > :since OR submitted_at > :since",
        since=turn.now - ACTIVE_WITHIN,
    )[0]
    return {
        "hits": dict.fromkeys(STATUSES, 0) | turn.tally(_STATUS_SQL, now=turn.now),
        "assignments": turn.tally("SELECT status, count(*) FROM assignments GROUP BY status ORDER BY status"),
        "workers": workers,
        "active_workers": active,
        "requesters": requesters,
    }


def overview(turn: Turn) -> dict[str, Any]:
    """Return everything on the admin's page."""
    paid = turn.tally(
        "SELECT kind, sum(cents) FROM transfers WHERE kind IN ('reward', 'bonus', 'fee')"
        " AND target <> source AND target NOT LIKE 'hold:%' GROUP BY kind"
    )
    (held,) = turn.rows("SELECT sum(cents) FROM accounts WHERE account LIKE 'hold:%'")[0]
    (owed,) = turn.rows("SELECT sum(cents) FROM accounts WHERE account LIKE 'worker:%'")[0]
    (spent, pairs) = turn.rows("SELECT sum(visible_ms), sum(visible_pairs) FROM assignments")[0]
    seen = counts(turn)
    return {
        "counts": seen,
        "money": {
            "paid": from_cents(int(paid.get("reward", 0))),
            "bonus": from_cents(int(paid.get("bonus", 0))),
            "fees": from_cents(int(paid.get("fee", 0))),
            "held": from_cents(int(held or 0)),
            "owed": from_cents(int(owed or 0)),
            "paid_out": from_cents(ledger.balance(turn, ledger.PAID_OUT)),
        },
        "seconds_per_pair": round(int(spent) / int(pairs) / 1000, 1) if pairs else None,
        "rejected": seen["assignments"].get("Rejected", 0),
        "workers": worker_list(turn),
        "requesters": _requesters(turn),
        "events": last_events(turn),
        "ledger_imbalance": ledger.imbalance(turn),
    }


def worker_list(turn: Turn) -> list[dict[str, Any]]:
    """List the workers, newest first."""
    rows = turn.records(
        "w.worker_id, w.name, w.locale, w.approved, w.rejected, a.cents",
        "FROM workers w LEFT JOIN accounts a ON a.account = 'worker:' || w.worker_id"
        f" ORDER BY w.created DESC, w.worker_id LIMIT {WORKERS}",
    )
    submitted = turn.tally(
        "SELECT worker_id, count(*) FROM assignments WHERE status = 'Submitted' GROUP BY worker_id"
    )
    paid = payouts.paid_out(turn)
    simulated = {
        row[0]
        for row in turn.rows(
            "SELECT worker_id FROM qualifications WHERE qualification_type_id = :type", type=SIMULATED
        )
    }
    blocked = {row[0] for row in turn.rows("SELECT DISTINCT worker_id FROM blocks")}
    return [
        {
            "worker_id": row["worker_id"],
            "name": row["name"],
            "locale": row["locale"],
            "submitted": submitted.get(row["worker_id"], 0),
            "approved": row["approved"],
            "rejected": row["rejected"],
            "earned": from_cents((row["cents"] or 0) + paid.get(ledger.earned(row["worker_id"]), 0)),
            "owed": from_cents(row["cents"] or 0),
            "blocked": row["worker_id"] in blocked,
            "simulated": row["worker_id"] in simulated,
        }
        for row in rows
    ]


def _requesters(turn: Turn) -> list[dict[str, Any]]:
    rows = turn.records(
        "r.requester_id, r.name, a.cents",
        "FROM requesters r LEFT JOIN accounts a ON a.account = 'requester:' || r.requester_id"
        " ORDER BY r.name",
    )
    keys: dict[str, list[str]] = {}
    for requester_id, access_key in turn.rows("SELECT requester_id, access_key FROM access_keys ORDER BY 2"):
        keys.setdefault(requester_id, []).append(access_key)
    return [
        {
            "requester_id": row["requester_id"],
            "name": row["name"],
            "balance": from_cents(row["cents"] or 0),
            "access_keys": keys.get(row["requester_id"], []),
        }
        for row in rows
    ]


def last_events(turn: Turn, most: int = EVENTS) -> list[dict[str, Any]]:
    """List the last events, newest first."""
    rows = turn.records(
        "time, event, hit_id, assignment_id, worker_id",
        "FROM events ORDER BY seq DESC LIMIT :most",
        most=most,
    )
    return [{**row, "time": iso(row["time"])} for row in rows]

"""How far a worker has come with the HITs of a group, and what the work has paid of late."""

from typing import TypedDict

from prefjudge.marketplace.errors import from_cents
from prefjudge.marketplace.hits.offers import count_open
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.store.store import Transaction

_DAY = 86_400
_ENOUGH = 60
"""Seconds of work from which on an hourly pay says something."""


class Pace(TypedDict):
    """What a worker's page and JSON show of the pay.

    ``done`` of the ``total`` HITs of the group that the worker has had or can have; ``today`` is what was
    earned in the last 24 hours, what awaits review included, and ``hourly`` what an hour of it paid.
    """

    done: int
    total: int
    today: str
    hourly: str | None


def pace(tx: Transaction, worker_id: str, group_id: str) -> Pace:
    """Return how far the worker has come, and what the work has paid in the last 24 hours."""
    (done, held), (cents, seconds) = _counts(tx, worker_id, group_id), _recent(tx, worker_id)
    hourly = from_cents(round(3600 * cents / seconds)) if cents and seconds >= _ENOUGH else None
    return {
        "done": done,
        "total": done + held + count_open(tx, worker_id, group_id),
        "today": from_cents(cents),
        "hourly": hourly,
    }


def _counts(tx: Transaction, worker_id: str, group_id: str) -> tuple[int, int]:
    counts = tx.tally(
        "SELECT a.status, count(*) FROM assignments a JOIN hits h USING (hit_id) WHERE a.worker_id = :worker"
        f" AND h.hit_type_id = :group AND a.status IN {HAD}"
        " GROUP BY a.status",
        worker=worker_id,
        group=group_id,
    )
    held = counts.pop("Accepted", 0)
    return sum(counts.values()), held


def _recent(tx: Transaction, worker_id: str) -> tuple[int, float]:
    """Return the cents and the seconds of the work that was submitted in the last 24 hours.

    Rejected work has its bonuses only. Where pages measured how long they were looked at, that is the time:
    who holds several HITs at once works on one of them.
    """
    cents, seconds = tx.rows(
        "SELECT sum(CASE a.status WHEN 'Rejected' THEN 0 WHEN 'Approved' THEN a.reward"
        " ELSE coalesce(a.expected, a.reward) END),"
        " sum(CASE WHEN a.visible_ms > 0 THEN a.visible_ms / 1000.0 ELSE a.submitted_at - a.accepted_at END)"
        " FROM assignments a WHERE a.worker_id = :worker AND a.submitted_at > :since",
        worker=worker_id,
        since=tx.now - _DAY,
    )[0]
    (bonuses,) = tx.rows(
        "SELECT sum(b.cents) FROM assignments a JOIN bonuses b USING (assignment_id)"
        " WHERE a.worker_id = :worker AND a.submitted_at > :since",
        worker=worker_id,
        since=tx.now - _DAY,
    )[0]
    return int(cents or 0) + int(bonuses or 0), float(seconds or 0.0)

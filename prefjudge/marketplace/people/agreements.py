"""What workers have read and agreed to in a requester's pages, so that it is asked once."""

import re

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.store.marketplace import Transaction

_NAME = re.compile(r"[A-Za-z0-9]{8,64}")
_MOST = 100
"""Names that are kept for one worker and requester: pages are not trusted, and may invent any number."""


def agree(tx: Transaction, worker_id: str, assignment_id: str, page: str) -> None:
    """Keep that a worker has agreed to what a requester's pages call ``page``; a repeat changes nothing.

    Raises
    ------
    Refusal
        ``invalid``: it is not a name, or too many are kept. ``no_assignment``: the assignment is not the
        worker's.
    """
    if not _NAME.fullmatch(page):
        raise Refusal("invalid", "This is not the name of what a page asks a worker to agree to.", 400)
    rows = tx.rows(
        "SELECT requester_id FROM assignments WHERE assignment_id = :id AND worker_id = :worker",
        id=assignment_id,
        worker=worker_id,
    )
    if not rows:
        raise Refusal("no_assignment", "You have no such assignment.", 404)
    known = agreed(tx, worker_id, rows[0][0])
    if page in known:
        return
    if len(known) >= _MOST:
        raise Refusal("invalid", "This requester's pages have asked for too many agreements.", 400)
    tx.insert(
        "agreements",
        {"worker_id": worker_id, "requester_id": rows[0][0], "page": page, "agreed": tx.now},
        "ON CONFLICT DO NOTHING",
    )


def agreed(tx: Transaction, worker_id: str, requester_id: str) -> list[str]:
    """Return what a worker has agreed to in a requester's pages."""
    rows = tx.rows(
        "SELECT page FROM agreements WHERE worker_id = :worker AND requester_id = :requester ORDER BY page",
        worker=worker_id,
        requester=requester_id,
    )
    return [str(page) for (page,) in rows]

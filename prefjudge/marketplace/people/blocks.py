"""Requesters who offer a worker nothing: they block the worker, or the worker's panel is for another."""

from dataclasses import dataclass

from prefjudge.marketplace.store.marketplace import Transaction

HIDDEN = (
    "EXISTS (SELECT 1 FROM panel_workers c JOIN panels p ON p.panel = c.panel WHERE c.worker_id = :worker"
    " AND p.requester <> '' AND p.requester <> (SELECT o.name FROM requesters o"
    " WHERE o.requester_id = t.requester_id))"
)
"""Whether the worker has come from a panel that is for another requester than that of ``t``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A requester's block of a worker, and why."""

    requester_id: str
    worker_id: str
    reason: str


def blocked(tx: Transaction, requester_id: str, worker_id: str) -> bool:
    """Tell whether the requester has blocked the worker."""
    return bool(
        tx.rows(
            "SELECT 1 FROM blocks WHERE requester_id = :requester AND worker_id = :worker",
            requester=requester_id,
            worker=worker_id,
        )
    )


def offers_nothing(tx: Transaction, requester_id: str, worker_id: str) -> bool:
    """Tell whether the requester has blocked the worker, or the worker's panel is for another requester."""
    asked = f"SELECT 1 FROM (SELECT :requester AS requester_id) t WHERE {HIDDEN}"
    return blocked(tx, requester_id, worker_id) or bool(
        tx.rows(asked, requester=requester_id, worker=worker_id)
    )


def block(tx: Transaction, requester_id: str, worker_id: str, reason: str) -> None:
    """Keep the worker from the requester's HITs."""
    tx.insert(
        "blocks",
        Block(requester_id=requester_id, worker_id=worker_id, reason=reason),
        "ON CONFLICT (requester_id, worker_id) DO UPDATE SET reason = excluded.reason",
    )


def unblock(tx: Transaction, requester_id: str, worker_id: str) -> None:
    """Lift a block."""
    tx.run(
        "DELETE FROM blocks WHERE requester_id = :requester AND worker_id = :worker",
        requester=requester_id,
        worker=worker_id,
    )

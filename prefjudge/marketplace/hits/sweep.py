"""The sweep: deadlines, expiry, automatic approval, the disposal of old HITs, and whom to forget."""

from prefjudge.marketplace.hits import assignments, decisions, hits, persons
from prefjudge.marketplace.store.store import Transaction

_BATCH = 500  # rows of a kind at once, so that no sweep holds the write lock for long; the next continues


def sweep(tx: Transaction) -> None:
    """Do everything that is due at this moment."""
    # rows that another process sweeps are locked and skipped: nothing is abandoned or paid twice
    for assignment in tx.select(
        assignments.Assignment,
        "FROM assignments WHERE status = 'Accepted' AND deadline <= :now ORDER BY deadline"
        f" LIMIT {_BATCH}{tx.skip_locked}",
        now=tx.now,
    ):
        assignments.abandon(tx, assignment)
    for assignment in tx.select(
        assignments.Assignment,
        "FROM assignments WHERE status = 'Submitted' AND auto_approve_at <= :now ORDER BY auto_approve_at"
        f" LIMIT {_BATCH}{tx.skip_locked}",
        now=tx.now,
    ):
        decisions.approve(tx, assignment)
    lock = " FOR UPDATE OF h SKIP LOCKED" if tx.skip_locked else ""
    for hit in tx.select(
        hits.Hit,
        f"{hits.JOINED} WHERE h.expiration <= :now AND h.told_expired = 0 AND h.disposed = 0"
        f" ORDER BY h.expiration LIMIT {_BATCH}{lock}",
        now=tx.now,
    ):
        hits.announce(tx, hit)
    for hit in tx.select(
        hits.Hit,
        f"{hits.JOINED} WHERE h.expiration <= :old AND h.disposed = 0 AND h.pending = 0 AND h.submitted = 0"
        f" LIMIT {_BATCH}{lock}",
        old=tx.now - tx.marketplace.rules.dispose_after,
    ):
        hits.dispose(tx, hit)
    before = tx.marketplace.keeps_nobody_before(tx.now)
    if before is not None:
        for worker_id in persons.due(tx, before, _BATCH):
            persons.forget(tx, worker_id)
            tx.marketplace.scrub_soon()
    tx.run("DELETE FROM sessions WHERE expires <= :now", now=tx.now)
    tx.run("DELETE FROM request_tokens WHERE created <= :old", old=tx.now - tx.marketplace.rules.token_life)

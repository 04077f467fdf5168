"""What time brings about: deadlines, expiry, approval by itself, the disposal of old HITs."""

from prefjudge.marketplace.hits import assignments, decisions, hits
from prefjudge.marketplace.store.marketplace import Turn

_BATCH = 500


def sweep(turn: Turn) -> None:
    """Do everything that is due at this moment."""
    for assignment in turn.records(
        assignments.COLUMNS,
        "FROM assignments WHERE status = 'Accepted' AND deadline <= :now ORDER BY deadline"
        f" LIMIT {_BATCH}{turn.skip_locked}",
        now=turn.now,
    ):
        assignments.abandon(turn, assignment)
    for assignment in turn.records(
        assignments.COLUMNS,
        "FROM assignments WHERE status = 'Submitted' AND auto_approve_at <= :now ORDER BY auto_approve_at"
        f" LIMIT {_BATCH}{turn.skip_locked}",
        now=turn.now,
    ):
        decisions.approve(turn, assignment)
    lock = " FOR UPDATE OF h SKIP LOCKED" if turn.skip_locked else ""
    for hit in turn.records(
        hits.COLUMNS,
        f"{hits.JOINED} WHERE h.expiration <= :now AND h.told_expired = 0 AND h.disposed = 0"
        f" ORDER BY h.expiration LIMIT {_BATCH}{lock}",
        now=turn.now,
    ):
        hits.announce(turn, hit)
    for hit in turn.records(
        hits.COLUMNS,
        f"{hits.JOINED} WHERE h.expiration <= :old AND h.disposed = 0 AND h.pending = 0 AND h.submitted = 0"
        f" LIMIT {_BATCH}{lock}",
        old=turn.now - turn.market.rules.dispose_after,
    ):
        hits.dispose(turn, hit)
    turn.run("DELETE FROM sessions WHERE expires <= :now", now=turn.now)
    turn.run("DELETE FROM request_tokens WHERE created <= :old", old=turn.now - turn.market.rules.token_life)

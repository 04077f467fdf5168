"""What the admin sees and what becomes due: figures, what is known of a person, and the sweep."""

import re
from collections.abc import Mapping

from prefjudge.database import Value
from prefjudge.marketplace.errors import View, from_cents, refused
from prefjudge.marketplace.hits import assignments, hits
from prefjudge.marketplace.hits.assignments import Assignment
from prefjudge.marketplace.hits.own_work import disputes
from prefjudge.marketplace.people import panels, workers
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


def counts(tx: Transaction) -> View:
    """Count HITs and assignments by status, workers and requesters.

    Assignments are ``done`` of ``all`` that are done, in hand or open; ``waiting`` is what waits for a
    decision: work, disputes and requests of qualifications.
    """
    active = tx.value(
        "SELECT count(DISTINCT worker_id) FROM assignments"
        " WHERE accepted_at > :since OR submitted_at > :since",
        since=tx.now - ACTIVE_WITHIN,
    )
    by_status = tx.tally(
        "SELECT status, count(*) FROM assignments WHERE status <> 'Unconfirmed'"
        " GROUP BY status ORDER BY status"
    )
    opened = tx.value(
        "SELECT sum(available) FROM hits WHERE available > 0 AND disposed = 0 AND expiration > :now",
        now=tx.now,
    )
    asked = tx.value(
        "SELECT (SELECT count(*) FROM qualification_requests WHERE status = 'Submitted')"
        " + (SELECT count(*) FROM assignments WHERE dispute IS NOT NULL AND dispute_answer IS NULL"
        " AND status = 'Rejected')"
    )
    done = sum(by_status.get(status, 0) for status in ("Submitted", "Approved", "Rejected"))
    return {
        "hits": dict.fromkeys(STATUSES, 0) | tx.tally(_STATUS_SQL, now=tx.now),
        "assignments": by_status,
        "done": done,
        "all": done + by_status.get("Accepted", 0) + int(opened or 0),
        "waiting": by_status.get("Submitted", 0) + int(asked),
        "workers": tx.value("SELECT count(*) FROM workers"),
        "active_workers": active,
        "requesters": tx.value("SELECT count(*) FROM requesters"),
    }


def overview(tx: Transaction) -> View:
    """Return everything on the admin's page."""
    paid = tx.tally(
        "SELECT kind, sum(cents) FROM transfers WHERE kind IN ('reward', 'bonus', 'fee')"
        " AND target <> source AND target NOT LIKE 'hold:%' GROUP BY kind"
    )
    held = tx.value("SELECT sum(cents) FROM accounts WHERE account LIKE 'hold:%'")
    owed = tx.value("SELECT sum(cents) FROM accounts WHERE account LIKE 'worker:%'")
    (spent, pairs) = tx.execute(
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


def worker_list(tx: Transaction) -> list[View]:
    """List the workers, newest first."""
    rows = tx.execute(
        "SELECT w.worker_id, w.name, w.locale, w.approved, w.rejected, a.cents"
        " FROM workers w LEFT JOIN accounts a ON a.account = 'worker:' || w.worker_id"
        f" ORDER BY w.created DESC, w.worker_id LIMIT {WORKERS}"
    )
    work = {
        row[0]: [int(figure or 0) for figure in row[1:]]
        for row in tx.execute(
            "SELECT worker_id, sum(CASE status WHEN 'Submitted' THEN 1 ELSE 0 END),"
            " sum(CASE WHEN status IN ('Accepted', 'Returned', 'Abandoned') THEN 0 ELSE 1 END),"
            " sum(visible_pairs), sum(CASE status WHEN 'Accepted' THEN 1 ELSE 0 END), count(*)"
            " FROM assignments GROUP BY worker_id"
        )
    }
    none = [0] * 5
    paid = workers.paid_out(tx)
    simulated, masters = (_who_has(tx, type_id) for type_id in (SIMULATED, MASTERS[0]))
    blocked = set(tx.values("SELECT DISTINCT worker_id FROM blocks"))
    return [
        {
            "worker_id": worker_id,
            "name": name,
            "locale": locale,
            "done": work.get(worker_id, none)[1],
            "pairs": work.get(worker_id, none)[2],
            "working": work.get(worker_id, none)[3] > 0,
            "takes_only": work.get(worker_id, none)[4] > 1 > work.get(worker_id, none)[1],
            "submitted": work.get(worker_id, none)[0],
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
    sql = "SELECT worker_id FROM qualifications WHERE qualification_type_id = :type AND status = 'Granted'"
    return set(tx.values(sql, type=type_id))


def _requesters(tx: Transaction) -> list[View]:
    found = tx.dicts(
        "r.requester_id, r.name, a.cents AS balance",
        "FROM requesters r LEFT JOIN accounts a ON a.account = 'requester:' || r.requester_id"
        " ORDER BY r.name",
    )
    keys = tx.lists("SELECT requester_id, access_key FROM access_keys ORDER BY 2")
    return [
        {
            **one,
            "balance": from_cents(int(one["balance"] or 0)),
            "access_keys": keys.get(one["requester_id"], []),
        }
        for one in found
    ]


def last_events(tx: Transaction) -> list[View]:
    """List the last events, newest first."""
    columns = "time, event, hit_id, assignment_id, worker_id"
    events = tx.dicts(columns, "FROM events ORDER BY seq DESC LIMIT :most", most=EVENTS)
    return [{**one, "time": iso(one["time"])} for one in events]


# What is known of the person behind a worker id: all of it for that person, and nothing once forgotten.
#
# The worker id is drawn at random and says nothing. It stays, as the pseudonym of the work and in the ledger;
# what leads from it to a person goes.

_COMMENT = re.compile(
    r"<Answer><QuestionIdentifier>(?:[^<]*\.)?comment</QuestionIdentifier>.*?</Answer>", re.DOTALL
)
"""A field called ``comment``, or ``….comment``: what somebody wrote beside the answers themselves."""

_KNOWN = {
    "account": "SELECT worker_id, name, locale, approved, rejected, created, forgotten FROM workers"
    " WHERE worker_id = :worker",
    "panels": "SELECT panel, participant FROM panel_workers WHERE worker_id = :worker",
    "visits": "SELECT visit, panel, participant, study, session, arrived, confirmed, outcome, ended, paid"
    " FROM visits WHERE worker_id = :worker ORDER BY visit",
    "assignments": "SELECT a.assignment_id, a.hit_id, t.title, r.name AS requester, a.status, a.accepted_at,"
    " a.submitted_at, a.approved_at, a.rejected_at, a.reward, a.answer, a.draft, a.feedback, a.visible_ms,"
    " a.dispute, a.dispute_answer FROM assignments a JOIN hits h USING (hit_id)"
    " JOIN hit_types t USING (hit_type_id) JOIN requesters r ON r.requester_id = a.requester_id"
    " WHERE a.worker_id = :worker ORDER BY a.seq",
    "messages": "SELECT subject, body, sent, is_read FROM messages WHERE worker_id = :worker"
    " ORDER BY message_id",
    "bonuses": "SELECT assignment_id, cents, reason, granted FROM bonuses WHERE worker_id = :worker"
    " ORDER BY seq",
    "payments": "SELECT time, cents, kind, reference FROM transfers WHERE source = :account"
    " OR target = :account ORDER BY transfer_id",
    "qualifications": "SELECT qualification_type_id, value, granted, status, reason FROM qualifications"
    " WHERE worker_id = :worker ORDER BY seq",
    "qualification_requests": "SELECT qualification_type_id, status, answer, started, submitted_at, reason"
    " FROM qualification_requests WHERE worker_id = :worker ORDER BY seq",
    "agreements": "SELECT requester_id, page, agreed FROM agreements WHERE worker_id = :worker"
    " ORDER BY agreed",
    "blocks": "SELECT requester_id, reason FROM blocks WHERE worker_id = :worker ORDER BY seq",
    "sessions": "SELECT created, expires FROM sessions WHERE worker_id = :worker ORDER BY created",
    "events": "SELECT time, event, hit_id, assignment_id FROM events WHERE worker_id = :worker ORDER BY seq",
}
"""By what it is called in the export: all that is stored about a worker. A test holds it to the schema."""

_FORGET = (
    ("sessions", "DELETE FROM sessions WHERE worker_id = :worker"),
    ("messages", "DELETE FROM messages WHERE worker_id = :worker"),
    ("panel ids", "DELETE FROM panel_workers WHERE worker_id = :worker"),
    (
        "what was written about work",
        "UPDATE assignments SET draft = NULL, draft_tab = NULL, feedback = NULL, dispute = NULL,"
        " disputed_at = NULL, dispute_answer = NULL WHERE worker_id = :worker AND coalesce(draft, draft_tab,"
        " feedback, dispute, dispute_answer) IS NOT NULL",
    ),
    (
        "answers to qualification tests",
        "UPDATE qualification_requests SET answer = NULL, reason = NULL WHERE worker_id = :worker"
        " AND coalesce(answer, reason) IS NOT NULL",
    ),
    (
        "reasons of qualifications",
        "UPDATE qualifications SET reason = NULL WHERE worker_id = :worker AND reason IS NOT NULL",
    ),
    ("reasons of blocks", "UPDATE blocks SET reason = '' WHERE worker_id = :worker AND reason <> ''"),
)
_PERSON = (
    "UPDATE workers SET name = NULL, locale = '', epoch = epoch + 1, forgotten = :now"
    " WHERE worker_id = :worker"
)


def known_of(tx: Transaction, worker_id: str) -> dict[str, list[Mapping[str, Value]]]:
    """Return everything that is stored about a worker, by kind, as rows of names and values."""
    workers.find(tx, worker_id)
    params = {"worker": worker_id, "account": ledger.earned(worker_id)}
    found: dict[str, list[Mapping[str, Value]]] = {}
    for kind, sql in _KNOWN.items():
        wanted = {name: value for name, value in params.items() if f":{name}" in sql}
        columns, _, rest = sql.removeprefix("SELECT ").partition(" FROM ")
        found[kind] = [*tx.dicts(columns, f"FROM {rest}", **wanted)]
    return found


def shut_out(tx: Transaction, worker_id: str) -> None:
    """Let nobody in as this worker, and give others the HITs in hand: an id is enough to submit one."""
    workers.revoke(tx, worker_id)
    _take_back(tx, worker_id, "Accepted")


def _take_back(tx: Transaction, worker_id: str, status: str) -> int:
    """End a worker's assignments of a status; return how many there were."""
    held = tx.select(
        Assignment,
        f"FROM assignments WHERE worker_id = :worker AND status = :status ORDER BY seq{tx.locked}",
        worker=worker_id,
        status=status,
    )
    for one in held:
        assignments.take_back(tx, one)
    return len(held)


def forget_person(tx: Transaction, worker_id: str, *, unpaid: bool = False) -> View:
    """Forget the person behind a worker id; a repeat changes nothing more.

    Returns how many rows of each kind were erased, and what stays.
    """
    workers.find(tx, worker_id)
    owed = ledger.balance(tx, ledger.earned(worker_id), lock=True)
    if not unpaid and _is_paid(tx, worker_id):
        _refuse_unpaid(tx, worker_id, owed)
    # no panel can confirm any more what it has not yet
    erased = {"HITs in hand": _take_back(tx, worker_id, "Accepted")}
    erased["unconfirmed work"] = _take_back(tx, worker_id, "Unconfirmed")
    erased["visits"] = panels.forget_visits(tx, worker_id)
    for kind, sql in _FORGET:
        erased[kind] = len(tx.execute(f"{sql} RETURNING worker_id", worker=worker_id))
    erased["comments"] = _erase_comments(tx, worker_id)
    tx.execute(_PERSON, worker=worker_id, now=tx.now)
    work = tx.pick("count(*)", "assignments", worker_id=worker_id)
    return {
        "worker_id": worker_id,
        "forgotten": iso(tx.now),
        "erased": {kind: number for kind, number in erased.items() if number},
        "kept": {"assignments": int(work)},
        "ledger": from_cents(owed),
    }


def _is_paid(tx: Transaction, worker_id: str) -> bool:
    """Tell whether a balance is real: play money is not, but a panel pays its people in any case."""
    return not tx.marketplace.sandbox or tx.pick("1", "visits", worker_id=worker_id) is not None


_UNSEEN = "FROM visit_payments p JOIN visits v USING (visit) WHERE p.seen = 0 AND v.worker_id"


def _refuse_unpaid(tx: Transaction, worker_id: str, owed: int) -> None:
    waiting = tx.value(
        "SELECT count(*) FROM assignments WHERE worker_id = :worker"
        " AND status IN ('Submitted', 'Unconfirmed')",
        worker=worker_id,
    )
    unseen = int(tx.value(f"SELECT coalesce(sum(p.cents), 0) {_UNSEEN} = :worker", worker=worker_id))
    if owed or waiting or unseen:
        asked = f", a bonus of ${from_cents(unseen)} is not seen yet (`collect` looks)" if unseen else ""
        raise refused(
            "InvalidWorkerState",
            f"{worker_id} is owed ${from_cents(owed)}{asked}, and {waiting} HITs wait for a decision. Decide"
            " and pay first, and record the payment: afterwards nobody knows whom to pay.",
        )


def _erase_comments(tx: Transaction, worker_id: str) -> int:
    """Take out of a worker's answers what was written beside the choices; return from how many."""
    changed = 0
    for ident, answer in tx.execute(
        "SELECT assignment_id, answer FROM assignments WHERE worker_id = :worker AND answer LIKE '%comment%'",
        worker=worker_id,
    ):
        without = _COMMENT.sub("", str(answer))
        if without != answer:
            tx.update("assignments", {"answer": without}, assignment_id=ident)
            changed += 1
    return changed


def _due_to_forget(tx: Transaction, before: float, most: int) -> list[str]:
    """Return workers who are owed nothing, and of whose HITs none was open since a time.

    What was abandoned ended at its deadline, whenever that was noticed.
    """
    return tx.values(
        "SELECT w.worker_id FROM workers w WHERE w.forgotten IS NULL AND w.created <= :before"
        " AND NOT EXISTS (SELECT 1 FROM assignments a JOIN hits h USING (hit_id)"
        " WHERE a.worker_id = w.worker_id AND (h.expiration > :before"
        " OR (a.deadline > :before AND (a.ended_at IS NULL OR a.ended_at > :before))"
        " OR a.status IN ('Accepted', 'Unconfirmed', 'Submitted')))"
        " AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.worker_id = w.worker_id AND v.arrived > :before)"
        f" AND NOT EXISTS (SELECT 1 {_UNSEEN} = w.worker_id)"
        " AND NOT EXISTS (SELECT 1 FROM accounts c WHERE c.account = 'worker:' || w.worker_id"
        " AND c.cents <> 0 AND (:real = 1"
        " OR EXISTS (SELECT 1 FROM visits v WHERE v.worker_id = w.worker_id)))"
        " ORDER BY w.created LIMIT :most",
        before=before,
        most=most,
        real=int(not tx.marketplace.sandbox),
    )


# The sweep: deadlines, expiry, automatic approval, the disposal of old HITs, and whom to forget.

_FORGOTTEN = 7 * 86_400
"""Seconds after a restore in which nothing that was submitted before is approved by itself: a decision on it
may be forgotten, which the requester can make again."""
_BATCH = 500  # rows of a kind at once, so that no sweep holds the write lock for long; the next continues


def sweep(tx: Transaction) -> None:
    """Do everything that is due at this moment."""
    restored = tx.marketplace.restored or 0
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
        "FROM assignments WHERE status = 'Submitted' AND auto_approve_at <= :now AND submitted_at > :decided"
        f" ORDER BY auto_approve_at LIMIT {_BATCH}{tx.skip_locked}",
        now=tx.now,
        decided=restored if tx.now < restored + _FORGOTTEN else 0,
    ):
        assignments.approve(tx, assignment)
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
        for worker_id in _due_to_forget(tx, before, _BATCH):
            forget_person(tx, worker_id)
            tx.marketplace.scrub_soon()
    tx.execute("DELETE FROM sessions WHERE expires <= :now", now=tx.now)
    tx.execute(
        "DELETE FROM request_tokens WHERE created <= :old", old=tx.now - tx.marketplace.rules.token_life
    )

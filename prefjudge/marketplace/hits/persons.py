"""What is known of the person behind a worker id: all of it for that person, and nothing once forgotten.

The worker id is drawn at random and says nothing. It stays, as the pseudonym of the work and in the ledger;
what leads from it to a person goes.
"""

import re
from collections.abc import Mapping
from typing import TypedDict

from prefjudge.database import Value
from prefjudge.marketplace.errors import from_cents, refused
from prefjudge.marketplace.hits import assignments
from prefjudge.marketplace.hits.assignments import Assignment
from prefjudge.marketplace.people import panels, workers
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso

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
    "UPDATE workers SET name = NULL, password_hash = NULL, locale = '', epoch = epoch + 1, forgotten = :now"
    " WHERE worker_id = :worker"
)


class Receipt(TypedDict):
    """What was forgotten: the rows of each kind, and what stays; ``forgotten`` is the time."""

    worker_id: str
    forgotten: str | None
    erased: dict[str, int]
    kept: dict[str, int]
    ledger: str


def known(tx: Transaction, worker_id: str) -> dict[str, list[Mapping[str, Value]]]:
    """Return everything that is stored about a worker, by kind, as rows of names and values.

    Raises
    ------
    RequestError
        ``WorkerDoesNotExist``.
    """
    workers.find(tx, worker_id)
    params = {"worker": worker_id, "account": ledger.earned(worker_id)}
    found: dict[str, list[Mapping[str, Value]]] = {}
    for kind, sql in _KNOWN.items():
        wanted = {name: value for name, value in params.items() if f":{name}" in sql}
        columns = [one.split()[-1].rpartition(".")[2] for one in _columns(sql)]
        rows = tx.rows(sql, wanted)
        found[kind] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def _columns(sql: str) -> list[str]:
    return sql.removeprefix("SELECT ").partition(" FROM ")[0].split(",")


def forget(tx: Transaction, worker_id: str, *, unpaid: bool = False) -> Receipt:
    """Forget the person behind a worker id; a repeat changes nothing more.

    Raises
    ------
    RequestError
        ``WorkerDoesNotExist``; or the person is owed something, or waits for a decision that may owe it, and
        ``unpaid`` does not say that this is known: nobody can be paid it afterwards.
    """
    workers.find(tx, worker_id)
    owed = ledger.balance(tx, ledger.earned(worker_id), lock=True)
    if not unpaid and _is_paid(tx, worker_id):
        _refuse_unpaid(tx, worker_id, owed)
    erased: dict[str, int] = {}
    for held in tx.select(  # no panel can confirm any more what it has not yet
        Assignment,
        "FROM assignments WHERE worker_id = :worker AND status IN ('Accepted', 'Unconfirmed')"
        f" ORDER BY seq{tx.locked}",
        worker=worker_id,
    ):
        assignments.take_back(tx, held)
        kind = "HITs in hand" if held.status == "Accepted" else "unconfirmed work"
        erased[kind] = erased.get(kind, 0) + 1
    erased["visits"] = panels.forget_visits(tx, worker_id)
    for kind, sql in _FORGET:
        erased[kind] = len(tx.rows(f"{sql} RETURNING worker_id", worker=worker_id))
    erased["comments"] = _erase_comments(tx, worker_id)
    tx.run(_PERSON, worker=worker_id, now=tx.now)
    (work,) = tx.rows("SELECT count(*) FROM assignments WHERE worker_id = :w", w=worker_id)[0]
    return {
        "worker_id": worker_id,
        "forgotten": iso(tx.now),
        "erased": {kind: number for kind, number in erased.items() if number},
        "kept": {"assignments": int(work)},
        "ledger": from_cents(owed),
    }


def _is_paid(tx: Transaction, worker_id: str) -> bool:
    """Tell whether a balance is real: play money is not, but a panel pays its people in any case."""
    return not tx.marketplace.sandbox or bool(
        tx.rows("SELECT 1 FROM visits WHERE worker_id = :worker LIMIT 1", worker=worker_id)
    )


def _refuse_unpaid(tx: Transaction, worker_id: str, owed: int) -> None:
    (waiting,) = tx.rows(
        "SELECT count(*) FROM assignments WHERE worker_id = :worker"
        " AND status IN ('Submitted', 'Unconfirmed')",
        worker=worker_id,
    )[0]
    if owed or waiting:
        raise refused(
            "InvalidWorkerState",
            f"{worker_id} is owed ${from_cents(owed)}, and {waiting} HITs wait for a decision. Decide and pay"
            " first, and record the payment: afterwards nobody knows whom to pay.",
        )


def _erase_comments(tx: Transaction, worker_id: str) -> int:
    """Take out of a worker's answers what was written beside the choices; return from how many."""
    changed = 0
    for ident, answer in tx.rows(
        "SELECT assignment_id, answer FROM assignments WHERE worker_id = :worker AND answer LIKE '%comment%'",
        worker=worker_id,
    ):
        without = _COMMENT.sub("", str(answer))
        if without != answer:
            tx.run(
                "UPDATE assignments SET answer = :answer WHERE assignment_id = :id", answer=without, id=ident
            )
            changed += 1
    return changed


def due(tx: Transaction, before: float, most: int) -> list[str]:
    """Return workers who are owed nothing, and of whose HITs none was open since a time.

    What was abandoned ended at its deadline, whenever that was noticed.
    """
    rows = tx.rows(
        "SELECT w.worker_id FROM workers w WHERE w.forgotten IS NULL AND w.created <= :before"
        " AND NOT EXISTS (SELECT 1 FROM assignments a JOIN hits h USING (hit_id)"
        " WHERE a.worker_id = w.worker_id AND (h.expiration > :before"
        " OR (a.deadline > :before AND (a.ended_at IS NULL OR a.ended_at > :before))"
        " OR a.status IN ('Accepted', 'Unconfirmed', 'Submitted')))"
        " AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.worker_id = w.worker_id AND v.arrived > :before)"
        " AND NOT EXISTS (SELECT 1 FROM accounts c WHERE c.account = 'worker:' || w.worker_id"
        " AND c.cents <> 0 AND (:real = 1"
        " OR EXISTS (SELECT 1 FROM visits v WHERE v.worker_id = w.worker_id)))"
        " ORDER BY w.created LIMIT :most",
        before=before,
        most=most,
        real=int(not tx.marketplace.sandbox),
    )
    return [str(worker_id) for (worker_id,) in rows]

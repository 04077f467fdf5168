"""Workers: who they are, how they sign in, what they have agreed to, who blocks them, what they were paid."""

import csv
import hashlib
import io
import re
from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal, RequestError, from_cents, invalid, missing, refused
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, new_secret, new_worker_id

HAD = "('Accepted', 'Unconfirmed', 'Submitted', 'Approved', 'Rejected')"
"""The states, in SQL, of a HIT that a worker has or has done, not returned or abandoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker, and how many assignments were approved and rejected."""

    worker_id: str
    name: str | None
    locale: str
    approved: int
    rejected: int
    created: float


def create(
    tx: Transaction, *, name: str | None = None, country: str = "US", approved: int = 0, rate: int = 100
) -> str:
    """Register a worker, with a record of work from elsewhere, and return the worker's id."""
    if not 0 <= rate <= 100 or approved < 0:
        raise invalid("approval_rate", "must be a percentage, and approved a count")
    worker = Worker(
        worker_id=new_worker_id(),
        name=name,
        locale=locale(country),
        approved=approved,
        rejected=round(approved * (100 - rate) / rate) if rate else 0,
        created=tx.now,
    )
    if not tx.insert("workers", worker, "ON CONFLICT (name) DO NOTHING RETURNING worker_id"):
        raise invalid("name", f"{name!r} is taken")
    return worker.worker_id


def locale(text: str) -> str:
    """Return the code of a country or subdivision."""
    if not re.fullmatch(r"[A-Z]{2}(-[A-Z0-9]{2})?", text):
        raise invalid("locale", f"{text[:16]!r} is not a country such as US, or a subdivision such as US-NY")
    return text


def find(tx: Transaction, worker_id: str) -> Worker:
    """Return a worker."""
    found = tx.get(Worker, "workers", worker_id=worker_id)
    if found is None:
        raise missing("Worker", worker_id)
    return found


def tell(tx: Transaction, requester_id: str, worker_id: str, subject: str, text: str) -> str:
    """Put a message into a worker's inbox; return what prevents it, or nothing.

    A requester can write only to workers on whose work the requester has decided.
    """
    try:
        find(tx, worker_id)
    except RequestError as error:
        return error.message
    if not tx.execute(
        "SELECT 1 FROM assignments WHERE worker_id = :worker AND requester_id = :requester"
        " AND status IN ('Approved', 'Rejected') LIMIT 1",
        worker=worker_id,
        requester=requester_id,
    ):
        return "You have not approved or rejected work of this worker."
    write(tx, requester_id, worker_id, subject, text)
    return ""


def write(tx: Transaction, requester_id: str, worker_id: str, subject: str, text: str) -> None:
    """Put a message into a worker's inbox."""
    whose = {"worker_id": worker_id, "requester_id": requester_id}
    tx.insert("messages", {**whose, "subject": subject, "body": text, "sent": tx.now})


# How workers prove who they are: signed invitations, and the sessions that follow.

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A worker who is signed in; ``csrf`` must come back with every change the worker makes.

    ``visit`` is the visit that a panel has sent the worker for; None for workers of no panel. Where it is not
    ``confirmed``, somebody may have typed another's id into the panel's link.
    """

    worker_id: str
    name: str | None
    csrf: str
    unread: int
    visit: int | None
    confirmed: bool


def invite(tx: Transaction, worker_id: str) -> str:
    """Return the text that lets its holder in as this worker, for the life of an invitation."""
    expires = str(int(tx.now + tx.marketplace.rules.invite_life))
    return f"{worker_id}.{expires}.{tx.marketplace.sign('invite', worker_id, expires, _epoch(tx, worker_id))}"


def invite_again(tx: Transaction, worker_id: str) -> str:
    """Return a new invitation: earlier invitations and sessions stop working."""
    revoke(tx, worker_id)
    if tx.execute("SELECT 1 FROM workers WHERE worker_id = :id AND forgotten IS NOT NULL", id=worker_id):
        raise Refusal("forgotten", "Nobody knows who this was. Add the person as a new worker.", 410)
    return invite(tx, worker_id)


def revoke(tx: Transaction, worker_id: str) -> None:
    """Let nobody in as this worker any more: not by an invitation or an open session."""
    find(tx, worker_id)
    tx.execute("UPDATE workers SET epoch = epoch + 1 WHERE worker_id = :id", id=worker_id)
    tx.delete("sessions", worker_id=worker_id)


def _epoch(tx: Transaction, worker_id: str) -> str:
    """Return the worker's epoch: an invitation belongs to one, and is void in the next."""
    epoch = tx.pick("epoch", "workers", worker_id=worker_id)
    return "" if epoch is None else str(epoch)


def read_invite(tx: Transaction, text: str) -> str:
    """Return the worker whom an invitation lets in."""
    worker_id, _, rest = text.strip().partition(".")
    expires, _, signature = rest.partition(".")
    epoch = _epoch(tx, worker_id)
    if not tx.marketplace.signed(signature, "invite", worker_id, expires, epoch) or int(expires) <= tx.now:
        raise Refusal("bad_invite", "This invitation is not valid or has expired. Ask for a new one.", 401)
    return worker_id


def open_session(tx: Transaction, worker_id: str, visit: int | None = None) -> str:
    """Return the secret of a new session, for a cookie; a panel's participant signs in for a visit."""
    secret = new_secret()
    tx.insert(
        "sessions",
        {
            "session_hash": hash_secret(secret),
            "worker_id": worker_id,
            "visit": visit,
            "created": tx.now,
            "expires": tx.now + tx.marketplace.rules.session_life,
        },
    )
    return secret


def find_session(tx: Transaction, secret: str | None) -> Session | None:
    """Return the session of a cookie, while it lasts."""
    if not secret:
        return None
    rows = tx.execute(
        "SELECT w.worker_id, w.name, (SELECT count(*) FROM messages m"
        " WHERE m.worker_id = w.worker_id AND m.is_read = 0),"
        # whom a panel has sent works for it, however they sign in
        " coalesce(s.visit, (SELECT max(v.visit) FROM visits v WHERE v.worker_id = w.worker_id)),"
        " coalesce(t.confirmed, 1)"
        " FROM sessions s JOIN workers w ON w.worker_id = s.worker_id LEFT JOIN visits t ON t.visit = s.visit"
        " WHERE s.session_hash = :hash AND s.expires > :now",
        hash=hash_secret(secret),
        now=tx.now,
    )
    if not rows:
        return None
    worker_id, name, unread, visit, confirmed = rows[0]
    return Session(
        worker_id=worker_id,
        name=name,
        csrf=tx.marketplace.sign("csrf", secret),
        unread=unread,
        visit=visit,
        confirmed=bool(confirmed),
    )


def turn_to(tx: Transaction, secret: str, visit: int) -> None:
    """Let a session go on with another visit of its worker."""
    tx.update("sessions", {"visit": visit}, session_hash=hash_secret(secret))


def close_session(tx: Transaction, secret: str | None) -> None:
    """End a session."""
    tx.delete("sessions", session_hash=hash_secret(secret or ""))


def hash_secret(secret: str) -> str:
    """Return what the store keeps of a secret: a copy of the store lets nobody in."""
    return hashlib.sha256(secret.encode()).hexdigest()


def set_name(tx: Transaction, worker_id: str, name: str) -> None:
    """Give the worker a name that nobody else has."""
    if len(name) > LONGEST_NAME:
        raise Refusal("invalid", f"A name may have at most {LONGEST_NAME} characters.", 400)
    taken = tx.execute(
        "SELECT 1 FROM workers WHERE name = :name AND worker_id <> :id", name=name, id=worker_id
    )
    if taken:
        raise Refusal("name_taken", "Another worker has this name.")
    tx.update("workers", {"name": name}, worker_id=worker_id)


# What workers have read and agreed to in a requester's pages, so that it is asked once.

_PAGE_NAME = re.compile(r"[A-Za-z0-9]{8,64}")
_MOST_AGREEMENTS = 100
"""Names that are kept for one worker and requester: pages are not trusted, and may invent any number."""


def agree(tx: Transaction, worker_id: str, assignment_id: str, page: str) -> None:
    """Keep that a worker has agreed to what a requester's pages call ``page``; a repeat changes nothing."""
    if not _PAGE_NAME.fullmatch(page):
        raise Refusal("invalid", "This is not the name of what a page asks a worker to agree to.", 400)
    requester_id = tx.pick("requester_id", "assignments", assignment_id=assignment_id, worker_id=worker_id)
    if requester_id is None:
        raise Refusal("no_assignment", "You have no such assignment.", 404)
    known = agreed(tx, worker_id, requester_id)
    if page in known:
        return
    if len(known) >= _MOST_AGREEMENTS:
        raise Refusal("invalid", "This requester's pages have asked for too many agreements.", 400)
    tx.insert(
        "agreements",
        {"worker_id": worker_id, "requester_id": requester_id, "page": page, "agreed": tx.now},
        "ON CONFLICT DO NOTHING",
    )


def agreed(tx: Transaction, worker_id: str, requester_id: str) -> list[str]:
    """Return what a worker has agreed to in a requester's pages."""
    return tx.values(
        "SELECT page FROM agreements WHERE worker_id = :worker AND requester_id = :requester ORDER BY page",
        worker=worker_id,
        requester=requester_id,
    )


# Requesters who offer a worker nothing: they block the worker, or the worker's panel is for another.

HIDDEN = (
    "EXISTS (SELECT 1 FROM panel_workers c JOIN panels p ON p.panel = c.panel WHERE c.worker_id = :worker"
    " AND p.requester <> '' AND p.requester <> (SELECT o.name FROM requesters o"
    " WHERE o.requester_id = t.requester_id))"
)
"""Whether the worker has come from a panel that is for another requester than that of ``t``."""
BLOCKED = "EXISTS (SELECT 1 FROM blocks b WHERE b.requester_id = t.requester_id AND b.worker_id = :worker)"
"""Whether the requester of ``t`` has blocked the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A requester's block of a worker, and why."""

    requester_id: str
    worker_id: str
    reason: str


def offers_nothing(tx: Transaction, requester_id: str, worker_id: str) -> bool:
    """Tell whether the requester has blocked the worker, or the worker's panel is for another requester."""
    asked = f"SELECT 1 FROM (SELECT :requester AS requester_id) t WHERE {BLOCKED} OR {HIDDEN}"
    return bool(tx.execute(asked, requester=requester_id, worker=worker_id))


def block(tx: Transaction, requester_id: str, worker_id: str, reason: str) -> None:
    """Keep the worker from the requester's HITs."""
    find(tx, worker_id)
    tx.insert(
        "blocks",
        Block(requester_id=requester_id, worker_id=worker_id, reason=reason),
        "ON CONFLICT (requester_id, worker_id) DO UPDATE SET reason = excluded.reason",
    )


def unblock(tx: Transaction, requester_id: str, worker_id: str) -> None:
    """Lift a block."""
    find(tx, worker_id)
    tx.delete("blocks", requester_id=requester_id, worker_id=worker_id)


# Payouts: what the admin has paid workers, outside the marketplace, of their earnings here.

PAYOUT_COLUMNS = ("worker_id", "name", "earned", "paid_out", "owed")


def record_payout(tx: Transaction, worker_id: str, cents: int, reference: str) -> None:
    """Record that a worker was paid."""
    find(tx, worker_id)
    if not 1 <= len(reference) <= 200:
        raise invalid(
            "reference", "must name the payment, for instance at your bank, so that none counts twice"
        )
    account = ledger.earned(worker_id)
    # locked: of two records with one reference, the second sees the first
    owed = ledger.balance(tx, account, lock=True)
    if tx.pick("1", "transfers", source=account, kind="payout", reference=reference):
        raise refused(
            "DuplicateRequest", f"A payout to {worker_id} by the reference {reference} is recorded."
        )
    if not 1 <= cents <= owed:
        raise invalid("amount", f"{from_cents(cents)} is not between 0.01 and the {from_cents(owed)} owed")
    ledger.transfer(tx, account, ledger.PAID_OUT, cents, "payout", reference)


def paid_out(tx: Transaction) -> dict[str, int]:
    """Return how many cents each worker was paid, by account."""
    return tx.tally(
        "SELECT source, sum(cents) FROM transfers WHERE target = :paid AND kind = 'payout' GROUP BY source",
        paid=ledger.PAID_OUT,
    )


def payout_table(tx: Transaction) -> str:
    """Write what each worker has earned, was paid, and is owed, as CSV."""
    paid = paid_out(tx)
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(PAYOUT_COLUMNS)
    for worker_id, name, owed in tx.execute(
        "SELECT w.worker_id, w.name, a.cents FROM workers w"
        " JOIN accounts a ON a.account = 'worker:' || w.worker_id ORDER BY w.worker_id"
    ):
        before = paid.get(ledger.earned(worker_id), 0)
        amounts = (from_cents(cents) for cents in (owed + before, before, owed))
        rows.writerow([worker_id, inert(name or ""), *amounts])
    return written.getvalue()


def inert(text: str) -> str:
    """Return a text that a spreadsheet does not read as a formula: workers choose their names.

    Whoever follows a panel's link can choose a participant's id, too; of no panel does one begin so.
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text

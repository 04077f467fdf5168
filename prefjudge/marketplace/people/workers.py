"""Workers: who they are, and messages to them."""

import re
from dataclasses import dataclass

from prefjudge.marketplace.errors import RequestError, invalid, missing
from prefjudge.marketplace.store.ids import new_worker_id
from prefjudge.marketplace.store.marketplace import Transaction

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorker:
    """A worker to register: a name to sign in with, a locale, and a record from elsewhere."""

    name: str | None = None
    locale: str = "US"
    approved: int = 0
    approval_rate: int = 100


def create(tx: Transaction, newcomer: NewWorker) -> str:
    """Register a worker and return the worker's id.

    Raises
    ------
    RequestError
        The name is taken, or a number is out of bounds.
    """
    if not 0 <= newcomer.approval_rate <= 100 or newcomer.approved < 0:
        raise invalid("approval_rate", "must be a percentage, and approved a count")
    rejected = 0
    if newcomer.approved and newcomer.approval_rate:
        rejected = round(newcomer.approved * (100 - newcomer.approval_rate) / newcomer.approval_rate)
    worker = Worker(
        worker_id=new_worker_id(),
        name=newcomer.name,
        locale=locale(newcomer.locale),
        approved=newcomer.approved,
        rejected=rejected,
        created=tx.now,
    )
    if not tx.insert("workers", worker, "ON CONFLICT (name) DO NOTHING RETURNING worker_id"):
        raise invalid("name", f"{newcomer.name!r} is taken")
    return worker.worker_id


def locale(text: str) -> str:
    """Return the code of a country or subdivision.

    Raises
    ------
    RequestError
        It is not one.
    """
    if not re.fullmatch(r"[A-Z]{2}(-[A-Z0-9]{2})?", text):
        raise invalid("locale", f"{text[:16]!r} is not a country such as US, or a subdivision such as US-NY")
    return text


def find(tx: Transaction, worker_id: str) -> Worker:
    """Return a worker.

    Raises
    ------
    RequestError
        ``WorkerDoesNotExist``.
    """
    found = tx.find(Worker, "FROM workers WHERE worker_id = :worker", worker=worker_id)
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
    if not tx.rows(
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
    tx.insert(
        "messages",
        {
            "worker_id": worker_id,
            "requester_id": requester_id,
            "subject": subject,
            "body": text,
            "sent": tx.now,
        },
    )

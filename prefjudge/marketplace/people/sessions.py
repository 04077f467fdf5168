"""How workers prove who they are: signed invitations, passwords, and the sessions that follow."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.store.marketplace import Transaction

MIN_PASSWORD = 8


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
    """Return a new invitation: the password, earlier invitations and sessions stop working.

    Raises
    ------
    Refusal
        ``forgotten``: the person was.
    """
    workers.find(tx, worker_id)
    if tx.rows("SELECT 1 FROM workers WHERE worker_id = :id AND forgotten IS NOT NULL", id=worker_id):
        raise Refusal("forgotten", "Nobody knows who this was. Add the person as a new worker.", 410)
    _set_password(tx, worker_id, None)
    return invite(tx, worker_id)


def _epoch(tx: Transaction, worker_id: str) -> str:
    """Return the worker's epoch: an invitation belongs to one, and is void in the next."""
    rows = tx.rows("SELECT epoch FROM workers WHERE worker_id = :id", id=worker_id)
    return str(rows[0][0]) if rows else ""


def read_invite(tx: Transaction, text: str) -> str:
    """Return the worker whom an invitation lets in.

    Raises
    ------
    Refusal
        ``bad_invite``.
    """
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
    rows = tx.rows(
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
    tx.run(
        "UPDATE sessions SET visit = :visit WHERE session_hash = :hash", visit=visit, hash=hash_secret(secret)
    )


def close_session(tx: Transaction, secret: str | None) -> None:
    """End a session."""
    tx.run("DELETE FROM sessions WHERE session_hash = :hash", hash=hash_secret(secret or ""))


def hash_secret(secret: str) -> str:
    """Return what the store keeps of a secret: a copy of the store lets nobody in."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hash_password(password: str) -> str:
    """Return the salt and the hash to store for a password."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{_scrypt(password, salt).hex()}"


def matches(password: str, kept: str | None) -> bool:
    """Tell whether a password is the stored one; it takes as long without one, so that time tells nothing."""
    salt, _, digest = (kept or "00:00").partition(":")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


def set_password(tx: Transaction, worker_id: str, name: str, password_hash: str, secret: str = "") -> None:
    """Let the worker sign in by name and password, and no longer by invitation.

    Every session but the one of ``secret`` ends. That one must still last where it is given: somebody may
    have been forgotten, or their password taken back, while this one was hashed.

    Raises
    ------
    Refusal
        ``name_taken``, ``signed_out``.
    """
    if secret and find_session(tx, secret) is None:
        raise Refusal("signed_out", "Sign in first.", 401)
    taken = tx.rows("SELECT 1 FROM workers WHERE name = :name AND worker_id <> :id", name=name, id=worker_id)
    if taken:
        raise Refusal("name_taken", "Another worker has this name.")
    tx.run("UPDATE workers SET name = :name WHERE worker_id = :id", name=name, id=worker_id)
    _set_password(tx, worker_id, password_hash, secret)


def _set_password(tx: Transaction, worker_id: str, password_hash: str | None, secret: str = "") -> None:
    tx.run(
        "UPDATE workers SET password_hash = :hash, epoch = epoch + 1 WHERE worker_id = :id",
        hash=password_hash,
        id=worker_id,
    )
    tx.run(
        "DELETE FROM sessions WHERE worker_id = :id AND session_hash <> :kept",
        id=worker_id,
        kept=hash_secret(secret),
    )


def password_of(tx: Transaction, name: str) -> tuple[str | None, str | None]:
    """Return the id and the password hash of the worker with a name; None and None if there is none."""
    rows = tx.rows("SELECT worker_id, password_hash FROM workers WHERE name = :name", name=name)
    return (rows[0][0], rows[0][1]) if rows else (None, None)

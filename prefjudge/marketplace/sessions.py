"""How workers prove who they are: signed invitations, passwords, and the sessions that follow."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from prefjudge.marketplace.ids import new_secret
from prefjudge.marketplace.market import Turn
from prefjudge.marketplace.refusals import Refusal

MIN_PASSWORD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A worker who is signed in; ``csrf`` must come back with every change the worker makes."""

    worker_id: str
    name: str | None
    csrf: str
    unread: int


def invite(turn: Turn, worker_id: str) -> str:
    """Return the text that lets its holder in as this worker, for the life of an invitation."""
    expires = str(int(turn.now + turn.market.rules.invite_life))
    return f"{worker_id}.{expires}.{turn.market.sign('invite', worker_id, expires)}"


def read_invite(turn: Turn, text: str) -> str:
    """Return the worker whom an invitation lets in.

    Raises
    ------
    Refusal
        ``bad_invite``.
    """
    worker_id, _, rest = text.strip().partition(".")
    expires, _, signature = rest.partition(".")
    if not turn.market.signed(signature, "invite", worker_id, expires) or int(expires) <= turn.now:
        raise Refusal("bad_invite", "This invitation is not valid, or no longer. Ask for a new one.", 401)
    return worker_id


def open_session(turn: Turn, worker_id: str) -> str:
    """Return the secret of a new session, for a cookie."""
    secret = new_secret()
    turn.insert(
        "sessions",
        {
            "session_hash": _hash(secret),
            "worker_id": worker_id,
            "created": turn.now,
            "expires": turn.now + turn.market.rules.session_life,
        },
    )
    return secret


def find_session(turn: Turn, secret: str | None) -> Session | None:
    """Return the session of a cookie, while it lasts."""
    if not secret:
        return None
    rows = turn.rows(
        "SELECT w.worker_id, w.name, (SELECT count(*) FROM messages m"
        " WHERE m.worker_id = w.worker_id AND m.is_read = 0)"
        " FROM sessions s JOIN workers w ON w.worker_id = s.worker_id"
        " WHERE s.session_hash = :hash AND s.expires > :now",
        hash=_hash(secret),
        now=turn.now,
    )
    if not rows:
        return None
    worker_id, name, unread = rows[0]
    return Session(worker_id=worker_id, name=name, csrf=turn.market.sign("csrf", secret), unread=unread)


def close_session(turn: Turn, secret: str | None) -> None:
    """End a session."""
    turn.run("DELETE FROM sessions WHERE session_hash = :hash", hash=_hash(secret or ""))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def hash_password(password: str) -> str:
    """Return what is kept of a password."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{_scrypt(password, salt).hex()}"


def matches(password: str, kept: str | None) -> bool:
    """Tell whether a password is the one kept; takes as long where none is."""
    salt, _, digest = (kept or "00:00").partition(":")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


def set_password(turn: Turn, worker_id: str, name: str, password_hash: str) -> None:
    """Let the worker sign in by name and password.

    Raises
    ------
    Refusal
        ``name_taken``.
    """
    taken = turn.rows(
        "SELECT 1 FROM workers WHERE name = :name AND worker_id <> :id", name=name, id=worker_id
    )
    if taken:
        raise Refusal("name_taken", "Another worker has this name.")
    turn.run(
        "UPDATE workers SET name = :name, password_hash = :hash WHERE worker_id = :id",
        name=name,
        hash=password_hash,
        id=worker_id,
    )


def password_of(turn: Turn, name: str) -> tuple[str | None, str | None]:
    """Return the worker of a name and what is kept of the password; Nones where there is no such worker."""
    rows = turn.rows("SELECT worker_id, password_hash FROM workers WHERE name = :name", name=name)
    return (rows[0][0], rows[0][1]) if rows else (None, None)

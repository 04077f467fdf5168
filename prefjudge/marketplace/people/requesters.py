"""Requesters, their keys and their money; the admin's sessions, and the log of what the admin did."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal, View, missing
from prefjudge.marketplace.people.workers import hash_secret
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso, new_access_key, new_secret, new_worker_id

LOCAL = "local"
"""The name of the requester who sends unsigned requests from this machine."""
LOCAL_KEY = "prefjudge-local"
"""The local requester's access key. Its secret is the admin's token, which may do as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A requester's key pair, as AWS clients take it."""

    requester_id: str
    access_key: str
    secret_key: str


def ensure(tx: Transaction, name: str) -> str:
    """Return the id of the requester of that name, registered if new; a sandbox gives play money."""
    if known := find(tx, name):  # first, as every call of the local requester asks
        return known
    requester_id = new_worker_id()
    new = tx.insert(
        "requesters",
        {"requester_id": requester_id, "name": name, "created": tx.now},
        "ON CONFLICT (name) DO NOTHING RETURNING requester_id",
    )
    if new:
        if tx.marketplace.sandbox:
            pay_in(tx, requester_id, ledger.PLAY_MONEY)
        return requester_id
    return find(tx, name)  # another process was faster


def find(tx: Transaction, name: str) -> str:
    """Return the id of the requester of that name, empty where there is none."""
    return str(tx.pick("requester_id", "requesters", name=name) or "")


def new_key(tx: Transaction, name: str) -> Key:
    """Issue a key to the requester of that name."""
    if not name.strip():
        raise Refusal("invalid", "A requester needs a name.", 400)
    requester_id = ensure(tx, name)
    access_key, secret = new_access_key(), new_secret()
    tx.insert(
        "access_keys",
        {"access_key": access_key, "secret": secret, "requester_id": requester_id, "created": tx.now},
    )
    return Key(requester_id=requester_id, access_key=access_key, secret_key=secret)


def revoke_key(tx: Transaction, access_key: str) -> None:
    """Revoke a key: requests signed with it are refused from now on."""
    if not tx.execute("DELETE FROM access_keys WHERE access_key = :key RETURNING access_key", key=access_key):
        raise missing("AccessKey", access_key)


def pay_in(tx: Transaction, requester_id: str, cents: int) -> None:
    """Add to what a requester may spend."""
    if not tx.pick("1", "requesters", requester_id=requester_id):
        raise missing("Requester", requester_id)
    ledger.transfer(tx, ledger.OUTSIDE, ledger.free(requester_id), cents, "payment", requester_id)


def key_owner(tx: Transaction, access_key: str) -> tuple[str, str] | None:
    """Return the secret and the requester of an access key."""
    if access_key == LOCAL_KEY:
        return tx.marketplace.admin_token, ensure(tx, LOCAL)
    rows = tx.execute("SELECT secret, requester_id FROM access_keys WHERE access_key = :key", key=access_key)
    return (str(rows[0][0]), str(rows[0][1])) if rows else None


def keys_issued(tx: Transaction) -> bool:
    """Tell whether any requester has a key, or had one: revoking the last key must not open the door."""
    return bool(
        tx.execute(
            "SELECT 1 FROM access_keys UNION ALL SELECT 1 FROM requesters WHERE name <> :local LIMIT 1",
            local=LOCAL,
        )
    )


# Sessions of whoever has given the admin's token.

_ADMIN_SESSION, _ADMIN_LINK = 12 * 3600, 600


def admin_link(tx: Transaction) -> str:
    """Return a code that opens one session of the admin, once and within ten minutes.

    It is for an address that a browser and its history keep, where the token must not be.
    """
    code = new_secret()
    kept = {"session_hash": tx.marketplace.sign("admin link", code), "expires": tx.now + _ADMIN_LINK}
    tx.insert("admin_sessions", kept)
    return code


def use_admin_link(tx: Transaction, code: str) -> bool:
    """Use a code up; return whether it was good."""
    return bool(
        tx.execute(
            "DELETE FROM admin_sessions WHERE session_hash = :hash AND expires > :now RETURNING expires",
            hash=tx.marketplace.sign("admin link", code),
            now=tx.now,
        )
    )


def open_admin_session(tx: Transaction) -> str:
    """Return the secret of a new session, for a cookie."""
    tx.execute("DELETE FROM admin_sessions WHERE expires <= :now", now=tx.now)
    secret = new_secret()
    tx.insert("admin_sessions", {"session_hash": hash_secret(secret), "expires": tx.now + _ADMIN_SESSION})
    return secret


def is_admin_session(tx: Transaction, secret: str) -> bool:
    """Tell whether a session lasts."""
    return bool(
        tx.execute(
            "SELECT 1 FROM admin_sessions WHERE session_hash = :hash AND expires > :now",
            hash=hash_secret(secret),
            now=tx.now,
        )
    )


def close_admin_session(tx: Transaction, secret: str) -> None:
    """End a session."""
    tx.delete("admin_sessions", session_hash=hash_secret(secret))


# What those who administer did: written before each act, so that none is missing, and its outcome after.

LOG_PAGE = 200
"""Entries on one page of the log."""


def begin_entry(tx: Transaction, admin: str, act: str, about: str) -> int:
    """Write that somebody begins to do something, and return the entry's number."""
    entry = {"time": tx.now, "admin": admin, "act": act, "about": about}
    return int(tx.insert("admin_log", entry, "RETURNING seq")[0][0])


def end_entry(tx: Transaction, seq: int, status: int, about: str) -> None:
    """Write what came of it, and whom it was about, where that is known only now."""
    tx.update("admin_log", {"status": status, "about": about}, seq=seq)


def log_entries(tx: Transaction, before: int | None = None) -> list[View]:
    """List the last entries, or those before one, newest first.

    Each says who did what to whom. ``status`` is its HTTP status, None where the server died in it.
    """
    rest = f"FROM admin_log WHERE seq < :before ORDER BY seq DESC LIMIT {LOG_PAGE}"
    found = tx.dicts("seq, time, admin, act, about, status", rest, before=2**62 if before is None else before)
    return [{**one, "time": iso(one["time"])} for one in found]

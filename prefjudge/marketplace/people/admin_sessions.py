"""Sessions of whoever has given the admin's token."""

from prefjudge.marketplace.people.sessions import hash_secret
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.store.marketplace import Transaction

SESSION = 12 * 3600


def open_session(tx: Transaction) -> str:
    """Return the secret of a new session, for a cookie."""
    tx.run("DELETE FROM admin_sessions WHERE expires <= :now", now=tx.now)
    secret = new_secret()
    tx.insert("admin_sessions", {"session_hash": hash_secret(secret), "expires": tx.now + SESSION})
    return secret


def is_open(tx: Transaction, secret: str) -> bool:
    """Tell whether a session lasts."""
    return bool(
        tx.rows(
            "SELECT 1 FROM admin_sessions WHERE session_hash = :hash AND expires > :now",
            hash=hash_secret(secret),
            now=tx.now,
        )
    )


def close_session(tx: Transaction, secret: str) -> None:
    """End a session."""
    tx.run("DELETE FROM admin_sessions WHERE session_hash = :hash", hash=hash_secret(secret))

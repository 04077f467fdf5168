"""Who administers the marketplace: whoever has the token, and accounts with passwords and roles."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.oidc import OidcSettings
from prefjudge.marketplace.people.sessions import hash_secret
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.store.marketplace import Transaction

OWNER, ASSISTANT = "owner", "assistant"
"""An owner may do everything, and an assistant look after workers: not after money, keys and accounts."""
MIN_PASSWORD = 12
SESSION = 12 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Somebody who administers, and as what."""

    name: str
    role: str

    @property
    def is_owner(self) -> bool:
        """Tell whether everything is allowed."""
        return self.role == OWNER

    @property
    def has_password(self) -> bool:
        """Tell whether this is an account, and neither the token nor somebody whom a provider knows."""
        return self != TOKEN and not self.name.startswith(ELSEWHERE)


ELSEWHERE = "oidc:"
"""How the names begin of those who sign in at an OpenID Connect provider. No account can have such a name."""
TOKEN = Admin(name="(token)", role=OWNER)
"""Whoever has the token. No account can have this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    name: str
    role: str
    password_hash: str
    created: float


def check_password(password: str) -> None:
    """Refuse a password that is too short."""
    if len(password) < MIN_PASSWORD:
        raise Refusal("short_password", f"Give a password of at least {MIN_PASSWORD} characters.", 400)


def create(tx: Transaction, admin: Admin, password_hash: str) -> None:
    """Make an account.

    Raises
    ------
    Refusal
        The name is taken or cannot be one, or there is no such role.
    """
    if not 1 <= len(admin.name) <= 64 or not all(one.isalnum() or one in "._-@" for one in admin.name):
        raise Refusal("invalid", "A name has 1 to 64 letters, digits, dots, dashes, underscores and @.", 400)
    if admin.role not in (OWNER, ASSISTANT):
        raise Refusal("invalid", f"A role is {OWNER} or {ASSISTANT}.", 400)
    account = _Account(name=admin.name, role=admin.role, password_hash=password_hash, created=tx.now)
    if not tx.insert("admins", account, "ON CONFLICT (name) DO NOTHING RETURNING name"):
        raise Refusal("name_taken", "There is an account of this name.")


def remove(tx: Transaction, name: str) -> None:
    """Delete an account; its sessions end."""
    tx.run("DELETE FROM admin_sessions WHERE name = :name", name=name)
    if not tx.rows("DELETE FROM admins WHERE name = :name RETURNING name", name=name):
        raise Refusal("no_account", "There is no account of this name.", 404)


def set_password(tx: Transaction, name: str, password_hash: str, secret: str = "") -> None:
    """Change the password of an account; every session but the one of ``secret`` ends, which must last.

    Another owner may have given the account a password while this one was hashed.
    """
    if secret and find(tx, secret) is None:
        raise Refusal("not_admin", "Sign in again.", 401)
    if not tx.rows(
        "UPDATE admins SET password_hash = :hash WHERE name = :name RETURNING name",
        hash=password_hash,
        name=name,
    ):
        raise Refusal("no_account", "There is no account of this name.", 404)
    tx.run(
        "DELETE FROM admin_sessions WHERE name = :name AND session_hash <> :kept",
        name=name,
        kept=hash_secret(secret),
    )


def accounts(tx: Transaction) -> list[Admin]:
    """List the accounts."""
    return tx.select(Admin, "FROM admins ORDER BY name")


def account_by(tx: Transaction, name: str, password_hash: str) -> Admin | None:
    """Return the account of a name, if there is one that has this password."""
    return tx.find(
        Admin, "FROM admins WHERE name = :name AND password_hash = :kept", name=name, kept=password_hash
    )


def password_of(tx: Transaction, name: str) -> str | None:
    """Return the hash of an account's password, or None where there is no such account."""
    rows = tx.rows("SELECT password_hash FROM admins WHERE name = :name", name=name)
    return str(rows[0][0]) if rows else None


def open_session(tx: Transaction, admin: Admin) -> str:
    """Return the secret of a new session, for a cookie."""
    tx.run("DELETE FROM admin_sessions WHERE expires <= :now", now=tx.now)
    secret = new_secret()
    name = None if admin == TOKEN else admin.name
    tx.insert(
        "admin_sessions", {"session_hash": hash_secret(secret), "expires": tx.now + SESSION, "name": name}
    )
    return secret


def known_elsewhere(name: str, settings: OidcSettings | None) -> Admin | None:
    """Return who signs in at a provider, with the role that the settings list for a name, if they do."""
    if settings is not None and name in settings.owners:
        return Admin(name=f"{ELSEWHERE}{name}", role=OWNER)
    if settings is not None and name in settings.assistants:
        return Admin(name=f"{ELSEWHERE}{name}", role=ASSISTANT)
    return None


def find(tx: Transaction, secret: str, settings: OidcSettings | None = None) -> Admin | None:
    """Return who a cookie belongs to, while the session lasts and the account is there.

    Who signed in at a provider must still be listed in the settings.
    """
    rows = tx.rows(
        "SELECT s.name, a.role FROM admin_sessions s LEFT JOIN admins a ON a.name = s.name"
        " WHERE s.session_hash = :hash AND s.expires > :now",
        hash=hash_secret(secret),
        now=tx.now,
    )
    if not rows:
        return None
    name, role = rows[0]
    if name is None:
        return TOKEN
    if str(name).startswith(ELSEWHERE):
        return known_elsewhere(str(name).removeprefix(ELSEWHERE), settings)
    return Admin(name=str(name), role=str(role)) if role else None


def close_session(tx: Transaction, secret: str) -> None:
    """End a session."""
    tx.run("DELETE FROM admin_sessions WHERE session_hash = :hash", hash=hash_secret(secret))

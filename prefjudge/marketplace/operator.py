"""What the operator does from the command line, while a marketplace runs or not.

Keys, the admin's token, checks of the store, and what is known of a person.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from prefjudge.database import Connection, Database, Value, redacted
from prefjudge.errors import ConfigError, InputError, quoted
from prefjudge.marketplace.errors import RequestError, View
from prefjudge.marketplace.hits import overview
from prefjudge.marketplace.hits.overview import sweep
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.requesters import LOCAL_KEY as LOCAL_KEY
from prefjudge.marketplace.people.requesters import Key
from prefjudge.marketplace.store.ledger import UNBALANCED
from prefjudge.marketplace.store.store import STEPS, Marketplace, Transaction


@contextmanager
def existing_marketplace(store_url: str) -> Iterator[Marketplace]:
    """Open the marketplace in a store; none is made where there is none."""
    with closing(Database(store_url)) as database:
        version = database.version()
    if not version:
        raise ConfigError(
            f"{redacted(store_url)} holds no marketplace",
            "Give the study or the --store that is served, or serve it first.",
        )
    with closing(Marketplace(store_url, sweep=sweep)) as marketplace:
        yield marketplace


# A requester's keys, and the admin's token.


def issue_key(store_url: str, name: str, *, sandbox: bool | None = None) -> Key:
    """Issue a new key to the requester of that name, who is registered if new.

    The secret is shown only now; requests signed with it are that requester's. A new store becomes a
    sandbox, or a live marketplace where ``sandbox`` is False.
    """
    with _transaction(store_url, sandbox) as tx:
        return requesters.new_key(tx, name)


def revoke_key(store_url: str, access_key: str) -> None:
    """Revoke a requester's key."""
    with _transaction(store_url, None) as tx:
        requesters.revoke_key(tx, access_key)


SHORTEST_TOKEN = 32
"""Characters of the admin's token: too many to guess, at ten tries a minute."""


def read_token(path: Path) -> str:
    """Return the admin's token that a file holds, which may end with a line break."""
    remedy = f"Write {SHORTEST_TOKEN} characters or more: (umask 077; openssl rand -hex 24 > {quoted(path)})"
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(f"the file of the admin's token {path} cannot be read: {reason}", remedy) from error
    if len(token) < SHORTEST_TOKEN:
        raise ConfigError(f"the admin's token in {path} has {len(token)} characters", remedy)
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError(
            f"the admin's token in {path} has characters other than ASCII's visible ones", remedy
        )
    return token


def admin_token(store_url: str) -> str:
    """Return the token that the admin of a store signs in with, where no other was given."""
    with existing_marketplace(store_url) as marketplace:
        return marketplace.admin_token


@contextmanager
def _transaction(store_url: str, sandbox: bool | None) -> Iterator[Transaction]:
    with (
        closing(Marketplace(store_url, sweep=sweep, sandbox=sandbox)) as marketplace,
        marketplace.transaction() as tx,
    ):
        yield tx


# What is stored of a person, and forgetting it.

Rows = list[Mapping[str, Value]]


def known_of(store_url: str, worker_id: str) -> dict[str, Rows]:
    """Return everything that a store holds about a worker, by kind."""
    with _opened(store_url) as marketplace, marketplace.transaction(write=False) as tx:
        return overview.known_of(tx, worker_id)


def forget_person(store_url: str, worker_id: str, *, unpaid: bool = False) -> View:
    """Forget a person, also in the store's bytes."""
    with _opened(store_url) as marketplace:
        with marketplace.transaction() as tx:
            receipt = overview.forget_person(tx, worker_id, unpaid=unpaid)
        marketplace.database.scrub()
        return receipt


@contextmanager
def _opened(store_url: str) -> Iterator[Marketplace]:
    try:
        with existing_marketplace(store_url) as marketplace:
            yield marketplace
    except RequestError as error:
        hint = "See the ids: prefjudge workers STUDY --ids"
        if error.code.endswith("InvalidWorkerState"):
            hint = "Or add --unpaid, if nothing is to be paid."
        raise InputError(error.message, hint) from error


# Checks of a marketplace's store: every cent is somewhere, and nothing was paid twice.

SCHEMA = len(STEPS)
"""The schema that this prefjudge knows."""

_IMPOSSIBLE = (
    (
        "accounts owe more than they have",
        "SELECT count(*) FROM accounts WHERE cents < 0 AND account <> 'outside'",
    ),
    (
        "requesters have other amounts on hold than their open HITs may cost",
        "SELECT count(*) FROM (SELECT 'hold:' || requester_id AS account, sum(held) AS held FROM hits"
        " GROUP BY requester_id) AS h LEFT JOIN accounts a USING (account)"
        " WHERE coalesce(a.cents, 0) <> h.held",
    ),
    (
        "assignments were paid twice",
        "SELECT count(*) FROM (SELECT reference FROM transfers WHERE kind = 'reward'"
        " GROUP BY reference HAVING count(*) > 1) AS twice",
    ),
)


def find_impossible(db: Connection) -> list[str]:
    """Return what is only possible if money appeared, vanished or was paid twice."""
    lost = [f"the account {name} is not the sum of its transfers" for name in db.values(UNBALANCED)]
    found = [(int(db.value(sql)), what) for what, sql in _IMPOSSIBLE]
    return lost + [f"{count:,} {what}" for count, what in found if count]


def ledger_sums(db: Connection) -> dict[str, int]:
    """Return the sum of all accounts, which must be 0, and what workers are owed, in cents."""
    total, owed = db.execute(
        "SELECT coalesce(sum(cents), 0),"
        " coalesce(sum(CASE WHEN account LIKE 'worker:%' THEN cents ELSE 0 END), 0) FROM accounts"
    )[0]
    return {"all accounts": int(total), "owed to workers": int(owed)}


def load_setting(db: Connection, name: str) -> str | None:
    """Return one of the store's settings, or None."""
    value = db.value("SELECT value FROM settings WHERE name = :name", name=name)
    return None if value is None else str(value)


def save_setting(db: Connection, name: str, value: str) -> None:
    """Write a setting; an earlier value is replaced."""
    db.insert(
        "settings", {"name": name, "value": value}, "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )


def newest_time(db: Connection) -> float:
    """Return the latest time of anything in the store, 0 where there is nothing."""
    newest = db.value(
        "SELECT max(t) FROM (SELECT max(time) AS t FROM transfers UNION ALL "
        "SELECT max(created) FROM hits UNION ALL SELECT max(submitted_at) FROM assignments) AS times"
    )
    return float(newest or 0)

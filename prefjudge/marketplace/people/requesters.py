"""Requesters, their keys and their money."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Refusal, missing
from prefjudge.marketplace.money import ledger
from prefjudge.marketplace.store.ids import new_access_key, new_secret, new_worker_id
from prefjudge.marketplace.store.marketplace import Transaction

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
    rows = tx.rows("SELECT requester_id FROM requesters WHERE name = :name", name=name)
    return str(rows[0][0]) if rows else ""


def new_key(tx: Transaction, name: str) -> Key:
    """Issue a key to the requester of that name.

    Raises
    ------
    Refusal
        The name is empty.
    """
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
    if not tx.rows("DELETE FROM access_keys WHERE access_key = :key RETURNING access_key", key=access_key):
        raise missing("AccessKey", access_key)


def pay_in(tx: Transaction, requester_id: str, cents: int) -> None:
    """Add to what a requester may spend."""
    if not tx.rows("SELECT 1 FROM requesters WHERE requester_id = :id", id=requester_id):
        raise missing("Requester", requester_id)
    ledger.transfer(tx, ledger.OUTSIDE, ledger.free(requester_id), cents, "payment", requester_id)


def key_owner(tx: Transaction, access_key: str) -> tuple[str, str] | None:
    """Return the secret and the requester of an access key."""
    if access_key == LOCAL_KEY:
        return tx.marketplace.admin_token, ensure(tx, LOCAL)
    rows = tx.rows("SELECT secret, requester_id FROM access_keys WHERE access_key = :key", key=access_key)
    return (str(rows[0][0]), str(rows[0][1])) if rows else None


def keys_issued(tx: Transaction) -> bool:
    """Tell whether any requester has a key, or had one: revoking the last key must not open the door."""
    return bool(
        tx.rows(
            "SELECT 1 FROM access_keys UNION ALL SELECT 1 FROM requesters WHERE name <> :local LIMIT 1",
            local=LOCAL,
        )
    )

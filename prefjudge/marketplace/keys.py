"""Issues and revokes requesters' keys from the command line, while a marketplace runs or before."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefjudge.marketplace.hits.sweep import sweep
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.requesters import LOCAL_KEY as LOCAL_KEY
from prefjudge.marketplace.people.requesters import Key
from prefjudge.marketplace.store.marketplace import Marketplace, Transaction


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


@contextmanager
def _transaction(store_url: str, sandbox: bool | None) -> Iterator[Transaction]:
    marketplace = Marketplace(store_url, sweep=sweep, sandbox=sandbox)
    try:
        with marketplace.transaction() as tx:
            yield tx
    finally:
        marketplace.close()

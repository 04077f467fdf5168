"""Issues and revokes requesters' keys from the command line, beside a running marketplace or before."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefjudge.marketplace.hits.sweep import sweep
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.requesters import LOCAL_KEY as LOCAL_KEY
from prefjudge.marketplace.people.requesters import Key
from prefjudge.marketplace.store.marketplace import Marketplace, Transaction


def issue_key(store_url: str, name: str, *, sandbox: bool | None = None) -> Key:
    """Issue a new key to the requester of that name, who joins if new.

    The secret is shown this once; requests signed with it are that requester's. A store that is new becomes a
    sandbox, or a live marketplace where ``sandbox`` is False.
    """
    with _transaction(store_url, sandbox) as tx:
        return requesters.new_key(tx, name)


def revoke_key(store_url: str, access_key: str) -> None:
    """Take a requester's key back."""
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

"""Issues and revokes requesters' keys from the command line, beside a running marketplace or before."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefjudge.marketplace.hits.sweep import sweep
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.requesters import LOCAL_KEY as LOCAL_KEY
from prefjudge.marketplace.people.requesters import Key
from prefjudge.marketplace.store.marketplace import Market, Turn


def issue_key(store_url: str, name: str, *, sandbox: bool | None = None) -> Key:
    """Issue a new key to the requester of that name, who joins if new.

    The secret is shown this once; requests signed with it are that requester's. A store that is new becomes a
    sandbox, or a live marketplace where ``sandbox`` is False.
    """
    with _turn(store_url, sandbox) as turn:
        return requesters.new_key(turn, name)


def revoke_key(store_url: str, access_key: str) -> None:
    """Take a requester's key back."""
    with _turn(store_url, None) as turn:
        requesters.revoke_key(turn, access_key)


@contextmanager
def _turn(store_url: str, sandbox: bool | None) -> Iterator[Turn]:
    market = Market(store_url, sweep=sweep, sandbox=sandbox)
    try:
        with market.turn() as turn:
            yield turn
    finally:
        market.close()

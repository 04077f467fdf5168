"""Keys from the command line, while a marketplace runs or before: a requester's, and the admin's token."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefjudge.errors import ConfigError, quoted
from prefjudge.marketplace.existing import existing_marketplace
from prefjudge.marketplace.hits.overview import sweep
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.requesters import LOCAL_KEY as LOCAL_KEY
from prefjudge.marketplace.people.requesters import Key
from prefjudge.marketplace.store.store import Marketplace, Transaction


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
"""Characters of the admin's token: nothing counts the guesses of one."""


def read_token(path: Path) -> str:
    """Return the admin's token that a file holds, which may end with a line break.

    Raises
    ------
    ConfigError
        The file cannot be read, or what it holds is too short or cannot be sent in a header.
    """
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
    """Return the token that the admin of a store signs in with, where no other was given.

    Raises
    ------
    ConfigError
        There is no marketplace in the store: none is made.
    """
    with existing_marketplace(store_url) as marketplace:
        return marketplace.admin_token


@contextmanager
def _transaction(store_url: str, sandbox: bool | None) -> Iterator[Transaction]:
    marketplace = Marketplace(store_url, sweep=sweep, sandbox=sandbox)
    try:
        with marketplace.transaction() as tx:
            yield tx
    finally:
        marketplace.close()

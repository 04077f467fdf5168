"""Issues a requester's key from the command line, beside a running marketplace or before it runs."""

from prefjudge.marketplace import requesters
from prefjudge.marketplace.market import Market
from prefjudge.marketplace.requesters import Key
from prefjudge.marketplace.sweep import sweep


def issue_key(store_url: str, name: str, *, sandbox: bool | None = None) -> Key:
    """Issue a new key to the requester of that name, who joins if new.

    The secret is shown this once; requests signed with it are that requester's. A store that is new becomes a
    sandbox, or a live marketplace where ``sandbox`` is False.
    """
    market = Market(store_url, sweep=sweep, sandbox=sandbox)
    try:
        with market.turn() as turn:
            return requesters.new_key(turn, name)
    finally:
        market.close()

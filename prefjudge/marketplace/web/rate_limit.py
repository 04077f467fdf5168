"""A rate limit on password guesses."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

TRIES = 10
WINDOW = 60.0
_REMEMBERED, _LONGEST = 10_000, 200
"""Names, and characters of each: what is typed as a name may be as long as a request."""


def limits(who: str, address: str) -> Sequence[tuple[str, int]]:
    """Return what a guess of the password of ``who`` counts for, with the most tries of each.

    It counts by the account, too, so that many addresses get no more of them.
    """
    network = network_of(address)
    return ((f"{network}|{who}", TRIES), (who, 5 * TRIES), (network, 10 * TRIES))


def network_of(address: str) -> str:
    """Return the network of an address: whoever has one IPv6 address has all that begin like it."""
    try:
        found = ip_address(address)
    except ValueError:  # a socket has none
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or (int(found) >> 64))


class RateLimit:
    """Counts tries within a minute, by a name such as an address."""

    def __init__(self) -> None:
        self._tries: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def allow(self, who: str, now: float, tries: int = TRIES) -> bool:
        """Count a try of ``who``, and return whether it may be made.

        A try is counted before it is made: otherwise many at once would all be allowed.
        """
        who = who[:_LONGEST]
        with self._lock:
            recent = [time for time in self._tries.pop(who, []) if time > now - WINDOW]
            admitted = len(recent) < tries
            self._tries[who] = [*recent, now] if admitted else recent
            while len(self._tries) > _REMEMBERED:
                self._tries.popitem(last=False)
            return admitted

    def allow_guess(self, guess: Sequence[tuple[str, int]], now: float) -> bool:
        """Count one guess for all that it counts for, and return whether it may be made."""
        return all(self.allow(who, now, tries) for who, tries in guess)

    def refund_guess(self, guess: Sequence[tuple[str, int]], now: float) -> None:
        """Take back a guess that was right."""
        for who, _ in guess:
            self.refund(who, now)

    def refund(self, who: str, now: float) -> None:
        """Take back a try that succeeded."""
        with self._lock:
            if now in (tries := self._tries.get(who[:_LONGEST], [])):
                tries.remove(now)

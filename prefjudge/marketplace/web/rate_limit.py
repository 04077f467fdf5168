"""A rate limit on password guesses."""

import threading
from collections import OrderedDict

TRIES = 10
WINDOW = 60.0
_REMEMBERED, _LONGEST = 10_000, 200
"""Names, and characters of each: what is typed as a name may be as long as a request."""


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

    def refund(self, who: str, now: float) -> None:
        """Take back a try that succeeded."""
        with self._lock:
            if now in (tries := self._tries.get(who[:_LONGEST], [])):
                tries.remove(now)

"""A limit on guesses: who fails too often waits."""

import threading
from collections import OrderedDict

TRIES = 10
WINDOW = 60.0
_REMEMBERED = 10_000


class Patience:
    """Counts failures by name of whatever fails, within a minute."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def exhausted(self, who: str, now: float, tries: int = TRIES) -> bool:
        """Tell whether ``who`` has failed too often of late."""
        with self._lock:
            return len([time for time in self._failures.get(who, ()) if time > now - WINDOW]) >= tries

    def failed(self, who: str, now: float) -> None:
        """Count a failure."""
        with self._lock:
            recent = [time for time in self._failures.pop(who, []) if time > now - WINDOW]
            self._failures[who] = [*recent, now]
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)

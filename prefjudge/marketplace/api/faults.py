"""Failures on demand, so that a requester's program can be tested against them."""

import threading
from dataclasses import dataclass

from prefjudge.marketplace.errors import invalid

MOST_SECONDS = 60
KINDS = ("drop", "throttle", "error", "delay")


@dataclass(slots=True, kw_only=True)
class Fault:
    """One failure to come.

    ``drop`` acts and then closes the connection without a reply, ``throttle`` and ``error`` refuse without
    acting, ``delay`` waits ``seconds`` before acting. The first ``after`` requests go well, the next
    ``times`` fail.
    """

    operation: str = "*"
    kind: str
    times: int = 1
    after: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that would fail only at later requests."""
        if self.kind not in KINDS:
            raise invalid("kind", f"{self.kind!r} is not one of {', '.join(KINDS)}")
        if not isinstance(self.operation, str):
            raise invalid("operation", "must be a name, or * for all")
        if type(self.times) is not int or type(self.after) is not int or self.times < 1 or self.after < 0:
            raise invalid("times", "must be 1 or more, and after 0 or more")
        if type(self.seconds) not in (int, float) or not 0 <= self.seconds <= MOST_SECONDS:
            raise invalid("seconds", f"must be between 0 and {MOST_SECONDS}")


class FaultInjector:
    """The failures to come; none unless an admin asks for them."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        """Ask for a failure."""
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Clear all failures."""
        with self._lock:
            self._faults.clear()

    def next(self, operation: str) -> Fault | None:
        """Count this request, and return its failure, if any."""
        if not self._faults:
            return None
        with self._lock:
            for fault in self._faults:
                if fault.operation not in ("*", operation):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

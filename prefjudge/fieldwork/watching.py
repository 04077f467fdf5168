"""Watches a crowd: waits until something was submitted, and asks often, because asking is cheap."""

import time

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.errors import CrowdError
from prefjudge.fieldwork.crowds import reach_crowd
from prefjudge.study.study import Study

_OFTEN = 0.5
"""Seconds between two questions; more where the answer takes long."""
_LONGEST = 60.0
"""The most seconds between two attempts to reach a crowd that is away; the first is after one second."""
_PATIENCE = 3600.0
"""Seconds for which a crowd may be away: longer than a server takes to be repaired or moved."""


class Watch:
    """Tells when something was submitted since the watch began, or since it last told so.

    Begin it before the first look: what is submitted during a look is told after it. A mark that comes late
    or twice costs a look that finds nothing, and one that is lost is made up for by the longest wait.
    """

    def __init__(self, study: Study, target: str) -> None:
        self._study = study
        self._target = target
        self._crowd: Crowd | None = None
        self._seen = self._pulse()
        self._away: float | None = None
        self._next = 1.0

    def found(self) -> None:
        """Note that the crowd has answered."""
        self._away, self._next = None, 1.0

    def bear(self, error: CrowdError) -> float:
        """Return how many seconds to wait for a crowd that is away.

        Raises
        ------
        CrowdError
            The error: the crowd answered, and refused; or it has been away for an hour.
        """
        now = time.monotonic()
        if self._away is None:
            self._away = now
        if isinstance(error, RefusedError) or now - self._away > _PATIENCE:
            raise error
        seconds, self._next = self._next, min(2 * self._next, _LONGEST)
        return seconds

    def wait(self, most: float) -> bool:
        """Wait until something new was submitted, ``most`` seconds at most; return whether it was."""
        until = time.monotonic() + most
        while (left := until - time.monotonic()) > 0:
            began = time.monotonic()
            pulse = self._pulse()
            if pulse is not None and pulse != self._seen:
                self._seen = pulse
                return True
            time.sleep(min(left, max(_OFTEN, time.monotonic() - began)))
        return False

    def _pulse(self) -> str | None:
        """Return the crowd's mark; None where it does not answer, or is a marketplace that nobody serves."""
        try:
            if self._crowd is None:
                self._crowd = reach_crowd(self._study, self._target)
            return self._crowd.pulse() if self._crowd else None
        except CrowdError:
            self._crowd = None  # it may come back elsewhere
            return None

"""Turns: how many requests of one worker are under way at once, so that nobody makes others wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from prefjudge.marketplace.errors import Refusal

AT_ONCE = 1
"""Requests of one worker that are answered at the same time; more wait for these."""
WAITING = 30
"""Requests of one worker that may wait; a browser sends a few, and a program that sends more is told so."""


@dataclass(slots=True)
class _Line:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    asked: int = 0


class Turns:
    """Gives the requests of each worker their turn. Used on the event loop only, and so without a lock."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @property
    def empty(self) -> bool:
        """Whether nobody is in line: what is kept of a worker ends with the last request."""
        return not self._lines

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator[None]:
        """Wait for a turn of ``who``, and hold it.

        Raises
        ------
        Refusal
            ``too_many_requests``: too many are waiting.
        """
        line = self._lines.setdefault(who, _Line())
        if line.asked >= AT_ONCE + WAITING:
            raise Refusal(
                "too_many_requests", "Too many requests at once. Wait a moment, and try again.", 429
            )
        line.asked += 1
        try:
            async with line.free:
                yield
        finally:
            line.asked -= 1
            if not line.asked:
                del self._lines[who]

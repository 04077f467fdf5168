"""Connections within bounds: only so many of one address, and only so long to ask something."""

import asyncio
from collections.abc import Callable
from typing import Any

from prefjudge.marketplace.web.dropping import DroppableProtocol

MOST = 100
"""Connections of one address at a time; a web server in front may have any number."""
LOOK = 5.0
"""Seconds; a connection on which nothing is asked from one look to the next is closed."""
_BUSY = object()


def bounded(is_proxy: Callable[[str], bool]) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with bounds, given how to tell the web server in front."""

    class Bounded(DroppableProtocol):
        """uvicorn waits without end for the head of a request; some send half of one, and many of them."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._seen: object = _BUSY
            self.address = address = self.client[0] if self.client else ""
            same = [one for one in self.connections if isinstance(one, Bounded) and one.address == address]
            if len(same) > MOST and not is_proxy(address):
                transport.abort()
                return
            self.loop.call_later(LOOK, self._look)

        def _look(self) -> None:
            if self.transport.is_closing():
                return
            under_way = self.cycle is not None and not self.cycle.response_complete
            if not under_way and self._seen is self.cycle:
                self.transport.abort()
                return
            self._seen = _BUSY if under_way else self.cycle
            self.loop.call_later(LOOK, self._look)

    return Bounded

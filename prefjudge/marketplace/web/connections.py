"""Connections: so many of one address, so long to ask something; and one closed for the fault switch."""

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 100
"""Connections of one address at a time; a web server in front may have any number."""
LOOK = 5.0
"""Seconds; a connection on which nothing is asked from one look to the next is closed."""
_BUSY = object()
_OPEN: "WeakValueDictionary[tuple[str, int], DroppableProtocol]" = WeakValueDictionary()


class DroppableProtocol(H11Protocol):
    """uvicorn's HTTP protocol, which can be found again by its client's address."""

    def connection_made(self, transport: Any) -> None:
        """Remember the connection."""
        super().connection_made(transport)
        if self.client:
            _OPEN[self.client] = self


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


class _Dropped(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocol = _OPEN.get(tuple(scope["client"]))
        if protocol is not None:
            protocol.transport.abort()
        # uvicorn ignores what is sent to a connection that is gone, but wants an answer
        await super().__call__(scope, receive, send)


def drop_connection(request: Request) -> Response:
    """Return a response that never arrives."""
    return _Dropped(status_code=500)

"""Connections: so many of one address, so long to ask something; and one that is closed without a reply."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 100
"""Connections of one address at a time; a web server in front may have any number."""
CHECK_SECONDS = 5.0
"""A connection on which nothing is asked from one check to the next is closed."""


class Connection(asyncio.Protocol):
    """An HTTP connection: uvicorn's protocol, which has no limits of its own, inside one that has.

    uvicorn waits without end for the head of a request; some send half of one, and many of them. Nothing here
    relies on what uvicorn's protocol keeps to itself: events of the transport are passed on, and requests
    find their connection under ``connection`` in the state that ASGI gives them.
    """

    transport: asyncio.Transport
    address: str

    def __init__(self, app_state: dict[str, Any], **given: Any) -> None:
        self._http = H11Protocol(app_state={**app_state, "connection": self}, **given)
        self._begun = 0
        self._under_way = 0
        self._seen: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to look whether something is asked."""
        assert isinstance(transport, asyncio.Transport), "it is one of TCP"
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self._http.connection_made(transport)
        self._check_later()

    def _check_later(self) -> None:
        asyncio.get_running_loop().call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        if self.transport.is_closing():
            return
        if not self._under_way and self._seen == self._begun:
            self.transport.abort()
            return
        # None: an answer that takes long does not count as time in which nothing was asked
        self._seen = None if self._under_way else self._begun
        self._check_later()

    def begin_request(self) -> None:
        """Count a request that is answered from now on."""
        self._begun += 1
        self._under_way += 1

    def end_request(self) -> None:
        """Note that a request was answered, or given up."""
        self._under_way -= 1

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        self._http.data_received(data)

    def eof_received(self) -> None:
        """Pass it on."""
        self._http.eof_received()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._http.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        """Pass it on."""
        self._http.connection_lost(error)


def limited(is_proxy: Callable[[str], bool]) -> type[asyncio.Protocol]:
    """Return the protocol of one server's connections, given how to tell the web server in front."""
    opened: Counter[str] = Counter()

    class LimitedConnection(Connection):
        """One of at most so many connections of an address."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            opened[self.address] += 1
            if opened[self.address] > MAX_CONNECTIONS and not is_proxy(self.address):
                self.transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            opened[self.address] -= 1
            if not opened[self.address]:
                del opened[self.address]

    return LimitedConnection


class _Dropped(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["connection"].transport.abort()
        # uvicorn ignores what is sent to a connection that is gone, but wants an answer
        await super().__call__(scope, receive, send)


def drop_connection(request: Request) -> Response:
    """Return a response that never arrives."""
    return _Dropped(status_code=500)

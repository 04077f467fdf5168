"""Connections: limits on their number and their idle time; and one that is closed without a reply."""

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
"""A connection without a request between two checks is closed."""


class Connection(asyncio.Protocol):
    """An HTTP connection: uvicorn's protocol, which has no limits of its own, inside one with limits.

    uvicorn waits without end for the head of a request, and an attacker may send half of one on many
    connections. Nothing here uses private parts of uvicorn's protocol: events of the transport are passed
    on, and requests find their connection under ``connection`` in their ASGI state.
    """

    transport: asyncio.Transport
    address: str

    def __init__(self, app_state: dict[str, Any], **given: Any) -> None:
        self._http = H11Protocol(app_state={**app_state, "connection": self}, **given)
        self._begun = 0
        self._under_way = 0
        self._seen: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to check for requests."""
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
        # None: the time of a slow answer does not count as idle
        self._seen = None if self._under_way else self._begun
        self._check_later()

    def begin_request(self) -> None:
        """Count a request that has begun."""
        self._begun += 1
        self._under_way += 1

    def end_request(self) -> None:
        """Count a request that was answered, or given up."""
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
    """Return the protocol of one server's connections; ``is_proxy`` knows the web server in front."""
    opened: Counter[str] = Counter()

    class LimitedConnection(Connection):
        """One of a limited number of connections from an address."""

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
        # uvicorn ignores what is sent to a closed connection, but wants an answer
        await super().__call__(scope, receive, send)


def drop_connection(request: Request) -> Response:
    """Return a response that never arrives."""
    return _Dropped(status_code=500)

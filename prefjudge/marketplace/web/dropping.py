"""Closing a connection without a reply, for the fault switch."""

from typing import Any
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_OPEN: "WeakValueDictionary[tuple[str, int], DroppableProtocol]" = WeakValueDictionary()


class DroppableProtocol(H11Protocol):
    """uvicorn's HTTP protocol, which can be found again by its client's address."""

    def connection_made(self, transport: Any) -> None:
        """Remember the connection."""
        super().connection_made(transport)
        if self.client:
            _OPEN[self.client] = self


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

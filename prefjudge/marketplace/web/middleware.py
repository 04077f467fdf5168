"""Refuses what no honest client sends, adds security headers to every answer, and logs without secrets."""

import logging
import time
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefjudge.marketplace.web.state import AppState

_LOG = logging.getLogger("prefjudge.marketplace.requests")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_FROM_ANYWHERE = ("/mturk/externalSubmit",)
"""Posted by the pages of HITs, from an opaque origin or the requester's own."""
_WATCHED = ("/healthz", "GetAccountBalance")
"""Asked day and night: a study that is collected as it comes asks for its balance twice a second."""
_GONE = 499
"""How web servers log a request when the client did not wait; nothing is sent."""


class SecurityMiddleware:
    """Checks Host and Origin around the application."""

    def __init__(self, app: ASGIApp, state: AppState) -> None:
        self.app = app
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        began, status = time.perf_counter(), 500
        connection = scope["state"].get("connection")
        if connection is not None:
            connection.begin_request()

        async def stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            request = Request(scope)
            try:
                problem = self._problem(request)
            except ValueError:  # of urlsplit
                problem = "The address is malformed."
            app = PlainTextResponse(problem, 403) if problem else self.app
            await app(scope, receive, stamped)
        except ClientDisconnect:  # the client has gone; nothing is broken
            status = _GONE
        finally:
            if connection is not None:
                connection.end_request()
            self._log(scope, status, time.perf_counter() - began)

    def _problem(self, request: Request) -> str:
        if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
            return "The address is malformed."
        if not self.state.settings.knows_host(request.url.hostname or ""):
            return "This marketplace does not have that host name."
        origin = request.headers.get("origin")
        if request.method in ("GET", "HEAD") or origin is None:
            return ""
        there = urlsplit(origin)
        known = {urlsplit(self.state.origin(request)).netloc, request.headers.get("host", "")}
        strange = there.netloc not in known and request.url.path not in _FROM_ANYWHERE
        if request.headers.get("x-amz-target") or strange:
            return "Requests from other sites are refused."
        return ""

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "-")  # the pattern: paths and queries carry secrets
        noted = scope["state"]
        operation = noted.get("operation", "")
        self.state.metrics.count(f"{route} {operation}".strip(), status, seconds)
        watched = status == 200 and (route in _WATCHED or operation in _WATCHED)
        _LOG.log(
            logging.DEBUG if watched else logging.INFO,
            "request",
            extra={
                "fields": {
                    "method": scope["method"],
                    "route": route,
                    "operation": operation,
                    "invocation": noted.get("invocation", ""),
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                }
            },
        )

"""A store of objects on this machine (moto's), and a proxy before it that fails when it is told to."""

import http.client
from collections.abc import Callable
from typing import Any

from tests.serving import Handler, Serving

Fault = Callable[["_Handler", bytes], bool]
"""Takes the answer's body, and tells whether it has answered."""


class Proxy(Serving):
    """Forwards requests; each GET of an object meets the next fault of the list, if there is one."""

    def __init__(self, behind: int) -> None:
        self.behind = behind
        self.faults: list[Fault | None] = []
        self.pack: Callable[[bytes], bytes] | None = None
        self.asked: list[str] = []
        super().__init__(_Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: readers that hang up are what is tested."""


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_GET(self) -> None:
        self._forward()

    do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _forward(self) -> None:
        proxy = self.server
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        proxy.asked.append(f"{self.command} {self.path}")
        fault = proxy.faults.pop(0) if self.command == "GET" and proxy.faults else None
        behind = http.client.HTTPConnection("127.0.0.1", proxy.behind)
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        data = answer.read()
        behind.close()
        if fault is not None and fault(self, data):
            return
        self.send_response(answer.status)
        if proxy.pack is not None:
            data = proxy.pack(data)
            self.send_header("Content-Encoding", "gzip")
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if proxy.pack is None else None
        self.send_header("Content-Length", size or str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def cut(handler: Any, data: bytes) -> bool:
    """Send half of the body, and hang up."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    return True


def busy(handler: Any, data: bytes) -> bool:
    """Say that the server is busy."""
    handler.send_response(503)
    handler.send_header("Content-Length", "0")
    handler.end_headers()
    return True


def silent(handler: Any, data: bytes) -> bool:
    """Send nothing, longer than readers wait in these tests, or until they hang up."""
    handler.connection.settimeout(5)
    handler.connection.recv(1)
    return True


def after(what: Callable[[], object]) -> Fault:
    """Return a fault that lets something happen to the object once this request was answered by the store."""

    def happen(handler: Any, data: bytes) -> bool:
        what()
        return False

    return happen

"""Servers of the tests' own."""

from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Writes no log."""

    def body(self) -> bytes:
        """What was sent."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Files(SimpleHTTPRequestHandler):
    """Writes no log either."""

    def log_message(self, *_: object) -> None:
        pass


class Serving(ThreadingHTTPServer):
    """Answers at a free port of this machine until it is stopped, or its block ends."""

    def __init__(self, handler: Any) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def __exit__(self, *_: object) -> None:
        self.stop()

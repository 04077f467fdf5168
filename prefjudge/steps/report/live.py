"""Serves a report on this machine while its study runs: the page is made again when the study has changed."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from prefjudge.errors import InputError, PrefjudgeError

HOST = "127.0.0.1"


class LivePage:
    """The page as it was when the study last had the mark that it has; one request makes it, others wait."""

    def __init__(self, mark: Callable[[], str], make: Callable[[str], str], first: tuple[str, str]) -> None:
        self.mark, self._make = mark, make
        self._made = first[0], first[1].encode()
        self._lock = Lock()

    def html(self) -> bytes:
        """Return the page, made again if the study has changed."""
        with self._lock:
            now = self.mark()
            if self._made[0] != now:
                self._made = now, self._make(now).encode()
            return self._made[1]


def serve_live(page: LivePage, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve a page to this machine alone until Ctrl-C.

    Raises
    ------
    InputError
        The port is taken.
    """
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(page))
    except OSError as error:
        raise InputError(
            f"port {port} cannot be listened at: {error.strerror}", "Give another: --port 0 takes a free one."
        ) from None
    with server:
        ready(f"http://{HOST}:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _handler(page: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers with the page, or with the study's mark, by which the page knows that it is old."""

        def do_GET(self) -> None:
            """Answer a request."""
            # A page of another site may lead its own name here (DNS rebinding), and would read the study.
            if (self.headers.get("Host") or "").rpartition(":")[0] not in (HOST, "localhost"):
                self._answer(421, "text/plain", b"ask for 127.0.0.1\n")
                return
            try:
                if self.path == "/":
                    self._answer(200, "text/html", page.html())
                elif self.path == "/mark":
                    self._answer(200, "text/plain", page.mark().encode())
                else:
                    self._answer(404, "text/plain", b"there is only the report, at /\n")
            except PrefjudgeError as error:  # such as a study without a pool, which may get one
                self._answer(503, "text/plain", f"{error.message}. {error.hint}\n".encode())
            except ConnectionError:  # the reader has left while the page was made or sent
                self.close_connection = True
            except OSError as error:  # such as a full disk, on which there may be room later
                words = f"the report cannot be written: {error.strerror}\n"
                self._answer(503, "text/plain", words.encode())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            if status == 503:
                self.send_header("Refresh", "5")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal is the study's."""

    return Handler

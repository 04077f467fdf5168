"""Starts the marketplace: in a thread of a program, or as a program of its own."""

import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import uvicorn

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.hits.overview import sweep
from prefjudge.marketplace.people import panels, requesters
from prefjudge.marketplace.settings import Settings as Settings
from prefjudge.marketplace.settings import Wording as Wording
from prefjudge.marketplace.site.app import build_app
from prefjudge.marketplace.site.state import AppState, limited
from prefjudge.marketplace.store.store import Clock, Executor, Marketplace, Rules

_LOG = logging.getLogger("prefjudge.marketplace.panels")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a user may ask for


class Server:
    """A running marketplace.

    Its ``endpoint`` is the requester API's address, for boto3's ``endpoint_url``, and ``local`` the same for
    programs on this machine, which do not need the web server in front.
    """

    def __init__(
        self,
        store_url: str,
        settings: Settings,
        *,
        sandbox: bool,
        clock: Clock = time.time,
        rules: Rules | None = None,
    ) -> None:
        settings.check()
        with contextlib.ExitStack() as undo:
            self._socket = _listen(settings)
            undo.callback(self._socket.close)
            host, port = self._socket.getsockname()[:2]
            self.local = _address(_EVERYWHERE.get(host, host), port)
            self.marketplace = Marketplace(  # last: what cannot be served leaves no store behind
                store_url,
                sweep=sweep,
                sandbox=sandbox,
                clock=clock,
                rules=rules or Rules(),
                admin_token=settings.admin_token,
            )
            undo.pop_all()
        self.endpoint = settings.public_url or _address(_own_name() if host in _EVERYWHERE else host, port)
        self.worker_site = self.endpoint
        self.admin = f"{self.endpoint}/admin"
        self.admin_token = _admin_token(store_url, self.marketplace)
        self.state = AppState(
            marketplace=self.marketplace,
            executor=Executor(self.marketplace),
            settings=settings,
            admin_token=self.admin_token,
        )
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                build_app(self.state),
                http=limited(settings.is_proxy),
                forwarded_allow_ips=settings.proxy,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=10,
            )
        )
        self._thread: threading.Thread | None = None

    def sign_in_link(self) -> str:
        """Return a link that signs the admin in once; its code is after the #, which no browser sends."""
        with self.marketplace.transaction() as tx:
            return f"{self.admin}/signin#once={requesters.admin_link(tx)}"

    def run(self, ready: Callable[["Server"], None] | None = None) -> None:
        """Serve until SIGINT or SIGTERM; call ``ready`` once requests are answered."""
        self._socket.listen(2048)  # from here on a request waits rather than fails
        # uvicorn stops in order and then sends itself the signal again, for the handler from before; until it
        # has a handler of its own, a signal must not be lost
        before = {one: signal.signal(one, self._told_to_stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            if ready is not None:
                ready(self)
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._close()
            for one, handler in before.items():
                signal.signal(one, handler)

    def _told_to_stop(self, *_: object) -> None:
        self._uvicorn.should_exit = True

    def run_in_thread(self) -> None:
        """Serve from a thread, and return once requests are answered."""
        self._thread = threading.Thread(target=self._uvicorn.run, args=([self._socket],), daemon=True)
        self._thread.start()
        for _ in range(2000):
            if self._uvicorn.started:
                return
            if not self._thread.is_alive():
                break
            time.sleep(0.005)
        self._close()
        raise PrefjudgeError("the marketplace did not start", "Check that the address is free.")

    def stop(self) -> None:
        """Finish the requests under way, and stop."""
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=30)
            self._thread = None
        self._close()

    def _close(self) -> None:
        self.state.executor.close()
        self.marketplace.close()
        self._socket.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    store_url: str,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    sandbox: bool = True,
    clock: Clock = time.time,
    rules: Rules | None = None,
    settings: Settings | None = None,
) -> Server:
    """Start a marketplace in a thread of this program."""
    server = Server(
        store_url, settings or Settings(host=host, port=port), sandbox=sandbox, clock=clock, rules=rules
    )
    server.run_in_thread()
    return server


def serve(
    store_url: str,
    settings: Settings,
    *,
    sandbox: bool = True,
    keep_days: int | None = None,
    ready: Callable[[Server], None] | None = None,
) -> None:
    """Serve a marketplace until the program is told to stop.

    ``ready`` is called with the server, which knows its addresses, once requests are answered. After
    ``keep_days`` without work people are forgotten. The environment variables ``PREFJUDGE_PUBLIC_URL`` and
    ``PREFJUDGE_PLAIN_HTTP=1`` stand for what the settings leave out.
    """
    settings = replace(
        settings,
        public_url=settings.public_url or os.environ.get("PREFJUDGE_PUBLIC_URL") or None,
        plain_http=settings.plain_http or os.environ.get("PREFJUDGE_PLAIN_HTTP") == "1",
    )
    server = Server(store_url, settings, sandbox=sandbox, rules=Rules(keep_days=keep_days))
    log_to_stderr()
    _warn_of_panels(server)
    server.run(ready)


def _warn_of_panels(server: Server) -> None:
    with server.marketplace.transaction(write=False) as tx:
        for panel in panels.every(tx):
            if panel.closed is None and not panel.vouched:
                _LOG.warning(
                    "panel %s: each name that is typed into its link is a new worker; let people in only by"
                    " signed links, or confirm them, at %s/panels/%s",
                    panel.panel,
                    server.admin,
                    panel.panel,
                )


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _own_name() -> str:
    """Return this machine's address in its network; nothing is sent to find it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.connect(("192.0.2.1", 9))
            return str(asked.getsockname()[0])
    except OSError:  # there is no network
        return socket.gethostname()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only on sockets with an explicit protocol
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise PrefjudgeError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}",
            "Another program may listen there. Name another port (--port); 0 finds a free one.",
        ) from error
    return listening


def _admin_token(store_url: str, marketplace: Marketplace) -> str:
    """Return the admin's token, and leave it where the owner finds it."""
    token = marketplace.admin_token
    if store_url.startswith("sqlite:///"):
        path = Path(store_url.removeprefix("sqlite:///") + ".admin-token")
        if not path.exists() or path.read_text() != token:
            temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(token)
            temporary.replace(path)
    return token


# Log lines as JSON objects, one a line, for programs that gather them.


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: time, level, logger, message, and the fields given as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr() -> None:
    """Send the log of the marketplace and its web server to stderr; to a terminal only what is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    requests = logging.WARNING if sys.stderr.isatty() else logging.INFO
    levels = {
        "prefjudge.marketplace": requests,
        "uvicorn.error": logging.WARNING,
        "python_multipart": logging.ERROR,  # no warnings of malformed forms: their sender is told
    }
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
        logger.propagate = False

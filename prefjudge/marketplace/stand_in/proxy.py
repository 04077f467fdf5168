"""A proxy on this machine that leads Amazon's MTurk host, and SNS', to a marketplace, and leads nowhere else.

A program that is told to use it (``HTTPS_PROXY``) asks for a tunnel to Amazon's host (``CONNECT``), shakes
hands with a certificate of the authority that it was told to trust (``AWS_CA_BUNDLE``), and speaks with the
marketplace. Requests pass unchanged, so that their signatures hold.
"""

import asyncio
import logging
import re
import ssl
import threading
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from prefjudge.errors import PrefjudgeError
from prefjudge.marketplace.stand_in.settings import StandInSettings

T = TypeVar("T")
LOOPBACK = "127.0.0.1"
"""The only address that the proxy ever listens at."""
_LOG = logging.getLogger("prefjudge.marketplace.stand_in")
_LONGEST_HEAD = 8192
_PATIENCE = 20.0
"""Seconds for a request for a tunnel, and for a handshake."""
_MOST_TUNNELS = 256
_CHUNK = 65536

_UNUSUAL = re.compile(r"[^A-Za-z0-9.:/\[\]-]")
"""In the name of a host; a line break among it would split the answer."""


class Proxy:
    """A running proxy.

    Parameters
    ----------
    settings : StandInSettings
        Amazon's hosts, and where to listen.
    contexts : mapping
        What answers as each of them.
    marketplace : str
        The marketplace's address on this machine.
    certificate_file : Path
        What programs have to trust.

    Attributes
    ----------
    address : str
        What ``HTTPS_PROXY`` has to be.

    Raises
    ------
    PrefjudgeError
        The port is taken.
    """

    def __init__(
        self,
        settings: StandInSettings,
        contexts: Mapping[str, ssl.SSLContext],
        marketplace: str,
        certificate_file: Path,
    ) -> None:
        self.host = settings.host
        self.certificate_file = certificate_file
        self._contexts = {f"{host}:443": context for host, context in contexts.items()}
        there = urlsplit(marketplace)
        self._there = (there.hostname or LOOPBACK, there.port or 80)
        self._tunnels: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()  # in its own thread, as the caller's may have a loop already
        self._thread = threading.Thread(target=self._loop.run_forever, name="stand-in", daemon=True)
        self._thread.start()
        try:
            server = self._run(
                asyncio.start_server(self._serve, LOOPBACK, settings.port, limit=_LONGEST_HEAD)
            )
        except OSError as error:
            self._end()
            raise PrefjudgeError(
                f"the stand-in cannot listen on {LOOPBACK}:{settings.port}: {error}",
                "Give another --stand-in-port; 0 finds a free one.",
            ) from error
        self._server = server
        self.address = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """Close the tunnels, and stop to listen."""
        self._run(self._close())
        self._end()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for tunnel in self._tunnels:
            tunnel.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)
        for _ in range(3):  # what was aborted is closed in the next rounds of the loop
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tunnels.add(task)
        try:
            try:
                await self._tunnel(reader, writer)
            except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError) as error:
                _LOG.info("a tunnel ended: %s", type(error).__name__)
            writer.close()
            with suppress(OSError, ssl.SSLError):
                await writer.wait_closed()  # TLS waits for the client's goodbye
        except BaseException:  # such as the end of the loop
            writer.transport.abort()
            raise
        finally:
            self._tunnels.discard(task)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = _asked(await _read_head(reader))
        context = self._contexts.get(asked.lower().removeprefix("connect "))
        if context is None or not asked.startswith("CONNECT "):
            refused = self._refusal(asked)
            _LOG.warning("refused: %s", refused)  # boto3 says no more than that the proxy failed
            await _answer(writer, 403, refused)
            return
        if len(self._tunnels) > _MOST_TUNNELS:
            await _answer(writer, 503, f"there are {_MOST_TUNNELS} connections already")
            return
        try:
            there = await asyncio.open_connection(*self._there)
        except OSError:
            await _answer(writer, 502, "the marketplace does not answer")
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await writer.start_tls(context, ssl_handshake_timeout=_PATIENCE)
            await _first_of(_pump(reader, there[1]), _pump(there[0], writer))
        finally:
            there[1].close()

    def _refusal(self, asked: str) -> str:
        """Return why a request is refused."""
        name = _UNUSUAL.sub("", asked.partition(" ")[2])[:100] or "nothing"
        return f"this proxy leads to {' and '.join(self._contexts)} only, and {name} was asked for"


def _asked(head: bytes) -> str:
    """Return the verb and the target of a request's first line, or what there is of them."""
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    return " ".join(words[:2]) if len(words) == 3 else f" {words[1] if len(words) > 1 else ''}"


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    """Return the lines up to the empty one; what is too long or too slow has no head."""
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
    except asyncio.LimitOverrunError:
        return b""


async def _answer(writer: asyncio.StreamWriter, status: int, why: str) -> None:
    # the reason stands in the status line too: it is what programs show of a proxy's refusal
    head = f"HTTP/1.1 {status} {why}\r\nContent-Type: text/plain\r\nContent-Length: {len(why) + 1}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n{why}\n".encode())
    await writer.drain()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        sink.write(data)
        await sink.drain()


async def _first_of(*flows: Awaitable[None]) -> None:
    """Run two flows until one of them ends: a side that has hung up gets and sends nothing more."""
    tasks = [asyncio.ensure_future(flow) for flow in flows]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()

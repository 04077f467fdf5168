"""Calls servers elsewhere: there is an end to how long they may take and to how much they may say."""

import contextlib
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, urlsplit

TIMEOUT = 10.0
"""Seconds for a whole call, whatever happens in it."""
_TLS = ssl.create_default_context()


def call(
    method: str, address: str, body: bytes, headers: Mapping[str, str], *, inside: bool, largest: int = 0
) -> tuple[int, bytes]:
    """Ask an address, and return the HTTP status and what was said; a redirect is not followed.

    Parameters
    ----------
    method : str
        The verb of HTTP.
    address : str
        Where: http or https.
    body : bytes
        What is sent.
    headers : mapping
        What is sent before it.
    inside : bool
        Whether the name may resolve to an address of this machine or of its network.
    largest : int
        The most bytes of the answer; with 0 it is not read.

    Raises
    ------
    OSError
        Nobody answers in time, or not by HTTP, or says too much, or the name resolves to an address inside.
    """
    deadline = time.monotonic() + TIMEOUT
    try:
        there = urlsplit(address)
        connection = HTTPConnection(there.netloc.rpartition("@")[2])
        with _connect(there, deadline, inside=inside) as connection.sock:
            # the socket's own timeout restarts with each byte that comes; this one does not
            alarm = threading.Timer(_left(deadline), _hang_up, [connection.sock])
            alarm.start()
            try:
                path = f"{there.path or '/'}?{there.query}" if there.query else there.path or "/"
                connection.request(method, path, body or None, {**headers, "Connection": "close"})
                answer = connection.getresponse()
                said = answer.read(largest + 1) if largest else b""
                if largest and (len(said) > largest or answer.length):
                    raise OSError("the answer is too long, or broke off")
                return answer.status, said
            finally:
                alarm.cancel()
    except (HTTPException, ValueError) as error:
        raise OSError(f"no HTTP: {type(error).__name__}") from error


def is_outside(host: str) -> bool:
    """Tell whether an IP address is on the public Internet."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return address.is_global and not address.is_multicast


def _connect(there: SplitResult, deadline: float, *, inside: bool) -> socket.socket:
    """Connect to the address that was checked: the name may resolve to another one the next time."""
    host, secure = there.hostname or "", there.scheme == "https"
    found = socket.getaddrinfo(host, there.port or (443 if secure else 80), type=socket.SOCK_STREAM)
    problem = OSError(f"{host} is inside this marketplace's network")
    for *_, place in found:
        if not inside and not is_outside(str(place[0])):
            continue
        try:
            plain = socket.create_connection((str(place[0]), int(place[1])), _left(deadline))
            plain.settimeout(_left(deadline))
            return _TLS.wrap_socket(plain, server_hostname=host) if secure else plain
        except OSError as error:
            problem = error
    raise problem


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)

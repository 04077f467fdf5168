"""Webhooks: the addresses to which requesters have their notifications posted."""

import contextlib
import ipaddress
import socket
import ssl
import threading
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, urlsplit

TIMEOUT = 10.0
_INSIDE_NAMES = ("localhost", "127.0.0.1", "::1")
_TLS = ssl.create_default_context()


def refusal(address: str, *, inside: bool) -> str:
    """Return what is wrong with an address, or nothing.

    ``inside`` allows addresses of this machine and its network, and clear text to this machine. It is for a
    marketplace that only this machine can reach: any other would let strangers send requests into its
    network (server-side request forgery).
    """
    try:
        hook = urlsplit(address)
        host, _ = hook.hostname or "", hook.port
        host.encode("idna")
    except ValueError:
        return "is not an address"
    if address.startswith("arn:") or host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return (
            "names a queue or topic of AWS, which this marketplace cannot reach: give an https address of"
            " your own, to which it posts the same JSON, signed, or a topic that was made here"
        )
    clear = hook.scheme == "http" and host in _INSIDE_NAMES and inside
    if not host or not (hook.scheme == "https" or clear):
        return "is not an https address: this marketplace posts signed notifications to one"
    if "@" in hook.netloc or not address.isascii() or not address.isprintable() or " " in address:
        return "has a user, a space or another character that is not allowed in it"
    if not inside and (host in _INSIDE_NAMES or (_is_literal(host) and not _is_outside(host))):
        return "is inside this marketplace's network"
    return ""


def post(address: str, body: bytes, headers: dict[str, str], *, inside: bool) -> int:
    """Post to an address and return the HTTP status; nothing else of the reply is read.

    Raises
    ------
    OSError
        Nobody answers in time, or not by HTTP, or the name resolves to an address inside.
    """
    hook, deadline = urlsplit(address), time.monotonic() + TIMEOUT
    connection = HTTPConnection(hook.netloc)
    try:
        with _connect(hook, deadline, inside=inside) as connection.sock:
            # the socket's own timeout restarts with each byte that comes; this one does not
            alarm = threading.Timer(_left(deadline), _hang_up, [connection.sock])
            alarm.start()
            try:
                path = f"{hook.path or '/'}?{hook.query}" if hook.query else hook.path or "/"
                connection.request("POST", path, body, {**headers, "Connection": "close"})
                return connection.getresponse().status
            finally:
                alarm.cancel()
    except (HTTPException, ValueError) as error:
        raise OSError(f"no HTTP: {type(error).__name__}") from error


def _connect(hook: SplitResult, deadline: float, *, inside: bool) -> socket.socket:
    """Connect to the address that was checked: the name may resolve to another one the next time."""
    host, secure = hook.hostname or "", hook.scheme == "https"
    found = socket.getaddrinfo(host, hook.port or (443 if secure else 80), type=socket.SOCK_STREAM)
    problem = OSError(f"{host} is inside this marketplace's network")
    for *_, place in found:
        if not inside and not _is_outside(str(place[0])):
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


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_outside(host: str) -> bool:
    """Tell whether an IP address is on the public Internet."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return address.is_global and not address.is_multicast

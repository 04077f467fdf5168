"""A connection to a marketplace that stays open: one HTTP request goes out, one plain answer comes back.

Only a plain answer is read: the status 200, and a body of a length that is told. That takes a tenth of what a
whole HTTP client takes, and leaves to that client whatever else a server may say.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

_LONGEST_HEAD = 65_536
_READ = 262_144


@dataclass(frozen=True, slots=True)
class Answer:
    """A plain answer: its headers, by their names in small letters, and its body."""

    headers: Mapping[str, str]
    body: bytes


class Line:
    """One connection, made when it is needed; one thread uses it at a time.

    Parameters
    ----------
    host, port
        Where to connect.
    timeout : tuple of float
        Seconds to wait for a connection, and for each piece of an answer.
    """

    def __init__(self, host: str, port: int, *, timeout: tuple[float, float]) -> None:
        self._there = host, port
        self._timeout = timeout
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> Answer | None:
        """Send a request; None where no plain answer comes, whatever the server has done."""
        try:
            there = self._socket or self._connect()
            there.sendall(request)
            answer = _read(there)
        except (OSError, ValueError):
            self.close()
            return None
        except BaseException:  # interrupted: the rest of the answer must not be taken for the next one
            self.close()
            raise
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer

    def __del__(self) -> None:
        """Close the connection: a crowd is not closed, only forgotten."""
        self.close()

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        self._socket = socket.create_connection(self._there, self._timeout[0])
        self._socket.settimeout(self._timeout[1])
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket


def _read(there: socket.socket) -> Answer:
    """Read one answer.

    Raises
    ------
    OSError
        The connection failed, or ended before the answer did.
    ValueError
        It is not a plain one.
    """
    came = bytearray()
    while (end := came.find(b"\r\n\r\n")) < 0:
        if len(came) > _LONGEST_HEAD:
            raise ValueError("the head of the answer does not end")
        came += _more(there)
    status, *lines = came[:end].decode("latin-1").split("\r\n")
    if status.split(" ", 2)[:2] != ["HTTP/1.1", "200"]:
        raise ValueError(f"not a plain answer: {status}")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, text = line.partition(":")
        name, text = name.strip().lower(), text.strip()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    if "transfer-encoding" in headers or "content-encoding" in headers:
        raise ValueError("the body is encoded")
    if not headers.get("content-length", "").isdecimal():
        raise ValueError("the body has no length")
    length = int(headers["content-length"])
    body = came[end + 4 :]
    while len(body) < length:
        body += _more(there)
    if len(body) != length:
        raise ValueError("there is more than one answer")
    return Answer(headers, bytes(body))


def _more(there: socket.socket) -> bytes:
    if not (piece := there.recv(_READ)):
        raise OSError("the connection was closed")
    return piece

"""Objects of a store or of a web server: their addresses, and how they are read as a stream."""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from io import RawIOBase
from math import inf
from os import fspath
from pathlib import Path
from typing import Any, TypeVar

from prefjudge.errors import InputError
from prefjudge.reading.files import ahead

A = TypeVar("A")
T = TypeVar("T")

_ADDRESS = re.compile(r"(?P<scheme>s3|gs|az|https?):/+(?P<rest>.+)", re.DOTALL | re.IGNORECASE)
"""One slash is enough: a path drops the other. It drops that of an empty folder name, too."""
_NAMED = re.compile(r"([^=/:?]*=)(.*)", re.DOTALL)
"""``NAME=address``, as label sets are given."""
_USER = re.compile(r"[^/?#]*@|[^/?#@:]*:(?!\d+(?:[/?#]|$))[^?#]*@")
"""A user and a password, in which an "@" or "/" may stand that should have been written as %40 or %2F."""
_LEFT_OUT = "?…"

_whole: dict[str, str] = {}
"""The whole address of each one that is shown in part."""


def is_remote(path: str | Path) -> bool:
    """Tell whether a path is the address of an object that is fetched."""
    return _ADDRESS.fullmatch(fspath(path)) is not None


def without_secrets(given: str) -> str:
    """Return an address, or ``NAME=address``, without user, password and query; other text as it is."""
    named = _NAMED.fullmatch(given)
    name, text = named.groups() if named and is_remote(named[2]) else ("", given)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return given
    scheme, rest = found["scheme"].lower(), found["rest"]
    if _LEFT_OUT in rest:  # it was shown before
        return f"{name}{scheme}://{rest}"
    whole = f"{scheme}://{rest}"
    place = _USER.sub("", rest, count=1) if _USER.match(rest) else rest
    if scheme not in ("s3", "gs"):  # their keys may hold a "?"
        place, query, _ = place.partition("?")
        place += _LEFT_OUT if query else ""
    short = plain = f"{scheme}://{place}"
    number = 1
    while _whole.get(short, whole) != whole and whole != short:
        number += 1
        short = f"{plain}({number})"
    if short != whole:
        _whole[short] = whole
    return name + short


def bare(path: str | Path) -> str:
    """Return a path without what an address may have behind a "?", so that it ends in the file's name."""
    return without_secrets(fspath(path)).partition("?")[0] if is_remote(path) else fspath(path)


def whole(path: str | Path) -> str:
    """Return the address that an object is fetched by."""
    address = without_secrets(fspath(path))
    found = _whole.get(address, address)
    if _LEFT_OUT in found:
        raise InputError(
            f"{address}: what follows the ? was not kept, since it may be a signature",
            "Give the whole address again.",
        )
    return found


def kept_addresses(paths: Iterable[str | Path]) -> dict[str, str]:
    """Return what is known of some paths beyond what is shown of them."""
    names = [fspath(path) for path in paths]
    return {name: _whole[name] for name in names if name in _whole}


def knowing(kept: Mapping[str, str], work: Callable[[A], T], thing: A) -> T:
    """Do work in a process that does not know yet what was kept of its addresses."""
    _whole.update(kept)
    return work(thing)


# Objects of a store or of a web server, read as a stream through fsspec.
#
# Faults pass: a cut connection, a busy server, a read that stands still. The stream then goes on where it
# stopped, a bounded number of times, unless the object has changed meanwhile; a web server sends again what
# was read. What a library says of an error may hold an address with its signature, so messages name the kind
# of error alone.

PATIENCE = 60.0
"""Seconds that a server may take for an answer or a range."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait after each fault in a row; after the last one the reading is given up."""
_CONNECT = 10.0
"""Seconds that a connection may take: nobody may be there."""
_SETTLED = 60.0
"""Seconds after an object's last change in which clocks may still not agree that it is over."""
_RANGES = (256 << 10, 1 << 20, 4 << 20)
"""Bytes of the first requests, and of all that follow: a look at the head is a small one."""
_PIECE = 256 << 10
_NEEDS = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "http": "aiohttp", "https": "aiohttp"}
_VERSIONS = ("ETag", "etag", "Content-MD5", "Digest")
_DATES = ("LastModified", "last_modified", "Last-Modified", "updated")


class RemoteFile(RawIOBase):
    """An object read from its start to its end; nothing is fetched before the first read."""

    def __init__(self, path: str | Path) -> None:
        self.name = without_secrets(fspath(path))
        self._pieces: Iterator[bytes] | None = None
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer as much as is at hand, and at the end nothing."""
        if self._pieces is None:
            self._pieces = ahead(_stream(self.name))
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        """Let go of the connection."""
        if not self.closed and self._pieces is not None:
            self._pieces.close()  # type: ignore[attr-defined]
        super().close()


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a server says of an object."""

    size: int | None
    """Its bytes, where they are known."""
    version: str
    """What tells whether it is still the same: ``etag:…``, else its size and date."""
    changed: float | None = None
    """When a web server says that it changed last, as the time since 1970 in seconds."""

    @property
    def has_etag(self) -> bool:
        """Whether the version is one that the server vouches for."""
        return self.version.startswith("etag:")

    @property
    def is_lasting(self) -> bool:
        """Whether the server gives this version to no other bytes there."""
        # A weak ETag may stand for several. That of many web servers is the second of the last change and the
        # size, so until that second has passed for everybody's clock, other bytes may get it, too.
        if not self.has_etag or self.version.startswith("etag:W/"):
            return False
        return self.changed is None or time.time() - self.changed > _SETTLED


def _version(info: Mapping[str, object]) -> str:
    for key in _VERSIONS:
        if tag := info.get(key):
            return "etag:" + str(tag).strip('"')
    return " ".join(str(info.get(key, "")) for key in ("size", *_DATES)).strip()


def _stream(name: str) -> Iterator[bytes]:
    """Yield an object's bytes; after a fault, from where it stopped."""
    info = info_of(name)
    at = faults = 0
    while True:
        try:
            pieces = _read_web(name, at) if name.startswith("http") else _read_store(name, at, info.size or 0)
            for piece in pieces:
                at += len(piece)
                yield piece
            break
        except InputError:
            raise
        except Exception as error:  # each library has errors of its own
            # A long object may see a fault now and then: what was read since earns another try.
            faults += 1
            fault = _fault(name, error)
            if fault is not None or faults > len(PAUSES) + at // _RANGES[-1]:
                raise fault or _given_up(name, error) from None
            time.sleep(PAUSES[min(faults, len(PAUSES)) - 1])
            _check_same(name, info)
    _check_same(name, info)
    if info.size not in (None, at):
        raise _changed(name)


def _read_store(name: str, at: int, size: int) -> Iterator[bytes]:
    """Yield the ranges of an object of a store from a place on."""
    files, place = _files(whole(name))
    asked = iter(_RANGES)
    while at < size:
        end = min(size, at + next(asked, _RANGES[-1]))
        piece: bytes = files.cat_file(place, start=at, end=end, timeout=PATIENCE)
        if len(piece) != end - at:
            raise ConnectionError("the range ended early")
        yield piece
        at = end


def _read_web(name: str, at: int) -> Iterator[bytes]:
    """Yield what a web server sends, without the bytes that were read before."""
    # A server may pack what it sends on its own account. It comes as it is: our reader unpacks gzip as that
    # of any file, and notices where it ends early.
    files, place = _files(whole(name))
    with files.open(place, block_size=0, size=1, headers={"Accept-Encoding": "identity"}) as file:
        packed = file.r.headers.get("Content-Encoding", "identity").lower()
        if packed not in ("", "identity", "gzip", "x-gzip"):
            raise InputError(
                f"{name} is sent packed as {packed}, which is not read", "Fetch it, and read that."
            )
        while piece := file.read(_PIECE):
            if len(piece) > at:
                yield piece[at:]
            at = max(0, at - len(piece))


def matching(pattern: str) -> list[str]:
    """Return the addresses of the objects of a store that a pattern matches: only ``*`` stands for others."""
    files, place = _files(whole(pattern))
    literal = "".join(f"[{letter}]" if letter in "?[" else letter for letter in place)
    found = _asked(pattern, lambda: files.glob(literal, timeout=PATIENCE))
    return [f"{pattern.partition('://')[0]}://{name}" for name in sorted(found)]


def info_of(path: str | Path) -> ObjectInfo:
    """Return what the server says of an object."""
    name = without_secrets(fspath(path))
    files, place = _files(whole(name))
    found: Mapping[str, object] = _asked(name, lambda: files.info(place, timeout=PATIENCE))
    if found.get("type") == "directory":
        raise InputError(
            f"{name} is a folder, not an object", "Name the objects in it, with * for parts of their names."
        )
    size = found.get("size")
    return ObjectInfo(
        size=int(str(size)) if size is not None else None,
        version=_version(found),
        changed=_seconds(str(date)) if (date := found.get("Last-Modified")) else None,
    )


def _seconds(date: str) -> float:
    """Return a date of HTTP in seconds since 1970; one that cannot be read has not come yet."""
    with suppress(ValueError, OverflowError):
        return float(timegm(time.strptime(date, "%a, %d %b %Y %H:%M:%S GMT")))
    return inf


def _asked(name: str, question: Callable[[], T]) -> T:
    """Return a server's answer, asked again after faults that may pass."""
    for pause in PAUSES:
        try:
            return question()
        except Exception as error:  # each library has errors of its own
            if fault := _fault(name, error):
                raise fault from None
        time.sleep(pause)
    try:
        return question()
    except Exception as error:
        raise _fault(name, error) or _given_up(name, error) from None


def _check_same(name: str, info: ObjectInfo) -> None:
    if info_of(name).version != info.version:
        raise _changed(name)


def _changed(name: str) -> InputError:
    return InputError(f"{name} changed while it was read", "Wait until it is written, and try again.")


def _given_up(name: str, error: Exception) -> InputError:
    error = _cause(name, error)
    status = _status(error)
    what = f"status {status}" if status else type(error).__name__
    return InputError(
        f"{name} cannot be read, even after {len(PAUSES)} more tries: {what}",
        "Check the network and the address, and try again.",
    )


def _fault(name: str, error: Exception) -> InputError | None:
    """Return what to say of an error that stays; None for one that may pass."""
    error = _cause(name, error)
    status = _status(error)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return InputError(f"{name}: there is no such object", "Check the address.")
    if isinstance(error, PermissionError) or "Credentials" in type(error).__name__ or status in (401, 403):
        return InputError(
            f"{name}: access is refused",
            "Sign in as the store's own tools do (for s3: AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY). A signed address may have expired.",
        )
    if isinstance(error, ValueError | TypeError) or (400 <= status < 500 and status not in (408, 429)):
        what = f"status {status}" if status else type(error).__name__
        return InputError(f"{name} cannot be read: {what}", "Check the address.")
    return None


def _cause(name: str, error: Exception) -> Exception:
    """Return what went wrong: fsspec says of a web server's every failure that there is no file."""
    if name.startswith("http") and isinstance(error, FileNotFoundError):
        return error.__cause__ if isinstance(error.__cause__, Exception) else error
    return error


def _status(error: Exception) -> int:
    """Return the status of an answer, 0 where there was none."""
    status = getattr(error, "status", 0)
    return status if isinstance(status, int) else 0


def _files(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the object's place in it."""
    scheme = address.partition(":")[0]
    try:
        files = _file_system(scheme, PATIENCE)
    except ImportError:
        raise InputError(
            f"{without_secrets(address)}: {scheme}:// needs the package {_NEEDS[scheme]}",
            "Install it: pip install 'prefjudge[remote]'",
        ) from None
    return files, address if scheme.startswith("http") else address.partition("://")[2]


@lru_cache
def _file_system(scheme: str, patience: float) -> Any:
    import fsspec

    import_module(_NEEDS[scheme])
    options: dict[str, object] = {"use_listings_cache": False}
    if scheme.startswith("http"):
        from aiohttp import ClientTimeout

        options["client_kwargs"] = {
            "auto_decompress": False,
            "timeout": ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=patience),
        }
    if scheme == "s3":
        options["config_kwargs"] = {
            "connect_timeout": _CONNECT,
            "read_timeout": patience,
            "retries": {"max_attempts": 1},
        }
    files = fsspec.filesystem(scheme, **options)
    if scheme == "s3":
        files.retries = 1  # tries are counted here, once
    return files

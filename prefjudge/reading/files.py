"""Files: their names and addresses, what is wrong in them, and how they are written whole or not at all."""

from __future__ import annotations

import os
import re
import time
from calendar import timegm
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from io import RawIOBase
from math import inf
from os import fspath
from pathlib import Path
from shutil import rmtree
from struct import unpack
from typing import Any, BinaryIO, TypeVar
from zlib import crc32

from prefjudge.errors import InputError
from prefjudge.words import many

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
    """Return the address that an object is fetched by.

    Raises
    ------
    InputError
        A part of it was left out, and is not known here.
    """
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


# Reading ahead: the next block is made ready while the last one is looked at.


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator yields; from the third item on, a thread makes the next one meanwhile."""
    end = object()
    for _ in range(2):  # what is small needs no thread
        if (item := next(items, end)) is end:
            return
        yield item  # type: ignore[misc]
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item  # type: ignore[misc]


# Atomic writing: a file is there whole, or as it was before.

try:
    import fcntl
except ImportError:  # Windows, where nobody can tell whether a file is still written
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None

_DEVICES = ("/dev", "/dev/fd")
"""Where a name such as ``stdout`` or ``null`` is everybody's: a superuser's file would take its place."""


@contextmanager
def atomic_write(path: str | Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes the place of ``path`` when the block ends without an error.

    The bytes go to a temporary file in the same folder, which is made where it is missing, and are on disk
    (``durable``) before the file gets its name. What a killed program left of an earlier one is removed. A
    name that ends in ``.gz`` is compressed, without a time stamp, so that the same content gives the same
    bytes.

    Raises
    ------
    InputError
        The file cannot be written there, or has no name of its own: a folder, a device, a pipe, or ``-``.
    """
    target = Path(path)
    if target.name == "-" or str(target.absolute().parent) in _DEVICES:
        raise InputError(f"{path}: a file, and not the standard output, is written", "Give a file's name.")
    try:
        if target.is_dir():
            raise InputError(f"{path} is a folder", "Give the name of a file in it.")
        if target.exists() and not target.is_file():
            raise InputError(
                f"{path} is a pipe or a device, which is not replaced by a file", "Give a file's name."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target)
        name, handle, held = _new_part(target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "choose another folder") from error
    try:
        with open(name, "wb", opener=lambda *_: handle) as file:  # which knows its name
            if target.suffix == ".gz":
                from gzip import GzipFile

                with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        try:
            os.replace(name, target)  # noqa: PTH105
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}", "Give another name.") from error
        if durable:
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise
    finally:
        if held is not None:
            os.close(held)


def _new_part(target: Path) -> tuple[str, int, int | None]:
    """Make a temporary file beside a file; return its name, and two handles: one writes, one has the lock."""
    name = part_of(target)
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    if fcntl is None:
        return name, handle, None
    held = os.dup(handle)
    return locked(name, held), handle, held


def part_of(target: Path) -> str:
    """Return a temporary name beside a file or a folder."""
    return str(target.parent / f".{target.name}.{os.urandom(6).hex()}.part")


def lock(handle: int) -> None:
    """Lock what a handle is of; `OSError` where somebody holds it, or where there are no locks."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def locked(name: str, handle: int) -> str:
    """Lock what has a temporary name; return the name that it has then.

    The lock, which the system lets go of when a program is killed, tells others that somebody writes. Only
    once it is held does the name say on which machine that is: so others never meet what is not locked yet,
    or cannot be.
    """
    with suppress(OSError):  # a file system without locks
        lock(handle)
        locked_name = f"{name.removesuffix('.part')}.{machine()}.part"
        os.rename(name, locked_name)  # noqa: PTH104
        return locked_name
    return name


def _remove_left(target: Path) -> None:
    """Remove the temporary files of killed programs: those that nobody holds."""
    if fcntl is None:
        return
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.{machine()}\.part")
    for name in _parts_in(target.absolute().parent):
        if pattern.fullmatch(os.path.basename(name)):  # noqa: PTH119
            # To read alone would wait for a pipe, and NFS locks only what is written.
            with suppress(OSError), open(name, "r+b") as file:  # noqa: PTH123
                lock(file.fileno())
                os.unlink(name)  # noqa: PTH108


@cache
def _parts_in(folder: Path) -> tuple[str, ...]:
    """Return the temporary files of a folder, as this program first met it: it may write thousands there."""
    with suppress(OSError), os.scandir(folder) as entries:  # one may be written in, and not listed
        return tuple(entry.path for entry in entries if entry.name.endswith(".part"))
    return ()


def machine() -> str:
    """Return this machine's name, shortened: some file systems' locks are not seen on others."""
    return f"{crc32(os.fsencode(os.uname().nodename)):08x}"


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically; surrogates from odd bytes become those bytes again."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def sync_folder(folder: Path) -> None:
    """Have a folder's names on disk."""
    with suppress(OSError):  # a file system without folders to sync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Atomic folders: for programs that write many files where one path is given, as Spark does.


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Make an empty folder to fill; it takes the place of ``path`` when the block ends without an error.

    A folder cannot be replaced in one step. What was there is set aside for a moment; should the program be
    killed in it, the next one that writes there puts it back. What killed programs left is removed.

    Raises
    ------
    InputError
        The folder cannot be written there.
    """
    target = Path(path)
    held = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_folders(target)
        name = part_of(target)
        os.mkdir(name)  # noqa: PTH102
        if CAN_LOCK:
            held = os.open(name, os.O_RDONLY)
            name = locked(name, held)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "choose another folder") from error
    aside = _aside(name)
    try:
        yield Path(name)
        try:
            with suppress(FileNotFoundError):
                os.rename(target, aside)  # noqa: PTH104
            os.rename(name, target)  # noqa: PTH104
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}", "Give another name.") from error
    finally:
        _put_back(aside, target)
        _remove(name)
        _remove(aside)
        if held is not None:
            os.close(held)


def _aside(part: str) -> str:
    return f"{part.removesuffix('.part')}.old"


def _put_back(aside: str, target: Path) -> None:
    if os.path.lexists(aside) and not os.path.lexists(target):
        os.rename(aside, target)  # noqa: PTH104


def _remove(name: str) -> None:
    """Remove a folder, or what was a file; or nothing."""
    with suppress(OSError):
        os.unlink(name)  # noqa: PTH108
    rmtree(name, ignore_errors=True)


def _remove_left_folders(target: Path) -> None:
    """Remove what killed programs left: folders that nobody holds, and what they had set aside."""
    if not CAN_LOCK:
        return
    pattern = re.compile(rf"(\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.{machine()})\.(part|old)")
    with suppress(OSError):  # a folder may be written in, and not listed
        for stem in {found[1] for name in os.listdir(target.parent) if (found := pattern.fullmatch(name))}:  # noqa: PTH208
            part, aside = (str(target.parent / f"{stem}.{kind}") for kind in ("part", "old"))
            if not os.path.lexists(part):
                _remove(aside)
            elif os.path.isdir(part):  # noqa: PTH112
                handle = os.open(part, os.O_RDONLY)
                with suppress(OSError):
                    lock(handle)
                    _put_back(aside, target)
                    _remove(part)
                    _remove(aside)
                os.close(handle)


# How files may be compressed.

COMPRESSIONS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
}
"""The usual suffix of each form of compression, and the bytes with which such a file starts."""

_SKIPPED = 0x184D2A5
"""The upper bits of the magic number of a frame of zstd that holds no text: pzstd starts with one."""


def is_skipped(head: bytes) -> bool:
    """Return whether a frame starts that holds no text, such as a seek table."""
    return len(head) >= 4 and int.from_bytes(head[:4], "little") >> 4 == _SKIPPED


def compression(head: bytes) -> str:
    """Return what the first bytes say: ``gz``, ``bz2``, ``zst``, ``lz4`` or nothing."""
    if is_skipped(head):
        return "zst"
    return next((kind for kind, start in COMPRESSIONS.items() if head.startswith(start)), "")


# Problems: what is wrong with a file, and where; notices: what is odd but can be read.

LIMIT = 20
"""How many problems of one file are collected before reading stops."""

_SHOWN = 120
_SURROGATES = re.compile("[\ud800-\udfff]")
"""What `decode` makes of bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something odd that a reader met and dealt with: ``where`` is ``file`` or ``file:line``."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def decode(raw: bytes) -> str:
    """Return the bytes of an id as text; bytes that are not UTF-8 survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` made ``text`` of."""
    return text.encode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """Return whether an id was UTF-8: SQL and Parquet take no other."""
    return not _SURROGATES.search(name)


def column(text: str) -> bytes:
    """Return an id as a column of a file holds it; an id with a blank would break the columns."""
    raw = encode(text)
    if not raw or raw.split() != [raw]:
        raise InputError(
            f"the id {text!r} holds a blank", "Replace the blanks: ids in these files are single words."
        )
    return raw


def shown(raw: bytes) -> str:
    """Return offending text as an error shows it: quoted, printable, not too long."""
    text = repr(raw[: _SHOWN + 1].decode("utf-8", "backslashreplace"))
    return text if len(raw) <= _SHOWN else text[:_SHOWN] + "…'"


_ALIKE: dict[str, Callable[[str], str]] = {
    "leading zeros": lambda name: name.lstrip("0") or "0",
    "a decimal point, as tables write whole numbers": lambda name: name.removesuffix(".0"),
    "capital letters": str.casefold,
    "quotation marks": lambda name: name.strip("\"'"),
}
"""How ids of one thing may differ in two files, and what makes them the same."""


def way_of_writing(names: Iterable[str], others: Collection[str]) -> str:
    """Return in what ids differ that never meet those of another file; empty where nothing tells."""
    names = list(names)
    for what, plain in _ALIKE.items():
        if not {*map(plain, names)}.isdisjoint(map(plain, others)):
            return what
    return ""


def write_alike(kind: str, names: Iterable[str], others: Collection[str], files: str) -> str:
    """Return what to do where no id of one file is in another: a ``query_id``, of ``files`` such as runs."""
    if what := way_of_writing(names, others):
        return f"Write the {kind}s alike: they differ in {what}."
    return f"Give {files} of the same collection, which write the {kind} alike."


class Stop(Exception):  # noqa: N818 - control flow inside this room
    """Enough problems were found."""


@dataclass(slots=True)
class Problems:
    """Collects the problems of one file and raises them together.

    Parameters
    ----------
    path : str
        The file, as the user named it.
    kind : str
        What the file should be: ``run``, ``qrels``.
    limit : int
        After this many problems `add` raises `Stop`.
    """

    path: str
    kind: str
    limit: int = LIMIT
    found: list[tuple[int, int, str]] = field(default_factory=list)
    hints: dict[str, None] = field(default_factory=dict)

    def add(self, line: int, column: int, what: str, raw: bytes, hint: str) -> None:
        """Record one problem at ``line`` and ``column``, both from 1."""
        self.found.append((line, column, f"{self.path}:{line}:{column}: {what}: {shown(raw)}"))
        self.hints[hint] = None
        if len(self.found) >= self.limit:
            raise Stop

    def error(self) -> InputError:
        """Return the problems as one error, in the order of the lines."""
        lines = [text for _, _, text in sorted(self.found)]
        count = len(lines)
        first = "the first " if count >= self.limit else ""
        return InputError(
            f"{self.path} is not a readable {self.kind} ({first}{many(count, 'problem')}):",
            "\n".join(self.hints),
            lines,
        )

    def check(self) -> None:
        """Raise what was found, if anything was."""
        if self.found:
            raise self.error()


def paths_of(paths: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """Return one path or several as a tuple of strings."""
    if isinstance(paths, str | Path):
        return (fspath(paths),)
    return tuple(fspath(path) for path in paths)


# Objects of a store or of a web server, read as a stream through fsspec.
#
# Faults pass: a cut connection, a busy server, a read that stands still. The stream then goes on where it
# stopped, a bounded number of times, unless the object has changed meanwhile. What a library says of an
# error may hold an address with its signature, so messages name the kind of error alone.

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
_SLOWEST = 1 << 10
"""Bytes a second that a web server must send: one that sends a byte now and then is as good as silent."""
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


def version(path: str | Path) -> str:
    """Return what tells whether an object is still the same: ``etag:…``, else its size and date.

    Raises
    ------
    InputError
        It is gone, or nobody answers.
    """
    return _info(without_secrets(fspath(path))).version


def lasting_version(path: str | Path) -> str | None:
    """Return the version of an object, if its server gives it to no other bytes there; else None.

    A weak ETag may stand for several. That of many web servers is the second of the last change and the size,
    so until that second has passed for everybody's clock, other bytes may get it, too.

    Raises
    ------
    InputError
        As of `version`.
    """
    info = _info(without_secrets(fspath(path)))
    if not has_etag(info.version) or info.version.startswith("etag:W/"):
        return None
    return info.version if info.changed is None or time.time() - info.changed > _SETTLED else None


def size_of(path: str | Path) -> int:
    """Return how many bytes an object has, 0 where its server does not say; errors are those of `version`."""
    return _info(without_secrets(fspath(path))).size or 0


def has_etag(version: str) -> bool:
    """Tell whether a version is one that the server vouches for."""
    return version.startswith("etag:")


@dataclass(frozen=True, slots=True)
class _Info:
    """What a server says of an object: its size in bytes, where it is known, and which version it is."""

    size: int | None
    version: str
    changed: float | None = None
    """When a web server says that it changed last, as the time since 1970 in seconds."""


def _version(info: Mapping[str, object]) -> str:
    for key in _VERSIONS:
        if tag := info.get(key):
            return "etag:" + str(tag).strip('"')
    return " ".join(str(info.get(key, "")) for key in ("size", *_DATES)).strip()


def _stream(name: str) -> Iterator[bytes]:
    """Yield an object's bytes; after a fault, from where it stopped."""
    info = _info(name)
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
    """Yield what a web server sends from a place on; one that knows no ranges sends what was read again.

    A server may pack what it sends on its own account. It comes as it is: our reader unpacks gzip as that of
    any file, and notices where it ends early.
    """
    files, place = _files(whole(name))
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={at}-"} if at else {})}
    with files.open(place, block_size=0, size=1, headers=headers) as file:
        packed = file.r.headers.get("Content-Encoding", "identity").lower()
        if packed not in ("", "identity", "gzip", "x-gzip"):
            raise InputError(
                f"{name} is sent packed as {packed}, which is not read", "Fetch it, and read that."
            )
        part = file.r.headers.get("Content-Range", "") if file.r.status == 206 else ""
        if file.r.status == 206 and not part.startswith(f"bytes {at}-"):
            raise ConnectionError("another range than the one asked for")
        left = 0 if part else at
        since, got = time.monotonic(), 0
        while piece := file.read(_PIECE):
            if len(piece) > left:
                yield piece[left:]
            left = max(0, left - len(piece))
            got += len(piece)
            if (passed := time.monotonic() - since) > PATIENCE:
                if got < _SLOWEST * passed:
                    raise ConnectionError("too slow")
                since, got = time.monotonic(), 0


def matching(pattern: str) -> list[str]:
    """Return the addresses of the objects of a store that a pattern matches: only ``*`` stands for others.

    Raises
    ------
    InputError
        The store cannot be listed.
    """
    files, place = _files(whole(pattern))
    literal = "".join(f"[{letter}]" if letter in "?[" else letter for letter in place)
    found = _asked(pattern, lambda: files.glob(literal, timeout=PATIENCE))
    return [f"{pattern.partition('://')[0]}://{name}" for name in sorted(found)]


def _info(name: str) -> _Info:
    """Return what the server says of an object."""
    files, place = _files(whole(name))
    found: Mapping[str, object] = _asked(name, lambda: files.info(place, timeout=PATIENCE))
    if found.get("type") == "directory":
        raise InputError(
            f"{name} is a folder, not an object", "Name the objects in it, with * for parts of their names."
        )
    size = found.get("size")
    return _Info(
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


def _check_same(name: str, info: _Info) -> None:
    if _info(name).version != info.version:
        raise _changed(name)


def _changed(name: str) -> InputError:
    return InputError(f"{name} changed while it was read", "Wait until it is written, and try again.")


def _given_up(name: str, error: Exception) -> InputError:
    error = _cause(name, error)
    status = _status(error)
    what = f"status {status}" if status else type(error).__name__
    return InputError(
        f"{name} cannot be read, also after {len(PAUSES)} more tries: {what}",
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


# Signatures: what the first bytes of a file say that it is, where it is not lines of text in columns.
#
# Each says what it is and what to do. A format that gets a reader leaves this table.

_LINES = "not lines of columns"
_TEXT = "not UTF-8 text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A format that is not read here: its name, what a message says of it, and what to do (of ``{path}``)."""

    kind: str
    what: str
    way: str

    def words(self, path: str) -> tuple[str, str]:
        """Return what is wrong with a file, and what to do."""
        return f"{path}: {self.what}", self.way.format(path=path)


_VECTORS = "give the file of the texts that the vectors were made from"
_UTF16 = Foreign(
    kind="UTF-16",
    what=f"is UTF-16 text, {_TEXT}",
    way="convert it: iconv -f UTF-16 -t UTF-8 {path} > {path}.utf8",
)
PARQUET = Foreign(
    kind="parquet",
    what=f"is a Parquet file, {_TEXT}",
    way="call it NAME.parquet, or write it as text",
)
PACKED_PARQUET = Foreign(
    kind="parquet",
    what="is Parquet, compressed or through a pipe, and Parquet is read from its end",
    way="give the unpacked file, under its own name: it is compressed inside",
)
_BYTES = (
    (b"\xfd7zXZ", Foreign(kind="xz", what=f"is compressed with xz, {_TEXT}", way="unpack it: xz -d {path}")),
    (b"PK\x03\x04", Foreign(kind="zip", what=f"is a zip archive, {_TEXT}", way="unpack it: unzip {path}")),
    (b"7z\xbc\xaf", Foreign(kind="7z", what=f"is a 7z archive, {_TEXT}", way="unpack it: 7z x {path}")),
    (b"PAR1", PARQUET),
    (
        b"\x93NUMPY",
        Foreign(kind="vectors", what=f"holds vectors (NumPy's .npy), {_TEXT}", way=_VECTORS),
    ),
    (
        b"\x89HDF\r\n",
        Foreign(kind="HDF5", what=f"is an HDF5 file, as vectors are kept in, {_TEXT}", way=_VECTORS),
    ),
    (
        b"ARROW1",
        Foreign(
            kind="Arrow",
            what=f"is an Arrow (Feather) file, {_TEXT}",
            way="write it as Parquet: pandas.read_feather({path!r}).to_parquet('NAME.parquet')",
        ),
    ),
    (
        b"\x80\x04",
        Foreign(
            kind="pickle",
            what=f"is a Python pickle, which can run a program when it is read, {_TEXT}",
            way="write it as text in the program that made it",
        ),
    ),
    (
        b"%PDF-",
        Foreign(kind="pdf", what=f"is a PDF, {_TEXT}", way="name the file of data, not its description"),
    ),
    *(
        (
            begins,
            Foreign(kind="image", what=f"is a picture ({name}), {_TEXT}", way="name the file of data"),
        )
        for begins, name in ((b"\x89PNG\r\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"))
    ),
    (
        b"SQLite format 3\0",
        Foreign(
            kind="database",
            what=f"is an SQLite database, {_TEXT}",
            way="a study is named by its folder: prefjudge status STUDY",
        ),
    ),
    (b"\xff\xfe", _UTF16),
    (b"\xfe\xff", _UTF16),
)
_TAR = Foreign(kind="tar", what=f"is a tar archive, {_TEXT}", way="unpack it: tar xf {path}")
_RAW_VECTORS = Foreign(
    kind="vectors",
    what=f"holds vectors (.fbin, .fvecs and the like), {_TEXT}",
    way=_VECTORS,
)
_NUL = Foreign(
    kind="binary",
    what="holds NUL bytes, so it is not UTF-8 text",
    way="give a text file; if this is UTF-16 text, convert it: "
    "iconv -f UTF-16LE -t UTF-8 {path} > {path}.utf8",
)
_HTML = Foreign(
    kind="html",
    what=f"is an HTML page, {_LINES}",
    way="was a web page saved instead of the file? Download the file itself",
)
_POINTER = Foreign(
    kind="pointer",
    what="is a Git LFS pointer, not the file that it stands for",
    way="get the file: git lfs pull",
)
_TOPICS = Foreign(
    kind="topics",
    what=f"holds TREC topics (SGML or XML), {_LINES}",
    way="give it with --queries",
)
_DOCUMENTS = Foreign(
    kind="documents",
    what=f"holds TREC documents (SGML), {_LINES}",
    way="give it with --collection",
)
_MARKUP = (  # what stands behind the first "<", in lower case
    (re.compile(rb"<(!doctype\s+html|html|head)\b", re.IGNORECASE), _HTML),
    (re.compile(rb"<(top|topics?|queries|query|!ELEMENT\s+topic)\b", re.IGNORECASE), _TOPICS),
    (re.compile(rb"<docs?\b", re.IGNORECASE), _DOCUMENTS),
)
BEIR_QRELS = Foreign(
    kind="BEIR qrels",
    what="holds BEIR qrels, whose first line names the columns",
    way="give it with --qrels",
)
_JSON_RUN = Foreign(
    kind="JSON run",
    what=f"is a JSON object of queries with scores, as ranx and pytrec_eval keep runs, {_LINES}",
    way="call it NAME.json; or write it as text: in ranx, run.save('run.trec', kind='trec')",
)
_JSON_QRELS = Foreign(
    kind="JSON qrels",
    what=f"is a JSON object of queries with grades, as ranx and pytrec_eval keep qrels, {_LINES}",
    way="call it NAME.json; or write it as text: in ranx, qrels.save('qrels.trec', kind='trec')",
)
_ESCI = Foreign(
    kind="ESCI",
    what="is an ESCI judgment list: products, each with a label (E, S, C or I) for a query",
    way="write qrels: query_id 0 product_id grade, with E as 3, S as 2, C as 1 and I as 0",
)
_PRELS = Foreign(
    kind="prels",
    what="holds NIST's prels: judgments that were sampled, with the method and a probability",
    way="for the judged documents alone: awk '{{print $1, 0, $2, $3}}' {path} > {path}.qrels",
)
_RECORDS = Foreign(
    kind="JSON lines",
    what=f"holds JSON, as queries and collections may be, {_LINES}",
    way="give it with --queries or --collection, or write it as columns",
)
OF_TEXTS = (_TOPICS, _DOCUMENTS, _RECORDS)
"""What holds queries or a collection, in no columns."""
_VOTES = Foreign(
    kind="votes",
    what="holds votes: comparisons of two answers",
    way="make them part of a study: prefjudge import STUDY {path}",
)
_GOLD = Foreign(
    kind="gold pairs",
    what="holds gold pairs",
    way="give them to a study: prefjudge gold STUDY --accept --file {path}",
)
_SMART = Foreign(
    kind="SMART",
    what="is in SMART's form (.I, .T, .W), as Cranfield and CACM are given away",
    way="write each entry as a line: id, a tab, the text; or use irds:cranfield",
)
_KEYS_OF_VOTES = (
    (b'"winner"', b'"model_a"'),
    (b'"chosen"', b'"rejected"'),
    (b'"response_a"', b'"response_b"'),
    (b'"left"', b'"right"', b'"choice"'),
    (b'"annotations"', b'"result"'),
    (b'"instance_id_to_label_to_value"',),
)
"""What the first object of JSON names, where it is a vote: each of some."""
_BATCH = re.compile(rb'"?HITId"?,[^\n]*"?WorkerId"?,')
_OF_GOLD = re.compile(rb"query_id\tquery\t(good_id\tgood|good\tbad)\b")
_OF_ESCI = re.compile(rb"[^\n]*\bproduct_id\b[^\n]*\besci_label\b")
_OF_PRELS = re.compile(rb"\d+ +[^\s]*[A-Za-z][^\s]*[^\s]{8} +-?\d +\d +(0?\.\d+|1(\.0*)?)\s*\n")
_OF_SMART = re.compile(rb"\.I +\S+\s*\n\.[A-Z]\b")
_OF_QUERIES = re.compile(rb'\{\s*"[^"]*"\s*:\s*\{')
_FRACTION = re.compile(rb":\s*-?\d+(\.\d|[eE])")


def foreign_bytes(head: bytes) -> Foreign | None:
    """Return what a file is that is not UTF-8 text."""
    for magic, what in _BYTES:
        if head.startswith(magic) and (what is not _UTF16 or b"\0" in head):  # Latin-1 may begin so, too
            return what
    if head[257:262] == b"ustar":
        return _TAR
    if b"\0" not in head[:4096]:
        return None
    return _RAW_VECTORS if _of_vectors(head) else _NUL


def _of_vectors(head: bytes) -> bool:
    """Tell files of vectors: how many dimensions, or how many vectors and that, before floats near 0."""
    if len(head) < 72:
        return False
    first, second = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:8], "little")
    for dimensions, start in ((first, 4), (second, 8)):
        if 2 <= dimensions <= 1 << 14:
            numbers = unpack(f"<{min(dimensions, 16)}f", head[start : start + 4 * min(dimensions, 16)])
            if all(number == 0 or 1e-9 < abs(number) < 1e4 for number in numbers) and any(numbers):
                return True
    return False


def comparisons(head: bytes) -> Foreign | None:
    """Return what a file of pairs, or of BEIR's judgments, is: it might pass for texts."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if text.startswith((b"{", b"[")):
        return _VOTES if any(all(key in text for key in keys) for keys in _KEYS_OF_VOTES) else None
    if _BATCH.match(text):
        return _VOTES
    if _OF_GOLD.match(text):
        return _GOLD
    return BEIR_QRELS if text.lower().startswith(b"query-id\tcorpus-id") else None


def foreign_text(head: bytes) -> Foreign | None:
    """Return what a text is that holds neither columns nor, line by line, an id and a text."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if text.startswith(b"version https://git-lfs"):
        return _POINTER
    if _OF_ESCI.match(text):
        return _ESCI
    if _OF_SMART.match(text):
        return _SMART
    if text.startswith(b"<"):
        found = _markup(text)
        return None if found in (_TOPICS, _DOCUMENTS) else found
    return None


def _markup(text: bytes) -> Foreign | None:
    found = [(match.start(), what) for tag, what in _MARKUP if (match := tag.search(text))]
    return min(found, key=lambda one: one[0])[1] if found else None


def foreign_columns(head: bytes) -> Foreign | None:
    """Return what a text is that holds no columns, or others than files of runs, qrels and judgments."""
    if other := comparisons(head):
        return other
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if _OF_PRELS.match(text):
        return _PRELS
    if text.startswith(b"{"):
        if _OF_QUERIES.match(text):
            return _JSON_RUN if _FRACTION.search(text) else _JSON_QRELS
        return _RECORDS
    if text.startswith(b"["):
        return _RECORDS
    return foreign_text(head) or (_markup(text) if text.startswith(b"<") else None)

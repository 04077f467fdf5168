"""Atomic writing: a file is there whole, or as it was before."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from prefjudge.errors import InputError

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

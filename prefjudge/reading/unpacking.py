"""The bytes of a file as they were before it was packed: whole, in pieces, or in parts read side by side."""

from __future__ import annotations

import os
import sys
from bz2 import BZ2Decompressor
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import FileIO, RawIOBase
from itertools import chain, pairwise
from os import fspath, fstat
from pathlib import Path
from typing import BinaryIO, Protocol

from isal import igzip_lib
from zstandard import ZstdDecompressor

from prefjudge.errors import ConfigError, InputError
from prefjudge.reading.files import compression
from prefjudge.reading.remote import RemoteFile, info_of, is_remote

# Parts: stretches of one file, cut where the first word of a line changes, to be read side by side.

PART = 64 << 20
"""Bytes of a part, about: a file of less than two is not cut."""
_WORD = 1 << 10
"""Bytes in which the first word of a line must end."""
_LOOK = 1 << 16
"""Bytes that are looked at to find where a query ends."""
_MOST = 4 << 20
"""Bytes after which that search is given up: a file of so long queries has fewer, larger parts."""


class FilePart(str):
    """The path of a file of which a part is read: from ``start`` to ``end``."""

    start: int
    end: int

    def __new__(cls, path: str, start: int = 0, end: int = 0) -> FilePart:
        """Make the path of a part; pickle sets its places afterwards."""
        part = super().__new__(cls, path)
        part.start, part.end = start, end
        return part


class PartFile(RawIOBase):
    """The bytes of a part, read from a file that is open."""

    def __init__(self, file: BinaryIO, part: FilePart) -> None:
        self._file, self._left = file, part.end - part.start
        file.seek(part.start)

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, and at the end of the part none."""
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        if self._left and not piece:
            raise InputError("the file became shorter while it was read", "Wait until it is written.")
        self._left -= len(piece)
        return piece


def parts_of(path: str, size: int = PART) -> list[FilePart]:
    """Return the parts of a file, in which no query is cut as far as its lines stand together."""
    # None of a file that is small, or compressed, or no file.
    file = Path(path)
    if not file.is_file() or (whole := file.stat().st_size) < 2 * size:
        return []
    with file.open("rb", buffering=0) as opened:
        if compression(opened.read(8)):
            return []
        handle = opened.fileno()
        cuts = [_change_after(handle, place) for place in range(size, whole - size // 2, size)]
    places = sorted({0, *(cut for cut in cuts if cut is not None and cut < whole), whole})
    return [FilePart(path, start, end) for start, end in pairwise(places)] if len(places) > 2 else []


def _change_after(handle: int, place: int) -> int | None:
    """Return where, after a place in a plain file, a query starts; None where that is not to be found."""
    size = _LOOK
    while size <= _MOST:
        block = os.pread(handle, size, place)
        change = change_in(block)
        if change or change is None or len(block) < size:
            return place + change if change else None
        size *= 4
    return None


def change_in(block: bytes) -> int | None:
    """Return where the first word of a line differs from that of the line that starts next."""
    # 0 where no line of the block does; None where the lines are not those of a plain run.
    first = block.find(b"\n") + 1
    if not first or len(block) < first + _WORD:
        return 0
    words = block[first : first + _WORD].split(None, 1)
    # With the newline before it and the blank behind it: "q1" must not take in the lines of "q10".
    mark = b"\n" + block[first : first + len(words[0]) + 1] if len(words) > 1 else b""
    if len(mark) < 3 or mark[-1:] not in (b" ", b"\t"):
        return None
    last = first - 1
    while block.startswith(mark, last) and (after := block.find(b"\n", last + 1)) >= 0:
        last = after
    return last + 1 if last + len(mark) <= len(block) and not block.startswith(mark, last) else 0


_PIECE = 64 << 10
"""Bytes that are read at once: larger pieces would each be given fresh memory by the system."""
_PACKED_PIECE = 16 << 10
"""Bytes that are unpacked at once: what they become is small enough for the memory that is at hand."""


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def can_reread(path: str | Path) -> bool:
    """Tell whether a file can be read twice: a pipe cannot."""
    return is_remote(path) or Path(path).is_file()


def is_compressed(path: str | Path) -> bool:
    """Tell whether a file is unpacked while it is read; pipes are not looked into."""
    if not can_reread(path):
        return False
    with opened(path) as file:
        return bool(compression(file.read(8)))


def is_slow(path: str | Path) -> bool:
    """Tell whether a file is fetched or unpacked while it is read: other work can be done meanwhile."""
    return is_remote(path) or is_compressed(path)


def _new_inflater(kind: str) -> _Inflater:
    if kind == "gz":
        return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)  # type: ignore[no-any-return,unused-ignore]
    if kind == "bz2":
        return BZ2Decompressor()
    if kind == "lz4":
        return _lz4_inflater()
    return ZstdDecompressor().decompressobj()


def _lz4_inflater() -> _Inflater:
    try:
        from lz4.frame import LZ4FrameDecompressor
    except ImportError:
        raise ConfigError(
            "the file is compressed with LZ4, and the library that reads it is not installed",
            "Install it with the extra: pip install 'prefjudge[lz4]'",
        ) from None
    inflater: _Inflater = LZ4FrameDecompressor()
    return inflater


def _inflated(packed: Iterable[bytes], kind: str, path: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file that may hold several compressed members."""
    inflater = _new_inflater(kind)
    fresh = False  # True between members
    for piece in packed:
        while piece:
            if fresh:
                if not piece.strip(b"\0"):  # padding that tape tools leave behind
                    break
                inflater, fresh = _new_inflater(kind), False
            try:
                text = inflater.decompress(piece)
            except Exception as error:  # each library has errors of its own
                raise InputError(
                    f"{path}: the {kind} data is damaged: {error}", "Copy or download the file again."
                ) from error
            if text:
                yield text
            piece = inflater.unused_data if inflater.eof else b""
            fresh = inflater.eof
    if not fresh:
        raise InputError(
            f"{path}: the {kind} data ends before its end",
            "Copy or download it again: the copy is incomplete.",
        )


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file's raw bytes; a file that cannot be opened is an `InputError`."""
    name = fspath(path)
    if name == "-":
        yield sys.stdin.buffer
        return
    if is_remote(name):
        with RemoteFile(name) as remote:
            yield remote  # type: ignore[misc]
        return
    try:
        file = Path(name).open("rb", buffering=0)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise InputError(
            f"{name}: there is no such file", "Check the path; quote patterns like 'runs/*'."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder, not a file", f"Name the files in it: '{name}/*'") from None
    except OSError as error:
        raise InputError(f"{name} cannot be opened: {error.strerror}", "check its permissions") from error
    with file:
        yield PartFile(file, name) if isinstance(name, FilePart) else file  # type: ignore[misc]


def pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces of no fixed size."""
    name = fspath(path)
    with opened(path) as file:
        head = file.read(_PIECE)
        while 0 < len(head) < 8 and (more := file.read(_PIECE)):  # a pipe may start with a drop
            head += more
        kind = compression(head)
        if kind:
            first = (head[at : at + _PACKED_PIECE] for at in range(0, len(head), _PACKED_PIECE))
            rest = iter(partial(file.read, _PACKED_PIECE), b"")
            yield from _inflated(chain(first, rest), kind, name)
            return
        # packed data tells where it ends, and a part knows its length
        left = fstat(file.fileno()).st_size if isinstance(file, FileIO) else 0
        while head:
            left -= len(head)
            yield head
            head = file.read(_PIECE)
        if left > 0:
            raise InputError(
                f"{name}: the file became shorter while it was read", "Wait until it is written."
            )


# Digests: what a file held, in a few letters.

_DIGEST_PIECE = 1 << 20


def digest(path: str | Path) -> str:
    """Return ``sha256:`` and the SHA-256 of a file's bytes as they are stored."""
    # Of an object that is fetched it is ``etag:`` and what the server calls its version, if it does: else
    # every byte would be fetched again.
    if is_remote(path) and (found := info_of(path)).has_etag:
        return found.version
    with opened(path) as file:
        return _digest(iter(partial(file.read, _DIGEST_PIECE), b""))


def digest_of_content(path: str | Path) -> str:
    """Return the same of a file's unpacked bytes: a compressed copy has the digest of the original."""
    return _digest(pieces(path))


def _digest(stored: Iterable[bytes]) -> str:
    from hashlib import sha256  # and with it OpenSSL's digests: 4 MB

    state = sha256()
    for piece in stored:
        state.update(piece)
    return f"sha256:{state.hexdigest()}"

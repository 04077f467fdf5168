"""Blocks: the bytes of a file as blocks of whole lines, however it is compressed.

The first bytes of a file say what it is, not its name. ``-`` is standard input.
"""

import sys
from bz2 import BZ2Decompressor
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from io import BytesIO, FileIO, TextIOWrapper
from itertools import chain
from os import fspath, fstat
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from isal import igzip_lib
from zstandard import ZstdDecompressor

from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.addresses import is_remote
from prefjudge.formats.lines.compressions import compression
from prefjudge.formats.lines.datasets import dataset_lines, is_dataset
from prefjudge.formats.lines.line_ends import ALONE, has_lone_cr, with_newlines
from prefjudge.formats.lines.parts import FilePart, PackedPart, PartFile, stitched
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.lines.readers import has_reader, read_columns
from prefjudge.formats.lines.signatures import (
    BEIR_QRELS,
    PACKED_PARQUET,
    PARQUET,
    foreign_bytes,
    foreign_columns,
    foreign_text,
)

BLOCK = 1 << 20
"""Bytes of text in a block: columns of it stay in the cache of a processor core."""

LONGEST = 64 << 20
"""Bytes of the longest line, and of a text that is read whole: what is longer is not what it seems."""

_PIECE = 64 << 10
"""Bytes that are read at once: larger pieces would each be given fresh memory by the system."""
_PACKED_PIECE = 16 << 10
"""Bytes that are unpacked at once: what they become is small enough for the memory that is at hand."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file: the last byte is a newline. ``line`` is the number of the first, from 1."""

    data: bytes
    line: int


class Holds(Enum):
    """What the lines of a file hold, which says what may end them."""

    COLUMNS = auto()
    """Words: a CR alone ends a line."""
    QRELS = auto()
    """The same, where a first line may name the columns, as BEIR's does: it is read as a comment."""
    TEXTS = auto()
    """An id and a text, in which a CR may stand: it ends lines where nothing else does."""


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""
        ...


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


def _inflated(file: Readable, kind: str, path: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file that may hold several compressed members."""
    inflater = _new_inflater(kind)
    fresh = False  # True between members
    while piece := file.read(_PACKED_PIECE):
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
        from prefjudge.formats.lines.remote import RemoteFile

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
    if isinstance(name, PackedPart):
        whole = Path(name).stat().st_size
        own, beyond = FilePart(name, name.start, name.end), FilePart(name, name.end, whole)
        yield from stitched(pieces(own), pieces(beyond), first=name.start == 0)
        return
    with opened(path) as file:
        head = file.read(_PIECE)
        while 0 < len(head) < 8 and (more := file.read(_PIECE)):  # a pipe may start with a drop
            head += more
        kind = compression(head)
        if kind:
            yield from _inflated(_Rejoined(head, file), kind, name)
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


def columns(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file of columns, or those that a reader makes of another format."""
    if is_dataset(path):
        return dataset_lines(fspath(path), "scoreddocs")
    return read_columns(fspath(path), pieces(path)) if has_reader(path) else pieces(path)


class _Rejoined:
    """A file whose first bytes were already read."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int, /) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._file.read(size)


def _check_text(path: str, head: bytes, holds: Holds) -> None:
    """Refuse what its first bytes tell to be something else."""
    other = foreign_text(head) if holds is Holds.TEXTS else foreign_columns(head)
    if holds is Holds.QRELS and other is BEIR_QRELS:
        return
    if found := foreign_bytes(head) or other:
        is_packed = found is PARQUET and (holds is Holds.TEXTS or is_compressed(path))
        raise InputError(*(PACKED_PARQUET if is_packed else found).words(path))


def read_text(path: str | Path) -> str:
    """Return a small file whole, without a byte order mark, and with a newline alone at the end of a line.

    Raises
    ------
    InputError
        It cannot be read, or is not UTF-8.
    """
    whole = BytesIO(b"".join(pieces(path)))
    try:
        return TextIOWrapper(whole, encoding="utf-8-sig").read()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None


def count_lines(data: bytes) -> int:
    """Return the number of newlines."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def blocks(path: str | Path, holds: Holds, *, notices: list[Notice] | None = None) -> Iterator[Block]:
    """Yield what `whole_lines` yields, with the number of the first line."""
    line = 1
    for data in whole_lines(path, holds, notices=notices):
        yield Block(data, line)
        line += count_lines(data)


def whole_lines(
    path: str | Path, holds: Holds, *, size: int = BLOCK, notices: list[Notice] | None = None
) -> Iterator[bytes]:
    """Yield a text file as whole lines of about ``size`` bytes together, at least one.

    A byte order mark is dropped and noticed; so is a CR that ends a line alone, which becomes an LF. A file
    without any byte yields nothing.
    """
    kept: list[bytes] = []
    held = done = 0
    for piece in _text_pieces(fspath(path), holds, [] if notices is None else notices):
        held += len(piece)
        cut = piece.rfind(b"\n") + 1 if held >= size else 0
        if not cut:
            kept.append(piece)
            if held > size + LONGEST:
                start = done + _last_line(kept)
                raise InputError(
                    f"{path}: no line ends within {LONGEST >> 20} MB after byte {start:,}",
                    "End each line with a newline. Or is this another file than you meant?",
                )
            continue
        done += held - len(piece) + cut
        yield b"".join([*kept, memoryview(piece)[:cut]])
        kept, held = [piece[cut:]], len(piece) - cut
    rest = b"".join(kept)
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _last_line(pieces: Sequence[bytes]) -> int:
    """Return where the last line of the pieces begins."""
    start = sum(map(len, pieces))
    for piece in reversed(pieces):
        start -= len(piece)
        if (end := piece.rfind(b"\n")) >= 0:
            return start + end + 1
    return 0


def _text_pieces(name: str, holds: Holds, notices: list[Notice]) -> Iterator[bytes]:
    """Yield the pieces of a text without a byte order mark, and with the line ends that readers know."""
    if is_dataset(name) and holds is Holds.QRELS:
        stream = dataset_lines(name, "qrels")
    else:
        stream = pieces(name) if holds is Holds.TEXTS else columns(name)
    head = _head(stream)
    _check_text(name, head, holds)
    if head.startswith(_BOM):
        head = head[len(_BOM) :]
        notices.append(Notice(where=f"{name}:1", what="starts with a byte order mark, which is ignored"))
    if holds is Holds.QRELS and foreign_columns(head) is BEIR_QRELS:
        head = b"#" + head.lstrip()
    split, noticed = holds is not Holds.TEXTS or (b"\r" in head and b"\n" not in head), False
    waiting = b""  # a CR at the end of a piece: the next one may start with its LF
    for piece in chain([head], stream):
        if split:
            piece = waiting + piece if waiting else piece
            waiting = b"\r" if piece.endswith(b"\r") else b""
            piece = piece[:-1] if waiting else piece
            if has_lone_cr(piece):
                piece = with_newlines(piece)
                if not noticed:
                    noticed = True
                    notices.append(Notice(where=name, what=ALONE))
        yield piece
    if waiting:
        yield b"\n"


def _head(stream: Iterator[bytes]) -> bytes:
    """Return enough of a text to see what ends its first line: a pipe may come in drops."""
    head = b""
    while len(head) < _PIECE and b"\n" not in head and (piece := next(stream, b"")):
        head += piece
    return head

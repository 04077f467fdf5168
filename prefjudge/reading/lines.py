"""Lines: the bytes of a file as blocks of whole lines, wherever it lies and however it is packed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from io import BytesIO, TextIOWrapper
from itertools import chain
from os import fspath
from pathlib import Path, PurePath

import numpy as np

from prefjudge.errors import InputError
from prefjudge.reading.datasets import PREFIX, dataset_lines, is_dataset
from prefjudge.reading.files import COMPRESSIONS, LONGEST, Notice
from prefjudge.reading.remote import bare
from prefjudge.reading.signatures import (
    BEIR_QRELS,
    PACKED_PARQUET,
    PARQUET,
    UNREAD_PARQUET,
    foreign_bytes,
    foreign_columns,
    foreign_text,
)
from prefjudge.reading.unpacking import _PIECE, is_compressed, pieces
from prefjudge.registers import Register

# Line ends: LF and CRLF end a line; a CR alone does so in files of columns, and in files that have no LF.
#
# Programs of the old Macintosh wrote CR alone, and files that were put together may hold a few. In a
# passage a CR may be text, so files of texts keep it, unless it is all that can end their lines.

_ALONE = re.compile(rb"(?<!\r)\r++(?!\n)")
"""CRs that no LF follows. It looks at each byte once: such a run may be as long as the file."""

ALONE = "lines end in a CR alone, which is read as the end of a line"
"""What a reader says of it."""


def has_lone_cr(data: bytes) -> bool:
    """Tell whether a CR stands without an LF behind it."""
    if b"\r" not in data:  # memchr; bytes.count walks byte by byte, and costs a verified run 5 % of its time
        return False
    return data.count(b"\r") != data.count(b"\r\n") and _ALONE.search(data) is not None


# Readers: formats of runs, qrels and judgments other than lines of columns, by the file's suffix.
#
# A reader turns a file into lines of columns, and everything else follows: checks, orders, copies,
# clusters. So a new format is one file and its registration.

Reader = Callable[[str, Iterator[bytes]], Iterator[bytes]]
"""Takes the path, for messages, and the file's unpacked bytes; yields lines of columns, both in pieces."""

READERS: Register[Reader] = Register(
    "reader",
    Callable,
    {
        "json": "prefjudge.reading.formats:read_json",
        "jsonl": "prefjudge.reading.formats:read_json_lines",
        "parquet": "prefjudge.reading.formats:read_parquet",
        "lz4": "prefjudge.reading.formats:read_lz4",
        "csv": "prefjudge.reading.formats:read_csv",
    },
)
"""The readers, by the suffix that a file has before that of its compression."""

_COLUMNS = frozenset({"txt", "run", "trec", "tsv", "res", "input", "qrels", "qrel"})
"""Usual suffixes of files that need no reader."""


def stem(path: str | Path) -> str:
    """Return a file's name without what says how it is stored."""
    name = PurePath(bare(path).removeprefix(PREFIX))
    while name.stem and any(_last_suffix(name) in known for known in (_COLUMNS, COMPRESSIONS, READERS)):
        name = PurePath(name.stem)
    return name.name


def has_reader(path: str | Path) -> bool:
    """Return whether a file has a reader; else it holds lines of columns already, as far as its name says."""
    return suffix_of(path) in READERS


def read_columns(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of columns that a file's reader makes of its bytes."""
    name = suffix_of(path)
    with READERS.using(name):
        yield from READERS[name](path, data)


def suffix_of(path: str | Path) -> str:
    """Return the suffix that a file has before that of its compression, without the dot."""
    name = PurePath(bare(path))
    last = _last_suffix(name)
    if last not in COMPRESSIONS:
        return last
    inner = _last_suffix(PurePath(name.stem))
    return last if last in READERS and inner not in READERS else inner  # ranx keeps CBOR in NAME.lz4


def _last_suffix(name: PurePath) -> str:
    return name.suffix.lower().removeprefix(".")


# Blocks: the bytes of a file as blocks of whole lines, however it is compressed.
#
# The first bytes of a file say what it is, not its name. ``-`` is standard input.

BLOCK = 1 << 20
"""Bytes of text in a block: columns of it stay in the cache of a processor core."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file: the last byte is a newline. ``line`` is the number of the first, from 1."""

    data: bytes
    line: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return each line and its number."""
        return enumerate(self.data.split(b"\n")[:-1], self.line)


class Holds(Enum):
    """What the lines of a file hold, which says what may end them."""

    COLUMNS = auto()
    """Words: a CR alone ends a line."""
    QRELS = auto()
    """The same, where a first line may name the columns, as BEIR's does: it is read as a comment."""
    TEXTS = auto()
    """An id and a text, in which a CR may stand: it ends lines where nothing else does."""


def columns(path: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file of columns, or those that a reader makes of another format."""
    if is_dataset(path):
        return dataset_lines(fspath(path), "scoreddocs")
    return read_columns(fspath(path), pieces(path)) if has_reader(path) else pieces(path)


def _check_text(path: str, head: bytes, holds: Holds) -> None:
    """Refuse what its first bytes tell to be something else."""
    other = foreign_text(head) if holds is Holds.TEXTS else foreign_columns(head)
    if holds is Holds.QRELS and other is BEIR_QRELS:
        return
    if found := foreign_bytes(head) or other:
        if found is PARQUET and is_compressed(path):
            found = PACKED_PARQUET
        elif found is PARQUET and holds is Holds.TEXTS:  # those of queries and collections have a reader
            found = UNREAD_PARQUET if Path(path).is_file() else PACKED_PARQUET
        raise InputError(*found.words(path))


def read_text(path: str | Path) -> str:
    """Return a small file whole, without a byte order mark, and with a newline alone at the end of a line."""
    whole = BytesIO(b"".join(pieces(path)))
    try:
        return TextIOWrapper(whole, encoding="utf-8-sig").read()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None


def blocks(path: str | Path, holds: Holds, *, notices: list[Notice] | None = None) -> Iterator[Block]:
    """Yield what `whole_lines` yields, with the number of the first line."""
    line = 1
    for data in whole_lines(path, holds, notices=notices):
        yield Block(data, line)
        line += int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))  # faster than bytes.count


def whole_lines(
    path: str | Path, holds: Holds, *, size: int = BLOCK, notices: list[Notice] | None = None
) -> Iterator[bytes]:
    """Yield a text file as whole lines of about ``size`` bytes together, at least one."""
    # A byte order mark is dropped and noticed; so is a CR that ends a line alone, which becomes an LF. A file
    # without any byte yields nothing.
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
                    "End each line with a newline. Or is this the wrong file?",
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
                piece = _ALONE.sub(lambda found: b"\n" * len(found[0]), piece)
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

"""Parts: stretches of one file, cut where the first word of a line changes, to be read side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import RawIOBase
from itertools import chain, pairwise
from pathlib import Path
from typing import BinaryIO

from prefjudge.errors import InputError
from prefjudge.formats.lines.compressions import compression
from prefjudge.formats.lines.members import members_of

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


class PackedPart(FilePart):
    """The same of a compressed file: whole members, in which queries are cut."""


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
    """Return the parts of a file, in which no query is cut as far as its lines stand together.

    None of a file that is small, or no file, or one long compressed stream.
    """
    file = Path(path)
    if not file.is_file() or (whole := file.stat().st_size) < 2 * size:
        return []
    with file.open("rb", buffering=0) as opened:
        handle = opened.fileno()
        packed = compression(opened.read(8))
        if packed:
            cuts: list[int | None] = [*members_of(handle, whole, size)]
        else:
            cuts = [_change_after(handle, place) for place in range(size, whole - size // 2, size)]
    places = sorted({0, *(cut for cut in cuts if cut is not None and cut < whole), whole})
    part = PackedPart if packed else FilePart
    return [part(path, start, end) for start, end in pairwise(places)] if len(places) > 2 else []


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
    """Return where the first word of a line differs from that of the line that starts next.

    0 where no line of the block does; None where the lines are not those of a plain run.
    """
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


def stitched(own: Iterator[bytes], beyond: Iterator[bytes], *, first: bool) -> Iterator[bytes]:
    """Yield the queries that start in the text of some members, the last one to its end in those after it.

    Members end anywhere. So a part starts where the query changes after its first whole line, and ends where
    the query changes after the first whole line beyond it: where the next part starts.
    """
    pieces = chain(own, [_until_change(beyond)])
    if first:
        yield from pieces
        return
    held = bytearray()
    change = looked = 0
    for piece in pieces:
        held += piece
        if len(held) >= 2 * looked:  # a long query is not looked through again for each piece
            looked = len(held)
            change = _sure_change(held)
            if change:
                break
    change = change or _sure_change(held)
    if change:
        yield bytes(held[change:])
        yield from pieces


def _until_change(stream: Iterator[bytes]) -> bytes:
    held = bytearray()
    looked = 0
    for piece in stream:
        held += piece
        if len(held) >= 2 * looked:
            looked = len(held)
            if change := _sure_change(held):
                return bytes(held[:change])
    return bytes(held[: _sure_change(held) or None])


def _sure_change(held: bytearray) -> int:
    change = change_in(bytes(held))
    if change is None:
        raise InputError("the members cannot be cut between queries", "Read the file as one.")
    return change

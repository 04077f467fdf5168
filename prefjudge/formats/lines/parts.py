"""Parts: stretches of one plain file, cut where the first word of a line changes, to be read side by side."""

from __future__ import annotations

import os
from io import RawIOBase
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

PART = 64 << 20
"""Bytes of a part, about: a file of less than two is not cut."""
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

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer, and at the end of the part nothing."""
        piece = self._file.read(min(len(buffer), self._left))
        self._left -= len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


def parts_of(path: str, size: int = PART) -> list[FilePart]:
    """Return the parts of a plain file, in which no query is cut as far as its lines stand together.

    None of a file that is small, or no file. What is compressed must be known to the caller: it has no lines.
    """
    file = Path(path)
    if not file.is_file() or (whole := file.stat().st_size) < 2 * size:
        return []
    with file.open("rb", buffering=0) as opened:
        cuts = [_change_after(opened.fileno(), place) for place in range(size, whole - size // 2, size)]
    places = sorted({0, *(cut for cut in cuts if cut is not None and cut < whole), whole})
    return [FilePart(path, start, end) for start, end in pairwise(places)] if len(places) > 2 else []


def _change_after(handle: int, place: int) -> int | None:
    """Return where the first line starts, after the one that starts next, whose first word is another."""
    size = _LOOK
    while size <= _MOST:
        block = os.pread(handle, size, place)
        first = block.find(b"\n") + 1
        words = block[first : first + 1024].split(None, 1)
        # With the newline before it and the blank behind it: "q1" must not take in the lines of "q10".
        mark = b"\n" + block[first : first + len(words[0]) + 1] if len(words) > 1 else b""
        if not first or len(mark) < 3 or mark[-1:] not in (b" ", b"\t"):
            return None
        last = first - 1
        while block.startswith(mark, last) and (after := block.find(b"\n", last + 1)) >= 0:
            last = after
        if last + len(mark) <= len(block) and not block.startswith(mark, last):
            return place + last + 1
        if len(block) < size:
            return None
        size *= 4
    return None

"""Galloping: the head of each query of a sorted run, without reading what lies between.

A run of a leaderboard holds its queries one after the other, each about as long as the one before. So the
start of the next query is looked for where the length of the last one says, in one small read; where it is
not there, by doubling and bisection. The lines between are never read, and so never checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from prefjudge.formats.lines.blocks import columns, opened
from prefjudge.formats.lines.compressions import compression
from prefjudge.formats.lines.line_ends import has_lone_cr
from prefjudge.formats.lines.readers import has_reader
from prefjudge.formats.lines.signatures import foreign_bytes, foreign_columns

_SLACK = 384
"""Bytes before and after the expected start of a query that one read takes in."""
_FIRST = 1 << 16
_NEAR = 1 << 13
BATCH = 256 << 10
"""Bytes of heads that are handed over at once, as far as the first lines tell."""
_BATCH_BYTES = 4 << 20
"""Bytes of a stream that are held for the queries handed over at once."""


class NotGalloping(Exception):  # noqa: N818 - a property of the file
    """The file is not of the plain kind that can be galloped over: read it in full."""


@dataclass(slots=True)
class HeadLines:
    """The first lines of some queries, as they are gathered.

    Attributes
    ----------
    parts : list of bytes
        Whole lines, query by query.
    spans : list of (int, int)
        Where each query starts and ends in the file, or the stream.
    complete : list of bool
        Whether the lines of a query are all that it has.
    last : list of bytes
        The last line of each query, where it was read; else nothing.
    """

    parts: list[bytes] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    complete: list[bool] = field(default_factory=list)
    last: list[bytes] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        """The lines of all queries, one after the other."""
        return b"".join(self.parts)

    def add(self, head: bytes, start: int, end: int, last: bytes) -> None:
        """Add the head of the query between two places, and its last line, if that is known."""
        whole = len(head) >= end - start
        if whole:
            head = head[: end - start]
            if not head.endswith(b"\n"):
                head += b"\n"
        else:
            # The read ended inside a line.
            head = head[: head.rfind(b"\n") + 1]
        self.parts.append(head)
        self.spans.append((start, end))
        self.complete.append(whole)
        self.last.append(last)


class PlainText:
    """A file read at places."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.size = os.fstat(handle).st_size
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # advice that a file system may not take
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)

    def read(self, size: int, start: int) -> bytes:
        """Return up to ``size`` bytes from ``start``."""
        return os.pread(self.handle, size, start)

    def ended(self, end: int) -> bool:
        """Tell whether the file ends at ``end`` or before."""
        return end >= self.size

    def full(self, start: int, end: int) -> bool:
        """Tell whether a batch must end because too much is held: never."""
        return False

    def forget(self, start: int) -> None:
        """Let go of what lies before ``start``: nothing is held."""


class StreamText:
    """A stream of pieces, of which a stretch is held."""

    def __init__(self, stream: Iterator[bytes]) -> None:
        self.stream = stream
        self.base = 0
        self.kept = 0
        self.held = bytearray()
        self.over = False

    def read(self, size: int, start: int) -> bytes:
        """Return up to ``size`` bytes from ``start``, which is not before what is held."""
        end = start + size
        while end > self.base + len(self.held) and not self.over:
            piece = next(self.stream, b"")
            self.over = not piece
            # Only here, where the stretch grows anyway: letting
            # go at every step would move the bytes each time.
            del self.held[: self.kept - self.base]
            self.base = self.kept
            self.held += piece
        return bytes(memoryview(self.held)[start - self.base : end - self.base])

    def ended(self, end: int) -> bool:
        """Tell whether the stream ends at ``end`` or before."""
        self.read(1, end)
        return self.over and end >= self.base + len(self.held)

    def full(self, start: int, end: int) -> bool:
        """Tell whether a batch from ``start`` to ``end`` holds enough."""
        return end - start >= _BATCH_BYTES

    def forget(self, start: int) -> None:
        """Let go of what lies before ``start``."""
        self.kept = start


Text: TypeAlias = PlainText | StreamText
"""Bytes that are read at any place of the present batch of queries or after it."""


def lines_between(text: Text, start: int, end: int) -> bytes:
    """Read up to the end of a line, which the last of a file may lack."""
    block = text.read(end - start, start)
    return block if block.endswith(b"\n") else block + b"\n"


@contextmanager
def text_of(path: str | Path) -> Iterator[Text]:
    """Open a file for galloping: a plain one at places, another as a stream."""
    with opened(path) as file:
        try:
            head = os.pread(file.fileno(), 8, 0) if hasattr(os, "pread") else b""
        except (OSError, ValueError):  # a pipe, or no file at all
            head = b""
        if head and not compression(head) and not has_reader(path):
            yield PlainText(file.fileno())
            return
    yield StreamText(columns(path))


def gallop(text: Text, lines: int, *, batch: int = BATCH) -> Iterator[HeadLines]:
    """Yield the first ``lines`` lines of each query, or more; fewer only where the query has fewer.

    A head whose lines are long may fall short, and is then not ``complete``. About ``batch`` bytes of heads
    are handed over at once.

    Raises
    ------
    NotGalloping
        Where the text holds comments, blank lines, lines that end in a CR alone, or the like.
    """
    first = text.read(_FIRST, 0)
    if has_lone_cr(first):
        raise NotGalloping  # only newlines are looked for here
    if foreign_bytes(first) or foreign_columns(first):
        raise NotGalloping  # a full reading will say what it is
    # Eight bytes more: ranks and scores further down may be longer than those of the first lines.
    longest = max(map(len, first.split(b"\n")[:-1]), default=len(first))
    wanted = (lines + 1) * (longest + 8)
    window = wanted + 2 * _SLACK
    queries = max(1, batch // wanted)
    heads = HeadLines()
    start, length = 0, 0
    head = first if len(first) >= wanted else text.read(wanted, 0)
    while head and (len(head) >= wanted or head.strip()):
        mark = _mark(head)
        # the read takes in the end of this query and the head of the next, if it is as long as the last
        low = start + length - _SLACK
        end, line = 0, b""
        if low > start:
            block = text.read(window, low)
            last = block.rfind(mark, 0, 2 * _SLACK + len(mark))
            if last >= 0:
                end = block.find(b"\n", last + 1) + 1
                if block.startswith(mark, end - 1):
                    end = 0  # the query continues
        if end and (end + wanted <= window or text.ended(low + len(block))):
            following = block[end : end + wanted]
            line = block[last + 1 : end]
            end += low
        else:
            end = _boundary(text, mark, start, max(length, _NEAR))
            following = text.read(wanted, end)
        heads.add(head, start, end, line)
        if len(heads.spans) >= queries or text.full(heads.spans[0][0], end):
            yield heads
            heads = HeadLines()
            text.forget(end)
        length, start, head = end - start, end, following
    yield heads


def _mark(head: bytes) -> bytes:
    """Return what every line of the query starts with, and the newline before it."""
    # With its blank behind it: "q1" must not take in the lines of "q10".
    mark = head[: head.find(b" ") + 1] or b" "
    if b"\t" in mark or b"\n" in mark or len(mark) == 1:
        mark = head[: head.find(b"\t") + 1]
        if b" " in mark or b"\n" in mark or len(mark) <= 1:
            raise NotGalloping
    if mark[0] in b"#\r\v\f\xef":
        raise NotGalloping
    return b"\n" + mark


def _boundary(text: Text, mark: bytes, start: int, step: int) -> int:
    """Return where the query that starts at ``start`` ends: by doubling, then by bisection."""
    low, high = start, start + step
    # The lines of a query stand together (a query that comes again is `Scattered`), so "is the line of this
    # query?" is answered by yes, then by no: what bisection needs.
    while (line := _next_line(text, mark, high)) is not None and line[1]:
        low = line[0]
        step *= 2
        high = low + step
    while high - low > _NEAR:
        middle = (low + high) // 2
        line = _next_line(text, mark, middle)
        if line is not None and line[1]:
            low = line[0]
        else:
            high = middle
    # The mark starts with a newline; the first line of the block has its own before it.
    block = b"\n" + text.read(high - low + _NEAR, low)
    last = block.rfind(mark, 0, high - low + 1 + len(mark))
    size = _NEAR
    while (end := block.find(b"\n", last + 1)) < 0:
        if text.ended(low + len(block) - 1):
            return low + len(block) - 1
        size *= 2
        block = b"\n" + text.read(high - low + size, low)
    return low + end


def _next_line(text: Text, mark: bytes, place: int) -> tuple[int, bool] | None:
    """Return the first line that starts after ``place`` and whether it is of the query; None at the end."""
    size = 256
    while True:
        block = text.read(size, place)
        newline = block.find(b"\n")
        # The whole mark must be in the block, or a longer query id could pass for this one.
        if newline >= 0 and newline + len(mark) <= len(block):
            return place + newline + 1, block.startswith(mark, newline)
        if text.ended(place + len(block)):
            return None
        size *= 4

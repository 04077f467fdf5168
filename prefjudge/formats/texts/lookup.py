"""Look-up: the lines of a sorted collection, found by where their id must stand; no index is built.

The file says by a few samples whether its ids ascend, as numbers or as text. An id is then looked for where
the share of smaller ids points (interpolation), or by halving, with one small read for each step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prefjudge.formats.lines.blocks import LONGEST, opened
from prefjudge.formats.lines.compressions import compression

_WINDOW = 1 << 13
_SAMPLES = 33
_STEPS = 200
_NUMBER = 18
"""Digits of an id that is compared as a number."""


class NotSorted(Exception):  # noqa: N818 - a property of the file
    """The ids do not ascend: the file must be read from end to end."""


Key = tuple[int, bytes]
"""What ids are compared by: a number, or 0 and the text."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that was seen: where it starts and the key of its id."""

    start: int
    key: Key


class SortedFile:
    """A plain file of ``id<tab>text`` lines whose ids ascend.

    Raises
    ------
    NotSorted
        Where a few samples show that they do not.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.size = os.fstat(handle).st_size
        places = [self.size * n // _SAMPLES for n in range(_SAMPLES)]
        samples = [line for line in map(self._line_after, places) if line is not None]
        if not samples:
            raise NotSorted
        # Without the last id, ids beyond the last sample could not be told from ids that are missing.
        samples.append(self._last_line(samples[-1]))
        self.numeric = all(raw.isdigit() and len(raw) <= _NUMBER for _, raw in samples)
        # "10" stands before "9" in a file sorted as text.
        if self.numeric and not self._ascend(samples):
            self.numeric = False
        if samples[0][0] == samples[-1][0] or not self._ascend(samples):
            raise NotSorted
        self.first = _Line(samples[0][0], self._key(samples[0][1]))
        self.last = _Line(self.size, self._key(samples[-1][1]))

    def _ascend(self, samples: list[tuple[int, bytes]]) -> bool:
        keys = [self._key(raw) for _, raw in samples]
        return keys == sorted(keys)

    def _key(self, raw: bytes) -> Key:
        if not self.numeric:
            return 0, raw
        if not raw.isdigit() or len(raw) > _NUMBER:
            raise NotSorted
        return int(raw), b""

    def find(self, raw: bytes) -> bytes | None:
        """Return the line of an id; None where it is not in the file."""
        if self.numeric and not (raw.isdigit() and len(raw) <= _NUMBER):
            return None
        key = self._key(raw)
        if not self.first.key <= key <= self.last.key:
            return None
        low, high = self.first, self.last  # no line from ``high.start`` on has a key up to the wanted one
        for step in range(_STEPS):
            if high.start - low.start <= _WINDOW:
                lines = self._ids(low.start, self._read(low.start, high.start))
                break
            start = self._guess(low, high, key, step)
            lines = self._ids(start, os.pread(self.handle, _WINDOW, start))
            if not lines:
                after = self._line_after(start)  # a long line fills the window
                if after is None or after[0] >= high.start:
                    high = _Line(start, high.key)
                    continue
                lines = [after]
            first, last = (_Line(place, self._key(name)) for place, name in (lines[0], lines[-1]))
            # Samples cannot prove an order: each read checks it
            # again, and a full reading takes over where it fails.
            if not low.key <= first.key <= last.key <= max(high.key, self.last.key):
                raise NotSorted
            if first.key > key:
                high = first
            elif last.key < key:
                low = last
            else:
                break
        else:
            raise NotSorted
        return next((self._line(place) for place, name in lines if name == raw), None)

    def _guess(self, low: _Line, high: _Line, key: Key, step: int) -> int:
        """Return where to read: by the share of smaller keys, and now and then in the middle."""
        share = 0.5
        # Ids that are spread unevenly make interpolation creep;
        # every fourth step halves, which bounds the steps.
        if self.numeric and step % 4 < 3 and high.key > low.key:
            share = (key[0] - low.key[0]) / (high.key[0] - low.key[0])
        # Half a window early, so that the expected line lies in the middle of what is read.
        start = low.start + int((high.start - low.start) * min(max(share, 0.0), 1.0)) - _WINDOW // 2
        return max(low.start, min(start, high.start - _WINDOW))

    def _read(self, start: int, stop: int) -> bytes:
        """Return the lines that start between two places."""
        size = stop - start + _WINDOW
        while True:
            window = os.pread(self.handle, size, start)
            end = window.find(b"\n", stop - start)
            if end >= 0 or start + len(window) >= self.size:
                return window[: end + 1 or None]
            size = _larger(size)

    def _last_line(self, line: tuple[int, bytes]) -> tuple[int, bytes]:
        """Return the last line of the file, which starts at ``line`` or after it."""
        size = _WINDOW
        while self.size - size > line[0]:
            lines = self._ids(self.size - size, os.pread(self.handle, size, self.size - size))
            if lines:
                return lines[-1]
            size = _larger(size)
        return self._ids(line[0], os.pread(self.handle, self.size - line[0], line[0]))[-1]

    def _ids(self, start: int, window: bytes) -> list[tuple[int, bytes]]:
        """Return the place and id of each line that starts in a window and has its tab there."""
        place = 0
        # The window starts inside a line, unless the byte before it ends one.
        if start and os.pread(self.handle, 1, start - 1) != b"\n":
            place = window.find(b"\n") + 1
            if not place:
                return []
        found = []
        while (tab := window.find(b"\t", place)) >= 0:
            found.append((start + place, window[place:tab]))
            place = window.find(b"\n", tab) + 1
            if not place:
                break
        return found

    def _line_after(self, place: int) -> tuple[int, bytes] | None:
        """Return the first line that starts at or after a place, and its id."""
        size = _WINDOW
        while True:
            window = os.pread(self.handle, size, place)
            lines = self._ids(place, window)
            if lines or place + len(window) >= self.size:
                return lines[0] if lines else None
            size = _larger(size)

    def _line(self, start: int) -> bytes:
        size = _WINDOW
        while True:
            window = os.pread(self.handle, size, start)
            end = window.find(b"\n")
            if end >= 0 or start + len(window) >= self.size:
                return window[: end if end >= 0 else len(window)].rstrip(b"\r")
            size = _larger(size)


def _larger(size: int) -> int:
    """Return how much to read where a line did not end; one without end is left to who reads all."""
    if size > LONGEST:
        raise NotSorted
    return 4 * size


@contextmanager
def sorted_file(path: str | Path) -> Iterator[SortedFile]:
    """Open a file for look-up; `NotSorted` where it is compressed, JSON, a pipe or not sorted."""
    with opened(path) as file:
        try:
            handle = file.fileno()
            head = os.pread(handle, 8, 0)
        except (OSError, ValueError, AttributeError):  # a pipe, or a system that cannot read at places
            raise NotSorted from None
        # A brace starts JSON, a blank or a BOM something else that has to be read in full.
        if compression(head) or not head[:1].isalnum():
            raise NotSorted
        yield SortedFile(handle)

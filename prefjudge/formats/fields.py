"""Fields: the columns of a block of text, found for all lines at once.

A block is tokenised with numpy: no Python object per line. Fields are parted by any run of blanks, tabs and
carriage returns; blank lines and lines that start with ``#`` are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Text = bytes | bytearray | mmap
"""What tokens are pieces of: a padded block, or a mapped file."""
Words = NDArray[np.uint64]
Places = NDArray[np.int64]

FRONT = 32
"""Bytes of padding before a block, so that words can be loaded that end in its first bytes."""
_BACK = 64
_HASH = b"#"[0]
_PARTING = np.isin(np.arange(256), list(b" \t\n\v\f\r"))
_NEWLINE = b"\n"[0]
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [2**64 - 1], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WIDE = 8
"""Words that every token of a column is given room for; a longer one has the column copied token by token."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a block's lines: one row per line that holds any.

    Attributes
    ----------
    text : bytes
        The padded block that the places point into.
    starts, ends : ndarray of int64, shape (n, columns)
        Where each field starts and ends; meaningless where the line has fewer fields.
    counts : ndarray of int64, shape (n,)
        How many fields the line has.
    lines : ndarray of int64, shape (n,)
        The number of the line in the file, from 1.
    """

    text: bytes
    starts: Places
    ends: Places
    counts: Places
    lines: Places

    def __len__(self) -> int:
        return int(self.lines.size)

    def raw(self, row: int, column: int) -> bytes:
        """Return one field."""
        return self.text[self.starts[row, column] : self.ends[row, column]]

    def line_of(self, row: int) -> bytes:
        """Return a whole line without its end."""
        start = self.text.rfind(b"\n", 0, int(self.starts[row, 0])) + 1
        return self.text[start : self.text.index(b"\n", start)].rstrip(b"\r")

    def column_of(self, row: int, column: int) -> int:
        """Return the place of a field in its line, from 1."""
        start = int(self.starts[row, column])
        return start - self.text.rfind(b"\n", 0, start)

    def ids(self, column: int) -> Tokens:
        """Return a column as tokens."""
        starts, ends = self.starts[:, column], self.ends[:, column]
        places = [np.ascontiguousarray(column, dtype=np.int64) for column in (starts, ends)]
        return Tokens(self.text, *places)

    def take(self, rows: Places | NDArray[np.bool_] | slice) -> Fields:
        """Return some of the rows."""
        return Fields(self.text, self.starts[rows], self.ends[rows], self.counts[rows], self.lines[rows])


@dataclass(frozen=True, slots=True)
class Tokens:
    """Pieces of a text: token ``i`` is ``text[starts[i]:ends[i]]``."""

    text: Text
    starts: Places
    ends: Places

    def __len__(self) -> int:
        return int(self.starts.size)

    def raw(self, row: int) -> bytes:
        """Return one token."""
        return bytes(self.text[self.starts[row] : self.ends[row]])

    def take(self, rows: Places | NDArray[np.bool_] | slice) -> Tokens:
        """Return some of the tokens."""
        return Tokens(self.text, self.starts[rows], self.ends[rows])

    def to_bytes(self) -> list[bytes]:
        """Return every token as a Python object: for few rows."""
        text = bytes(self.text) if isinstance(self.text, bytearray) else self.text
        return [text[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def symbols(self) -> NDArray[np.uint8]:
        """Return the bytes of all tokens, one after the other."""
        width = self.width()
        if width > _WIDE:
            return np.frombuffer(b"".join(self.to_bytes()), np.uint8)
        columns = np.empty((len(self), width), np.uint64)
        for index in range(width):
            columns[:, index] = self.words(index)
        sizes = (self.ends - self.starts).astype(np.uint8)
        kept: NDArray[np.uint8] = columns.view(np.uint8)[
            np.arange(8 * width, dtype=np.uint8) < sizes[:, None]
        ]
        return kept

    def to_lines(self) -> bytes:
        """Return each token as a line, which `line_tokens` undoes. The text goes on after the last token."""
        longer = Tokens(self.text, self.starts, self.ends + 1)
        symbols = longer.symbols().copy()
        symbols[np.cumsum(longer.ends - longer.starts) - 1] = _NEWLINE
        return symbols.tobytes()

    def words(self, index: int) -> Words:
        """Return bytes ``8 * index`` to ``8 * index + 8`` of each token as a number; zeros beyond its end."""
        left = self.ends - self.starts
        if index == 0:
            np.minimum(left, 8, out=left)
            first: Words = loadable(self.text)[self.starts] & _KEEP[left]
            return first
        left -= 8 * index
        np.clip(left, 0, 8, out=left)
        places = np.minimum(self.starts + 8 * index, len(self.text) - 8)  # a token may end long before
        word: Words = loadable(self.text)[places] & _KEEP[left]
        return word

    def changes(self) -> Places:
        """Return the rows that differ from the row before them."""
        lengths = self.ends - self.starts
        new = lengths[1:] != lengths[:-1]
        for index in range(self.width()):
            word = self.words(index)
            new |= word[1:] != word[:-1]
        return np.flatnonzero(new) + 1

    def width(self) -> int:
        """Return the number of words that the longest token takes."""
        return (int((self.ends - self.starts).max(initial=0)) + 7) // 8

    def codes(self) -> Words:
        """Return a 64-bit code of each token: equal tokens have equal codes, others almost always differ."""
        lengths = self.ends - self.starts
        code = lengths.astype(np.uint64) * _ODD
        for index in range(self.width()):
            mixed = _mixed(code ^ self.words(index))
            # no token is empty, and the code of one must not depend on its neighbours
            code = mixed if index == 0 else np.where(lengths > 8 * index, mixed, code)
        return code


def _mixed(word: Words) -> Words:
    word = word * _ODD
    return word ^ (word >> np.uint64(29))


def loadable(text: Text) -> Words:
    """Return the eight bytes that start at each place of a text."""
    return np.ndarray((len(text) - 7,), "<u8", text, 0, (1,))


def codes_of(ids: list[bytes]) -> Words:
    """Return the code of each id, as `Tokens.codes` gives it."""
    return tokens_of(ids).codes()


def tokens_of(ids: list[bytes]) -> Tokens:
    """Return Python objects as tokens."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    ends = FRONT + np.cumsum(lengths)
    return Tokens(b"\n" * FRONT + b"".join(ids) + b"\n" * _BACK, ends - lengths, ends)


def line_tokens(data: bytes) -> Tokens:
    """Return whole lines as tokens, their ends aside."""
    text = b"\n" * FRONT + data + b"\n" * _BACK
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE) + FRONT
    starts = np.empty_like(ends)
    starts[:1] = FRONT
    starts[1:] = ends[:-1] + 1
    return Tokens(text, starts, ends)


def same_token(a: Tokens, b: Tokens) -> NDArray[np.bool_]:
    """Tell row by row whether two columns hold the same bytes."""
    same: NDArray[np.bool_] = (a.ends - a.starts) == (b.ends - b.starts)
    for index in range(max(a.width(), b.width())):
        same &= a.words(index) == b.words(index)
    return same


def _blank(symbols: NDArray[np.uint8], newlines: int) -> NDArray[np.bool_]:
    """Tell which bytes part fields: blanks, tabs and the ends of lines."""
    blank: NDArray[np.bool_] = symbols <= 32
    controls = np.count_nonzero(symbols < 32) - newlines
    for symbol in (9, 13, 11, 12):  # the usual ones first
        if not controls:
            return blank
        controls -= np.count_nonzero(symbols == symbol)
    if not controls:
        return blank
    return _PARTING[symbols]  # there are control characters that part nothing


def _edges(symbols: NDArray[np.uint8], newlines: int) -> tuple[Places, Places]:
    """Return where the fields of a padded block start and end."""
    blank = _blank(symbols, newlines)
    inner = blank[FRONT - 1 : 1 - _BACK or None]
    if (inner[1:-1] & inner[:-2]).any():
        edges = np.flatnonzero(blank[1:] != blank[:-1])
        edges += 1
        return edges[0::2], edges[1::2]
    places = np.flatnonzero(inner[:-1])  # each blank parts two fields
    places += FRONT - 1
    return places[:-1] + 1, places[1:]


def fields(data: bytes, line: int, columns: int | Callable[[int], int]) -> Fields:
    """Find the fields of whole lines.

    Parameters
    ----------
    data : bytes
        Whole lines; the last byte is a newline.
    line : int
        The number of the first line.
    columns : int or callable
        How many fields of a line are kept; or what to make of the count of the first line's.
    """
    text = b"".join([b"\n" * FRONT, data, b"\n" * _BACK])
    symbols = np.frombuffer(text, np.uint8)
    newlines = int(np.count_nonzero(symbols == _NEWLINE))
    starts, ends = _edges(symbols, newlines)
    if not starts.size:
        return _no_fields(text)
    lines = newlines - FRONT - _BACK
    return _regular(text, symbols, starts, ends, lines, line, columns) or _ragged(
        text, symbols, starts, ends, line, columns
    )


def joined(parts: Iterable[Fields]) -> Fields:
    """Put the fields of successive blocks together, in small integers where those reach."""
    texts: list[bytes] = []
    columns: list[tuple[NDArray[Any], ...]] = []
    size = 0
    for part in parts:
        data = part.text[FRONT:-_BACK]
        if len(part):
            kind = np.int32 if size + len(part.text) < 2**31 else np.int64
            moved = (part.starts + size, part.ends + size, part.counts, part.lines)
            columns.append(tuple(column.astype(kind) for column in moved))
        texts.append(data)
        size += len(data)
    text = b"".join([b"\n" * FRONT, *texts, b"\n" * _BACK])
    if not columns:
        return _no_fields(text)
    return Fields(text, *(np.concatenate(column) for column in zip(*columns, strict=True)))


def _no_fields(text: bytes) -> Fields:
    none = np.zeros(0, np.int64)
    return Fields(text, none.reshape(0, 1), none.reshape(0, 1), none, none)


def _regular(
    text: bytes,
    symbols: NDArray[np.uint8],
    starts: Places,
    ends: Places,
    lines: int,
    line: int,
    columns: int | Callable[[int], int],
) -> Fields | None:
    """Read lines that all have the first line's number of fields; None where one has not."""
    first_end = text.find(b"\n", int(starts[0]))
    count = int(np.searchsorted(starts, first_end))
    rows, rest = divmod(starts.size, count)
    if rest or lines != rows:
        return None
    after = ends[count - 1 :: count]
    last = symbols[after]
    at_end = last == _NEWLINE
    if not at_end.all():
        at_end |= (last == 13) & (symbols[after + 1] == _NEWLINE)
    if not at_end.all() or (symbols[starts[::count]] == _HASH).any():
        return None
    kept = columns if isinstance(columns, int) else columns(count)
    if kept > count:
        return None
    return Fields(
        text,
        starts.reshape(rows, count)[:, :kept],
        ends.reshape(rows, count)[:, :kept],
        np.full(rows, count),
        np.arange(line, line + rows),
    )


def _ragged(
    text: bytes,
    symbols: NDArray[np.uint8],
    starts: Places,
    ends: Places,
    line: int,
    columns: int | Callable[[int], int],
) -> Fields:
    """Read lines of any number of fields, blank lines and comments."""
    newlines = np.flatnonzero(symbols[FRONT:] == _NEWLINE) + FRONT
    counts = np.bincount(np.searchsorted(newlines, starts), minlength=newlines.size)
    firsts = np.cumsum(counts) - counts
    used = np.flatnonzero(counts)
    used = used[symbols[starts[firsts[used]]] != _HASH]
    if not used.size:
        return _no_fields(text)
    counts, firsts = counts[used], firsts[used]
    kept = columns if isinstance(columns, int) else columns(int(counts[0]))
    places = firsts[:, None] + np.minimum(np.arange(kept), counts[:, None] - 1)
    return Fields(text, starts[places], ends[places], counts, used + line)

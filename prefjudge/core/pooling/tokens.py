"""Tokens: pieces of a text, millions of them without a Python object for each."""

from __future__ import annotations

from dataclasses import dataclass
from mmap import mmap
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Text: TypeAlias = "bytes | bytearray | mmap"
"""What tokens are pieces of: a padded block, or a mapped file."""
Words = NDArray[np.uint64]
Places = NDArray[np.int64]

FRONT = 32
"""Bytes of padding before a block, so that words can be loaded that end in its first bytes."""
BACK = 64
"""Bytes of padding after it, so that words can be loaded that start in its last ones."""
NEWLINE = b"\n"[0]
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [2**64 - 1], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WIDE = 8
"""Words that every token of a column is given room for; a longer one has the column copied token by token."""


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
        # One long token would make room for as much in every row.
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
        """Return each token as a line, which `line_tokens` undoes. A byte follows the last token."""
        # One more byte of each, of any value, is room for its newline.
        longer = Tokens(self.text, self.starts, self.ends + 1)
        symbols = longer.symbols().copy()
        symbols[np.cumsum(longer.ends - longer.starts) - 1] = NEWLINE
        return symbols.tobytes()

    def words(self, index: int) -> Words:
        """Return bytes ``8 * index`` to ``8 * index + 8`` of each token as a number; zeros beyond its end."""
        # Bytes beyond the token's end are masked away, so equal tokens give equal words wherever they stand.
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
        # The length goes in first: words end in zeros, so "a" and "a" with a NUL behind it would be the same.
        code = lengths.astype(np.uint64) * _ODD
        for index in range(self.width()):
            mixed = _mixed(code ^ self.words(index))
            # no token is empty, and the code of one must not depend on its neighbours
            code = mixed if index == 0 else np.where(lengths > 8 * index, mixed, code)
        return code


def _mixed(word: Words) -> Words:
    # A multiplication carries upwards only; the shift brings high bits down again.
    word = word * _ODD
    return word ^ (word >> np.uint64(29))


def loadable(text: Text) -> Words:
    """Return the eight bytes that start at each place of a text."""
    # A stride of one byte: overlapping words, nothing copied. Little-endian, so the first byte is the lowest.
    return np.ndarray((len(text) - 7,), "<u8", text, 0, (1,))


def codes_of(ids: list[bytes]) -> Words:
    """Return the code of each id, as `Tokens.codes` gives it."""
    return tokens_of(ids).codes()


def tokens_of(ids: list[bytes]) -> Tokens:
    """Return Python objects as tokens."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    ends = FRONT + np.cumsum(lengths)
    return Tokens(b"\n" * FRONT + b"".join(ids) + b"\n" * BACK, ends - lengths, ends)


def line_tokens(data: bytes) -> Tokens:
    """Return whole lines as tokens, their ends aside."""
    text = b"\n" * FRONT + data + b"\n" * BACK
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE) + FRONT
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

"""Fields: the columns of a block of text, found for all lines at once.

A block is tokenised with numpy: no Python object per line. Fields are separated by any run of blanks, tabs
and carriage returns; blank lines and lines that start with ``#`` are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.tokens import BACK, FRONT, NEWLINE, Places, Tokens

_HASH = b"#"[0]
_SEPARATORS = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


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


def _blank(symbols: NDArray[np.uint8], newlines: int) -> NDArray[np.bool_]:
    """Tell which bytes separate fields: blanks, tabs and the ends of lines."""
    blank: NDArray[np.bool_] = symbols <= 32
    # Nearly every file has no control characters but newlines, or only a few kinds: count them off before a
    # look-up in the table, which costs several times a comparison.
    controls = np.count_nonzero(symbols < 32) - newlines
    for symbol in (9, 13, 11, 12):  # the usual ones first
        if not controls:
            return blank
        controls -= np.count_nonzero(symbols == symbol)
    if not controls:
        return blank
    return _SEPARATORS[symbols]  # some control characters separate nothing


def _edges(symbols: NDArray[np.uint8], newlines: int) -> tuple[Places, Places]:
    """Return where the fields of a padded block start and end."""
    blank = _blank(symbols, newlines)
    # One byte of padding on either side, so that the first and the last field have a blank to end at.
    inner = blank[FRONT - 1 : 1 - BACK or None]
    if (inner[1:-1] & inner[:-2]).any():
        # The padding is blank, so edges alternate: into a field, out of it.
        edges = np.flatnonzero(blank[1:] != blank[:-1])
        edges += 1
        return edges[0::2], edges[1::2]
    places = np.flatnonzero(blank)[FRONT - 1 : -BACK]  # each blank separates two fields
    return places[:-1] + 1, places[1:]


def fields(data: bytes | Sequence[bytes], line: int, columns: int | Callable[[int], int]) -> Fields:
    """Find the fields of whole lines.

    Parameters
    ----------
    data : bytes, or sequence of bytes
        Whole lines, or what makes them when it is put together; the last byte is a newline.
    line : int
        The number of the first line.
    columns : int or callable
        How many fields of a line are kept; or what to make of the count of the first line's.
    """
    pieces = [data] if isinstance(data, bytes) else data
    text = b"".join([b"\n" * FRONT, *pieces, b"\n" * BACK])
    symbols = np.frombuffer(text, np.uint8)
    newlines = int(np.count_nonzero(symbols == NEWLINE))
    starts, ends = _edges(symbols, newlines)
    if not starts.size:
        return no_fields(text)
    lines = newlines - FRONT - BACK
    return _regular(text, symbols, starts, ends, lines, line, columns) or _ragged(
        text, symbols, starts, ends, line, columns
    )


def joined(parts: Iterable[Fields]) -> Fields:
    """Put the fields of successive blocks together, in small integers where those reach."""
    texts: list[bytes] = []
    columns: list[tuple[NDArray[Any], ...]] = []
    size = 0
    for part in parts:
        data = part.text[FRONT:-BACK]
        if len(part):
            # Half the memory; a place takes 64 bits only once the text is larger than 2 GiB.
            kind = np.int32 if size + len(part.text) < 2**31 else np.int64
            moved = (part.starts + size, part.ends + size, part.counts, part.lines)
            columns.append(tuple(column.astype(kind) for column in moved))
        texts.append(data)
        size += len(data)
    text = b"".join([b"\n" * FRONT, *texts, b"\n" * BACK])
    if not columns:
        return no_fields(text)
    return Fields(text, *(np.concatenate(column) for column in zip(*columns, strict=True)))


def no_fields(text: bytes) -> Fields:
    """Return no rows at all, of a padded text."""
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
    # The right number of fields in all is not enough (5 and 7 make 12, too): each count-th field must end
    # its line. Only then does a reshape put every field into its column.
    after = ends[count - 1 :: count]
    last = symbols[after]
    at_end = last == NEWLINE
    if not at_end.all():
        at_end |= (last == 13) & (symbols[after + 1] == NEWLINE)
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
    newlines = np.flatnonzero(symbols[FRONT:] == NEWLINE) + FRONT
    # A field belongs to the line whose newline is the first one after it.
    counts = np.bincount(np.searchsorted(newlines, starts), minlength=newlines.size)
    firsts = np.cumsum(counts) - counts
    used = np.flatnonzero(counts)
    used = used[symbols[starts[firsts[used]]] != _HASH]
    if not used.size:
        return no_fields(text)
    counts, firsts = counts[used], firsts[used]
    kept = columns if isinstance(columns, int) else columns(int(counts[0]))
    # Short lines repeat their last field, so that every place exists; `counts` tells them.
    places = firsts[:, None] + np.minimum(np.arange(kept), counts[:, None] - 1)
    return Fields(text, starts[places], ends[places], counts, used + line)

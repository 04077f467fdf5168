"""Fields: the columns of lines, their numbers and ids, many at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import BACK, FRONT, NEWLINE, Codes, Places, Tokens, Vocabulary, Words, same_token
from prefjudge.errors import InputError

_HASH = b"#"[0]
_SEPARATORS = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a block's lines: one row per line that holds any."""

    text: bytes
    """The padded block that the places point into."""
    starts: Places
    ends: Places
    """Shape (n, columns): where each field starts and ends; meaningless where the line has fewer fields."""
    counts: Places
    """Shape (n,): how many fields the line has."""
    lines: Places
    """Shape (n,): the number of the line in the file, from 1."""

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
    """Find the fields of whole lines."""
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


# Numbering: ids get numbers in the order in which they first come, without a Python object for each.

LIMIT = 1 << 32
"""Bytes of ids that can be numbered."""

_BLOCK = 1 << 14
"""Ids that are looked up at once."""
_PADDING = b"\n" * 64
"""What follows the last id, so that words can be loaded at its end."""


class Numbering:
    """Ids and their numbers, found by a table with open addressing: about 12 bytes more for each."""

    # A slot of the table holds nothing (0), a number plus one, or, while a block of ids is looked up, minus
    # one minus the row of the block that claims it.

    def __init__(self) -> None:
        self._text = bytearray(_PADDING)
        self._ends = bytearray()
        self._table = np.zeros(4 * _BLOCK, np.int32)

    def __len__(self) -> int:
        return len(self._ends) // 4

    def add(self, ids: Tokens) -> Codes:
        """Return the number of each id; new ids get the next numbers."""
        numbers = np.empty(len(ids), np.int32)
        for row in range(0, len(ids), _BLOCK):
            block = slice(row, row + _BLOCK)
            numbers[block] = self._add(ids.take(block))
        return numbers

    def add_runs(self, ids: Tokens) -> Codes:
        """Return what `add` returns, faster where equal ids follow each other."""
        starts = np.append(np.zeros(min(1, len(ids)), np.int64), ids.changes())
        return np.repeat(self.add(ids.take(starts)), np.diff(starts, append=len(ids)))

    def vocabulary(self) -> Vocabulary:
        """Return the ids by number; nothing can be added afterwards."""
        return Vocabulary(self._text, np.frombuffer(self._ends, np.uint32))

    def _add(self, ids: Tokens) -> Codes:
        # At most half full, even if all of the block is new: probes stay few, and one always ends.
        if 2 * (len(self) + len(ids)) > self._table.size:
            self._widen()
        count = len(ids)
        keys = ids.codes()
        slots = self._first(keys)
        held = np.zeros(count, np.int32)
        open_ = np.arange(count)
        while open_.size:
            there = self._table[slots[open_]]
            # Of several values for one slot numpy keeps the last: reversed, the first row that claims it.
            free = np.flatnonzero(there == 0)[::-1]
            claims = open_[free]
            self._table[slots[claims]] = -1 - claims  # the first row has the last word
            there[free] = self._table[slots[claims]]
            # A row is done where its own claim stands, or where the slot
            # holds its id: with a number, or as the claim of an earlier row.
            mine = there == -1 - open_
            taken = np.flatnonzero(~mine)
            mine[taken] = self._same(ids, open_[taken], there[taken])
            held[open_[mine]] = there[mine]
            open_ = open_[~mine]
            slots[open_] = self._next(slots[open_], keys[open_])
        rows = np.arange(count)
        new = np.flatnonzero(held == -1 - rows)
        # A number plus one was held; what is negative is a
        # claim: one's own (a new id) or that of a row before.
        numbers = held - 1
        numbers[new] = np.arange(len(self), len(self) + new.size)
        again = held < 0
        numbers[again] = numbers[-1 - held[again]]
        self._table[slots[new]] = numbers[new] + 1
        self._append(ids.take(new))
        return numbers

    def _same(self, ids: Tokens, rows: Places, there: Codes) -> NDArray[np.bool_]:
        """Tell which rows hold the id of their slot: one with a number, or one of a row before."""
        same = np.empty(rows.size, bool)
        known = there > 0
        same[known] = same_token(ids.take(rows[known]), self._ids(there[known] - 1))
        same[~known] = same_token(ids.take(rows[~known]), ids.take(np.int64(-1) - there[~known]))
        return same

    def _first(self, keys: Words) -> Places:
        """Return where the search for each key starts."""
        # The table has 2**b slots, and the upper b bits of a key are its best mixed ones.
        return (keys >> np.uint64(65 - self._table.size.bit_length())).view(np.int64)

    def _next(self, slots: Places, keys: Words) -> Places:
        """Return where it continues: by steps of the key's own, odd so that they reach every slot."""
        steps = (keys | np.uint64(1)).view(np.int64)
        return (slots + steps) & (self._table.size - 1)

    def _ids(self, numbers: Codes) -> Tokens:
        ends = np.frombuffer(self._ends, np.uint32)
        starts = np.where(numbers > 0, ends[numbers - 1], 0).astype(np.int64)
        return Tokens(self._text, starts, ends[numbers].astype(np.int64))

    def _append(self, ids: Tokens) -> None:
        size = len(self._text) - len(_PADDING)
        ends = size + np.cumsum(ids.ends - ids.starts)
        # Ends are stored in 32 bits.
        if ends.size and ends[-1] >= LIMIT:
            raise InputError(
                f"the documents have more than {LIMIT >> 30} GiB of ids",
                "Use a smaller depth, or fewer runs or queries at once.",
            )
        self._text[size:] = b"".join([ids.symbols().data, _PADDING])
        self._ends.extend(ends.astype(np.uint32).data)

    def _widen(self) -> None:
        """Double the table and find every id its slot again."""
        size = self._table.size
        self._table.resize(2 * size, refcheck=False)  # in its place: two tables would take half as much again
        self._table[:size] = 0
        for row in range(0, len(self), _BLOCK):
            open_ = np.arange(row, min(row + _BLOCK, len(self)), dtype=np.int32)
            keys = self._ids(open_).codes()
            slots = self._first(keys)
            while open_.size:
                free = self._table[slots] == 0
                # Rows that share a slot overwrite each other: whoever
                # does not find themselves there tries the next.
                self._table[slots[free]] = open_[free] + 1
                left = self._table[slots] != open_ + 1
                open_, keys, slots = open_[left], keys[left], slots[left]
                slots = self._next(slots, keys)


# Numerals: columns of numbers read out of tokens, all at once and exactly.
#
# A score becomes the float64 nearest to what is written, as Python's ``float`` gives it. The last
# characters of all tokens are a row, those before them another, and so on: few operations on each row make
# whole numbers of the digits, which a power of ten divides. What has more than 18 digits or an exponent,
# and ``inf``, is read one by one.

_FLOAT = re.compile(rb"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?", re.IGNORECASE)
"""It looks at each digit once: a number may be as long as the file."""
_POWERS = np.array([float(10**n) for n in range(23)])  # exact up to 10**22
_EXACT = 2**53
_DIGITS = 18
_ZERO = np.uint8(48)
_POINT = np.uint8(254)
"""A point, from which 48 is taken."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Digits = list[NDArray[np.uint8]]
"""Rows of digits, the last of each number first."""


def floats(tokens: Tokens) -> tuple[Floats, Flags]:
    """Read decimals; the second array is False where a token is not one (``nan`` is not, ``inf`` is)."""
    sizes, negative = _sizes(tokens)
    digits, decimals, pointed = _without_points(_digits(tokens, sizes), sizes.size)
    mantissa, fine = _whole(digits, sizes - pointed)
    # Up to 15 digits the mantissa is below 2**53 and the power at most
    # 10**18: both are exact, and one division rounds once (Clinger, 1990).
    values = mantissa / _POWERS[decimals]
    if len(digits) > 15:
        large = np.flatnonzero(fine & (mantissa >= _EXACT))
        values[large], fine[large] = _quotient(mantissa[large], decimals[large].astype(np.int64))
    if negative.any():
        np.negative(values, out=values, where=negative)
    if not fine.all():
        rest = np.flatnonzero(~fine)
        raws = tokens.take(rest).to_bytes()
        read = np.array([float(raw) if _FLOAT.fullmatch(raw) else np.nan for raw in raws])
        values[rest], fine[rest] = read, ~np.isnan(read)
    return values, fine


def integers(tokens: Tokens) -> tuple[NDArray[np.int64], Flags]:
    """Read whole numbers; the second array is False where a token is not one, or has more than 18 digits."""
    sizes, negative = _sizes(tokens)
    values, fine = _whole(_digits(tokens, sizes), sizes)
    if negative.any():
        np.negative(values, out=values, where=negative)
    return values, fine


def _sizes(tokens: Tokens) -> tuple[Places, Flags]:
    """Return how many characters each number has without its sign, and which sign that is."""
    first = np.frombuffer(tokens.text, np.uint8)[tokens.starts]
    negative = first == 45
    return tokens.ends - tokens.starts - (negative | (first == 43)), negative


def _digits(tokens: Tokens, sizes: Places) -> Digits:
    """Return the characters of numbers less "0", the last of each first; 0 before the first of one."""
    symbols = np.frombuffer(tokens.text, np.uint8)
    least, most = int(sizes.min(initial=_DIGITS)), min(int(sizes.max(initial=0)), _DIGITS + 1)
    firsts = tokens.ends - most
    rows = []
    for place in range(most):
        row = symbols[most - 1 - place :][firsts]
        row -= _ZERO
        if place >= least:
            row *= sizes > place
        rows.append(row)
    return rows


def _without_points(digits: Digits, count: int) -> tuple[Digits, NDArray[np.integer[Any]], Flags]:
    """Take the last point out of each number; return how many digits follow it, and which have one."""
    for place, row in enumerate(digits):
        if row[0] == _POINT and (row == _POINT).all():  # most files give each score as many decimals
            return digits[:place] + digits[place + 1 :], np.full(count, place), np.ones(count, bool)
    decimals, pointed = np.zeros(count, np.uint8), np.zeros(count, bool)
    for row, before in pairwise([*digits, np.zeros(count, np.uint8)]):
        pointed |= row == _POINT
        decimals += ~pointed
        row ^= (row ^ before) * pointed  # what stands before a point moves up over it
    decimals *= pointed
    return digits, decimals, pointed


def _whole(digits: Digits, sizes: Places) -> tuple[NDArray[np.int64], Flags]:
    """Return the numbers that digits make; the second array is False where some are none, or too many."""
    fine = (sizes > 0) & (sizes <= _DIGITS)
    for row in digits:
        fine &= row <= 9
    if len(digits) % 2:
        digits = [*digits, np.zeros(sizes.size, np.uint8)]
    values = np.zeros(sizes.size, np.int64)
    for ten, one in zip(digits[::-2], digits[-2::-2], strict=True):
        values *= 100
        values += 10 * ten + one  # below 100, so that a byte holds it
    return values, fine


def _quotient(mantissa: NDArray[np.int64], decimals: Places) -> tuple[Floats, Flags]:
    """Return ``mantissa / 10**decimals`` rounded once; the second array is False where that is not sure."""
    # The quotient is corrected by the remainder, which is computed exactly (Dekker's product), so the pair
    # carries about 100 bits. Only a pair this close to the middle between two floats could round wrongly.
    # 18 digits do not fit into 53 bits: high + low is the mantissa, exactly.
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(np.int64)).astype(np.float64)
    divisor = _POWERS[decimals]
    first = high / divisor
    product, error = _product(first, divisor)
    # What the first quotient leaves, divided again. 10**18 is an exact float64 (exact up to 10**22).
    second = (((high - product) - error) + low) / divisor
    value = first + second
    left = second - (value - first)
    half = np.spacing(np.maximum(value, np.finfo(np.float64).tiny)) / 2
    certain = (np.abs(np.abs(left) - half) > half * 1e-6) | (mantissa < _EXACT)
    return np.where(mantissa < _EXACT, first, value), certain


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the product of two floats and its rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Split a float into two of 26 bits."""
    # Veltkamp's split with 2**27 + 1.
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


assert FRONT > _DIGITS, "characters are looked at before a block's first token"


# Repeats: rows of a group that hold the same token.

_ODD = np.uint64(0xD6E8FEB86659FD93)


def repeated_rows(group: Places, codes: Words, tokens: Tokens) -> tuple[Places, Places]:
    """Return the rows whose token came before in their group, and for each the row where it came first."""
    # A document may occur once in each group, so the group is part of the key. Half a key sorts in half the
    # time, and a false match costs a look, no more.
    keys = codes ^ (group.astype(np.uint64) * _ODD)
    keys *= _ODD
    upper = (keys >> np.uint64(32)).astype(np.uint32)
    in_order = np.sort(upper)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    again: list[int] = []
    first: list[int] = []
    if twice.size:
        candidates = np.flatnonzero(np.isin(upper, twice))
        firsts: dict[tuple[int, bytes], int] = {}
        raws = tokens.take(candidates).to_bytes()
        for row, place, raw in zip(candidates.tolist(), group[candidates].tolist(), raws, strict=True):
            before = firsts.setdefault((place, raw), row)
            if before != row:
                again.append(row)
                first.append(before)
    return np.array(again, dtype=np.int64), np.array(first, dtype=np.int64)

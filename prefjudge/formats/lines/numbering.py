"""Numbering: ids get numbers in the order in which they first come, without a Python object for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes
from prefjudge.core.pooling.tokens import Places, Tokens, Words, same_token
from prefjudge.core.pooling.vocabulary import Vocabulary
from prefjudge.errors import InputError

LIMIT = 1 << 32
"""Bytes of ids that can be numbered."""

_BLOCK = 1 << 14
"""Ids that are looked up at once."""
_PADDING = b"\n" * 64
"""What follows the last id, so that words can be loaded at its end."""


class Numbering:
    """Ids and their numbers, found by a table with open addressing: about 12 bytes more for each.

    A slot of the table holds nothing (0), a number plus one, or, while a block of ids is looked up, minus one
    minus the row of the block that claims it.
    """

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
                "Look less deep, or at fewer runs or queries at once.",
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

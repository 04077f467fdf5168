"""Repeats: rows of a group that hold the same token."""

import numpy as np

from prefjudge.core.pooling.tokens import Places, Tokens, Words

_ODD = np.uint64(0xD6E8FEB86659FD93)
_SLOTS = 8
"""Slots of the table for each row: more make fewer collisions."""


def repeated_rows(group: Places, codes: Words, tokens: Tokens) -> tuple[Places, Places]:
    """Return the rows whose token came before in their group, and for each the row where it came first.

    Codes select the candidates; the bytes decide.
    """
    # A document may occur once in each group, so the group is
    # part of the key; a false match costs a look, no more.
    keys = codes ^ (group.astype(np.uint64) * _ODD)
    keys *= _ODD
    candidates = _doubled(keys)
    if not candidates.size:
        return candidates, candidates
    firsts: dict[tuple[int, bytes], int] = {}
    again: list[int] = []
    first: list[int] = []
    raws = tokens.take(candidates).to_bytes()
    for row, place, raw in zip(candidates.tolist(), group[candidates].tolist(), raws, strict=True):
        before = firsts.setdefault((place, raw), row)
        if before != row:
            again.append(row)
            first.append(before)
    return np.array(again, dtype=np.int64), np.array(first, dtype=np.int64)


def _doubled(keys: Words) -> Places:
    """Return the rows whose key another row has too, ascending.

    Each row writes itself into a slot of a table. Rows of one key share a slot, so all but one of them find
    another row there: only those rows, which are few, are looked at closely.
    """
    bits = max(4, int(keys.size * _SLOTS).bit_length())
    slots = (keys >> np.uint64(64 - bits)).view(np.int64)
    table = np.empty(1 << bits, np.int32)
    rows = np.arange(keys.size, dtype=np.int32)
    table[slots] = rows
    winner = table[slots]
    losers = np.flatnonzero(winner != rows)
    lost = keys[losers]
    doubled = lost[keys[winner[losers]] == lost]
    in_order = np.sort(lost)
    # Losers that equal each other, though another key won their slot.
    among = in_order[1:][in_order[1:] == in_order[:-1]]
    if not doubled.size and not among.size:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.isin(keys, np.concatenate([doubled, among])))

"""Repeats: rows of a group that hold the same token."""

import numpy as np

from prefjudge.formats.fields import Places, Tokens, Words

_ODD = np.uint64(0xD6E8FEB86659FD93)


def repeated_rows(group: Places, codes: Words, tokens: Tokens) -> tuple[Places, Places]:
    """Return the rows whose token came before in their group, and for each the row where it came first.

    Codes select the candidates; the bytes decide.
    """
    keys = codes ^ (group.astype(np.uint64) * _ODD)
    keys ^= keys >> np.uint64(31)
    in_order = np.sort(keys)
    doubled = in_order[1:][in_order[1:] == in_order[:-1]]
    if not doubled.size:
        none = np.zeros(0, np.int64)
        return none, none
    candidates = np.flatnonzero(np.isin(keys, doubled))
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

"""Repeats: rows of a group that hold the same token."""

import numpy as np

from prefjudge.core.pooling.tokens import Places, Tokens, Words

_ODD = np.uint64(0xD6E8FEB86659FD93)


def repeated_rows(group: Places, codes: Words, tokens: Tokens) -> tuple[Places, Places]:
    """Return the rows whose token came before in their group, and for each the row where it came first.

    Codes select the candidates; the bytes decide.
    """
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

"""Candidates: gives every document of every query a number, for counting by number."""

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes

Index = NDArray[np.int64]


def number_candidates(parts: list[tuple[Codes, Codes]]) -> tuple[Codes, Codes, list[Codes]]:
    """Number the distinct (query, doc) rows; return each candidate's query and doc, and the rows' candidates.

    Most documents occur under one query, so the number of a document is found by one scatter; only the rows
    of documents that several queries of the block share are sorted.
    """
    filled = [doc for _, doc in parts if doc.size]
    if not filled:
        return np.empty(0, np.int32), np.empty(0, np.int32), [np.empty(0, np.int32) for _ in parts]
    lowest = min(int(doc.min()) for doc in filled)
    span = max(int(doc.max()) for doc in filled) - lowest + 1
    if span > 16 * sum(doc.size for _, doc in parts) + 1024:
        return _candidates_by_sorting(parts)
    owner = np.full(span, -1, dtype=np.int32)
    locals_ = [(query, doc - np.int32(lowest)) for query, doc in parts]
    for query, doc in locals_:
        # Of several queries with this document the last one
        # written owns it; the rows of the others are ``shared``.
        owner[doc] = query
    shared = [np.flatnonzero(owner[doc] != query) for query, doc in locals_]
    own = np.flatnonzero(owner >= 0).astype(np.int32)
    held = owner[own]
    if not any(rows.size for rows in shared) and bool((held[1:] >= held[:-1]).all()):
        number = np.empty(span, dtype=np.int32)
        number[own] = np.arange(own.size)
        return held, own + np.int32(lowest), [number[doc] for _, doc in locals_]
    extra_query, extra_doc, extra_rows = _candidates_by_sorting(
        [(query[rows], doc[rows]) for (query, doc), rows in zip(locals_, shared, strict=True)]
    )
    all_query = np.concatenate([held, extra_query])
    all_doc = np.concatenate([own, extra_doc])
    order = np.argsort(all_query.astype(np.int64) * span + all_doc, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    number = np.empty(span, dtype=np.int32)
    number[own] = place[: own.size]
    numbers = [number[doc] for _, doc in locals_]
    for column, rows, extra in zip(numbers, shared, extra_rows, strict=True):
        column[rows] = place[own.size :][extra]
    return all_query[order], all_doc[order] + np.int32(lowest), numbers


def number_in_order(votes: Index, left: Codes, right: Codes) -> tuple[Codes, Codes, list[Codes]] | None:
    """Number the candidates of votes whose document codes rise with the queries, as in a log read by query.

    A candidate's row is its code less the lowest, and nothing has to be looked up. Takes how many votes each
    query has, and the votes in that order. Returns what `number_candidates` does; None where the codes are
    not so. Codes between those of a query get a row too, voted on or not.
    """
    held = np.flatnonzero(votes)
    if not held.size:
        return None
    first = (np.cumsum(votes) - votes)[held]
    low = np.minimum.reduceat(np.minimum(left, right), first)
    high = np.maximum.reduceat(np.maximum(left, right), first)
    # Each query's codes go on right where those of the query before end: code less lowest is then the row.
    if not bool((low[1:] == high[:-1] + 1).all()):
        return None
    query = np.repeat(held.astype(np.int32), high - low + 1)
    doc = np.arange(low[0], high[-1] + 1, dtype=np.int32)
    return query, doc, [left - low[0], right - low[0]]


def count_comparisons(left: Codes, right: Codes, candidates: int) -> Index:
    """Return in how many votes each candidate takes part."""
    counts: Index = np.bincount(left, minlength=candidates) + np.bincount(right, minlength=candidates)
    return counts


def _candidates_by_sorting(parts: list[tuple[Codes, Codes]]) -> tuple[Codes, Codes, list[Codes]]:
    # Two codes of 32 bits in one integer: a single sort orders by query, then document.
    packed = np.concatenate([(query.astype(np.int64) << 32) | doc for query, doc in parts])
    keys, row = np.unique(packed, return_inverse=True)
    ends = np.cumsum([doc.size for _, doc in parts])[:-1]
    query, doc = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    return query, doc, np.split(row.astype(np.int32), ends)


def contains(query: Codes, doc: Codes, of_query: Codes, of_doc: Codes) -> NDArray[np.bool_]:
    """Return which of the rows ``(of_query, of_doc)`` are among the rows ``(query, doc)``."""
    keys = np.sort((query.astype(np.int64) << 32) | doc)
    wanted = (of_query.astype(np.int64) << 32) | of_doc
    place = np.searchsorted(keys, wanted)
    # A key beyond the last has no place to compare with.
    found: NDArray[np.bool_] = place < keys.size
    found[found] = keys[place[found]] == wanted[found]
    return found

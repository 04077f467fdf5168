"""Ranking: the one place where the documents of a query are put in order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import Places, Tokens
from prefjudge.formats.runs.chunks import RunChunk


@dataclass(frozen=True, slots=True)
class Ranking:
    """A chunk of a run in ranking order.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        The chunk's rows: group after group, in each group from the top.
    tied : ndarray of bool, shape (n,)
        Whether each of them ties with the one before it.
    """

    rows: Places
    tied: NDArray[np.bool_]


def ranked(chunk: RunChunk, order: Order) -> Ranking:
    """Order the documents of each query; ties by doc_id descending, compared as bytes."""
    count = len(chunk)
    if order is Order.FILE:
        return Ranking(np.arange(count), np.zeros(count, bool))
    key = ranking_key(chunk.score, chunk.rank, order)
    inside = _inside(chunk.bounds)
    # Most runs are sorted already: only queries in which a key rises are sorted.
    rising = np.flatnonzero((key[1:] > key[:-1]) & inside)
    rows = np.arange(count)
    if rising.size:
        rows = _sorted_groups(chunk, key, rising + 1)
        key = key[rows]
    tied = np.zeros(count, bool)
    tied[1:] = (key[1:] == key[:-1]) & inside
    if tied.any():
        _order_ties(chunk.docs, rows, tied)
    return Ranking(rows, tied)


def is_ranked(chunk: RunChunk, order: Order) -> bool:
    """Tell whether the lines of each query stand as they rank, ties aside."""
    if order is Order.FILE:
        return True
    key = ranking_key(chunk.score, chunk.rank, order)
    return not ((key[1:] > key[:-1]) & _inside(chunk.bounds)).any()


def stretches(starts: Places, sizes: Places) -> Places:
    """Return as many rows from each start on as its size says, one stretch after the other."""
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(starts - ends + sizes, sizes)


def _inside(bounds: Places) -> NDArray[np.bool_]:
    """Tell of each row but the first whether the one before is of the same query."""
    inside = np.ones(bounds[-1], bool)
    inside[bounds[:-1]] = False
    return inside[1:]


def ranking_key(
    score: NDArray[np.float64], rank: NDArray[np.int64] | None, order: Order
) -> NDArray[np.float64]:
    """Return what ranks a row: higher is better."""
    if order is Order.RANK:
        assert rank is not None
        return -rank.astype(np.float64)
    if order is Order.SCORE_F32:
        with np.errstate(over="ignore"):  # a score beyond float32 is infinite there
            return score.astype(np.float32).astype(np.float64)
    return score


def _sorted_groups(chunk: RunChunk, key: NDArray[np.float64], rising: Places) -> Places:
    """Sort the groups in which the key rises somewhere; the others are in order."""
    rows = np.arange(len(chunk))
    groups = np.unique(np.searchsorted(chunk.bounds, rising, side="right") - 1)
    unsorted = np.zeros(len(chunk.queries), bool)
    unsorted[groups] = True
    group = chunk.group
    part = np.flatnonzero(unsorted[group])
    # Sorting is stable, so ties stay as the file lists them
    # until `_order_ties`; infinite scores negate as they should.
    rows[part] = part[np.lexsort((-key[part], group[part]))]
    return rows


def _order_ties(docs: Tokens, rows: Places, tied: NDArray[np.bool_]) -> None:
    """Reorder ``rows`` inside each span of ties by document, descending."""
    # The first row of a span is not ``tied`` to the one before it, but belongs to the span.
    member = tied.copy()
    member[:-1] |= tied[1:]
    places = np.flatnonzero(member)
    span = np.cumsum(~tied)[places]
    part = docs.take(rows[places])
    # Big-endian words compare as bytes do, their complements descending. Words end in zeros, so the length
    # tells "a" from "a" with a NUL behind it. lexsort takes its first key last.
    keys: list[NDArray[np.uint64] | Places] = [-(part.ends - part.starts)]
    keys += [~part.words(index).byteswap() for index in reversed(range(part.width()))]
    rows[places] = rows[places][np.lexsort((*keys, span))]

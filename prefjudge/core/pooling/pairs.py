"""Pairs: the unordered comparisons to be judged, ``doc_a < doc_b``."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.runs import Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs to compare: one row per unordered pair of documents of a query.

    Attributes
    ----------
    queries : tuple of str
    docs : sequence of str
        The vocabularies, shared with the pools.
    query, doc_a, doc_b : ndarray of int32, shape (n,)
        Codes. ``docs[doc_a[i]] < docs[doc_b[i]]``; rows are grouped by query.
    """

    queries: tuple[str, ...]
    docs: Sequence[str]
    query: Codes
    doc_a: Codes
    doc_b: Codes

    def __len__(self) -> int:
        return int(self.query.size)


def all_pairs(pools: Pools) -> Pairs:
    """Pair every two documents of each pool.

    Returns
    -------
    Pairs
        ``sum(size * (size - 1) / 2)`` rows. The cost is in the sizes' histogram, not in their mean.

    References
    ----------
    Shallow pooling for sparse labels, section 4.1.
    """
    first, second = pair_rows(pools.sizes)
    return Pairs(
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query[first],
        doc_a=pools.doc[first],
        doc_b=pools.doc[second],
    )


def pair_rows(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of both members of each pair: pools of one size are paired in one go."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    firsts, seconds = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        a, b = np.triu_indices(int(size), k=1)
        base = starts[sizes == size][:, None]
        firsts.append((base + a).ravel())
        seconds.append((base + b).ravel())
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    # Paired by size; the rows of a pool are contiguous, so sorting puts the pools back into their order.
    order = np.lexsort((second, first))
    return first[order], second[order]

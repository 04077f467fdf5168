"""Kemeny's rule: the order that contradicts the fewest votes, found exactly."""

import numpy as np

from prefjudge.core.resolving.majority import smith
from prefjudge.core.resolving.tournament import Index
from prefjudge.core.resolving.vote_matrices import Flags, Floats, VoteMatrices

EXACT = 20
"""Up to how many candidates in the top cycle the search is exact."""
_CELLS = 1 << 22


def kemeny(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """Every candidate that comes first in some order that contradicts the fewest votes.

    The top cycle comes first in any such order, so only it is searched: by dynamic programming over its
    subsets, up to :data:`EXACT` members. A larger top cycle is returned whole.

    References
    ----------
    J. Kemeny: Mathematics without numbers (Daedalus, 1959). H. Young: Condorcet's theory of voting (American
    Political Science Review, 1988) shows the order to be the most likely one when all votes err alike.
    """
    score, top = smith(stack)
    winner = top.copy()
    sizes = top.sum(axis=1)
    # One alone leads; two in a top cycle are even, and either may lead. Both are in ``top`` already.
    for size in np.unique(sizes[(sizes > 2) & (sizes <= EXACT)]):
        queries = np.flatnonzero(sizes == size)
        # ``against`` holds k 2**k sums for each query.
        step = max(1, _CELLS // (int(size) << int(size)))
        for low in range(0, queries.size, step):
            some = queries[low : low + step]
            members = np.nonzero(top[some])[1].reshape(some.size, int(size))
            votes = stack.votes[some[:, None, None], members[:, :, None], members[:, None, :]]
            winner[some[:, None], members] = _first_of_best_orders(votes)
    return score, winner


def _first_of_best_orders(votes: Floats) -> Flags:
    """Return who comes first in some best order, shape (n, k), from votes of shape (n, k, k)."""
    n, k, _ = votes.shape
    full = 1 << k
    # against[x, S]: the votes of members of S over x, all contradicted where x stands ahead of S.
    against = _subset_sums(votes.transpose(0, 2, 1))
    cost = np.full((n, full), np.inf)
    cost[:, 0] = 0.0
    # cost[S] = min over x in S of against[x, S - x] + cost[S
    # - x]: by size, since every S - x is one smaller.
    for layer in _subsets_by_size(k)[1:]:
        lowest = np.full((n, layer.size), np.inf)
        for first in range(k):
            has = np.flatnonzero(layer >> first & 1)
            rest = layer[has] ^ (1 << first)
            lowest[:, has] = np.minimum(lowest[:, has], against[:, first, rest] + cost[:, rest])
        cost[:, layer] = lowest
    # Whoever reaches the least cost of all when put first is first in some best order.
    others = (full - 1) ^ (1 << np.arange(k))
    chosen = against[:, np.arange(k), others] + cost[:, others]
    return np.asarray(np.isclose(chosen, cost[:, -1:], rtol=0, atol=1e-6))


def _subset_sums(against: Floats) -> Floats:
    """Return the votes that a candidate put ahead of a subset contradicts, shape (n, k, 2**k)."""
    n, k, _ = against.shape
    sums = np.zeros((n, k, 1 << k))
    for member in range(k):
        # Subsets below 2**member lack the member; the next as many are the same with it.
        half = 1 << member
        sums[:, :, half : 2 * half] = sums[:, :, :half] + against[:, :, member, None]
    return sums


def _subsets_by_size(k: int) -> list[Index]:
    subsets = np.arange(1 << k)
    sizes = np.zeros(1 << k, dtype=np.int64)
    for member in range(k):
        sizes += subsets >> member & 1
    return [subsets[sizes == size] for size in range(k + 1)]

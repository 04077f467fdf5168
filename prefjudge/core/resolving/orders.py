"""Orders: every order of the candidates, summed over, where a vote errs as often on each pair.

Strengths do not matter then, only who is above whom: the posterior is a sum over the k! orders, which dynamic
programming over the 2**k sets of candidates takes in k 2**(k - 1) steps.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.tournament import Index
from prefjudge.core.resolving.vote_matrices import Floats

LARGEST = 12
"""The most candidates whose orders are summed over."""
_CELLS = 1 << 22


def sum_orders(votes: Floats, error: float | Floats, cast: CastVotes | None = None) -> tuple[Floats, Floats]:
    """Return who is the best, and how probable the votes are, if each is wrong with one probability.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``; ``k`` is :data:`LARGEST` at most.
    error : float or ndarray of float64, shape (n,)
        The probability that a vote prefers the worse one; without ``cast`` it may differ.
    cast : CastVotes, optional
        The same votes with the trust in each; the error is that of the most reliable workers.

    Returns
    -------
    chance : ndarray of float64, shape (n, k)
        The posterior probability that each candidate is the best; every order is as probable before.
    log_evidence : ndarray of float64, shape (n,)
        The log probability of each query's votes.
    """
    n, k, _ = votes.shape
    above = pair_logs(votes, error, cast)
    chance, evidence = np.empty((n, k)), np.empty(n)
    for some, sums in _sums(above):
        chance[some], evidence[some] = sums.chance, sums.total[-1]
    return chance, evidence - math.lgamma(k + 1)


def draw_exactly(votes: Floats, error: float, rng: np.random.Generator) -> Index:
    """Return an order of each query's candidates, drawn from the posterior: the place of each, 0 the best.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        As for :func:`sum_orders`; the places have shape (n, k).
    error : float
        The probability that a vote prefers the worse one.
    rng : numpy.random.Generator
    """
    n, k, _ = votes.shape
    place = np.zeros((n, k), dtype=np.int64)
    for some, sums in _sums(pair_logs(votes, error)):
        query = np.arange(sums.total.shape[1])
        rest = np.full(query.size, (1 << k) - 1)
        for step in range(k):
            # Who is on top of the rest: as probable as the orders of all others below are, summed.
            logs = np.full((query.size, k), -np.inf)
            for x in range(k):
                below = rest & ~(1 << x)
                held = below != rest
                logs[held, x] = (sums.total[below, query] + sums.over[x, below, query])[held]
            # The greatest of logs with Gumbel noise is a draw in proportion to their exponentials.
            top = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
            place[some][query, top] = step
            rest &= ~(1 << top)
    return place


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums over the orders of every set of candidates, whose members are the bits of a number.

    ``over[x, S]``, shape (k, 2**k, n), is the log probability that x is above all of the set, ``total[S]``
    the log of the sum over its orders, and ``chance``, shape (n, k), how probably each is the best of all.
    """

    over: Floats
    total: Floats
    chance: Floats


def pair_logs(votes: Floats, error: float | Floats, cast: CastVotes | None = None) -> Floats:
    """Return the log probability of each pair's votes where the first is above the other, shape (n, k, k)."""
    if cast is not None:
        return cast.log_orders(len(votes), votes.shape[1], float(np.ravel(error)[0]))
    wrong = np.asarray(error)[..., None, None]
    return np.asarray(votes * np.log1p(-wrong) + votes.transpose(0, 2, 1) * np.log(wrong))


def _sums(above: Floats) -> Iterator[tuple[slice, _Sums]]:
    """Yield slices of the queries with their sums."""
    n, k, _ = above.shape
    # Candidates first, so that queries are contiguous.
    pairs = np.ascontiguousarray(above.transpose(1, 2, 0))
    layers = _layers(k)
    step = max(1, _CELLS // (k << k))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        yield some, _summed(pairs[:, :, some], layers)


def _summed(pairs: Floats, layers: list[tuple[Index, Index]]) -> _Sums:
    k, _, n = pairs.shape
    over = np.zeros((k, 1 << k, n))
    for y in range(k):
        over[:, 1 << y : 2 << y] = over[:, : 1 << y] + pairs[:, y, None]
    total = np.zeros((1 << k, n))
    for sets, best in layers:
        rest = sets[:, None] ^ (1 << best)
        # The orders of a set are those with each of its members on top. Logs: a thousand votes underflow.
        terms = total[rest] + over[best, rest]
        top = terms.max(axis=1)
        weight = np.exp(terms - top[:, None])
        sums = weight.sum(axis=1)
        total[sets] = top + np.log(sums)
    # The last layer is the set of all.
    return _Sums(over, total, (weight[0] / sums).T)


def _layers(k: int) -> list[tuple[Index, Index]]:
    """Return the sets of 1, 2, ... k candidates, and the members of each, shape (sets, size)."""
    member = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    sizes = member.sum(axis=1)
    layers = []
    for size in range(1, k + 1):
        sets = np.flatnonzero(sizes == size)
        layers.append((sets, np.nonzero(member[sets])[1].reshape(sets.size, size)))
    return layers

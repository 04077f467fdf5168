"""Drawn orders: what the sum over all orders tells, of pools with too many to sum over.

An order is drawn from the top. Who is next is drawn by how probable it is that a candidate is above all that
are left, by its own votes against them: as if each of them stood anywhere by itself. What the draw is off by
is its weight (importance sampling), and the mean of the weights is the evidence.
"""

import math
from collections.abc import Iterator

import numpy as np

from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.orders import pair_logs
from prefjudge.core.resolving.tournament import Index
from prefjudge.core.resolving.vote_matrices import Floats

MOST_DRAWN = 20
"""The most candidates whose orders are drawn: of more, draws hit the probable orders too seldom."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_PLACES = ((_NODES[:, None, None] + 1.0) / 2.0) ** 2
"""Places in an order, from 0 at the top to 1: more of them near the top, where it counts."""
_SHARES = (_WEIGHTS * (_NODES + 1.0) / 2.0)[:, None, None]
_LARGEST_LOG = 600.0
"""What all pairs of a candidate may say together: the exponential of more is no number."""
_CELLS = 1 << 15
"""How many places of orders are drawn at a time: what is known of them stays in the processor's cache."""


def draw_orders(
    votes: Floats,
    error: float | Floats,
    *,
    draws: int,
    rng: np.random.Generator,
    cast: CastVotes | None = None,
    alike: bool = True,
) -> tuple[Floats, Floats]:
    """Return who is the best, and how probable the votes are, if each is wrong with one probability.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``; ``k`` is :data:`MOST_DRAWN` at most.
    error : float or ndarray of float64, shape (n,)
        The probability that a vote prefers the worse one; without ``cast`` it may differ.
    draws : int
        Orders of each query.
    rng : numpy.random.Generator
        The source of randomness.
    cast : CastVotes, optional
        The same votes with the trust in each; the error is that of the most reliable workers.
    alike : bool
        Whether all queries take the same random numbers, so that a query's answer does not depend on those
        beside it. For sums over the queries they should not: errors that are alike in all would add up.

    Returns
    -------
    chance : ndarray of float64, shape (n, k)
        The posterior probability that each candidate is the best; every order is as probable before.
    log_evidence : ndarray of float64, shape (n,)
        The log probability of each query's votes.
    """
    n, k, _ = votes.shape
    chance, evidence = np.empty((n, k)), np.empty(n)
    for some, order, logs in _samples(pair_logs(votes, error, cast), draws, rng, alike=alike):
        heaviest, count = logs.max(axis=1, keepdims=True), len(logs)
        share = np.exp(logs - heaviest)
        top = order[:, :, 0] + k * np.arange(count)[:, None]
        mass = np.bincount(top.ravel(), weights=share.ravel(), minlength=count * k).reshape(count, k)
        chance[some] = mass / share.sum(axis=1, keepdims=True)
        evidence[some] = heaviest[:, 0] + np.log(share.mean(axis=1))
    return chance, evidence - math.lgamma(k + 1)


def draw_one(votes: Floats, error: float, *, draws: int, rng: np.random.Generator) -> Index:
    """Return one order of each query's candidates from the posterior: the place of each, 0 the best.

    The parameters are those of :func:`draw_orders`; one of so many orders is taken, in proportion to their
    weights.
    """
    n, k, _ = votes.shape
    place = np.empty((n, k), dtype=np.int64)
    for some, order, logs in _samples(pair_logs(votes, error), draws, rng, alike=False):
        # The greatest of logs with Gumbel noise is a draw in proportion to their exponentials.
        one = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
        place[some] = order[np.arange(one.size), one].argsort(axis=1)
    return place


def _samples(
    above: Floats, draws: int, rng: np.random.Generator, *, alike: bool
) -> Iterator[tuple[slice, Index, Floats]]:
    """Yield slices of the queries with the orders of each, and the logs of their weights."""
    n, k, _ = above.shape
    above[:, np.arange(k), np.arange(k)] = 0.0
    # One number in each part of the unit interval, in any order: the mean of so many has less chance in it.
    numbers = (rng.permuted(np.tile(np.arange(draws), (k, 1)), axis=1) + rng.random((k, draws))) / draws
    shift = np.zeros((n, k, 1)) if alike else rng.random((n, k, 1))
    step = max(1, _CELLS // (draws * k))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        # Never 0: that would name one who has a place already.
        yield some, *_drawn(above[some], np.maximum((numbers + shift[some]) % 1.0, 1e-15))


def _drawn(above: Floats, numbers: Floats) -> tuple[Index, Floats]:
    """Return orders, shape (n, draws, k), from the best on, and the logs of their weights, (n, draws).

    ``above[q, x, y]`` is the log probability of a pair's votes if ``x`` is above ``y``; ``numbers``, shape
    (n, k, draws), are uniform.
    """
    n, k, draws = numbers.shape
    of = np.repeat(np.arange(n), draws)
    number, each = numbers.transpose(1, 0, 2).reshape(k, -1, 1), np.arange(of.size)
    most = _LARGEST_LOG / k
    odds = np.exp(np.clip(above - above.transpose(0, 2, 1), -most, most)).reshape(n * k, k)
    # What the votes of x and y say of a place of x, beside one at the top; the mean over all places of what
    # all of its pairs say tells how much is lost if x is not on top.
    pairs = (1.0 - _PLACES) + _PLACES * odds
    lost = (pairs.reshape(-1, n, k, k).prod(axis=2) * _SHARES).take(of, axis=1)
    told = above.sum(axis=2)[of]
    without, less = 1.0 / pairs, above.transpose(0, 2, 1).reshape(n * k, k)
    weight, order = np.zeros(of.size), np.zeros((of.size, k), dtype=np.int64)
    for place in range(k - 1):
        chance = 1.0 / lost.sum(axis=0)
        below = chance.copy()
        for x in range(1, k):  # a column at a time: a third of what np.cumsum takes
            below[:, x] += below[:, x - 1]
        one = (below < number[place] * below[:, -1:]).argmin(axis=1)
        weight += told[each, one] - np.log(chance[each, one] / below[:, -1])
        order[:, place] = one
        told -= less.take(of * k + one, axis=0)
        lost *= without.take(of * k + one, axis=1)
        lost[0, each, one] = np.inf  # it has its place
    order[:, -1] = k * (k - 1) // 2 - order.sum(axis=1)  # who is left
    return order.reshape(n, draws, k), weight.reshape(n, draws)

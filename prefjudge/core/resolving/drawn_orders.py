"""Drawn orders: what the sum over all orders tells, of pools with too many to sum over.

An order is drawn from the top. Who is next is drawn by how probable it is that a candidate is above all that
are left, by its own votes against them: as if each of them stood anywhere by itself. What the draw is off by
is its weight (importance sampling), and the mean of the weights is the evidence.
"""

import math

import numpy as np

from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.orders import pair_logs
from prefjudge.core.resolving.vote_matrices import Floats

MOST_DRAWN = 20
"""The most candidates whose orders are drawn: of more, draws hit the probable orders too seldom."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_PLACES = ((_NODES + 1.0) / 2.0) ** 2
"""Places in an order, from 0 at the top to 1: more of them near the top, where it counts."""
_SHARES = _WEIGHTS * (_NODES + 1.0) / 2.0
_LARGEST_LOG = 600.0
"""What all pairs of a candidate may say together: the exponential of more is no number."""
_CELLS = 1 << 17


def draw_orders(
    votes: Floats,
    error: float,
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
    error : float
        The probability that a vote prefers the worse one.
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
    above = pair_logs(votes, error, cast)
    above[:, np.arange(k), np.arange(k)] = 0.0
    # One number in each part of the unit interval, in any order: the mean of so many has less chance in it.
    numbers = (rng.permuted(np.tile(np.arange(draws), (k, 1)), axis=1) + rng.random((k, draws))) / draws
    shift = np.zeros((n, k, 1)) if alike else rng.random((n, k, 1))
    chance, weight = np.empty((n, k)), np.empty(n)
    step = max(1, _CELLS // (draws * k))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        # Never 0: that would name one who has a place already.
        chance[some], weight[some] = _drawn(above[some], np.maximum((numbers + shift[some]) % 1.0, 1e-15))
    return chance, weight - math.lgamma(k + 1)


def _drawn(above: Floats, numbers: Floats) -> tuple[Floats, Floats]:
    """Return who is how often on top, shape (n, k), and the log of the mean weight, shape (n,).

    ``above[q, x, y]`` is the log probability of a pair's votes if ``x`` is above ``y``; ``numbers``, shape
    (n, k, draws), are uniform.
    """
    n, k, draws = numbers.shape
    of = np.repeat(np.arange(n), draws)
    number, each = numbers.transpose(1, 0, 2).reshape(k, -1, 1), np.arange(of.size)
    most = _LARGEST_LOG / k
    odds = np.exp(np.clip(above.transpose(0, 2, 1) - above, -most, most))
    # What the votes of x and y say of a place of x, beside one at the top; the mean over all places of what
    # all of its pairs say tells how much is lost if x is not on top.
    pairs = (1.0 - _PLACES[:, None]) + _PLACES[:, None] * odds.transpose(0, 2, 1)[:, :, None]
    lost = (pairs.prod(axis=1) * _SHARES[:, None])[of]
    told = above.sum(axis=2)[of]
    without, less = (1.0 / pairs).reshape(n * k, -1, k), above.transpose(0, 2, 1).reshape(n * k, k)
    weight, top = np.zeros(of.size), of
    for place in range(k - 1):
        chance = 1.0 / lost.sum(axis=1)
        below = np.cumsum(chance, axis=1)
        one = (below < number[place] * below[:, -1:]).sum(axis=1)
        weight += told[each, one] - np.log(chance[each, one] / below[:, -1])
        top = top if place else one
        told -= less[of * k + one]
        lost *= without[of * k + one]
        lost[each, :, one] = np.inf  # it has its place
    logs = weight.reshape(n, draws)
    heaviest = logs.max(axis=1, keepdims=True)
    share = np.exp(logs - heaviest)
    mass = np.bincount(top + k * of, weights=share.ravel(), minlength=n * k).reshape(n, k)
    return mass / share.sum(axis=1, keepdims=True), heaviest[:, 0] + np.log(share.mean(axis=1))

"""The exact sign-flip test: the votes of a query depend on each other and count as one outcome."""

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.evaluation.scoring.placings import Floats, Integers

VARIANT = "two-sided sign-flip test of each query's net votes, exact; the votes of a query are one cluster"


def sign_flip_p(net: Integers) -> Floats:
    """Return the two-sided p-value of each row's sum when the signs of its elements are flipped at random.

    The votes of one query are about the same two passages and agree more than chance has it: a test that
    counts them one by one errs too often. Their balance, votes for less votes against, is one outcome. If
    neither run is the better one, it might as well have had the other sign: the p-value is the share of all
    2**queries choices of signs whose sum is at least as far from 0. Balances of 1 and -1, as of one vote a
    query, make it the binomial test.

    Parameters
    ----------
    net : ndarray of int64, shape (pairs, queries)
        The balance of each query; 0 does not count.

    Returns
    -------
    ndarray of float64, shape (pairs,)
        1 where no query has a balance.
    """
    return np.array([_one(row[row != 0]) for row in net])


def _one(net: Integers) -> float:
    if not net.size:
        return 1.0
    sizes, counts = np.unique(np.abs(net), return_counts=True)
    # In steps of the common divisor the distribution is as short as it can be.
    step = int(np.gcd.reduce(sizes))
    chance: NDArray[np.floating] = np.ones(1)  # [s]: that the balances with a positive sign sum to s steps
    for size, count in zip((sizes // step).tolist(), counts.tolist(), strict=True):
        positive = np.zeros(size * count + 1)
        positive[::size] = _halves(count)
        chance = np.convolve(chance, positive)
    # The sum of all signs is 2 s - total, and s is symmetric about total / 2: both tails are equally heavy.
    above = int(net[net > 0].sum()) // step
    fewer = min(above, chance.size - 1 - above)
    return min(1.0, 2.0 * float(chance[: fewer + 1].sum()))


def _halves(count: int) -> Floats:
    """Return the binomial probabilities of 0 to ``count`` heads."""
    heads = np.arange(count + 1.0)
    ways: Floats = (
        scipy.special.gammaln(count + 1.0)
        - scipy.special.gammaln(heads + 1.0)
        - scipy.special.gammaln(count - heads + 1.0)
    )
    chance: Floats = np.exp(ways - count * np.log(2.0))
    return chance

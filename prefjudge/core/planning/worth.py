"""Worth: what a further vote on a pool is expected to bring."""

from collections.abc import Callable

import numpy as np
import scipy

from prefjudge.core.asking.strategies import Floats
from prefjudge.core.judges.noise import error_of_scale
from prefjudge.core.planning.neighbours import Stakes
from prefjudge.core.resolving.bradley_terry import SCALE
from prefjudge.core.resolving.scales import Scales

_INFORMATION = 0.23
"""What a vote tells of the difference of two strengths: p (1 - p), where a third of the votes is wrong."""
_AHEAD = np.array([1, 2, 4, 8, 16, 32, 64], dtype=np.float64)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_NEGLIGIBLE = 0.01


def worth(
    votes: Floats, chance: Floats, stakes: Stakes | None = None, *, crowd: Scales | None = None
) -> Floats:
    """Return by how much a further vote on a pool raises the expected number of right winners, shape (n,).

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes so far.
    chance : ndarray of float64, shape (n, k)
        The probability that each candidate is the best.
    stakes : Stakes, optional
        What hangs on the best answers: a vote is then worth by how much it lowers the cost of being wrong.
    crowd : Scales, optional
        How far apart candidates are; by default as far as they usually are. The further, the more may a vote
        still change.

    Notes
    -----
    Of two candidates only, the likeliest ones, or those on whom most hangs: as if the difference of their
    strengths were normal, ``m`` more votes move its mean by a normal amount of known variance, so that the
    expected probability of being right after them is a one-dimensional integral. One vote seldom changes who
    leads, and so looks worth nothing: the best of one to 64 votes ahead is taken, for each of its votes (as
    the knowledge gradient of Frazier and Powell, The knowledge-gradient stopping rule, 2008, and its
    look-ahead).
    """
    n, size = chance.shape
    if size == 1:
        return np.zeros(n)
    place = np.argsort(-chance, axis=1, kind="stable")[:, :2]
    if stakes is not None:
        doubt = chance[:, :, None] * chance[:, None, :] * stakes.cost
        pair = np.stack(np.divmod(doubt.reshape(n, -1).argmax(axis=1), size), axis=1)
        place = np.take_along_axis(
            pair, np.argsort(-np.take_along_axis(chance, pair, axis=1), axis=1), axis=1
        )
    two = np.take_along_axis(chance, place, axis=1)
    shown = votes.sum(axis=2) + votes.sum(axis=1)
    one, other = place.T
    row = np.arange(n)
    between = votes[row, one, other] + votes[row, other, one]
    # The prior and the votes that showed each of the two beside others: what is known of each strength adds
    # up. Those that showed both tell their difference itself.
    known = 1.0 / (SCALE if crowd is None else crowd.mean) ** 2 + _INFORMATION * (
        np.take_along_axis(shown, place, axis=1) - between[:, None]
    )
    variance = 1.0 / (1.0 / (1.0 / known).sum(axis=1) + _INFORMATION * between)
    both = two.sum(axis=1)
    share = np.clip(two[:, 0] / np.maximum(both, 1e-300), 0.5, 1.0 - 1e-9)
    # Where something hangs on a choice between two, it is the variance of the choice that votes take away.
    value = _chance if stakes is None else _less_variance
    scope = both if stakes is None else both**2 * stakes.cost[row, one, other]
    alike, error = _all_alike(crowd)
    gained = np.zeros((n, _AHEAD.size))
    if alike < 1.0 - _NEGLIGIBLE:
        gained += (1.0 - alike) * _if_close_is_harder(share, variance, value)
    if alike > _NEGLIGIBLE:
        gained += alike * _if_all_are_alike(share, error, value)
    return np.asarray(scope * np.maximum((gained / _AHEAD).max(axis=1), 0.0))


def _chance(right: Floats) -> Floats:
    return right


def _less_variance(right: Floats) -> Floats:
    return -right * (1.0 - right)


def _all_alike(crowd: Scales | None) -> tuple[float, float]:
    """Return how probably all pairs are as hard, and the share of wrong votes then."""
    if crowd is None:
        return 0.0, 0.5
    weight = np.where(crowd.lapses == 1.0, crowd.weight, 0.0)
    total = float(weight.sum())
    errors = [error_of_scale(scale) for scale in crowd.scale.tolist()]
    return total, float(weight @ errors) / max(total, 1e-300)


def _if_close_is_harder(share: Floats, variance: Floats, value: Callable[[Floats], Floats]) -> Floats:
    """Return what further votes add to the value of a choice, shape (n, ahead): a normal difference."""
    lead = scipy.special.ndtri(share)
    left = 1.0 / (1.0 / variance[:, None] + _INFORMATION * _AHEAD)
    moves = np.sqrt(variance[:, None] - left)
    after = (lead * np.sqrt(variance))[:, None, None] + moves[:, :, None] * _NODES
    then = scipy.special.ndtr(np.abs(after) / np.sqrt(left)[:, :, None])
    return np.asarray(value(then) @ _WEIGHTS - value(share)[:, None])


def _if_all_are_alike(share: Floats, error: float, value: Callable[[Floats], Floats]) -> Floats:
    """Return the same: each vote multiplies the odds by as much."""
    votes = _AHEAD[:, None]
    right = np.arange(_AHEAD[-1] + 1.0)
    first = scipy.stats.binom.pmf(right, votes, 1.0 - error)
    other = scipy.stats.binom.pmf(right, votes, error)
    mass = share[:, None, None] * first, (1.0 - share)[:, None, None] * other
    either = mass[0] + mass[1]
    then = np.maximum(*mass) / np.maximum(either, 1e-300)
    return np.asarray((value(then) * either).sum(axis=2) - value(share)[:, None])

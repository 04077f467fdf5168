"""Worth: what a further vote on a pool is expected to bring."""

import numpy as np
import scipy

from prefjudge.core.asking.strategies import Floats
from prefjudge.core.planning.neighbours import Stakes
from prefjudge.core.resolving.bradley_terry import SCALE

_INFORMATION = 0.23
"""What a vote tells of the difference of two strengths: p (1 - p), where a third of the votes is wrong."""
_AHEAD = np.array([1, 2, 4, 8, 16, 32, 64], dtype=np.float64)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def worth(
    votes: Floats, chance: Floats, stakes: Stakes | None = None, *, scale: float | None = None
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
    scale : float, optional
        How far apart candidates are: the standard deviation of their strengths, in logits; by default as far
        as they usually are. The further, the more may a vote still change.

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
    known = 1.0 / (SCALE if scale is None else scale) ** 2 + _INFORMATION * (
        np.take_along_axis(shown, place, axis=1) - between[:, None]
    )
    variance = 1.0 / (1.0 / (1.0 / known).sum(axis=1) + _INFORMATION * between)
    both = two.sum(axis=1)
    lead = scipy.special.ndtri(np.clip(two[:, 0] / np.maximum(both, 1e-300), 0.5, 1.0 - 1e-9))
    mean = lead * np.sqrt(variance)
    left = 1.0 / (1.0 / variance[:, None] + _INFORMATION * _AHEAD)
    moves = np.sqrt(variance[:, None] - left)
    after = mean[:, None, None] + moves[:, :, None] * _NODES
    now, then = scipy.special.ndtr(lead), scipy.special.ndtr(np.abs(after) / np.sqrt(left)[:, :, None])
    if stakes is not None:
        # The variance of a choice between two: what each vote takes away of it.
        both = both**2 * stakes.cost[row, one, other]
        now, then = -now * (1.0 - now), -then * (1.0 - then)
    gained = (then @ _WEIGHTS - now[:, None]) / _AHEAD
    return np.asarray(both * np.maximum(gained.max(axis=1), 0.0))

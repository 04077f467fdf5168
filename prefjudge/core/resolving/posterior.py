"""The posterior of Bradley-Terry strengths at one scale: who is the best, and how probable the votes are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.resolving.bradley_terry import Strengths
from prefjudge.core.resolving.vote_matrices import Floats

_WIDER = 1.1
"""The proposal is this much wider than Laplace's approximation, so that no tail is missed."""
_CELLS = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Weighted draws of the strengths of some queries."""

    queries: slice
    strength: NDArray[np.float32]
    """Shape (n, k, draws)."""
    weight: NDArray[np.float32]
    """The log of each draw's weight, shape (n, draws): its mean over the draws is the evidence."""


def chance_best(
    votes: Floats, fit: Strengths, *, scale: float, draws: int, rng: np.random.Generator
) -> Floats:
    """Return the posterior probability that each candidate is the best, shape (n, k).

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes that were fitted.
    fit : Strengths
        Their most likely strengths.
    scale : float
        The standard deviation of the prior.
    draws : int
        Samples per query; the standard error of a probability is about ``0.5 / sqrt(draws)`` at most.
    rng : numpy.random.Generator
        The source of randomness.

    Notes
    -----
    Draws come from Laplace's normal approximation and are weighted by how far it is off (importance
    sampling), so that the answer is right with few votes too.
    """
    n, k = fit.mean.shape
    chance = np.ones((n, k))
    if k == 1:
        return chance
    for sample in _samples(votes, fit, scale, draws, rng):
        # Only ratios of weights count; less the greatest no exponential overflows, and not all underflow.
        weight = np.exp(sample.weight - sample.weight.max(axis=1, keepdims=True))
        count = weight.shape[0]
        # Query q counts in bins q k to q k + k - 1, so one bincount serves all queries.
        best = sample.strength.argmax(axis=1) + k * np.arange(count)[:, None]
        mass = np.bincount(best.ravel(), weights=weight.ravel(), minlength=k * count).reshape(count, k)
        chance[sample.queries] = mass / mass.sum(axis=1, keepdims=True)
    return chance


def log_evidence(
    votes: Floats, fit: Strengths, *, scale: float, draws: int, rng: np.random.Generator
) -> float:
    """Return the log probability of all votes under the prior, summed over the queries."""
    total = 0.0
    for sample in _samples(votes, fit, scale, draws, rng):
        # log(mean(exp(w))) with the greatest w outside, so that a weight of exp(-900) does not vanish.
        top = sample.weight.max(axis=1).astype(np.float64)
        total += float((top + np.log(np.exp(sample.weight - top[:, None]).mean(axis=1))).sum())
    return total


def _samples(
    votes: Floats, fit: Strengths, scale: float, draws: int, rng: np.random.Generator
) -> Iterator[_Sample]:
    n, k = fit.mean.shape
    # Each draw is used with its mirror image: the first moment of the proposal is then exact.
    half = max(1, draws // 2)
    # With precision L L', a standard normal z becomes L'**-1 z, whose covariance is the inverse precision.
    root = np.linalg.cholesky(fit.precision)
    spread = (_WIDER * np.linalg.inv(root)).transpose(0, 2, 1).astype(np.float32)
    # The log of prior / proposal is -|s|**2 / (2 scale**2) + |z|**2 / 2 + volume: the normal constants 2 pi
    # cancel, and the proposal's density has det(L) / _WIDER**k, the prior's scale**-k.
    volume = k * np.log(_WIDER / scale) - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    step = max(1, _CELLS // (2 * half * k))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        noise = rng.standard_normal((some.stop - low, k, half), dtype=np.float32)
        move = spread[some] @ noise
        mean = fit.mean[some, :, None].astype(np.float32)
        strength = np.concatenate([mean + move, mean - move], axis=2)
        weight = _log_likelihood(votes[some], strength) - 0.5 / scale**2 * (strength**2).sum(axis=1)
        drawn = 0.5 * (noise**2).sum(axis=1)
        weight += np.concatenate([drawn, drawn], axis=1) + volume[some, None]
        yield _Sample(queries=some, strength=strength, weight=weight.astype(np.float32))


def _log_likelihood(votes: Floats, strength: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the log probability of the votes under each draw, shape (n, draws)."""
    # The likelihood depends on differences only, so the
    # greatest strength may be 0, and no exponential overflows.
    shifted = strength - strength.max(axis=1, keepdims=True)
    odds = np.exp(shifted)
    # The sum of v_xy log(e^x / (e^x + e^y)) is each strength times its wins, less v_xy + v_yx times the log
    # of each pair's sum: half the logarithms.
    total: NDArray[np.float32] = np.einsum("nk,nkd->nd", votes.sum(axis=2).astype(np.float32), shifted)
    both = (votes + votes.transpose(0, 2, 1)).astype(np.float32)
    for x in range(votes.shape[1]):
        for y in range(x):
            if both[:, x, y].any():
                total -= both[:, x, y, None] * np.log(odds[:, x] + odds[:, y])
    return total

"""The posterior under one model of how votes err: who is the best, and how probable the votes are.

A model has a scale and a share of lapses. Without lapses it is Bradley and Terry's, where the closer two
candidates are, the more votes are wrong. A lapse is a wrong vote that any pair would have got: of ``e`` votes
that are wrong on a random pair, ``lapses`` times ``e`` are lapses. Votes by chance are lapses in part, and if
all wrong votes are lapses, votes err as often on every pair. The psychometric function with a lapse rate is
the same model (F. Wichmann, N. Hill, Perception & Psychophysics, 2001).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judges.noise import LapseNoise, error_of_scale
from prefjudge.core.resolving.bradley_terry import Strengths
from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.orders import LARGEST, sum_orders
from prefjudge.core.resolving.vote_matrices import Floats

_WIDER = 1.1
"""The proposal is this much wider than Laplace's approximation, so that no tail is missed."""
_FREEDOM = 6
"""The proposal is a t distribution: with lapses the tails are heavier than a normal distribution's."""
_HALF = 0.5
"""Samples hit too seldom where most wrong votes are lapses: in pools too large for sums they are half."""
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
    votes: Floats,
    fit: Strengths,
    *,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
) -> Floats:
    """Return the posterior probability that each candidate is the best, shape (n, k).

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes that were fitted.
    fit : Strengths
        Their most likely strengths without lapses.
    scale : float
        The standard deviation of the prior. With lapses: that without them, at the same share of wrong votes.
    draws : int
        Samples per query; the standard error of a probability is about ``0.5 / sqrt(draws)`` at most.
    rng : numpy.random.Generator
        The source of randomness.
    lapses : float
        The share of the wrong votes that any pair would have got, from 0 to 1.
    cast : CastVotes, optional
        The same votes with the trust in each, where it is not the same in all: ``votes`` are worth it.

    Notes
    -----
    Draws come from Laplace's approximation and are weighted by how far it is off (importance sampling), so
    that the answer is right with few votes too. Where all wrong votes are lapses it is exact, in pools of 12
    or less; larger pools are taken as if half of them were.
    """
    n, k = fit.mean.shape
    chance = np.ones((n, k))
    if k == 1:
        return chance
    if _summable(k, lapses):
        return sum_orders(votes, error_of_scale(scale), cast)[0]
    for sample in _samples(votes, fit, scale, draws, rng, lapses, cast):
        # Only ratios of weights count; less the greatest no exponential overflows, and not all underflow.
        weight = np.exp(sample.weight - sample.weight.max(axis=1, keepdims=True))
        count = weight.shape[0]
        # Query q counts in bins q k to q k + k - 1, so one bincount serves all queries.
        best = sample.strength.argmax(axis=1) + k * np.arange(count)[:, None]
        mass = np.bincount(best.ravel(), weights=weight.ravel(), minlength=k * count).reshape(count, k)
        chance[sample.queries] = mass / mass.sum(axis=1, keepdims=True)
    return chance


def log_evidence(
    votes: Floats,
    fit: Strengths,
    *,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
) -> float:
    """Return the log probability of all votes under the prior, summed over the queries."""
    if _summable(votes.shape[1], lapses):
        return float(sum_orders(votes, error_of_scale(scale), cast)[1].sum())
    total = 0.0
    for sample in _samples(votes, fit, scale, draws, rng, lapses, cast):
        # log(mean(exp(w))) with the greatest w outside, so that a weight of exp(-900) does not vanish.
        top = sample.weight.max(axis=1).astype(np.float64)
        weight = np.exp(sample.weight - top[:, None]).astype(np.float64)
        mean = weight.mean(axis=1)
        # The log of a mean is too low by half its relative variance: little, but times a thousand queries,
        # and more for models that the samples fit less.
        low = 0.5 * weight.var(axis=1) / (mean**2 * weight.shape[1])
        total += float((top + np.log(mean) + np.minimum(low, 0.5)).sum())
    return total


def _summable(size: int, lapses: float) -> bool:
    return lapses == 1.0 and size <= LARGEST


def _samples(
    votes: Floats,
    fit: Strengths,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    lapses: float,
    cast: CastVotes | None,
) -> Iterator[_Sample]:
    n, k = fit.mean.shape
    # Each draw is used with its mirror image: the first moment of the proposal is then exact.
    half = max(1, draws // 2)
    # With precision L L', a standard normal z becomes L'**-1 z, whose covariance is the inverse precision.
    root = np.linalg.cholesky(fit.precision)
    spread = (_WIDER * np.linalg.inv(root)).transpose(0, 2, 1).astype(np.float32)
    # The log of prior / proposal is -|s|**2 / (2 scale**2) + (f + k) / 2 log(1 + |t|**2 / f) + volume, with t
    # the draw before it is spread: the proposal's density has det(L) / _WIDER**k, the prior's scale**-k.
    volume = k * np.log(_WIDER / scale) - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    volume += scipy.special.gammaln(_FREEDOM / 2) - scipy.special.gammaln((_FREEDOM + k) / 2)
    volume += 0.5 * k * np.log(_FREEDOM / 2)
    # Normal draws over the root of chi-squared ones are t draws. Those at even quantiles need no luck.
    quantiles = scipy.special.gammaincinv(_FREEDOM / 2, (np.arange(half) + 0.5) / half)
    stretch = np.sqrt(_FREEDOM / 2 / quantiles).astype(np.float32)
    wide = k if cast is None else max(k, cast.place.size // n)
    step = max(1, _CELLS // (2 * half * wide))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        noise = rng.standard_normal((some.stop - low, k, half), dtype=np.float32) * stretch
        move = spread[some] @ noise
        mean = fit.mean[some, :, None].astype(np.float32)
        strength = np.concatenate([mean + move, mean - move], axis=2)
        shown = None if cast is None else cast.between(some.start, some.stop)
        weight = _log_likelihood(votes[some], strength, scale, lapses, shown)
        weight -= np.float32(0.5 / scale**2) * np.einsum("nkd,nkd->nd", strength, strength)
        drawn = 0.5 * (_FREEDOM + k) * np.log1p(np.einsum("nkd,nkd->nd", noise, noise) / _FREEDOM)
        weight += np.concatenate([drawn, drawn], axis=1) + volume[some, None]
        yield _Sample(queries=some, strength=strength, weight=weight.astype(np.float32))


def _log_likelihood(
    votes: Floats, strength: NDArray[np.float32], scale: float, lapses: float, cast: CastVotes | None
) -> NDArray[np.float32]:
    """Return the log probability of the votes under each draw, shape (n, draws)."""
    if cast is None and not lapses:
        return _without(votes, strength)
    noise = LapseNoise(error=error_of_scale(scale), lapses=min(lapses, _HALF))
    # The votes that are not tossed see the same order of strengths further apart, so that all together err as
    # often as without lapses.
    apart = 0.5 * noise.scale / scale
    if cast is not None:
        return cast.log_likelihood(strength, apart, 1.0 - noise.tossed)
    return _with_lapses(votes, strength, apart, noise.tossed)


def _with_lapses(
    votes: Floats, strength: NDArray[np.float32], apart: float, tossed: float
) -> NDArray[np.float32]:
    total = np.zeros((votes.shape[0], strength.shape[2]), dtype=np.float32)
    half, slope = np.float32(0.5), np.float32(0.5 * (1.0 - tossed))
    counts = votes.astype(np.float32)
    for x, others in _voted_on(votes):
        won, lost = counts[:, x, others, None], counts[:, others, x, None]
        # tossed / 2 + (1 - tossed) logistic(2 u) = 1 / 2 + (1 - tossed) / 2 tanh(u)
        lead = strength[:, x, None] - strength[:, others]
        np.tanh(np.multiply(lead, np.float32(apart), out=lead), out=lead)
        # Most pairs have votes for one side only: one logarithm, from that side, is enough for them.
        lead *= np.where(won > 0, slope, -slope)
        terms = np.log(half + lead)
        terms *= np.where(won > 0, won, lost)
        torn = np.nonzero(((won > 0) & (lost > 0))[..., 0])
        if torn[0].size:
            terms[torn] += lost[torn] * np.log(half - lead[torn])
        total += terms.sum(axis=1)
    return total


def _without(votes: Floats, strength: NDArray[np.float32]) -> NDArray[np.float32]:
    # The likelihood depends on differences only, so the
    # greatest strength may be 0, and no exponential overflows.
    shifted = strength - strength.max(axis=1, keepdims=True)
    odds = np.exp(shifted)
    # The sum of v_xy log(e^x / (e^x + e^y)) is each strength times its wins, less v_xy + v_yx times the log
    # of each pair's sum: half the logarithms.
    total: NDArray[np.float32] = np.einsum("nk,nkd->nd", votes.sum(axis=2).astype(np.float32), shifted)
    both = (votes + votes.transpose(0, 2, 1)).astype(np.float32)
    for x, others in _voted_on(votes):
        sums = np.log(odds[:, x, None] + odds[:, others])
        total -= np.einsum("ny,nyd->nd", both[:, x, others], sums)
    return total


def _voted_on(votes: Floats) -> Iterator[tuple[int, slice | list[int]]]:
    """Yield each place with the lesser ones that any query has votes on against it."""
    seen = (votes != 0).any(axis=0)
    seen |= seen.T
    for x in range(1, len(seen)):
        if seen[x, :x].all():
            yield x, slice(x)  # a view
        elif seen[x, :x].any():
            yield x, np.flatnonzero(seen[x, :x]).tolist()

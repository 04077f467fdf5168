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

from prefjudge.core.judges.noise import LapseNoise, error_of_scale
from prefjudge.core.resolving.bradley_terry import Strengths, fit_strengths
from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.drawn_orders import MOST_DRAWN, draw_one, draw_orders
from prefjudge.core.resolving.orders import LARGEST, draw_exactly, sum_orders
from prefjudge.core.resolving.proposals import (
    Proposal,
    Singles,
    effective_draws,
    laplace,
    rotations,
    t_net,
)
from prefjudge.core.resolving.tournament import Index
from prefjudge.core.resolving.vote_matrices import Flags, Floats

_POOR, _AGAIN = 0.5, 2
"""Draws that amount to fewer than this share of them tell where to draw from instead, so many times at most.
With lapses the likelihood of a candidate who lost a vote has a long tail, which no curvature shows."""
_HALF = 0.5
"""Strengths are drawn as if half of the wrong votes were lapses at most: of more, draws hit too seldom."""
_CELLS = 1 << 19
"""About how many numbers are held at a time: they stay in the processor's cache."""
_ROTATIONS = 1 << 18
"""About how many numbers all rotations have."""
_CHOICE = 400
"""Samples of each query from which one is taken, in proportion to their weights."""
_LEAST_LOG = np.float32(-87)
"""The exponential of less is no normal number of 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """How votes err: the scale of each query, and one share of lapses."""

    scale: Floats
    lapses: float

    def only(self, some: slice | Flags) -> "_Model":
        return _Model(scale=self.scale[some], lapses=self.lapses)

    def weigh(
        self, votes: Floats, cast: CastVotes | None, proposal: Proposal, net: Singles, turn: Floats
    ) -> tuple[Singles, Singles]:
        """Return draws from a proposal, shape (n, k, draws), and the logs of their weights, (n, draws).

        The mean of the weights is the evidence.
        """
        strength, log_density = proposal.draw(net, turn)
        weight = _log_likelihood(votes, strength, self.scale, self.lapses, cast) - log_density
        pull = (0.5 / self.scale**2).astype(np.float32)[:, None]
        weight -= pull * np.einsum("nkd,nkd->nd", strength, strength)
        weight -= (len(net) * np.log(self.scale)).astype(np.float32)[:, None]
        return strength, weight


def chance_best(
    votes: Floats,
    fit: Strengths | None,
    *,
    scale: float | Floats,
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
        Their most likely strengths without lapses; none of pools that are told :func:`by_orders`.
    scale : float or ndarray of float64, shape (n,)
        The standard deviation of the prior; without ``cast`` it may differ. With lapses: that without them,
        at the same share of wrong votes.
    draws : int
        Samples per query; the standard error of a probability is below ``0.5 / sqrt(draws)``.
    rng : numpy.random.Generator
        The source of randomness.
    lapses : float
        The share of the wrong votes that any pair would have got, from 0 to 1.
    cast : CastVotes, optional
        The same votes with the trust in each, where it is not the same in all: ``votes`` are worth it.

    Notes
    -----
    Draws come from Laplace's approximation and are weighted by how far it is off (importance sampling), so
    that the answer is right with few votes too. Where it is far off, the draws show where to draw from
    instead. Where all wrong votes are lapses it is exact, in pools of 12 or less; of up to 20 candidates
    orders are drawn, and larger pools are taken as if half of the wrong votes were lapses.
    """
    n, k, _ = votes.shape
    chance = np.ones((n, k))
    if k == 1:
        return chance
    if is_exact(k, lapses):
        return sum_orders(votes, _errors(scale), cast)[0]
    if by_orders(k, lapses):
        return draw_orders(votes, _errors(scale), draws=draws, rng=rng, cast=cast)[0]
    assert fit is not None, "draws of strengths come from about it"
    # The same rotations for all: what stands beside a query changes nothing of its draws.
    turns = rotations(k - 1, rng, many=1 + _AGAIN)
    model, first = _model(scale, lapses, n), np.zeros(n, dtype=np.int64)
    for some, strength, logs in _samples(votes, fit, model, draws, turns, first, cast):
        # Only ratios of weights count; less the greatest no exponential overflows, and not all underflow.
        weight = np.exp(logs - logs.max(axis=1, keepdims=True))
        count = len(weight)
        # Query q counts in bins q k to q k + k - 1, so one bincount serves all queries.
        best = strength.argmax(axis=1) + k * np.arange(count)[:, None]
        mass = np.bincount(best.ravel(), weights=weight.ravel(), minlength=k * count).reshape(count, k)
        chance[some] = mass / mass.sum(axis=1, keepdims=True)
    return chance


def log_evidence(
    votes: Floats,
    fit: Strengths | None,
    *,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
) -> float:
    """Return the log probability of all votes under the prior, summed over the queries.

    The parameters are those of :func:`chance_best`.
    """
    found = log_evidences(votes, fit, scale=scale, draws=draws, rng=rng, lapses=lapses, cast=cast)
    return float(found.sum())


def log_evidences(
    votes: Floats,
    fit: Strengths | None,
    *,
    scale: float | Floats,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
) -> Floats:
    """Return the log probability of each query's votes under the prior, shape (n,).

    The parameters are those of :func:`chance_best`.
    """
    n, k, _ = votes.shape
    if is_exact(k, lapses):
        return sum_orders(votes, _errors(scale), cast)[1]
    if by_orders(k, lapses):
        return draw_orders(votes, _errors(scale), draws=draws, rng=rng, cast=cast, alike=False)[1]
    assert fit is not None, "draws of strengths come from about it"
    # Each query has its own, as errors that were alike in all would add up. Of large pools some are enough.
    many = max(1 + _AGAIN, min(n, _ROTATIONS // k**2))
    turns = rotations(k - 1, rng, many=many)
    model, first = _model(scale, lapses, n), np.arange(n)
    found = np.empty(n)
    for some, _, logs in _samples(votes, fit, model, draws, turns, first, cast):
        # log(mean(exp(w))) with the greatest w outside, so that a weight of exp(-900) does not vanish.
        top = logs.max(axis=1).astype(np.float64)
        found[some] = top + np.log(np.exp(logs - top[:, None]).mean(axis=1, dtype=np.float64))
    return found


def _model(scale: float | Floats, lapses: float, n: int) -> _Model:
    return _Model(scale=np.broadcast_to(np.asarray(scale, dtype=np.float64), n), lapses=lapses)


def _errors(scale: float | Floats) -> float | Floats:
    """Return the share of wrong votes of a scale, or of each."""
    if isinstance(scale, float):
        return error_of_scale(scale)
    different, of = np.unique(scale, return_inverse=True)
    found: Floats = np.array([error_of_scale(one) for one in different.tolist()])[of]
    return found


def draw_chances(votes: Floats, *, scale: float, lapses: float, rng: np.random.Generator) -> Floats:
    """Return how probable each vote is, shape (n, k, k), if the truth is one draw from the posterior.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``.
    scale, lapses : float
        As for :func:`chance_best`.
    rng : numpy.random.Generator
    """
    n, k, _ = votes.shape
    if k == 1:
        return np.full((n, 1, 1), 0.5)
    error = error_of_scale(scale)
    if by_orders(k, lapses):
        summed = is_exact(k, lapses)
        place = draw_exactly(votes, error, rng) if summed else draw_one(votes, error, draws=_CHOICE, rng=rng)
        chances = np.where(place[:, :, None] < place[:, None, :], 1.0 - error, error)
        chances[:, range(k), range(k)] = 0.5
        return chances
    noise = LapseNoise(error=error, lapses=min(lapses, _HALF))
    strength = np.empty((n, k))
    turns = rotations(k - 1, rng, many=1 + _AGAIN)
    fit, model = fit_strengths(votes, scale=scale), _model(scale, lapses, n)
    for some, drawn, logs in _samples(votes, fit, model, _CHOICE, turns, np.arange(n), None):
        # The greatest of logs with Gumbel noise is a draw in proportion to their exponentials.
        one = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
        strength[some] = drawn[np.arange(one.size), :, one]
    gap = noise.scale / scale * (strength[:, :, None] - strength[:, None, :])
    found: Floats = 0.5 + 0.5 * (1.0 - noise.tossed) * np.tanh(0.5 * gap)
    return found


def by_orders(size: int, lapses: float) -> bool:
    """Return whether the orders alone tell who is the best in pools of this size, without strengths."""
    return lapses == 1.0 and size <= MOST_DRAWN


def is_exact(size: int, lapses: float) -> bool:
    """Return whether pools of this size are summed up exactly, without draws."""
    return lapses == 1.0 and size <= LARGEST


def _samples(
    votes: Floats,
    fit: Strengths,
    model: _Model,
    draws: int,
    turns: Floats,
    first: Index,
    cast: CastVotes | None,
) -> Iterator[tuple[slice, Singles, Singles]]:
    """Yield slices of the queries with the draws of each, and the logs of their weights.

    Each time that a query's draws are taken they are turned by another rotation, from its ``first`` one on:
    draws that chose a proposal must not praise it.
    """
    n, k = fit.mean.shape
    # Each draw is used with its mirror image: the first moment of the proposal is then exact.
    net, proposals = t_net(k - 1, max(1, draws // 2)), laplace(fit)
    wide = k if cast is None else max(k, cast.place.size // n)
    step = max(1, _CELLS // (2 * net.shape[1] * wide))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        own, turn = proposals.only(some), first[some]
        shown = None if cast is None else cast.between(some.start, some.stop)
        near = model.only(some)
        strength, weight = near.weigh(votes[some], shown, own, net, turns[turn % len(turns)])
        # Of large pools so many draws do not tell a covariance.
        times = _AGAIN if k <= LARGEST else 0
        for again in range(1, 1 + times):
            poor = effective_draws(weight) < _POOR * weight.shape[1]
            if not poor.any():
                break
            own = own.moved(strength, weight, where=poor)
            turned = turns[(turn[poor] + again) % len(turns)]
            strength[poor], weight[poor] = near.only(poor).weigh(
                votes[some][poor], shown and shown.only(poor), own.only(poor), net, turned
            )
        yield some, strength, weight


def _log_likelihood(
    votes: Floats, strength: Singles, scale: Floats, lapses: float, cast: CastVotes | None
) -> Singles:
    """Return the log probability of the votes under each draw, shape (n, draws)."""
    if cast is None and not lapses:
        return _without(votes, strength)
    different, of = np.unique(scale, return_inverse=True)
    noises = [LapseNoise(error=error_of_scale(one), lapses=min(lapses, _HALF)) for one in different.tolist()]
    # The votes that are not tossed see the same order of strengths further apart, so that all together err as
    # often as without lapses.
    apart = 0.5 * np.array([noise.scale for noise in noises]) / different
    heed = 1.0 - np.array([noise.tossed for noise in noises])
    if cast is not None:
        return cast.log_likelihood(strength, float(apart[0]), float(heed[0]))
    return _with_lapses(votes, strength, apart[of].astype(np.float32), heed[of].astype(np.float32))


def _with_lapses(votes: Floats, strength: Singles, apart: Singles, heed: Singles) -> Singles:
    total = np.zeros((votes.shape[0], strength.shape[2]), dtype=np.float32)
    half, slope = np.float32(0.5), np.float32(0.5) * heed[:, None, None]
    apart = apart[:, None, None]
    counts = votes.astype(np.float32)
    for x, others in _voted_on(votes):
        won, lost = counts[:, x, others, None], counts[:, others, x, None]
        # tossed / 2 + (1 - tossed) logistic(2 u) = 1 / 2 + (1 - tossed) / 2 tanh(u)
        lead = strength[:, x, None] - strength[:, others]
        np.tanh(np.multiply(lead, apart, out=lead), out=lead)
        # Most pairs have votes for one side only: one logarithm, from that side, is enough for them.
        lead *= np.where(won > 0, slope, -slope)
        terms = np.log(half + lead)
        terms *= np.where(won > 0, won, lost)
        torn = np.nonzero(((won > 0) & (lost > 0))[..., 0])
        if torn[0].size:
            terms[torn] += lost[torn] * np.log(half - lead[torn])
        total += terms.sum(axis=1)
    return total


def _without(votes: Floats, strength: Singles) -> Singles:
    # The likelihood depends on differences only, so the greatest strength may be 0, and no exponential
    # overflows. Nor may two that are far below it vanish together.
    shifted = strength - strength.max(axis=1, keepdims=True)
    odds = np.exp(np.maximum(shifted, _LEAST_LOG))
    # The sum of v_xy log(e^x / (e^x + e^y)) is each strength times its wins, less v_xy + v_yx times the log
    # of each pair's sum: half the logarithms.
    total: Singles = np.einsum("nk,nkd->nd", votes.sum(axis=2).astype(np.float32), shifted)
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

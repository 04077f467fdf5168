"""The posterior under one model of how votes err: who is the best, and how probable the votes are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.resolving.tournaments import CastChoices, CastVotes, Flags, Floats, Index
from prefjudge.core.strategies import LapseNoise, error_of_scale

SCALE = 0.6
"""The prior's standard deviation by default: as real judgments of close passages have it. A vote on a random
pair is then wrong one time in three."""
ABOUT = 1e-3
"""So near the most likely strengths are where draws are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Fitted strengths of ``n`` tournaments of ``k`` candidates."""

    mean: Floats
    """Shape (n, k): the most likely strengths, in logits; 0 is average."""
    precision: Floats
    """Shape (n, k, k): the curvature there: the inverse of the posterior covariance."""


def fit_strengths(
    votes: Floats, *, scale: float | Floats = SCALE, start: Floats | None = None, within: float = 1e-9
) -> Strengths:
    """Fit many Bradley-Terry models at once, by Newton's method.

    The prior's deviation is one ``scale``, or one for each; a fit begins at ``start`` and ends where the
    gradient is ``within`` so little of 0. The problem is strictly concave, so there is one answer (R.
    Bradley, M. Terry: Rank analysis of incomplete block designs, Biometrika, 1952).
    """
    n, k, _ = votes.shape
    mean = np.zeros((n, k)) if start is None else start.copy()
    both = votes + votes.transpose(0, 2, 1)
    prior = np.broadcast_to(1.0 / np.asarray(scale) ** 2, n)
    won = votes.sum(axis=2)
    precision = np.empty((n, k, k))
    open_ = np.arange(n)
    for _ in range(100):
        # Before the test, so that the precision returned is that of the mean returned.
        gradient, curvature = _slopes(mean[open_], won[open_], both[open_], prior[open_, None])
        precision[open_] = curvature
        steep = np.abs(gradient).max(axis=1, initial=0.0) > within
        open_ = open_[steep]
        if not open_.size:
            break
        step = np.linalg.solve(curvature[steep], gradient[steep][:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        # Far from the optimum the likelihood is nearly flat and
        # a full Newton step overshoots: two logits at most.
        mean[open_] += step * np.minimum(1.0, 2.0 / np.maximum(longest, 1e-12))
    return Strengths(mean=mean, precision=precision)


def _slopes(mean: Floats, won: Floats, both: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Return the gradient, shape (n, k), and the negative Hessian, shape (n, k, k), of the log posterior."""
    # In place: of many small matrices, new ones would take longer than the numbers in them.
    chance = mean[:, None, :] - mean[:, :, None]
    np.exp(chance, out=chance)
    chance += 1.0
    np.divide(1.0, chance, out=chance)
    precision = both * chance
    # Votes won less votes expected, less the pull of the prior.
    gradient = won - precision.sum(axis=2) - prior * mean
    # A weighted graph Laplacian plus prior x identity: positive definite even where nothing was compared.
    chance -= 1.0
    precision *= chance
    diagonal = np.arange(mean.shape[1])
    precision[:, diagonal, diagonal] = 0.0
    precision[:, diagonal, diagonal] = prior - precision.sum(axis=2)
    return gradient, precision


# Orders of candidates: who is the best if the closeness of two makes no difference.

LARGEST = 12
"""The most candidates whose orders are summed over."""
_TRIED_CELLS = 1 << 22


def sum_orders(votes: Floats, error: float | Floats, cast: CastVotes | None = None) -> tuple[Floats, Floats]:
    """Return who is the best, shape (n, k), and the log probability of each query's votes, shape (n,).

    Each vote is wrong with one probability, that of the most reliable workers where there is ``cast``;
    without it queries may differ. Every order is as probable before any vote; there are :data:`LARGEST`
    candidates at most.
    """
    n, k, _ = votes.shape
    # Candidates first, so that queries are contiguous.
    pairs = np.ascontiguousarray(pair_logs(votes, error, cast).transpose(1, 2, 0))
    chance, evidence = np.empty((n, k)), np.empty(n)
    step, wrong = max(1, _TRIED_CELLS // (k << k)), 0.0 if cast is None else float(np.ravel(error)[0])
    for low in range(0, n, step):
        some, choices = (
            slice(low, low + step),
            None if cast is None else cast.between(low, low + step).choices,
        )
        chance[some], evidence[some] = _summed(pairs[:, :, some], choices, wrong)
    return chance, evidence - math.lgamma(k + 1)


def pair_logs(votes: Floats, error: float | Floats, cast: CastVotes | None = None) -> Floats:
    """Return the log probability of each pair's votes where the first is above the other, shape (n, k, k)."""
    if cast is not None:
        return cast.log_orders(len(votes), votes.shape[1], float(np.ravel(error)[0]))
    wrong = np.asarray(error)[..., None, None]
    return np.asarray(votes * np.log1p(-wrong) + votes.transpose(0, 2, 1) * np.log(wrong))


def _summed(pairs: Floats, choices: CastChoices | None, error: float) -> tuple[Floats, Floats]:
    """Return who is the best, and the log of the sum over all orders, by sums over those of every set.

    The members of a set are the bits of a number.
    """
    k, _, n = pairs.shape
    over = np.zeros((k, 1 << k, n))  # [x, S]: the log probability that x is above all of the set
    for y in range(k):
        over[:, 1 << y : 2 << y] = over[:, : 1 << y] + pairs[:, y, None]
    if choices is not None:
        # What a choice says of who is the best of those shown counts once all the others of them are below.
        best, others, logs = choices.log_tops(error)
        more = np.zeros_like(over)
        np.add.at(more, (best, others, choices.place[:, None]), logs)
        for y in range(k):
            halves = more.reshape(k, -1, 2, 1 << y, n)
            halves[:, :, 1] += halves[:, :, 0]
        over += more
    total = np.zeros((1 << k, n))
    for sets, best in subsets_by_size(k):
        rest = sets[:, None] ^ (1 << best)
        # The orders of a set are those with each of its members on top. Logs: a thousand votes underflow.
        terms = total[rest] + over[best, rest]
        top = terms.max(axis=1)
        weight = np.exp(terms - top[:, None])
        sums = weight.sum(axis=1)
        total[sets] = top + np.log(sums)
    return (weight[0] / sums).T, total[-1]  # the last layer is the set of all


@lru_cache(maxsize=16)
def subsets_by_size(k: int) -> list[tuple[Index, Index]]:
    """Return the sets of 1, 2, ... k candidates, as bits, and the members of each, shape (sets, size)."""
    member = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    sizes = member.sum(axis=1)
    layers = []
    for size in range(1, k + 1):
        sets = np.flatnonzero(sizes == size)
        layers.append((sets, np.nonzero(member[sets])[1].reshape(sets.size, size)))
    return layers


# Drawn orders: what the sum over all orders tells, of pools with too many to sum over.
#
# An order is drawn from the top. Who is next is drawn by how probable it is that a candidate is above all
# that are left, by its own votes against them: as if each of them stood anywhere by itself. What the draw
# is off by is its weight (importance sampling), and the mean of the weights is the evidence.

MOST_DRAWN = 20
"""The most candidates whose orders are drawn: of more, draws hit the probable orders too seldom."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_PLACES = ((_NODES[:, None, None] + 1.0) / 2.0) ** 2
"""Places in an order, from 0 at the top to 1: more of them near the top, where it counts."""
_SHARES = (_WEIGHTS * (_NODES + 1.0) / 2.0)[:, None, None]
_LARGEST_LOG = 600.0
"""What all pairs of a candidate may say together: the exponential of more is no number."""
_DRAWN_PLACES = 1 << 15
"""How many places of orders are drawn at a time: what is known of them stays in the processor's cache."""


def draw_orders(
    votes: Floats,
    error: float | Floats,
    *,
    draws: int,
    rng: np.random.Generator,
    cast: CastVotes | None = None,
    apart: int = 1,
) -> tuple[Floats, Floats]:
    """Return what `sum_orders` does of up to :data:`MOST_DRAWN` candidates, by drawn orders.

    So many queries take other random numbers, then the same come again. All take the same by default, so that
    a query's answer does not depend on those beside it; in sums over queries such errors would add up.
    """
    n, k, _ = votes.shape
    chance, evidence = np.empty((n, k)), np.empty(n)
    for some, order, logs in _drawn_in_parts(pair_logs(votes, error, cast), draws, rng, apart):
        heaviest, count = logs.max(axis=1, keepdims=True), len(logs)
        share = np.exp(logs - heaviest)
        top = order[:, :, 0] + k * np.arange(count)[:, None]
        mass = np.bincount(top.ravel(), weights=share.ravel(), minlength=count * k).reshape(count, k)
        chance[some] = mass / share.sum(axis=1, keepdims=True)
        evidence[some] = heaviest[:, 0] + np.log(share.mean(axis=1))
    return chance, evidence - math.lgamma(k + 1)


def draw_one(votes: Floats, error: float, *, draws: int, rng: np.random.Generator) -> Index:
    """Return the places of each query's candidates, 0 the best, in one order from the posterior.

    One of so many drawn orders is taken, in proportion to their weights.
    """
    n, k, _ = votes.shape
    place = np.empty((n, k), dtype=np.int64)
    for some, order, logs in _drawn_in_parts(pair_logs(votes, error), draws, rng, n):
        # The greatest of logs with Gumbel noise is a draw in proportion to their exponentials.
        one = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
        place[some] = order[np.arange(one.size), one].argsort(axis=1)
    return place


def _drawn_in_parts(
    above: Floats, draws: int, rng: np.random.Generator, apart: int
) -> Iterator[tuple[slice, Index, Floats]]:
    """Yield slices of the queries with the orders of each, and the logs of their weights."""
    n, k, _ = above.shape
    above[:, np.arange(k), np.arange(k)] = 0.0
    # One number in each part of the unit interval, in any order: the mean of so many has less chance in it.
    numbers = (rng.permuted(np.tile(np.arange(draws), (k, 1)), axis=1) + rng.random((k, draws))) / draws
    shift = np.zeros((1, k, 1)) if apart == 1 else rng.random((apart, k, 1))
    step = max(1, _DRAWN_PLACES // (draws * k))
    for low in range(0, n, step):
        some = slice(low, min(n, low + step))
        # Never 0: that would name one who has a place already.
        yield (
            some,
            *_drawn(above[some], np.maximum((numbers + shift[np.arange(n)[some] % len(shift)]) % 1.0, 1e-15)),
        )


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


# Proposals: the distributions that draws of strengths come from, to be weighted by how far these are off.
#
# A proposal is a multivariate t distribution. Only differences of strengths count, so it lies in the plane
# in which they sum to 0: a dimension less. Its draws are one even net of points, turned about the centre:
# their error is several times smaller than that of as many random draws.

Singles = NDArray[np.float32]

_WIDER = 1.1
"""How much wider than Laplace's approximation, so that no tail is missed."""
_FREEDOM = 4
"""Of the t distribution: with lapses the tails are heavier than a normal distribution's. Of larger pools it
is the number of dimensions: far out in many of them is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The t distributions of the strengths of ``n`` queries, in the plane of their sum 0."""

    centre: Floats
    """Shape (n, k - 1): by the basis of :func:`plane`."""
    root: Floats
    """Shape (n, k - 1, k - 1): lower triangles ``L`` with ``L L'`` the scale matrix."""

    def draw(self, net: Singles, turn: Floats) -> tuple[Singles, Singles]:
        """Return draws with their mirror images, shape (n, k, 2 m), and less the log of their density.

        The net of the standard distribution, a :func:`t_net`, has the shape (k - 1, m), and is turned by one
        rotation for all queries or one for each. The density is up to a constant of the size: a standard
        normal distribution's at its centre.
        """
        size = net.shape[0]
        basis = plane(size + 1)
        move = (basis @ (self.root @ turn)).astype(np.float32) @ net
        centre = (self.centre @ basis.T)[:, :, None].astype(np.float32)
        strength = np.concatenate([centre + move, centre - move], axis=2)
        volume = np.log(np.diagonal(self.root, axis1=1, axis2=2)).sum(axis=1)
        freedom = max(_FREEDOM, size)
        volume += scipy.special.gammaln(freedom / 2) - scipy.special.gammaln((freedom + size) / 2)
        volume += 0.5 * size * np.log(freedom / 2)
        tail = 0.5 * (freedom + size) * np.log1p((net**2).sum(axis=0) / freedom)
        log_density = -(volume[:, None] + np.concatenate([tail, tail]))
        return strength, log_density.astype(np.float32)

    def only(self, some: slice | Flags) -> "Proposal":
        """Return the proposals of some of the queries."""
        return Proposal(centre=self.centre[some], root=self.root[some])

    def moved(self, strength: Singles, weight: Singles, *, where: Flags) -> "Proposal":
        """Return proposals with the mean and the covariance of weighted draws, as far as these tell them.

        Of the queries ``where`` flags; the others stay. ``weight``, shape (n, draws), are the logs of the
        weights.
        """
        share = np.exp(weight[where] - weight[where].max(axis=1, keepdims=True)).astype(np.float64)
        share /= share.sum(axis=1, keepdims=True)
        basis = plane(strength.shape[1])
        place = basis.T @ strength[where].astype(np.float64)
        mean = np.einsum("ndm,nm->nd", place, share)
        away = place - mean[:, :, None]
        # As many draws as the weights amount to, beside two for each candidate that say what was proposed.
        told = 1.0 / (share**2).sum(axis=1)
        told /= told + 2.0 * strength.shape[1]
        centre, root = self.centre.copy(), self.root.copy()
        old = root[where] @ root[where].transpose(0, 2, 1)
        seen = (away * share[:, None]) @ away.transpose(0, 2, 1)
        centre[where] += told[:, None] * (mean - centre[where])
        root[where] = np.linalg.cholesky(old + told[:, None, None] * (seen - old))
        return Proposal(centre=centre, root=root)


def laplace(fit: Strengths) -> Proposal:
    """Return Laplace's approximation at the most likely strengths, a little wider."""
    basis = plane(fit.mean.shape[1])
    covariance = np.linalg.inv(basis.T @ fit.precision @ basis)
    return Proposal(centre=fit.mean @ basis, root=_WIDER * np.linalg.cholesky(covariance))


def effective_draws(weight: Singles) -> Floats:
    """Return how many draws of equal weight tell as much, from the logs of weights, shape (n,)."""
    share = np.exp(weight - weight.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(share.sum(axis=1) ** 2 / (share**2).sum(axis=1))


@lru_cache(maxsize=64)
def plane(size: int) -> Floats:
    """Return an orthonormal basis of the strengths whose sum is 0, shape (size, size - 1)."""
    basis = np.asarray(scipy.linalg.helmert(size).T)
    basis.flags.writeable = False
    return basis


@lru_cache(maxsize=64)
def t_net(size: int, points: int) -> Singles:
    """Return an even net of points of the standard t distribution, shape (size, points).

    Directions follow Richtmyer's sequence, multiples of the roots of primes modulo 1. The lengths are at even
    quantiles: what depends on them alone is then exact, whatever the rotation (A. Genz, J. Monahan:
    Stochastic integration rules for infinite regions, SIAM J. Sci. Comput., 1998).
    """
    steps = np.sqrt(list(islice(_primes(), size + 1)))
    uniform = (0.5 + np.arange(1, points + 1)[:, None] * steps) % 1.0
    direction = scipy.special.ndtri(np.clip(uniform[:, :size], 1e-12, 1 - 1e-12)).T
    direction /= np.sqrt((direction**2).sum(axis=0))
    quantile = np.empty(points)
    quantile[np.argsort(uniform[:, size])] = (np.arange(points) + 0.5) / points
    # The squared length over the freedom follows a beta prime distribution.
    freedom = max(_FREEDOM, size)
    beta = scipy.special.betaincinv(0.5 * size, 0.5 * freedom, quantile)
    net = np.asarray(direction * np.sqrt(freedom * beta / (1.0 - beta)), dtype=np.float32)
    net.flags.writeable = False
    return net


def rotations(size: int, rng: np.random.Generator, *, many: int) -> Floats:
    """Return random rotations, all as probable as each other, shape (many, size, size)."""
    q, r = np.linalg.qr(rng.standard_normal((many, size, size)))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :])


def turns_of(n: int, k: int, rng: np.random.Generator) -> Floats:
    """Return the rotations of the draws of ``n`` queries of ``k`` candidates."""
    # Each query has its own, as errors that were alike in all would add up. Of large pools some are enough.
    return rotations(k - 1, rng, many=max(1 + _AGAIN, min(n, _ROTATIONS // k**2)))


def _primes() -> Iterator[int]:
    return (p for p in count(2) if all(p % q for q in range(2, int(p**0.5) + 1)))


# The posterior under one model of how votes err: who is the best, and how probable the votes are.
#
# A model has a scale and a share of lapses. Without lapses it is Bradley and Terry's, where the closer two
# candidates are, the more votes are wrong. A lapse is a wrong vote that any pair would have got: of ``e``
# votes that are wrong on a random pair, ``lapses`` times ``e`` are lapses. Votes by chance are lapses in
# part, and if all wrong votes are lapses, votes err as often on every pair. The psychometric function with
# a lapse rate is the same model (F. Wichmann, N. Hill, Perception & Psychophysics, 2001).

_POOR, _AGAIN = 0.5, 2
"""Draws that amount to fewer than this share of them tell where to draw from instead, so many times at most.
With lapses the likelihood of a candidate who lost a vote has a long tail, which no curvature shows."""
_HALF = 0.5
"""Strengths are drawn as if half of the wrong votes were lapses at most: of more, draws hit too seldom."""
_CELLS = 1 << 19
"""About how many numbers are held at a time: they stay in the processor's cache."""
_AT_ONCE = 1 << 16
"""Of them in one step, of which several copies are held."""
_ROTATIONS = 1 << 18
"""About how many numbers all rotations have."""
_CHOICE = 400
"""Samples of each query from which truths are taken, in proportion to their weights."""
_SOME, _FEW = 64, 2
"""Samples of strengths, and of orders, that tell what a vote is expected to be: a mean over many votes."""
_LEAST_LOG = np.float32(-87)
"""The exponential of less is no normal number of 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """How votes err: the scale of each query, and one share of lapses.

    The votes that are not tossed, the share ``heed``, see the same order of strengths further apart, by the
    factor ``stretch``, so that all together err as often as without lapses.
    """

    scale: Floats
    stretch: Floats
    heed: Floats
    lapses: float
    tastes: float

    def only(self, some: slice | Flags) -> "_Model":
        return replace(self, scale=self.scale[some], stretch=self.stretch[some], heed=self.heed[some])

    def weigh(
        self, votes: Floats, cast: CastVotes | None, proposal: Proposal, net: Singles, turn: Floats
    ) -> tuple[Singles, Singles]:
        """Return draws from a proposal, shape (n, k, draws), and the logs of their weights, (n, draws).

        The mean of the weights is the evidence.
        """
        strength, log_density = proposal.draw(net, turn)
        if self.tastes:
            weight = _with_tastes(votes, strength, self.tastes) - log_density
        else:
            weight = self._log_likelihood(votes, strength, cast) - log_density
        pull = (0.5 / self.scale**2).astype(np.float32)[:, None]
        weight -= pull * np.einsum("nkd,nkd->nd", strength, strength)
        weight -= (len(net) * np.log(self.scale)).astype(np.float32)[:, None]
        return strength, weight

    def _log_likelihood(self, votes: Floats, strength: Singles, cast: CastVotes | None) -> Singles:
        """Return the log probability of the votes under each draw, shape (n, draws)."""
        if cast is None and not self.lapses:
            return _without(votes, strength)
        odds = _odds(self.stretch[:, None, None].astype(np.float32) * strength)
        total = _with_lapses(cast or CastVotes.of(votes), odds, self.heed)
        if cast is not None and cast.choices is not None and cast.choices.place.size:
            cast.choices.add_log_likelihood(total, odds, float(self.heed[0]))
        return total


@dataclass(frozen=True, slots=True)
class Told:
    """What the votes tell by one model."""

    chance: Floats
    """Shape (n, k): how probably each candidate is the best."""
    evidence: Floats
    """Shape (n,): the log probability of the votes before any is seen."""
    loss: Floats
    """Shape (n, k): by how much the share of votes that would prefer the best to it is over a half."""
    tied: Floats
    """Shape (n, k): how probably each is the best if two are, by how many times more probable that makes the
    votes; 0 where this was not asked, or only orders count."""


def tell_best(
    votes: Floats,
    fit: Strengths | None,
    *,
    scale: float | Floats,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
    tastes: float = 0.0,
    ties: bool = False,
    alike: bool = True,
) -> Told:
    """Return how probably each candidate is the best, and how probable the votes are.

    ``fit`` are the most likely strengths without lapses, none of pools that are told :func:`by_orders`. With
    lapses ``scale`` is that without them, at the same share of wrong votes; without ``cast`` it may differ by
    query. The standard error of a probability is below ``0.5 / sqrt(draws)``. Each pair has a taste of its
    own, of the standard deviation ``tastes``, that all votes on it share. Where queries are ``alike`` all
    take the same draws, so that a query's answer does not depend on those beside it; for sums over them they
    should not.

    Draws come from Laplace's approximation and are weighted by how far it is off (importance sampling), so
    that the answer is right with few votes too. Where it is far off, the draws show where to draw from
    instead. Where all wrong votes are lapses it is exact, in pools of 12 or less; of up to 20 candidates
    orders are drawn, and larger pools are taken as if half of the wrong votes were lapses.
    """
    n, k, _ = votes.shape
    if k == 1:
        return Told(np.ones((n, 1)), np.zeros(n), loss=np.zeros((n, 1)), tied=np.zeros((n, 1)))
    if by_orders(k, lapses, cast):
        chance, evidence = _of_orders(votes, scale, cast, draws, rng, 1 if alike else n)
        loss = (0.5 - np.reshape(_errors(scale), (-1, 1))) * (1.0 - chance)
        return Told(chance, evidence, loss=loss, tied=np.zeros((n, k)))
    assert fit is not None, "draws of strengths come from about it"
    turns = turns_of(1 if alike else n, k, rng)
    model, first = _model(scale, lapses, n, tastes), np.arange(n) % (1 if alike else len(turns))
    chance, loss, tied, evidence = np.empty((n, k)), np.empty((n, k)), np.zeros((n, k)), np.empty(n)
    stretch = model.stretch.astype(np.float32)
    for some, strength, logs in _samples(votes, fit, model, draws, turns, first, cast):
        # Only ratios of weights count; less the greatest no exponential overflows, and not all underflow.
        top = logs.max(axis=1).astype(np.float64)
        weight = np.exp(logs - top[:, None])
        total = weight.sum(axis=1, dtype=np.float64)
        evidence[some] = top + np.log(total / weight.shape[1])
        best = strength.argmax(axis=1)[:, None]
        chance[some] = _shares(best, weight, k) / total[:, None]
        odds = _odds(stretch[some, None, None] * strength)
        lost = np.einsum("nkd,nd->nk", (1 - odds) / (1 + odds), weight)
        loss[some] = (0.5 * model.heed[some] / total)[:, None] * lost
        if ties:
            weight, second = _as_tied(strength, best, weight, model.scale[some])
            both = _shares(best, weight, k) + _shares(second, weight, k)
            tied[some] = 0.5 * both / total[:, None]
    return Told(chance, evidence, loss=loss, tied=tied)


_TIED = 0.1
"""Two count as equal by a normal density of their difference, of this deviation in scales."""


def _as_tied(strength: Singles, best: Index, weight: Singles, scale: Floats) -> tuple[Singles, Index]:
    """Return the weights of draws where the best has an equal, beside normal strengths, and the equals."""
    k, wide = strength.shape[1], scale.astype(np.float32)[:, None]
    top = np.take_along_axis(strength, best, axis=1)[:, 0]
    np.put_along_axis(strength, best, -np.inf, axis=1)
    second = strength.argmax(axis=1)[:, None]
    next_ = np.take_along_axis(strength, second, axis=1)[:, 0]
    # All but one of the two are normal, and their sum is 0: what the squares of all are more than theirs.
    apart = 0.5 * k / (k - 1) * (0.5 * (top + next_) / wide) ** 2 - 0.5 * ((top - next_) / wide / _TIED) ** 2
    # So common that would be before any vote, but for a third one between the two (by simulation).
    usual = 0.5 * _TIED * math.sqrt(k * (k - 1)) * (1.0 - 0.7 * (1.0 - 2.0 / k) * _TIED)
    return np.asarray(weight * np.exp(apart) / usual, dtype=np.float32), second


def _shares(best: Index, weight: Singles, k: int) -> Floats:
    # Query q counts in bins q k to q k + k - 1, so one bincount serves all queries.
    n = len(weight)
    place = best[:, 0] + k * np.arange(n)[:, None]
    return (
        np.bincount(place.ravel(), weights=weight.ravel(), minlength=k * n).astype(np.float64).reshape(n, k)
    )


def log_evidences(
    votes: Floats,
    fit: Strengths | None,
    *,
    scale: float | Floats,
    draws: int,
    rng: np.random.Generator,
    lapses: float = 0.0,
    cast: CastVotes | None = None,
    blocks: int = 1,
    turns: Floats | None = None,
) -> Floats:
    """Return the log probability of each query's votes under the prior, shape (n,); as `tell_best`.

    In so many ``blocks`` the same queries may come again with other votes: all meet the same draws, so that
    their errors cancel in comparisons. Models meet the same draws by the same ``turns``, a `turns_of`.
    """
    n, k, _ = votes.shape
    apart = n // blocks
    if by_orders(k, lapses, cast):
        return _of_orders(votes, scale, cast, draws, rng, apart)[1]
    assert fit is not None, "draws of strengths come from about it"
    turns = turns_of(apart, k, rng) if turns is None else turns
    model, first = _model(scale, lapses, n), np.arange(n) % apart
    found = np.empty(n)
    for some, _, logs in _samples(votes, fit, model, draws, turns, first, cast):
        # log(mean(exp(w))) with the greatest w outside, so that a weight of exp(-900) does not vanish.
        top = logs.max(axis=1).astype(np.float64)
        found[some] = top + np.log(np.exp(logs - top[:, None]).mean(axis=1, dtype=np.float64))
    return found


def _of_orders(
    votes: Floats,
    scale: float | Floats,
    cast: CastVotes | None,
    draws: int,
    rng: np.random.Generator,
    apart: int,
) -> tuple[Floats, Floats]:
    """Return who is the best, and how probable the votes are, where only orders count."""
    if is_exact(votes.shape[1], 1.0):
        return sum_orders(votes, _errors(scale), cast)
    return draw_orders(votes, _errors(scale), draws=draws, rng=rng, cast=cast, apart=apart)


def _model(scale: float | Floats, lapses: float, n: int, tastes: float = 0.0) -> _Model:
    wide = np.broadcast_to(np.asarray(scale, dtype=np.float64), n)
    different, of = np.unique(wide, return_inverse=True)
    noises = [LapseNoise(error=error_of_scale(one), lapses=min(lapses, _HALF)) for one in different.tolist()]
    stretch = np.array([noise.scale for noise in noises]) / different
    # Over the tastes of a pair the logistic is about one of a smaller difference (MacKay 1992).
    stretch /= math.sqrt(1.0 + math.pi / 8.0 * tastes**2)
    heed = np.array([1.0 - noise.tossed for noise in noises])
    return _Model(scale=wide, stretch=stretch[of], heed=heed[of], lapses=lapses, tastes=tastes)


def _errors(scale: float | Floats) -> float | Floats:
    """Return the share of wrong votes of a scale, or of each."""
    if isinstance(scale, float):
        return error_of_scale(scale)
    different, of = np.unique(scale, return_inverse=True)
    found: Floats = np.array([error_of_scale(one) for one in different.tolist()])[of]
    return found


def draw_chances(
    votes: Floats, *, scale: float, lapses: float, rng: np.random.Generator, many: int = 1
) -> Floats:
    """Return how probable each vote is, shape (many, n, k, k), if the truth is a draw from the posterior."""
    n, k, _ = votes.shape
    if k == 1:
        return np.full((many, n, 1, 1), 0.5)
    error = error_of_scale(scale)
    if by_orders(k, lapses):
        place = draw_one(np.tile(votes, (many, 1, 1)), error, draws=_CHOICE, rng=rng)
        chances = np.where(place[:, :, None] < place[:, None, :], 1.0 - error, error)
        chances[:, range(k), range(k)] = 0.5
        return chances.reshape(many, n, k, k)
    strength = np.empty((many, n, k))
    turns, fit = turns_of(1, k, rng), fit_strengths(votes, scale=scale, within=ABOUT)
    model = _model(scale, lapses, n)
    for some, drawn, logs in _samples(votes, fit, model, _CHOICE, turns, np.arange(n), None):
        # The greatest of logs with Gumbel noise is a draw in proportion to their exponentials.
        one = (logs + rng.gumbel(size=(many, *logs.shape))).argmax(axis=2)
        strength[:, some] = drawn[np.arange(len(logs)), :, one]
    gap = model.stretch[:, None, None] * (strength[..., :, None] - strength[..., None, :])
    found: Floats = 0.5 + 0.5 * model.heed[:, None, None] * np.tanh(0.5 * gap)
    return found


def mean_chances(
    votes: Floats, fit: Strengths, *, scale: float, lapses: float, rng: np.random.Generator
) -> Floats:
    """Return how probable each vote is, shape (n, k, k), over the whole posterior around a fit."""
    n, k, _ = votes.shape
    if by_orders(k, lapses):
        several = draw_chances(votes, scale=scale, lapses=lapses, rng=rng, many=_FEW)
        mean: Floats = several.mean(axis=0)
        return mean
    found, model, turns = np.full((n, k, k), 0.5), _model(scale, lapses, n), turns_of(1, k, rng)
    for some, drawn, logs in _samples(votes, fit, model, _SOME, turns, np.arange(n), None):
        share = np.exp(logs - logs.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        gap = model.stretch[some, None, None, None] * (drawn[:, :, None] - drawn[:, None])
        found[some] += (
            0.5 * model.heed[some, None, None] * np.einsum("nxyd,nd->nxy", np.tanh(0.5 * gap), share)
        )
    return found


def by_orders(size: int, lapses: float, cast: CastVotes | None = None) -> bool:
    """Return whether the orders alone tell who is the best in pools of this size, without strengths."""
    # Orders are drawn by what pairs say, and choices are of more.
    most = MOST_DRAWN if cast is None or cast.choices is None else LARGEST
    return lapses == 1.0 and size <= most


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
    wide = k if cast is None else max(k, cast.wide // n)
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


def _with_lapses(cast: CastVotes, odds: Singles, heed: Floats) -> Singles:
    total = np.zeros((odds.shape[0], odds.shape[2]), dtype=np.float32)
    # Most cells have votes for one side only: one logarithm, from that side, is enough for them.
    query, swapped = cast.place, cast.won == 0
    one, other = np.where(swapped, cast.y, cast.x), np.where(swapped, cast.x, cast.y)
    won, lost = np.where(swapped, cast.lost, cast.won), np.where(swapped, 0.0, cast.lost)
    # Rounding must not make a vote impossible.
    columns = [won, lost, np.minimum(heed[query] * cast.trust, 0.9999998)]
    of_one, of_other, looks = np.stack(columns).astype(np.float32)[:, :, None]
    tossed = np.float32(0.5) - np.float32(0.5) * looks
    step = max(1, _AT_ONCE // total.shape[1])
    for low in range(0, query.size, step):
        some = slice(low, low + step)
        chance = odds[query[some], one[some]]
        chance /= chance + odds[query[some], other[some]]
        chance *= looks[some]
        chance += tossed[some]
        logs = np.log(chance)
        logs *= of_one[some]
        torn = np.flatnonzero(of_other[some])
        if torn.size:
            logs[torn] += of_other[some][torn] * np.log(1.0 - chance[torn])
        starts = np.flatnonzero(np.diff(query[some], prepend=-1))
        total[query[some][starts]] += np.add.reduceat(logs, starts, axis=0)
    return total


_TASTES, _SHARE = np.polynomial.hermite_e.hermegauss(5)
_SHARE = np.log(_SHARE / _SHARE.sum()).astype(np.float32)


def _with_tastes(votes: Floats, strength: Singles, tastes: float) -> Singles:
    """Return the log probability of the votes where each pair has a taste of its own, shape (n, draws)."""
    total = np.zeros((votes.shape[0], strength.shape[2]), dtype=np.float32)
    query, x, y = np.nonzero(np.triu(votes + votes.transpose(0, 2, 1), 1))
    for_x, for_y = (votes[query, one, other].astype(np.float32) for one, other in ((x, y), (y, x)))
    step = max(1, _AT_ONCE // (_TASTES.size * total.shape[1]))
    for low in range(0, query.size, step):
        some = slice(low, low + step)
        lead = strength[query[some], x[some]] - strength[query[some], y[some]]
        # Beyond 80 the exponential overflows, and nobody is wrong.
        gap = np.minimum(lead[:, None] + (tastes * _TASTES).astype(np.float32)[:, None], np.float32(80))
        wins, every = for_x[some, None, None], (for_x + for_y)[some, None, None]
        # w log(p) + l log(1 - p) = w gap - (w + l) log(1 + exp(gap)); logaddexp takes several times as long
        logs = wins * gap - every * np.log(1 + np.exp(gap)) + _SHARE[:, None]
        top = logs.max(axis=1)
        logs = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
        starts = np.flatnonzero(np.diff(query[some], prepend=-1))
        total[query[some][starts]] += np.add.reduceat(logs, starts, axis=0)
    return total


def _odds(strength: Singles) -> Singles:
    """Return exponentials of strengths less the greatest: none overflows, nor do two vanish together."""
    shifted: Singles = strength - strength.max(axis=1, keepdims=True)
    np.exp(np.maximum(shifted, _LEAST_LOG, out=shifted), out=shifted)
    return shifted


def _without(votes: Floats, strength: Singles) -> Singles:
    # The likelihood depends on differences only, so the greatest strength may be 0.
    shifted = strength - strength.max(axis=1, keepdims=True)
    odds = _odds(shifted)
    # The sum of v_xy log(e^x / (e^x + e^y)) is each strength times its wins, less v_xy + v_yx times the log
    # of each pair's sum: half the logarithms.
    total: Singles = np.einsum("nk,nkd->nd", votes.sum(axis=2).astype(np.float32), shifted)
    both = (votes + votes.transpose(0, 2, 1)).astype(np.float32)
    one, other = np.nonzero(np.triu(both.any(axis=0), 1))
    step = max(1, _AT_ONCE // total.size)
    for low in range(0, one.size, step):
        x, y = one[low : low + step], other[low : low + step]
        sums = odds[:, x]
        sums += odds[:, y]
        total -= np.einsum("np,npd->nd", both[:, x, y], np.log(sums, out=sums))
    return total

"""Shapes: how the strengths of a query's candidates lie, how common each shape is, and P(best) over all.

Plain strengths are spread normally, by one scale in all queries. Where answers form two classes, one is far
ahead, two are equally good, or tastes go in circles, P(best) by that shape alone would be too high or too
low. So each query has a shape that is not known. How common the shapes are all queries tell together, and
each query tells by its own votes which is its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.posterior import LARGEST, Told, fit_strengths, is_exact, pair_logs, tell_best
from prefjudge.core.resolving.scales import Scales, Trust
from prefjudge.core.resolving.tournaments import CastVotes, Floats, tournaments, vote_matrices
from prefjudge.core.strategies import Counts, LapseNoise

RIGHT = (0.6, 0.7, 0.8, 0.9, 0.97)
"""How many votes prefer one of the better class, where answers form two."""
PLAIN, CLOSE, APART, TIED, CIRCLES = range(5)
"""As all queries together have it; closer, and further apart; the best has an equal; each pair has a taste of
its own, which all votes on it share."""
AHEAD, CLASSES = (slice(first, first + len(RIGHT)) for first in (5, 10))
"""One is better than the others, who are alike; or several are. Within a class all are alike."""
FURTHER = 2.2
"""By what factor strengths are closer, or further apart."""
FIGURES = ("chance", "good", "loss", "strength", "deviation")
"""How probably a candidate is the best; the best or as good, by all shapes or by the plain one, whichever is
more; by how much the share of votes that would prefer the best to it is over a half; how strong it is, and
how well that is known, in logits, as if nothing were a lapse."""
_BEFORE = np.array([6.0, 0.05, 0.1, 0.4, 0.2, *[0.02] * 10])
"""How common the shapes are before any vote, worth as many queries."""
_LEARN_FROM, _LEARN_BY = 250, 1000
"""So many queries tell how common the shapes are, by so many posterior samples of each."""
_STEPS, _ALLOWED = 60, 2.0
_RARE = 0.005
"""A shape that is rarer is left out."""
_NEGLIGIBLE = 1e-3
"""A scale with a smaller share of the posterior moves no probability by more than that."""
_CELLS = 1 << 22


def learn_shapes(
    judgments: Judgments,
    scales: Scales,
    *,
    seed: int,
    pools: Pools | None = None,
    trust: Trust | None = None,
    strengths: bool = False,
) -> Scales:
    """Return the scales with how common each shape is, and how far others that votes allow move P(best)."""
    every, found, left = replace(scales, shapes=_BEFORE / _BEFORE.sum()), [], _LEARN_FROM
    for block in tournaments(judgments, pools=pools, block_rows=1 << 14):
        compared, _ = block.compared()
        for stack in vote_matrices(compared, ties=0.5, strengths=strengths, trusting=trust):
            votes, cast = stack.votes[:left], stack.cast and stack.cast.between(0, left)
            if len(votes) and votes.shape[1] > 1:
                # Draws of two lie on a line, where no turn makes up for few.
                draws = _LEARN_BY * (4 if votes.shape[1] == 2 else 1)
                mix, logs, *_ = _by_shape(votes, every, draws=draws, seed=seed, cast=cast, alike=False)
                found.append((mix[0], logs))
                left -= len(votes)
        if left <= 0:
            break
    if not found:
        return every
    told, share = np.concatenate([logs for _, logs in found]), _BEFORE / _BEFORE.sum()
    for _ in range(_STEPS):  # expectation and maximisation
        share = _BEFORE + _belongs(told, share).sum(axis=0)
        share /= share.sum()
    return replace(scales, shapes=share, unlike=_unlike(found, told, share))


def _unlike(found: Sequence[tuple[Floats, Floats]], told: Floats, share: Floats) -> tuple[float, float]:
    """Return how far the mean of the highest P(best) may go down and up by shapes that the votes allow.

    Any one shape, or all of one kind, may be more common, as long as that makes the votes no less probable
    than by a factor of ``exp(_ALLOWED)`` (a profile of the likelihood).
    """
    of_named = []
    for mix, logs in found:
        named = np.einsum("ns,nsk->nk", _belongs(logs, share), mix).argmax(axis=1)
        of_named.append(np.take_along_axis(mix, named[:, None, None], axis=2)[:, :, 0])
    said, likely = np.concatenate(of_named), np.exp(told - told.max(axis=1, keepdims=True))
    here, moves = np.log(likely @ share).sum(), []
    alone = np.eye(share.size)
    for one in (*alone, alone[AHEAD].mean(axis=0), alone[CLASSES].mean(axis=0)):
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = 0.5 * (low + high)
            allowed = here - np.log(likely @ (share + middle * (one - share))).sum() <= _ALLOWED
            low, high = (middle, high) if allowed else (low, middle)
        weight = likely * (share + low * (one - share))
        moves.append((weight * said).sum(axis=1) / weight.sum(axis=1))
    by_shape = np.mean(moves, axis=1) - (_belongs(told, share) * said).sum(axis=1).mean()
    return float(by_shape.min()), float(by_shape.max())


def average_chances(
    votes: Floats, scales: Scales, *, draws: int, seed: int, cast: CastVotes | None = None
) -> Floats:
    """Return what :data:`FIGURES` names of each candidate, shape (5, n, k).

    The ``draws`` of each query are shared out among the scales; with 0 all but the last two are nan. The same
    votes have the same figures by one ``seed``, whatever stands beside them. ``cast`` are the same votes with
    the trust in each, where it is not the same in all: ``votes`` are worth it.
    """
    mix, told, mean, deviation = _by_shape(votes, scales, draws=draws, seed=seed, cast=cast)
    found = mix[:, :, PLAIN]
    if mix.shape[2] > 1:
        assert scales.shapes is not None
        share = _belongs(told, scales.shapes)
        found = np.einsum("ns,mnsk->mnk", share, mix)
        # No number of votes tells two equals from two that are close: what is close is to be told all the
        # same.
        share[:, TIED] = 0.0
        good = np.einsum("ns,nsk->nk", share / share.sum(axis=1, keepdims=True), mix[1])
        found[1] = np.maximum(good, mix[1, :, PLAIN])
    return np.concatenate([found, mean[None], deviation[None]])


def _belongs(logs: Floats, share: Floats) -> Floats:
    """Return how probable each shape is in each query, from the logs of how probable it makes the votes."""
    logs = logs + np.log(share)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _by_shape(
    votes: Floats, scales: Scales, *, draws: int, seed: int, cast: CastVotes | None, alike: bool = True
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the first three :data:`FIGURES`, how probable votes are, and the strengths and deviations.

    The first two have the shapes (3, n, shapes, k) and (n, shapes). Without shapes, and of lone candidates,
    they are those of the plain one.
    """
    n, k, _ = votes.shape
    counts = scales.weight > _NEGLIGIBLE
    weights = scales.weight[counts] / scales.weight[counts].sum()
    lapses_of, every = scales.lapses[counts], scales.scale[counts]
    drawn = np.array([not is_exact(k, lapses) for lapses in lapses_of.tolist()])
    # Draws go where they are needed: what is summed up exactly takes none.
    per_weight = draws / max(float(weights[drawn].sum()), 1e-9)
    chance, loss, mean, square, tied = np.zeros((5, n, k))
    against = np.full(n, -np.inf)  # the log of the mean of one over the probability of the votes
    start: Floats | None = None
    # Given the scale queries have nothing to do with each other: the posterior of all is the mixture, over
    # the scales, of each query's own.
    members = zip(every.tolist(), lapses_of.tolist(), weights.tolist(), strict=True)
    for number, (scale, lapses, weight) in enumerate(members):
        fit = fit_strengths(votes, scale=scale, start=start)
        start = fit.mean
        if draws:
            # By the model and the size alone: what stands beside a query changes nothing of its draws.
            own = np.random.default_rng([seed, k, number])
            share = max(2, min(draws, round(per_weight * weight)))
            told = tell_best(
                votes, fit, scale=scale, draws=share, rng=own, lapses=lapses, cast=cast,
                ties=scales.shapes is not None, alike=alike,
            )  # fmt: skip
            chance += weight * told.chance
            loss += weight * told.loss
            tied += weight * told.tied
            against = np.logaddexp(against, np.log(weight) - told.evidence)
        mean += weight * fit.mean
        # Laplace's approximation: the inverse curvature at the mode.
        variances = np.diagonal(np.linalg.inv(fit.precision), axis1=1, axis2=2)
        square += weight * (variances + fit.mean**2)
    # The weights' sum is 1 but for rounding; the chance of a lone candidate is exactly that.
    chance = chance / chance.sum(axis=1, keepdims=True) if draws else np.full_like(chance, np.nan)
    mix, logs = np.stack([chance, chance, loss if draws else chance])[:, :, None], np.zeros((n, 1))
    if scales.shapes is not None and draws and k > 1:
        # Strengths of which only the order counts have no distances, and so no other shape.
        apart = np.where(lapses_of < 1.0, weights, 0.0)
        if apart.sum() < _NEGLIGIBLE:
            apart = weights
        # The weights rest on these votes, too: this is how probable those of all other queries make them.
        plain = Told(chance, -against, loss=loss, tied=tied / apart.sum())
        scale = float(np.exp(apart @ np.log(every) / apart.sum()))
        lapses = 0.5 if apart @ lapses_of > 0.25 * apart.sum() else 0.0
        mix, logs = _other_shapes(votes, cast, plain, scale, lapses, scales.shapes, draws, [seed, k])
    return mix, logs, mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _other_shapes(
    votes: Floats,
    cast: CastVotes | None,
    plain: Told,
    scale: float,
    lapses: float,
    shapes: Floats,
    draws: int,
    seed: Sequence[int],
) -> tuple[Floats, Floats]:
    """Return the figures by each shape, and how probable it makes the votes; rare ones do not."""
    n, k, _ = votes.shape
    # Who is as good as an equal of the best is near to it by the plain shape, too.
    mix = np.repeat(np.stack([plain.chance, plain.chance, plain.loss])[:, :, None], shapes.size, axis=2)
    logs = np.full((n, shapes.size), -np.inf)
    logs[:, PLAIN] = plain.evidence
    if shapes[TIED] > _RARE:
        both = np.maximum(plain.tied.sum(axis=1), 1e-9)
        logs[:, TIED] = plain.evidence + np.log(both)
        mix[:2, :, TIED] = plain.tied / both[:, None]
    every = votes + votes.transpose(0, 2, 1)
    chosen = cast is not None and cast.choices is not None  # these are of no pair
    for shape, factor in ((CLOSE, 1.0 / FURTHER), (APART, FURTHER), (CIRCLES, 1.0)):
        # Without a pair that has two votes, a taste of its own is one vote that is wrong.
        if shapes[shape] <= _RARE or (shape == CIRCLES and (k == 2 or chosen or every.max() < 2.0)):
            continue
        own, tastes = factor * scale, scale if shape == CIRCLES else 0.0
        # What many votes on a pair say is in part its own taste: draws come from about what is left.
        fit = fit_strengths(votes / (1.0 + 0.2 * tastes**2 * every), scale=own, within=1e-6)
        rng = np.random.default_rng([*seed, shape])
        told = tell_best(
            votes, fit, scale=own, draws=max(2, draws // (6 if tastes else 3)), rng=rng, lapses=lapses,
            cast=cast, tastes=tastes,
        )  # fmt: skip
        mix[:2, :, shape], mix[2, :, shape], logs[:, shape] = told.chance, told.loss, told.evidence
        if tastes:  # what votes are worth less than one is left to chance
            logs[:, shape] += 0.5 * (pair_logs(votes, 0.5, cast) - every * np.log(0.5)).sum(axis=(1, 2))
    if k > 2 and shapes[AHEAD].sum() > _RARE:
        mix[:, :, AHEAD], logs[:, AHEAD] = tell_classes(votes, cast, np.eye(k))
    if 2 < k <= LARGEST and shapes[CLASSES].sum() > _RARE:
        mix[:, :, CLASSES], logs[:, CLASSES] = tell_classes(votes, cast, _sets(k))
    return mix, logs


@lru_cache(maxsize=64)
def _sets(size: int) -> Floats:
    """Return the sets of two or more that may be the better class, as rows of 0 and 1."""
    bits = (np.arange(1, (1 << size) - 1)[:, None] >> np.arange(size)) & 1
    several: Floats = bits[bits.sum(axis=1) > 1].astype(np.float64)
    return several


def tell_classes(votes: Floats, cast: CastVotes | None, better: Floats) -> tuple[Floats, Floats]:
    """Return the figures if one of these sets is the better class, and how probable that makes the votes.

    They have the shapes (3, n, right, k) and (n, right). Sets of any size are as probable together.
    """
    n, k, _ = votes.shape
    mix, logs = np.empty((3, n, len(RIGHT), k)), np.empty((n, len(RIGHT)))
    sizes = better.sum(axis=1).astype(np.int64)
    before = -np.log(np.bincount(sizes)[sizes] * np.unique(sizes).size)
    across = (better[:, :, None] * (1.0 - better[:, None, :])).reshape(-1, k * k).T
    choices = None if cast is None else cast.choices
    coin = pair_logs(votes, 0.5, cast).reshape(n, k * k)
    for number, right in enumerate(RIGHT):
        above = pair_logs(votes, 1.0 - right, cast).reshape(n, k * k) - coin
        step = max(1, _CELLS // (len(better) * (1 if choices is None else 1 + choices.shown.size // n)))
        for low in range(0, n, step):
            some = slice(low, low + step)
            of_sets = above[some] @ across + before
            if cast is not None and (near := cast.between(low, low + step).choices) is not None:
                of_sets += near.log_classes(len(of_sets), better, right)
            top = of_sets.max(axis=1, keepdims=True)
            weight = np.exp(of_sets - top)
            total = weight.sum(axis=1)
            mix[0, some, number] = weight @ (better / sizes[:, None]) / total[:, None]
            mix[1, some, number] = weight @ better / total[:, None]
            mix[2, some, number] = (right - 0.5) * (1.0 - mix[1, some, number])
            logs[some, number] = top[:, 0] + np.log(total) + 0.5 * coin[some].sum(axis=1)
    return mix, logs


@dataclass(frozen=True, slots=True)
class ShapedNoise:
    """A crowd whose queries have any shape."""

    noise: LapseNoise
    shapes: Floats
    """How common each shape is."""

    def draw_chances(self, n: int, k: int, rng: np.random.Generator) -> tuple[Floats, Counts]:
        """Draw queries, as `Noise` does."""
        return draw_shapes(self.noise, self.shapes, n, k, rng)


def usual_shapes(rng: np.random.Generator) -> Floats:
    """Draw how common the shapes may be in a study that nobody has judged."""
    return rng.dirichlet(_BEFORE)


def draw_shapes(
    noise: LapseNoise, shapes: Floats | None, n: int, k: int, rng: np.random.Generator
) -> tuple[Floats, Counts]:
    """Draw new queries of these shapes, as `Noise` does; of equals any may be the best."""
    chances, best = noise.draw_chances(n, k, rng)
    if shapes is None:
        return chances, best
    shape = rng.choice(shapes.size, n, p=shapes)
    distant = noise if noise.lapses < 1.0 else LapseNoise(error=noise.error)
    factor = np.select([shape == CLOSE, shape == APART], [1.0 / FURTHER, FURTHER], 1.0)
    strength = rng.normal(0.0, distant.scale, (n, k)) * factor[:, None]
    tied = np.flatnonzero(shape == TIED)
    strength[tied, np.argsort(strength[tied], axis=1)[:, -2]] = strength[tied].max(axis=1)
    tastes = np.triu(rng.normal(0.0, distant.scale, (n, k, k)), 1) * (shape == CIRCLES)[:, None, None]
    gap = strength[:, :, None] - strength[:, None, :] + tastes - tastes.transpose(0, 2, 1)
    above = 0.5 * distant.tossed + (1.0 - distant.tossed) * (0.5 + 0.5 * np.tanh(0.5 * gap))
    # As many are better as are not, or any other number of them.
    many = np.where(shape >= CLASSES.start, rng.integers(min(2, k - 1), k, n), 1)
    better = rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1) < many[:, None]
    by_class = better[:, :, None].astype(np.float64) - better[:, None, :]
    right = np.array(RIGHT)[(shape - AHEAD.start) % len(RIGHT)][:, None, None]
    of_classes = 0.5 + (right - 0.5) * by_class
    classes, strength = shape >= AHEAD.start, strength + 1e-9 * rng.random((n, k))
    best = np.where(classes, better.argmax(axis=1), np.where(shape == PLAIN, best, strength.argmax(axis=1)))
    found: Floats = np.where(classes[:, None, None], of_classes, above)
    return np.where((shape == PLAIN)[:, None, None], chances, found), best

"""Scales: how far apart candidates are, and so how often and how votes are wrong, as far as the votes tell.

The scale is the standard deviation of the candidates' strengths, in logits. Only repeated votes on a pair,
and cycles, tell it. Where they are few, one most likely scale is no more than a guess, and probabilities
that rest on it are too sure: every scale is kept, with its probability, and what follows is averaged over
them. So it is with the share of lapses: whether wrong votes gather on close pairs, or fall on all alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import USUAL_ERROR, error_of_scale, scale_of_error
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.bradley_terry import Strengths, fit_strengths
from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.posterior import is_exact, log_evidence
from prefjudge.core.resolving.scale_grids import POINTS, LogDensity, find_grids
from prefjudge.core.resolving.tournament import tournaments
from prefjudge.core.resolving.trust import Trust, learn_trust
from prefjudge.core.resolving.vote_matrices import Floats, vote_matrices

LOWEST, HIGHEST = 0.05, 20.0
"""The bounds of the scales considered: 49 % to 2 % of votes on a random pair are wrong."""
SPREAD = 0.6
"""The standard deviation of the log of the scale, before any vote: nine crowds in ten err in 18 to 43 % of
votes, and the mean of one vote's being right is 0.68."""
_SAMPLE = 500
"""How many queries are enough to tell the scale."""
_FEWEST, _ROUGH, _FINE = (200, 200, 1), (200, 500, 1 << 20), (800, 3000, 1 << 23)
"""The least and the most posterior samples of each query, and about how many samples times cells of vote
matrices: to look for scales, to weigh them, and to weigh the shares of lapses against each other."""
LAPSES = (0.0, 0.5, 1.0)
"""The shares of wrong votes that may be lapses, as probable as each other before any vote: Bradley and
Terry's model, one error on all pairs, and half way, as where some workers vote by chance."""
_COUNTS = 1e-3
"""A model that is less probable is weighed only once. More samples weigh the others again where shares of
lapses compete."""
_PART, _LEAST_PART = 8, 12
"""A part of so many queries, if it has so many, tells where to look for the scales."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Models of how votes err, and how probable each of them is.

    Attributes
    ----------
    scale : ndarray of float64, shape (m,)
        Standard deviations of strengths, in logits: those at which a random pair has as many wrong votes
        without lapses. Ascending for each share of lapses; their logs are equally far apart.
    weight : ndarray of float64, shape (m,)
        Their probabilities; the sum is 1.
    lapses : ndarray of float64, shape (m,)
        The share of the wrong votes that any pair would have got.
    trust : float
        The share of votes that are such; the others are cast by chance, by workers who are known for it.
    """

    scale: Floats
    weight: Floats
    lapses: Floats
    trust: float = 1.0

    @cached_property
    def _errors(self) -> Floats:
        return np.array([self._error(float(scale)) for scale in self.scale])

    def _error(self, scale: float) -> float:
        return self.trust * error_of_scale(scale) + (1.0 - self.trust) * 0.5

    @property
    def mean(self) -> float:
        """The mean scale."""
        return float(self.weight @ self.scale)

    @property
    def error(self) -> float:
        """The mean share of wrong votes on a random pair."""
        return float(self.weight @ self._errors)

    @property
    def deviation(self) -> float:
        """The standard deviation of that share: how well it is known."""
        return float(np.sqrt(self.weight @ (self._errors - self.error) ** 2))

    @property
    def told(self) -> bool:
        """Whether the votes tell the share of wrong votes: it is twice as well known as without them."""
        return self.deviation <= 0.5 * self.trust * prior_scales().deviation

    @property
    def lapsing(self) -> float:
        """The mean share of the wrong votes that any pair would have got."""
        return float(self.weight @ self.lapses)

    def weighed(self, more: Floats) -> "Scales":
        """Return the scales with the logs of further weights, shape (m,), times those they have."""
        # The greatest outside: over hundreds of large pools the logs themselves are beyond what exp can hold.
        logs = np.log(np.maximum(self.weight, 1e-300)) + more
        weight = np.exp(logs - logs.max())
        return replace(self, weight=weight / weight.sum())

    def interval(self, share: float = 0.9) -> tuple[float, float]:
        """Return the bounds of the share of wrong votes between which it lies with this probability."""
        least, most = self.errors_at(np.array([0.5 - share / 2, 0.5 + share / 2]))
        return float(least), float(most)

    def errors_at(self, below: Floats) -> Floats:
        """Return the shares of wrong votes below which the true one lies with these probabilities."""
        if self.scale.size == 1:
            return np.full(below.size, self.error)
        fine = np.linspace(np.log(self.scale.min()), np.log(self.scale.max()), 4001)
        density = np.zeros(fine.size)
        for lapses in np.unique(self.lapses):
            of = self.lapses == lapses
            logs = np.log(self.scale[of])
            # The points are far apart for a quantile: a spline fills the gaps of their smooth log density.
            smooth = scipy.interpolate.CubicSpline(logs, np.log(np.maximum(self.weight[of], 1e-300)))
            within = (fine >= logs[0]) & (fine <= logs[-1])
            density[within] += np.exp(smooth(fine[within])) / (logs[1] - logs[0])
        reached = np.cumsum(density)
        places = np.exp(np.interp(1.0 - below, reached / reached[-1], fine))
        found = np.array([self._error(place) for place in places.tolist()])
        # Where the greatest scale is a probable one, still greater ones are, at which hardly a vote is wrong.
        beyond = np.exp(fine[-1]) > 0.999 * HIGHEST and density[-1] > 0.1 * density.max()
        if beyond:
            found[below < 0.5] = 0.5 * (1.0 - self.trust)
        return found


def one_scale(scale: float, lapses: float = 0.0) -> Scales:
    """Return a scale that is known, and so is the share of lapses."""
    return Scales(scale=np.array([scale]), weight=np.ones(1), lapses=np.array([lapses]))


def prior_scales() -> Scales:
    """Return what is known of crowds before any vote."""
    return weigh_scales(lambda scale, lapses: 0.0)


def log_prior(scale: float) -> float:
    """Return the log density of the log of the scale, before any vote, up to a constant."""
    return float(-0.5 * (np.log(scale / _USUAL) / SPREAD) ** 2)


_USUAL = scale_of_error(USUAL_ERROR)


def weigh_scales(log_likelihood: LogDensity, *, roughly: LogDensity | None = None) -> Scales:
    """Return the posterior probabilities of scales on grids that cover all that are probable.

    Parameters
    ----------
    log_likelihood : callable
        The log probability of what was observed, given a scale and a share of lapses.
    roughly : callable, optional
        The same of a part of that, which costs less and tells where to look.
    """
    find = partial(find_grids, lapses=LAPSES, within=(float(np.log(LOWEST)), float(np.log(HIGHEST))))
    rough = None if roughly is None else find(_posterior(roughly))
    grids = find(_posterior(log_likelihood), rough=rough)
    # The trapezoid rule: as good as exact for a density that falls to nothing at both ends, once the points
    # are not much more than a standard deviation apart.
    part = np.array([0.5, *[1.0] * (POINTS - 2), 0.5])
    mass = np.concatenate([logs + np.log(part * (grid[1] - grid[0])) for grid, logs in grids])
    weight = np.exp(mass - mass.max())
    return Scales(
        scale=np.exp(np.concatenate([grid for grid, _ in grids])),
        weight=weight / weight.sum(),
        lapses=np.repeat(LAPSES, POINTS),
    )


def _posterior(log_likelihood: LogDensity) -> LogDensity:
    return lambda scale, lapses: log_likelihood(scale, lapses) + log_prior(scale)


def estimate_scales(
    judgments: Judgments,
    *,
    rng: np.random.Generator,
    pools: Pools | None = None,
    strengths: bool = False,
    log_weight: Callable[[float], float] = lambda scale: 0.0,
    trust: Trust | None = None,
) -> Scales:
    """Return what the votes tell about how far apart candidates are; five hundred queries are enough.

    Parameters
    ----------
    judgments : Judgments
        The votes. A tie is half a vote to each side.
    rng : numpy.random.Generator
        The source of the posterior samples.
    pools : Pools, optional
        The candidates; by default the judged documents.
    strengths : bool
        Whether a vote counts as often as it is strong.
    log_weight : callable
        The log of other evidence for a scale, apart from the votes and from what is known of crowds.
    trust : Trust, optional
        How much the votes of each worker are worth; by default all are worth the same.
    """
    stacks: list[tuple[Floats, CastVotes | None]] = []
    found = 0
    # Small blocks: those after the five hundredth query need not be cut at all.
    for block in tournaments(judgments, pools=pools, block_rows=1 << 14):
        for stack in vote_matrices(block, ties=0.5, strengths=strengths, trusting=trust):
            # A query without votes on two candidates says nothing.
            judged: NDArray[np.bool_] = np.any(stack.votes, axis=(1, 2))
            if stack.votes.shape[1] > 1 and judged.any():
                stacks.append((stack.votes[judged], stack.cast and stack.cast.only(judged)))
                found += int(judged.sum())
        if found >= _SAMPLE:
            break
    evidence = _Evidence(stacks, int(rng.integers(1 << 32)))
    part = evidence.part()
    found_scales = evidence.weigh_again(
        weigh_scales(
            lambda scale, lapses: evidence(scale, lapses) + log_weight(scale),
            roughly=part and (lambda scale, lapses: part(scale, lapses, _FEWEST) + log_weight(scale)),
        )
    )
    return found_scales if trust is None else replace(found_scales, trust=trust.mean)


def estimate_with_trust(
    judgments: Judgments, *, rng: np.random.Generator, pools: Pools | None = None, strengths: bool = False
) -> tuple[Scales, Trust | None]:
    """Return what the votes tell about how far apart candidates are, and how much each worker is worth.

    The parameters are those of :func:`estimate_scales`. There is no trust where workers cannot be told apart.
    """
    trust = learn_trust(judgments, pools=pools, strengths=strengths)
    return estimate_scales(judgments, rng=rng, pools=pools, strengths=strengths, trust=trust), trust


class _Evidence:
    """The log probability of all votes as a function of the scale and the share of lapses."""

    def __init__(self, stacks: Sequence[tuple[Floats, CastVotes | None]], seed: int) -> None:
        self._stacks = stacks
        self._seed = seed
        self._cells = max(1, sum(votes.size for votes, _ in stacks))
        self._fits: dict[float, list[Strengths]] = {}
        self._found: dict[tuple[float, float, tuple[int, int, int]], float] = {}

    def __call__(self, scale: float, lapses: float, samples: tuple[int, int, int] = _ROUGH) -> float:
        """Return it by so many samples: the least, the most, and as many as make so many cells."""
        model = (scale, lapses, samples)
        if model not in self._found:
            self._found[model] = self._sampled(*model)
        return self._found[model]

    def _sampled(self, scale: float, lapses: float, samples: tuple[int, int, int]) -> float:
        least, most, cells = samples
        draws = min(most, max(least, cells // self._cells))
        # The same draws for every scale: their errors then cancel in comparisons.
        same_draws = np.random.default_rng(self._seed)
        return sum(
            log_evidence(votes, fit, scale=scale, draws=draws, rng=same_draws, lapses=lapses, cast=cast)
            for (votes, cast), fit in zip(self._stacks, self._fitted(scale), strict=True)
        )

    def part(self) -> "_Evidence | None":
        """Return that of the votes on a part of the queries; None where these are few."""
        some = [(votes, cast, len(votes) // _PART) for votes, cast in self._stacks]
        if sum(count for _, _, count in some) < _LEAST_PART:
            return None
        stacks = [(votes[:count], cast and cast.between(0, count)) for votes, cast, count in some if count]
        return _Evidence(stacks, self._seed)

    def weigh_again(self, scales: Scales) -> Scales:
        """Return the scales with those that count weighed by more samples.

        Errors cancel among the scales of one share of lapses, but not from one share to another: an error of
        one log would be odds of three to one.
        """
        if not self._stacks or np.unique(scales.lapses[scales.weight > _COUNTS]).size < 2:
            return scales
        more = np.zeros(scales.weight.size)
        for one in np.flatnonzero(scales.weight > _COUNTS).tolist():
            model = (float(scales.scale[one]), float(scales.lapses[one]))
            if not all(is_exact(votes.shape[1], model[1]) for votes, _ in self._stacks):
                more[one] = self(*model, _FINE) - self(*model)
        return scales.weighed(more)

    def _fitted(self, scale: float) -> list[Strengths]:
        # The grids of all shares of lapses begin with the same scales. A fit starts from that of the nearest.
        if scale not in self._fits:
            near = min(self._fits, key=lambda other: abs(np.log(other / scale)), default=None)
            starts = [None] * len(self._stacks) if near is None else [fit.mean for fit in self._fits[near]]
            self._fits[scale] = [
                fit_strengths(votes, scale=scale, start=start)
                for (votes, _), start in zip(self._stacks, starts, strict=True)
            ]
        return self._fits[scale]

"""Scales: how far apart candidates are, so how often votes are wrong; and whose votes count how much."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, independent
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.posterior import (
    ABOUT,
    Strengths,
    fit_strengths,
    is_exact,
    log_evidences,
    turns_of,
)
from prefjudge.core.resolving.tournaments import (
    CastVotes,
    Floats,
    Index,
    Tournaments,
    tournaments,
    vote_matrices,
)
from prefjudge.core.strategies import USUAL_ERROR, error_of_scale, scale_of_error
from prefjudge.words import many

LogDensity = Callable[[float, float], float]
"""Of the log of a scale, given the scale and a share of lapses, up to a constant."""
Grid = dict[float, float]
"""The log of the density of scales, ascending, by their place between the bounds: 0 is the least scale, 1 the
greatest, and the logs of the scales are equally far apart."""

_NEGLIGIBLE = 10.0
"""A scale that is less probable than the likeliest one by so many logs does not count."""
_ENOUGH, _FINEST = 6, 2.0**-16
"""How many scales of a grid are to be probable: of a normal density these are 1.8 standard deviations
apart at most, and its sum is within 0.5 %."""


def find_grids(
    log_density: LogDensity, lapses: Sequence[float], *, rough: Sequence[Grid] | None = None
) -> list[Grid]:
    """Return, for each share of lapses, a grid of the scales that are probable.

    Each step is half of another's, so that grids share most of their scales, and what is computed for one.
    """
    log_density, found = cache(log_density), list[Grid]()
    for place, share in enumerate(lapses):
        step, top = 0.125, 0.5
        if near := rough[place] if rough else found[-1] if found else None:
            first, second, *_ = near
            step = (second - first) * (0.5 if rough else 1.0)  # more votes tell it better
            top = step * round(max(near, key=near.__getitem__) / step)  # so that the bounds are on the grid
        while True:
            grid = {top: log_density(_scale_at(top), share)}
            for side in (-step, step):
                at = top
                while 0.0 <= at + side <= 1.0 and grid[at] > max(grid.values()) - _NEGLIGIBLE:
                    at += side
                    grid[at] = log_density(_scale_at(at), share)
            top = max(grid, key=grid.__getitem__)
            probable = [at for at, log in grid.items() if log > grid[top] - _NEGLIGIBLE]
            if len(probable) >= _ENOUGH or step <= _FINEST:
                break
            step /= 2.0
        # One improbable scale on each side is kept: the density is next to nothing from there on.
        least, most = min(probable) - step, max(probable) + step
        found.append({at: grid[at] for at in sorted(grid) if least <= at <= most})
    return found


def _scale_at(place: float) -> float:
    """Return the scale at a place between the bounds, by its log."""
    return float(LOWEST * (HIGHEST / LOWEST) ** place)


# Trust: how much the votes of each worker are worth, by how they agree with all others.
#
# A worker votes by chance in a share of the votes, which is the worker's own. How these shares are spread
# over the workers is learnt from all of them, so that a worker of few votes is taken for one of the crowd.

_LEVELS = np.linspace(0.0, 1.0, 6)
"""The shares of votes that a worker does not cast by chance."""
_CROWD = np.array([0.10, 0.04, 0.04, 0.04, 0.28, 0.50])
"""How often each of them occurs in crowds, before any vote."""
_TOSSING = 0.3
"""Who casts a lesser share of the votes not by chance, beside the most reliable, may as well toss coins."""
_COUNTS_AS = 4.0
"""As many workers as that is worth."""
_ROUNDS, _ROUGHLY = 6, 3
_SCALES = (0.3, 0.5, 0.8, 1.25, 2.0)
"""How far apart candidates may be for the best workers: standard deviations of strengths, in logits."""
_UNTOLD = 0.1
_TORN, _TORN_VOTES = 0.6, 0.2
"""Workers whose gold pairs support more, and whose votes are worth less, contradict the weights where they
cast a larger share of the votes than chance brings together."""
_SAMPLE = 500
"""How many queries are enough to choose among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the votes tell about the workers."""

    workers: tuple[str, ...]
    """The workers."""
    reliability: Floats
    """Shape (n_workers,): the share of votes that each does not cast by chance, beside that of the most
    reliable one: its posterior mean."""
    tossing: Floats
    """Shape (n_workers,): how probable it is that this share is below ``_TOSSING``."""
    crowd: float
    """The same of the mean worker."""
    mean: float
    """The same of the mean vote."""
    cast: Index
    """Shape (n_workers,): the votes of each."""
    gold: Index
    """Shape (2, n_workers): the gold pairs that each got right, and missed."""
    _key: Index
    _without: Floats

    @property
    def doubted(self) -> int:
        """How many workers' votes are worth less than half as much as those of the most reliable."""
        return int(np.count_nonzero(self.reliability < 0.5))

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against these weights: that gold pairs contradict them, or that nobody met any."""
        share, met = self.cast / max(self.cast.sum(), 1), self.gold.sum(axis=0)
        if 2.0 * share[met > 0].sum() < 1.0:
            lesser, people = (self.reliability < _TORN) & (share > 0), np.count_nonzero(share)
            if 2 * np.count_nonzero(lesser) > people:
                return (
                    f"do not trust these answers yet: no gold tells who is right, and {lesser.sum():,} of "
                    f"{people:,} workers count for little beside a few who agree more and cast "
                    f"{share[~lesser].sum():.0%} of the votes: see prefjudge "
                    f"workers{self._leave_out(~lesser & (share > 0))}",
                )
            said = "no gold: workers' votes are weighed only by how far workers agree"
            if (less := share[lesser].sum()) > _TORN_VOTES:
                said += f"; {lesser.sum():,} of {people:,}, with {less:.0%} of the votes, hardly do"
            return (said,)
        torn = (self.reliability < _TORN) & (_supported(self.gold) >= _TORN) & (met > 0)
        right, missed = self.gold[:, torn].sum(axis=1)
        votes = float(share[torn].sum())
        if votes <= _TORN_VOTES or scipy.special.betainc(2.0 + right, 1.0 + missed, 0.8) > 0.05:
            return ()
        who = f"{many(int(torn.sum()), 'worker')} with {votes:.0%} of the votes"
        golds = f"{right:,} of {many(int(right + missed), 'gold pair')}"
        return (
            f"do not trust these answers yet: {who} got {golds} right, yet hardly agreed with the others: "
            "they or the others may read nothing but gold pairs: see prefjudge "
            f"workers{self._leave_out(torn)}",
        )

    def _leave_out(self, which: NDArray[np.bool_]) -> str:
        return leave_out([self.workers[number] for number in np.flatnonzero(which).tolist()])

    def __call__(self, query: Index, worker: Index) -> Floats:
        """Return the trust in votes, each by what its worker's votes on all other queries tell."""
        key = query * (len(self.workers) + 1) + worker
        place = np.minimum(np.searchsorted(self._key, key), self._key.size - 1)
        return np.where((worker >= 0) & (self._key[place] == key), self._without[place], self.crowd)


def leave_out(names: Sequence[str]) -> str:
    """Return how to leave workers out, where they are few."""
    left_out = " ".join(f"--without {shlex.quote(name)}" for name in names)
    return f", and resolve {left_out}" if 0 < len(names) <= 8 else ""


def learn_trust(judgments: Judgments, *, pools: Pools | None = None, strengths: bool = False) -> Trust | None:
    """Learn from the votes on all queries how reliable each worker is.

    Each vote is held against what all other votes on its query say (Laplace's approximation, and the vote's
    own part taken off it), and the workers' shares and their spread are fitted by turns with the strengths. A
    vote is weighed by its worker's votes on the *other* queries only, so that no vote vouches for itself, and
    by no more than its worker's own gold pairs support.
    """
    judgments = independent(judgments)
    if not can_tell(judgments):
        return None
    # Workers link the queries, so the votes of all of them are taken at once, as one block.
    rows = 2 * len(judgments) + (0 if pools is None else pools.query.size) + 1
    (block,) = tournaments(judgments, pools=pools, block_rows=rows)
    votes = _Votes(block, judgments, strengths)
    if not votes.key.size:
        return None
    scales = _probable_scales(_Votes(block, judgments, strengths, queries=_SAMPLE))
    fits = [(share, _fit(votes, scale, rounds=_ROUNDS)) for scale, share in scales.items()]
    without = sum(share * fit.others for share, fit in fits)
    reliability = sum(share * fit.reliability for share, fit in fits)
    return Trust(
        workers=judgments.workers,
        reliability=np.asarray(reliability)[:-1],
        tossing=np.asarray(sum(share * fit.tossing for share, fit in fits))[:-1],
        crowd=sum(share * fit.crowd for share, fit in fits),
        mean=float(np.average(np.asarray(without)[votes.key_of_vote], weights=votes.worth)),
        cast=np.bincount(judgments.worker + 1, minlength=1 + len(judgments.workers))[1:],
        gold=_golds(judgments),
        _key=votes.key,
        _without=np.asarray(without),
    )


def _probable_scales(votes: "_Votes") -> dict[float, float]:
    """Return how probable scales are that each were as probable before; the improbable ones are left out."""
    likely = np.array([_fit(votes, scale, rounds=_ROUGHLY).log_likelihood for scale in _SCALES])
    weight = np.exp(likely - likely.max())
    weight[weight < _UNTOLD] = 0.0
    return {
        scale: share for scale, share in zip(_SCALES, (weight / weight.sum()).tolist(), strict=True) if share
    }


def _golds(judgments: Judgments) -> Index:
    """Return the gold pairs that each worker got right, and missed."""
    return np.zeros((2, len(judgments.workers)), np.int64) if judgments.gold is None else judgments.gold


def _supported(gold: Index) -> Floats:
    """Return the share of votes that are not cast by chance as far as each worker's gold pairs tell.

    It is the mean of a Beta posterior; who met none is not bounded by it.
    """
    right, missed = gold
    share = np.maximum((1.0 + right - missed) / (3.0 + right + missed), 0.0)
    return np.where(right + missed > 0, share, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """The reliability of each worker, of the mean worker, and of each key by all others of its worker."""

    reliability: Floats
    tossing: Floats
    crowd: float
    others: Floats
    log_likelihood: float


def _fit(votes: "_Votes", scale: float, *, rounds: int) -> _Fit:
    """Fit the workers' shares and how they are spread, by turns with the strengths of the candidates."""
    people = votes.n_workers
    known = np.bincount(votes.worker_of_key, minlength=people + 1) > 0
    known[-1] = False
    given = np.bincount(votes.worker_of_key[votes.key_of_vote], weights=votes.worth, minlength=people + 1)
    given[-1] = 0.0
    spread, trust = _CROWD, np.ones(votes.worth.size)
    for _ in range(rounds):
        expected = votes.expect(trust, scale)
        # Rounding must not make a vote impossible.
        said = (votes.worth * np.log1p(level * 0.999 * expected) for level in _LEVELS)
        of_key = np.stack([np.add.reduceat(of_level, votes.starts) for of_level in said], axis=1)
        of_worker = np.stack(
            [np.bincount(votes.worker_of_key, weights=of, minlength=people + 1) for of in of_key.T], axis=1
        )
        # Of nobody in particular nothing is learnt but what is true of the crowd.
        of_key[votes.worker_of_key == people] = of_worker[-1] = 0.0
        likely, posterior = _normal(np.log(spread) + of_worker)
        spread = _COUNTS_AS * _CROWD + posterior[known].sum(axis=0)
        spread /= spread.sum()
        _, posterior = _normal(np.log(spread) + of_worker)
        _, without = _normal(np.log(spread) + of_worker[votes.worker_of_key] - of_key)
        # Only who is better than whom is learnt here: what all have in common is the scale and its lapses.
        reliability = np.minimum(posterior @ _LEVELS, votes.supported)
        # Theirs is what a vote that counts was cast with: one who was lucky is no measure.
        cast = reliability * given
        top = float(reliability @ cast / max(cast.sum(), 1e-9)) or 1.0
        others = np.minimum(1.0, np.minimum(without @ _LEVELS, votes.supported[votes.worker_of_key]) / top)
        trust = others[votes.key_of_vote]
    return _Fit(
        reliability=np.minimum(1.0, reliability / top),
        tossing=posterior[:, _TOSSING * top > _LEVELS].sum(axis=1),
        crowd=min(1.0, float(spread @ _LEVELS) / top),
        others=others,
        log_likelihood=float(likely[known].sum()),
    )


def can_tell(judgments: Judgments) -> bool:
    """Return whether workers can be told apart: several are known, and one of them by several queries."""
    known = judgments.worker >= 0
    if not known.any():
        return False
    seen = np.unique(
        judgments.worker[known].astype(np.int64) * len(judgments.queries) + judgments.query[known]
    )
    queries = np.bincount(seen // len(judgments.queries))
    return bool((queries > 0).sum() > 1 and queries.max() > 1)


def _normal(logs: Floats) -> tuple[Floats, Floats]:
    """Return the log of each row's sum of exponentials, and their shares of it."""
    top = logs.max(axis=1, keepdims=True)
    weight: Floats = np.exp(logs - top)
    total = weight.sum(axis=1, keepdims=True)
    return top[:, 0] + np.log(total[:, 0]), weight / total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stack:
    """The votes on all queries of ``k`` candidates: which they are, and where their cells are."""

    size: int
    queries: int
    votes: Index
    place: Index
    won: Index
    lost: Index


class _Votes:
    """The decided votes by query and worker; a key is what one worker voted on one query.

    The votes of nobody in particular belong to a last worker.
    """

    def __init__(
        self, block: Tournaments, judgments: Judgments, strengths: bool, queries: int | None = None
    ) -> None:
        self.n_workers = n_workers = len(judgments.workers)
        self.supported = np.append(_supported(_golds(judgments)), 1.0)
        rows = np.flatnonzero(block.choice != 0)
        if queries is not None:
            of = block.query[block.left[rows]]
            rows = rows[of <= np.unique(of)[:queries].max(initial=-1)]
        worker = np.where(block.worker[rows] >= 0, block.worker[rows], n_workers).astype(np.int64)
        query = block.query[block.left[rows]].astype(np.int64)
        keys = query * (n_workers + 1) + worker
        order = np.argsort(keys, kind="stable")
        rows, query, keys = rows[order], query[order], keys[order]
        self.worth = block.weighed(rows, strengths)
        changes = np.diff(keys, prepend=-1) > 0
        self.starts = np.flatnonzero(changes)
        self.key = keys[self.starts]
        self.key_of_vote = np.cumsum(changes) - 1
        self.worker_of_key = worker[order][self.starts]
        ahead = block.choice[rows] > 0
        won = np.where(ahead, block.left[rows], block.right[rows]) - block.start[query]
        lost = np.where(ahead, block.right[rows], block.left[rows]) - block.start[query]
        self.stacks = []
        for size in np.unique(block.sizes[query]).tolist():
            votes = np.flatnonzero(block.sizes[query] == size)
            held, place = np.unique(query[votes], return_inverse=True)
            self.stacks.append(
                _Stack(
                    size=size, queries=held.size, votes=votes, place=place, won=won[votes], lost=lost[votes]
                )
            )
        self._means: list[Floats | None] = [None] * len(self.stacks)

    def expect(self, trust: Floats, scale: float) -> Floats:
        """Return how far all other votes expect each vote, from -1 (surely not) to 1, shape (n_votes,)."""
        expected = np.zeros(self.worth.size)
        for number, one in enumerate(self.stacks):
            n, k = one.queries, one.size
            cell = (one.place * k + one.won) * k + one.lost
            worth = (trust * self.worth)[one.votes]
            votes = np.bincount(cell, weights=worth, minlength=n * k * k).astype(np.float64)
            fit = fit_strengths(votes.reshape(n, k, k), scale=scale, start=self._means[number])
            self._means[number] = fit.mean
            expected[one.votes] = _without_itself(fit, one, trust[one.votes])
        return expected


def _without_itself(fit: Strengths, stack: _Stack, trust: Floats) -> Floats:
    place, x, y = stack.place, stack.won, stack.lost
    gap = fit.mean[place, x] - fit.mean[place, y]
    covariance = np.linalg.inv(fit.precision)
    variance = covariance[place, x, x] + covariance[place, y, y] - 2.0 * covariance[place, x, y]
    chance = 0.5 * (1.0 + np.tanh(0.5 * gap))
    # The vote's own part of the mode, and of the curvature there.
    variance /= np.maximum(1.0 - trust * chance * (1.0 - chance) * variance, 0.1)
    gap -= variance * trust * (1.0 - chance)
    # The mean of a logistic over a normal distribution (MacKay 1992); 2 p - 1 is the tanh of half the logit.
    expected: Floats = np.tanh(0.5 * gap / np.sqrt(1.0 + np.pi / 8.0 * variance))
    return expected


# Scales: how far apart candidates are, and so how often and how votes are wrong, as far as the votes tell.
#
# The scale is the standard deviation of the candidates' strengths, in logits. Only repeated votes on a
# pair, and cycles, tell it. Where they are few, one most likely scale is no more than a guess, and
# probabilities that rest on it are too sure: every scale is kept, with its probability, and what follows is
# averaged over them. So it is with the share of lapses: whether wrong votes gather on close pairs, or fall
# on all alike.

LOWEST, HIGHEST = 0.05, 20.0
"""The bounds of the scales considered: 49 % to 2 % of votes on a random pair are wrong."""
SPREAD = 0.6
"""The standard deviation of the log of the scale, before any vote: nine crowds in ten err in 18 to 43 % of
votes, and the mean of one vote's being right is 0.68."""
_FEWEST, _ROUGH, _FINE_SCALES = (200, 200, 1), (200, 500, 1 << 20), (800, 3000, 1 << 23)
"""The least and the most posterior samples of each query, and about how many samples times cells of vote
matrices: to look for scales, to weigh them, and to weigh the shares of lapses against each other."""
LAPSES = (0.0, 0.5, 1.0)
"""The shares of wrong votes that may be lapses, as probable as each other before any vote: Bradley and
Terry's model, one error on all pairs, and half way, as where some workers vote by chance."""
_COUNTS = 1e-3
"""A model that is less probable is weighed only once. More samples weigh the others again where shares of
lapses compete."""
_OF_CHOICES = 2000
"""The least of the last, where there are choices: they tell so little of lapses that errors would count."""
_PART, _LEAST_PART = 8, 12
"""A part of so many queries, if it has so many, tells where to look for the scales."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Models of how votes err, and how probable each of them is."""

    scale: Floats
    """Shape (m,): standard deviations of strengths, in logits: those at which a random pair has as many wrong
    votes without lapses. Ascending for each share of lapses; their logs are equally far apart."""
    weight: Floats
    """Shape (m,): their probabilities; the sum is 1."""
    lapses: Floats
    """Shape (m,): the share of the wrong votes that any pair would have got."""
    trust: float = 1.0
    """The share of votes that are such; the others are cast by chance, by workers who are known for it."""
    shapes: Floats | None = None
    """How common each shape of strengths is (see `shapes`); by default all queries have the plain one."""
    unlike: tuple[float, float] = (0.0, 0.0)
    """How far the mean of the highest P(best) may go down and up by shapes that the votes do not rule out."""

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
    """Return the posterior probabilities of scales on grids that cover all that are probable."""
    rough = None if roughly is None else find_grids(_posterior(roughly), LAPSES)
    grids = find_grids(_posterior(log_likelihood), LAPSES, rough=rough)
    # The trapezoid rule: as good as exact for a density that falls to nothing at both ends.
    wide = [np.gradient(list(grid)) * np.array([0.5, *[1.0] * (len(grid) - 2), 0.5]) for grid in grids]
    mass = np.concatenate([np.array([*grid.values()]) for grid in grids]) + np.log(np.concatenate(wide))
    weight = np.exp(mass - mass.max())
    return Scales(
        scale=np.array([_scale_at(place) for grid in grids for place in grid]),
        weight=weight / weight.sum(),
        lapses=np.repeat(LAPSES, [len(grid) for grid in grids]),
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
    """Return what the votes tell about how far apart candidates are; five hundred queries are enough."""
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
        how = partial(log_evidences, scale=scale, draws=draws, rng=same_draws, lapses=lapses)
        return sum(
            float(how(votes, fit, cast=cast, turns=turns).sum())
            for (votes, cast), fit, turns in zip(self._stacks, self._fitted(scale), self._turns, strict=True)
        )

    @cached_property
    def _turns(self) -> list[Floats]:
        rng = np.random.default_rng(self._seed)
        return [turns_of(len(votes), votes.shape[1], rng) for votes, _ in self._stacks]

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
        more, (least, most, cells) = np.zeros(scales.weight.size), _FINE_SCALES
        if any(cast is not None and cast.choices is not None for _, cast in self._stacks):
            least = max(least, _OF_CHOICES)
        for one in np.flatnonzero(scales.weight > _COUNTS).tolist():
            model = (float(scales.scale[one]), float(scales.lapses[one]))
            if not all(is_exact(votes.shape[1], model[1]) for votes, _ in self._stacks):
                more[one] = self(*model, (least, most, cells)) - self(*model)
        return scales.weighed(more)

    def _fitted(self, scale: float) -> list[Strengths]:
        # The grids of all shares of lapses begin with the same scales. A fit starts from that of the nearest.
        if scale not in self._fits:
            near = min(self._fits, key=lambda other: abs(np.log(other / scale)), default=None)
            starts = [None] * len(self._stacks) if near is None else [fit.mean for fit in self._fits[near]]
            self._fits[scale] = [
                fit_strengths(votes, scale=scale, start=start, within=ABOUT)
                for (votes, _), start in zip(self._stacks, starts, strict=True)
            ]
        return self._fits[scale]

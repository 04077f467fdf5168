"""Simulated studies: what is stated of their answers, and what is right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import (
    BradleyTerryNoise,
    ConstantNoise,
    LapseNoise,
    Noise,
    error_of_scale,
    scale_of_error,
)
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import parse_strategy
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.scales import prior_scales

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SPAM = 0.3


@dataclass(frozen=True, kw_only=True)
class SpammedNoise:
    """Three workers in ten choose at random, the others err as Bradley-Terry says."""

    honest: BradleyTerryNoise

    def draw_chances(self, n: int, k: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Draw the strengths of each pool, and how likely a vote by anybody is."""
        chances, best = self.honest.draw_chances(n, k, rng)
        return (1.0 - _SPAM) * chances + _SPAM * 0.5, best


@dataclass(frozen=True, kw_only=True)
class UsualNoise:
    """Each study has a crowd of its own, drawn from what crowds usually show, as P(best) takes them."""

    def draw_chances(self, n: int, k: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Draw a crowd, and the pools of a study."""
        usual = prior_scales()
        one = rng.choice(usual.weight.size, p=usual.weight)
        error = error_of_scale(float(usual.scale[one]))
        return LapseNoise(error=error, lapses=float(usual.lapses[one])).draw_chances(n, k, rng)


def _bradley_terry(error: float) -> Noise:
    return BradleyTerryNoise(scale=scale_of_error(error))


def _constant(error: float) -> Noise:
    return ConstantNoise(error=error)


def _spammed(error: float) -> Noise:
    return SpammedNoise(honest=BradleyTerryNoise(scale=scale_of_error(error)))


def _usual(error: float) -> Noise:
    return UsualNoise()


NOISES = {"bradley-terry": _bradley_terry, "constant": _constant, "spam": _spammed, "usual": _usual}


@dataclass(frozen=True, kw_only=True)
class Design:
    """How the studies of a cell are judged."""

    pool: int
    queries: int
    strategy: str
    noise: str
    workers: int
    """How many have a name; 0: nobody has."""


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Answers in ten bins by the probability stated: shape (10,) each."""

    count: NDArray[np.int64]
    stated: Floats
    right: Floats

    def off(self) -> Floats:
        """Return by how much each bin is off."""
        return np.abs(self.stated - self.right) / np.maximum(self.count, 1)

    def error(self) -> float:
        """Return the weighted calibration error."""
        return float(np.abs(self.stated - self.right).sum() / self.count.sum())

    def noise(self) -> float:
        """Return the weighted error to expect of answers that are right exactly as often as is stated."""
        share = self.stated / np.maximum(self.count, 1)
        # The mean size of a normal deviate is sqrt(2 / pi) of its standard deviation.
        deviations = np.sqrt(2.0 / np.pi * self.count * share * (1.0 - share))
        return float(deviations.sum() / self.count.sum())

    def worst(self, *, least: int) -> float:
        """Return by how much the worst bin with this many answers is off; nan where there is none."""
        off = self.off()[self.count >= least]
        return float(off.max()) if off.size else float("nan")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of all studies of a cell.

    ``stated`` is the greatest P(best) of each query, ``right`` whether its candidate is the best, and
    ``told`` the share of studies whose votes tell the error.
    """

    stated: Floats
    right: Flags
    told: float

    def bins(self) -> Bins:
        """Count the answers by tenths of the probability stated."""
        place = np.minimum((10 * self.stated).astype(np.int64), 9)
        return Bins(
            count=np.bincount(place, minlength=10),
            stated=np.bincount(place, weights=self.stated, minlength=10),
            right=np.bincount(place, weights=self.right, minlength=10),
        )


def join(cells: Sequence[Answers]) -> Answers:
    """Return the answers of several cells together."""
    return Answers(
        stated=np.concatenate([cell.stated for cell in cells]),
        right=np.concatenate([cell.right for cell in cells]),
        told=float(np.mean([cell.told for cell in cells])),
    )


def simulate(design: Design, error: float, answers: int, rng: np.random.Generator) -> Answers:
    """Simulate studies until they have so many answers."""
    strategy, noise = parse_strategy(design.strategy), NOISES[design.noise](error)
    stated, right, told = [], [], []
    for _ in range(max(1, -(-answers // design.queries))):
        chances, best = noise.draw_chances(design.queries, design.pool, rng)
        votes, _work = play(strategy, chances, rng)
        judgments, pools = log_of(votes)
        if design.workers:
            spam = _SPAM if design.noise == "spam" else 0.0
            judgments = name_workers(judgments, chances, spam, design.workers, rng)
        confidence = assess_confidence(judgments, rng=rng, pools=pools)
        of_query = confidence.chance.reshape(design.queries, design.pool)
        stated.append(of_query.max(axis=1))
        right.append(of_query.argmax(axis=1) == best)
        told.append(confidence.scales.told)
    return Answers(stated=np.concatenate(stated), right=np.concatenate(right), told=float(np.mean(told)))


def name_workers(
    judgments: Judgments, chances: Floats, spam: float, workers: int, rng: np.random.Generator
) -> Judgments:
    """Say who cast each vote: any of the workers, of whom the first ``spam`` choose at random.

    A vote that is likely whoever cast it tells little; one that an honest worker would hardly cast is
    probably not honest. So each is given to the random or to the honest by Bayes' rule, and votes and workers
    are distributed as if each vote had been cast by a worker drawn at random.
    """
    size = chances.shape[1]
    chance = chances[judgments.query, judgments.left % size, judgments.right % size]
    coins = round(spam * workers)
    random = rng.random(len(judgments)) < 0.5 * spam / chance
    worker = np.where(
        random, rng.integers(0, max(1, coins), random.size), rng.integers(coins, workers, random.size)
    )
    names = tuple(f"w{number}" for number in range(workers))
    return replace(judgments, workers=names, worker=worker.astype(np.int32))


def log_of(votes: Floats) -> tuple[Judgments, Pools]:
    """Return a row for each vote, and the pools, whose documents are in the order of the matrices."""
    n, size, _ = votes.shape
    queries = tuple(f"{number:06}" for number in range(n))
    docs = tuple(f"{number:08}" for number in range(n * size))
    nothing = np.empty(0, dtype=np.int32)
    doc = np.arange(n * size, dtype=np.int32)
    pools = Pools(
        queries=queries, docs=docs, query=doc // size, doc=doc, sources=(), source_row=nothing, source=nothing
    )
    query, x, y = np.nonzero(votes)
    times = np.rint(votes[query, x, y]).astype(np.int64)
    query, x, y = (np.repeat(side, times).astype(np.int32) for side in (query, x, y))
    judgments = Judgments(
        queries=queries,
        docs=docs,
        workers=(),
        query=query,
        left=query * size + x,
        right=query * size + y,
        choice=np.ones(query.size, dtype=np.int8),
        strength=np.ones(query.size, dtype=np.int8),
        worker=np.full(query.size, -1, dtype=np.int32),
    )
    return judgments, pools

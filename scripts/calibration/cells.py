"""Simulated studies: what is stated of their answers, and what is right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.plans import play
from prefjudge.core.planning.rounds import parse_strategy
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.scales import Scales, prior_scales
from prefjudge.core.resolving.shapes import average_chances
from prefjudge.core.strategies import LapseNoise, Noise, error_of_scale, scale_of_error

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SPAM = 0.3
_DRAWS = 1000
_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who votes in a study."""

    error: float
    lapses: float = 0.0
    """How the votes of honest workers err: see :class:`LapseNoise`."""
    spam: float = 0.0
    """The share of workers who choose at random."""

    @property
    def noise(self) -> Noise:
        """How a vote errs, whoever casts it."""
        return LapseNoise(error=self.unnamed().error, lapses=min(self.unnamed().lapses, 1.0))

    def unnamed(self) -> "Crowd":
        """Return the same crowd where nobody knows who chooses at random: these votes are lapses."""
        error = (1.0 - self.spam) * self.error + 0.5 * self.spam
        wrong = (1.0 - self.spam) * self.lapses * self.error + 0.5 * self.spam
        return Crowd(error=error, lapses=wrong / error)

    def chances(self, votes: Floats) -> Floats:
        """Return who is the best, by votes of honest workers, for those who know how the crowd errs."""
        scale = np.array([scale_of_error(self.error)])
        scales = Scales(scale=scale, weight=np.ones(1), lapses=np.array([self.lapses]))
        return average_chances(votes, scales, draws=_DRAWS, seed=0)[0]


def _usual(error: float, rng: np.random.Generator) -> Crowd:
    """Draw a crowd from what crowds usually show, as P(best) takes them, whatever the error."""
    usual = prior_scales()
    one = rng.choice(usual.weight.size, p=usual.weight)
    return Crowd(error=error_of_scale(float(usual.scale[one])), lapses=float(usual.lapses[one]))


NOISES: dict[str, Callable[[float, np.random.Generator], Crowd]] = {
    "bradley-terry": lambda error, rng: Crowd(error=error),
    "constant": lambda error, rng: Crowd(error=error, lapses=1.0),
    "spam": lambda error, rng: Crowd(error=error, spam=_SPAM),
    "usual": _usual,
}


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
    """Answers in ten bins by the probability stated: shape (10,) each.

    ``stated`` and ``known`` are sums, and ``variance`` that of their difference, from study to study.
    """

    count: NDArray[np.int64]
    stated: Floats
    known: Floats
    variance: Floats

    def off(self) -> Floats:
        """Return by how much each bin is off."""
        return np.abs(self.stated - self.known) / np.maximum(self.count, 1)

    def error(self) -> float:
        """Return the weighted calibration error."""
        return float(np.abs(self.stated - self.known).sum() / self.count.sum())

    def chance(self) -> float:
        """Return the weighted error to expect of statements that are true on average over studies."""
        # The mean size of a normal deviate is sqrt(2 / pi) of its standard deviation.
        return float(np.sqrt(2.0 / np.pi * self.variance).sum() / self.count.sum())

    def worst(self, *, least: int) -> float:
        """Return by how much the worst bin with this many answers is off; nan where there is none."""
        off = self.off()[self.count >= least]
        return float(off.max()) if off.size else float("nan")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of all studies of a cell, as many in each study, or those of several cells."""

    stated: Floats
    """The greatest P(best) of each query."""
    known: Floats
    """P(best) of the same candidate, by the same votes, for those who know how the crowd errs and who chooses
    at random: the share of such answers that are right."""
    right: Flags
    """Whether it is the best."""
    told: float
    """The share of studies whose votes tell the error."""
    variance: Floats
    """That of the sum of ``stated - known`` in each bin, from study to study; nan of a single study."""

    def bins(self) -> Bins:
        """Count the answers by tenths of the probability stated."""
        place = _places(self.stated)
        return Bins(
            count=np.bincount(place, minlength=_BINS),
            stated=np.bincount(place, weights=self.stated, minlength=_BINS),
            known=np.bincount(place, weights=self.known, minlength=_BINS),
            variance=self.variance,
        )


def _places(stated: Floats) -> NDArray[np.int64]:
    return np.minimum((_BINS * stated).astype(np.int64), _BINS - 1)


def variance_of_sums(stated: Floats, known: Floats) -> Floats:
    """Return the variance of the sum of what is off in each bin, for answers of shape (studies, queries)."""
    studies = len(stated)
    place = _BINS * np.arange(studies)[:, None] + _places(stated)
    off = np.bincount(place.ravel(), weights=(stated - known).ravel(), minlength=_BINS * studies)
    if studies == 1:
        return np.full(_BINS, np.nan)
    return studies * off.reshape(studies, _BINS).var(axis=0, ddof=1)


def join(cells: Sequence[Answers]) -> Answers:
    """Return the answers of several cells together."""
    return Answers(
        stated=np.concatenate([cell.stated for cell in cells]),
        known=np.concatenate([cell.known for cell in cells]),
        right=np.concatenate([cell.right for cell in cells]),
        told=float(np.mean([cell.told for cell in cells])),
        variance=np.sum([cell.variance for cell in cells], axis=0),
    )


def simulate(design: Design, error: float, answers: int, rng: np.random.Generator) -> Answers:
    """Simulate studies until they have so many answers."""
    strategy, size = parse_strategy(design.strategy), (design.queries, design.pool)
    # Streams of their own: the votes are the same whether or not it is known who cast them.
    of_votes, of_names, of_draws = rng.spawn(3)
    stated, known, right, told = [], [], [], []
    for _ in range(max(1, -(-answers // design.queries))):
        crowd = NOISES[design.noise](error, of_votes)
        chances, best = crowd.noise.draw_chances(*size, of_votes)
        votes, _work = play(strategy, chances, of_votes)
        judgments, pools = log_of(votes)
        if design.workers:
            judgments = name_workers(judgments, chances, crowd.spam, design.workers, of_names)
            honest = judgments.worker >= round(crowd.spam * design.workers)
            votes = np.zeros_like(votes)
            np.add.at(votes, (judgments.query, judgments.left % size[1], judgments.right % size[1]), honest)
        else:
            crowd = crowd.unnamed()
        confidence = assess_confidence(judgments, rng=of_draws, pools=pools)
        of_query = confidence.chance.reshape(size)
        answer = of_query.argmax(axis=1)
        stated.append(of_query.max(axis=1))
        known.append(crowd.chances(votes)[np.arange(design.queries), answer])
        right.append(answer == best)
        told.append(confidence.scales.told)
    return Answers(
        stated=np.concatenate(stated),
        known=np.concatenate(known),
        right=np.concatenate(right),
        told=float(np.mean(told)),
        variance=variance_of_sums(np.array(stated), np.array(known)),
    )


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
    doc = np.arange(n * size, dtype=np.int32)
    pools = Pools(queries=queries, docs=docs, query=doc // size, doc=doc)
    query, x, y = np.nonzero(votes)
    times = np.rint(votes[query, x, y]).astype(np.int64)
    query, x, y = (np.repeat(side, times).astype(np.int32) for side in (query, x, y))
    judgments = Judgments.of_nobody(
        queries=queries,
        docs=docs,
        query=query,
        left=query * size + x,
        right=query * size + y,
        choice=np.ones(query.size, dtype=np.int8),
    )
    return judgments, pools

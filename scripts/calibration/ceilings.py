"""The noise ceiling that is estimated from one study, beside how far other studies agree."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.pooling.qrels import Scores
from prefjudge.core.pooling.runs import Order
from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.evaluation.comparing.redrawn_votes import fit_votes
from prefjudge.evaluation.leaderboards.vote_noise import measure_noise, noise_ceiling, redrawn_ceiling

Floats = NDArray[np.float64]
POOL, RUNS = 6, 30
QUERIES, VOTES, ERRORS = (50, 200), (1, 3), (0.2, 0.33)
FAMILIES = {"far apart": (0.5, 1.0), "close": (1.0, 0.3), "nearly equal": (1.0, 0.0)}
"""How well the worst run ranks by strength, and how much better the best."""
STUDIES = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table, and how many crowds each has."""

    pool: int
    runs: int
    queries: tuple[int, ...]
    votes: tuple[int, ...]
    errors: tuple[float, ...]
    studies: int


USUAL = Grid(POOL, RUNS, QUERIES, VOTES, ERRORS, STUDIES)
SMALL = Grid(3, 8, (50,), (1,), (0.2, 0.33, 0.4), 30)
FORM = "{:>7} {:>5} {:>5} {:<12} {:>6} {:>6} {:>6} {:>6}"


class Crowd:
    """Questions with candidates of known strengths, runs that rank them, and people who vote on them."""

    def __init__(
        self,
        queries: int,
        votes: int,
        error: float,
        family: str,
        rng: np.random.Generator,
        *,
        pool: int = POOL,
        runs: int = RUNS,
    ) -> None:
        weakest, gap = FAMILIES[family]
        self.pool = pool
        self.strength = rng.standard_normal((queries, pool))
        skill = weakest + gap * np.linspace(0, 1, runs)
        ranked = self.strength[:, :, None] * skill + rng.standard_normal((queries, pool, runs))
        self.gain = 1.0 / (1 + np.argsort(np.argsort(-ranked, axis=1), axis=1))
        one, other = np.triu_indices(pool, 1)
        query = np.repeat(np.arange(queries), one.size * votes)
        self.left, self.right = (np.tile(np.repeat(side, votes), queries) for side in (one, other))
        gap_of = self.strength[query, self.left] - self.strength[query, self.right]
        self.chance = 1.0 / (1.0 + np.exp(-scale_of_error(error) * gap_of))
        self.query = query
        self.names = tuple(f"q{number}" for number in range(queries))

    def vote(self, rng: np.random.Generator) -> Judgments:
        """Return what the people say, this time."""
        count = self.query.size
        # Each document is one of its query's own.
        left, right = (self.pool * self.query + side for side in (self.left, self.right))
        return Judgments(
            queries=self.names,
            docs=tuple(f"d{number}" for number in range(self.pool * len(self.names))),
            workers=(),
            query=self.query.astype(np.int32),
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            choice=np.where(rng.random(count) < self.chance, 1, -1).astype(np.int8),
            strength=np.ones(count, dtype=np.int8),
            worker=np.full(count, -1, dtype=np.int32),
        )

    def score(self, judgments: Judgments) -> Scores:
        """Return the reciprocal rank of the best answers that the votes make."""
        labels = to_qrels(resolve(judgments), name="votes")
        values = np.zeros((len(self.names), self.gain.shape[2]))
        for query, doc in zip(labels.query.tolist(), labels.doc.tolist(), strict=True):
            place = int(labels.queries[query][1:])
            gained = self.gain[place, int(labels.docs[doc][1:]) % self.pool]
            values[place] = np.maximum(values[place], gained)
        return Scores(
            measure="RR@10",
            qrels="votes",
            queries=self.names,
            runs=tuple(f"r{run}" for run in range(values.shape[1])),
            values=values,
            order=Order.SCORE,
        )


def compare(crowd: Crowd, rng: np.random.Generator) -> tuple[float, float]:
    """Return how far votings of a crowd agree, and what the ceiling of a single voting says."""
    boards = [crowd.score(crowd.vote(rng)).values.mean(axis=0) for _ in range(20)]
    true = noise_ceiling(list(combinations(boards, 2))).value
    cast = crowd.vote(rng)
    model = fit_votes(cast, rng=rng)
    (noise,) = measure_noise(lambda one: [crowd.score(model.draw(one))], [crowd.score(cast)], rng=rng)
    return true, redrawn_ceiling(noise, rng=rng).value


def table(seed: int, grid: Grid = USUAL) -> Iterator[str]:
    """Yield the lines of the table: means over the studies of each cell, each of a crowd of its own."""
    yield FORM.format("queries", "votes", "error", "runs", "agree", "told", "off", "sd")
    for queries, votes, error, family in product(grid.queries, grid.votes, grid.errors, FAMILIES):
        rng = np.random.default_rng([seed, queries, votes, round(100 * error), [*FAMILIES].index(family)])
        found = [
            compare(Crowd(queries, votes, error, family, rng, pool=grid.pool, runs=grid.runs), rng)
            for _ in range(grid.studies)
        ]
        true, told = np.mean(found, axis=0).tolist()
        spread = float(np.std([one - other for one, other in found], ddof=1))
        figures = (f"{figure:.3f}" for figure in (true, told, told - true, spread))
        yield FORM.format(queries, votes, error, family, *figures)

"""How far two votings agree and one with the truth, as one study tells it and as it is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from cells import log_of
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.plans import play, prepare_replay
from prefjudge.core.planning.rounds import of_size, parse_strategy
from prefjudge.core.resolving.confidence import DrawnPools, LikelyPools
from prefjudge.core.resolving.resolutions import resolve, to_qrels
from prefjudge.core.runs import Order, Qrels, Scores, select_labels
from prefjudge.core.strategies import scale_of_error
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.stability import (
    cast_again,
    compare_votings,
    redraw_votings,
    truths_over,
)

Floats = NDArray[np.float64]
Scored = tuple[list[Scores], list[Scores], list[Scores]]
POOL, RUNS = 6, 30
QUERIES, VOTES, ERRORS = (50, 200), (1, 3), (0.2, 0.33)
FAMILIES = {"far apart": (0.5, 1.0), "close": (1.0, 0.3), "nearly equal": (1.0, 0.0)}
"""How well the worst run ranks by strength, and how much better the best."""
STUDIES = 10
VOTINGS = 20
"""Of each crowd, which tell how far votings truly agree."""


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
ASKED = Grid(5, 10, (50, 200), (), (0.2, 0.33), 20)
"""Where a strategy asks: 10 runs; pools of 8 by --pools 8."""
FORM = "{:>7} {:>9} {:>5} {:<12} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}"
Compared = tuple[float, float, float, float, float, float]
"""How far votings agree; what one voting tells of that; the share of taus in its interval; whether its votes
tell how many are wrong; how far the truth agrees with the voting; and what the voting tells of that."""


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
        self.names = tuple(f"{number:06}" for number in range(queries))  # as `log_of` names them
        self.documents = Qrels.all_relevant(
            name="pooled",
            queries=self.names,
            docs=tuple(f"{number:08}" for number in range(pool * queries)),
            query=np.repeat(np.arange(queries, dtype=np.int32), pool),
            doc=np.arange(pool * queries, dtype=np.int32),
        )
        self.places = np.rint(1.0 / self.gain).astype(np.int64).reshape(-1, runs).T

    def vote(self, rng: np.random.Generator) -> Judgments:
        """Return what the people say, this time."""
        count = self.query.size
        # Each document is one of its query's own.
        left, right = (self.pool * self.query + side for side in (self.left, self.right))
        return Judgments.of_nobody(
            queries=self.names,
            docs=self.documents.docs,
            query=self.query.astype(np.int32),
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            choice=np.where(rng.random(count) < self.chance, 1, -1).astype(np.int8),
        )

    def score(self, judgments: Judgments) -> Scores:
        """Return the reciprocal rank of the best answers that the votes make."""
        return self.score_answers(to_qrels(resolve(judgments), name="votes"))

    def score_truth(self) -> Scores:
        """Return the reciprocal rank of the answers that are truly best."""
        best = self.strength.argmax(axis=1) + self.pool * np.arange(len(self.names))
        return self.score_rows(best)

    def score_rows(self, best: NDArray[np.int64]) -> Scores:
        """Return the reciprocal rank of a document of each query."""
        keep = np.zeros(self.documents.query.size, dtype=np.bool_)
        keep[best] = True
        return self.score_answers(select_labels(self.documents, keep))

    def score_answers(self, labels: Qrels) -> Scores:
        """Return the reciprocal rank of the best answers."""
        values = np.zeros((len(self.names), self.gain.shape[2]))
        for query, doc in zip(labels.query.tolist(), labels.doc.tolist(), strict=True):
            place = int(labels.queries[query])
            gained = self.gain[place, int(labels.docs[doc]) % self.pool]
            values[place] = np.maximum(values[place], gained)
        return Scores(
            measure="RR@10",
            qrels="votes",
            queries=self.names,
            runs=tuple(f"r{run}" for run in range(values.shape[1])),
            values=values,
            order=Order.SCORE,
        )


class Asked:
    """A crowd that is asked by a strategy, whose answers count."""

    def __init__(self, crowd: Crowd, strategy: str) -> None:
        self.crowd, self.strategy = crowd, of_size(parse_strategy(strategy), crowd.pool)
        self._chances = np.full((len(crowd.names), crowd.pool, crowd.pool), 0.5)
        self._chances[crowd.query, crowd.left, crowd.right] = crowd.chance
        self._chances[crowd.query, crowd.right, crowd.left] = 1.0 - crowd.chance

    def cast(self, rng: np.random.Generator) -> tuple[Floats, Scores]:
        """Return the votes that are asked for this time, and the scores by the answers."""
        votes, _ = play(self.strategy, self._chances, rng)
        query, place = np.nonzero(self.strategy.leaders(votes))
        _, pools = log_of(np.zeros_like(votes))
        answers = Qrels.all_relevant(
            name="votes",
            queries=pools.queries,
            docs=pools.docs,
            query=query.astype(np.int32),
            doc=(query * self.crowd.pool + place).astype(np.int32),
        )
        return votes, self.crowd.score_answers(answers)


def compare(crowd: Crowd, rng: np.random.Generator) -> Compared:
    """Return how far votings of a crowd agree with each other and the truth, and what a single one says."""
    judgments = crowd.vote(rng)
    likely = LikelyPools(judgments, crowd.documents, crowd.places, rng=rng)

    def vote(drawn: DrawnPools, one: np.random.Generator) -> Scores:
        return crowd.score(cast_again(judgments, likely.left, likely.right, drawn, one))

    return _compared(
        crowd, crowd.score(judgments), likely, lambda one: crowd.score(crowd.vote(one)), vote, rng
    )


def compare_asked(asked: Asked, rng: np.random.Generator) -> Compared:
    """Return the same where a strategy asks for the votes."""
    votes, scores = asked.cast(rng)
    judgments, pools = log_of(votes)
    likely = LikelyPools(judgments, asked.crowd.documents, asked.crowd.places, rng=rng, pools=pools)
    replay = prepare_replay(judgments, pools, asked.strategy)

    def vote(drawn: DrawnPools, one: np.random.Generator) -> Scores:
        return asked.crowd.score_answers(replay.play(drawn, one, name="votes"))

    return _compared(asked.crowd, scores, likely, lambda one: asked.cast(one)[1], vote, rng)


def _compared(
    crowd: Crowd,
    scores: Scores,
    likely: LikelyPools,
    cast: Callable[[np.random.Generator], Scores],
    again: Callable[[DrawnPools, np.random.Generator], Scores],
    rng: np.random.Generator,
) -> Compared:
    truths = likely.draws(rng, crowd.names, truths_over(len(crowd.names)))

    def twice(one: np.random.Generator) -> Scored:
        drawn = next(truths)
        return [crowd.score_rows(drawn.best)], [again(drawn, one)], [again(drawn, one)]

    boards = [cast(rng).values.mean(axis=0) for _ in range(VOTINGS)]
    pairs = list(combinations(boards, 2))
    (told,) = redraw_votings(twice, [scores], rng=rng, told=likely.scales.told)
    taus = np.array([kendall_tau(one, other) for one, other in pairs])
    held = (told.low - 1e-9 <= taus) & (taus <= told.high + 1e-9)
    return (
        compare_votings(pairs).value,
        told.value,
        float(held.mean()),
        float(likely.scales.told),
        kendall_tau(crowd.score_truth().values.mean(axis=0), scores.values.mean(axis=0)),
        told.truth,
    )


def table(seed: int, grid: Grid = USUAL, strategies: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of the table: means over the studies of each cell, each of a crowd of its own."""
    yield FORM.format(
        "queries",
        "votes",
        "error",
        "runs",
        "agree",
        "told",
        "off",
        "sd",
        "held",
        "known",
        "truth",
        "told",
    )
    asked = strategies or grid.votes
    for queries, votes, error, family in product(grid.queries, asked, grid.errors, FAMILIES):
        number = votes if isinstance(votes, int) else asked.index(votes)
        rng = np.random.default_rng([seed, queries, number, round(100 * error), [*FAMILIES].index(family)])
        found = []
        for _ in range(grid.studies):
            each = votes if isinstance(votes, int) else 1
            crowd = Crowd(queries, each, error, family, rng, pool=grid.pool, runs=grid.runs)
            found.append(
                compare(crowd, rng) if isinstance(votes, int) else compare_asked(Asked(crowd, votes), rng)
            )
        true, told, held, known, right, said = np.mean(found, axis=0).tolist()
        spread = float(np.std([one[0] - one[1] for one in found], ddof=1))
        figures = (f"{one:.3f}" for one in (true, told, told - true, spread, held, known, right, said))
        yield FORM.format(queries, votes, error, family, *figures)

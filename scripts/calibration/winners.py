"""How often each rule finds the right answer where some workers are careless or worse."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.resolutions import resolve_all
from prefjudge.core.strategies import LapseNoise

RULES = ("shallow-pooling", "bradley-terry", "noisy-bradley-terry")
QUERIES, POOL, WORKERS, ERROR = 150, 6, 20, 0.33
VOTES = (1, 3)
FORM = "{:>5} {:<16} {:>15} {:>13} {:>19} {:>6} {:>6}"


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """A share of the workers is bad in one way: what their choice is, given the two strengths."""

    name: str
    bad: float
    left: float = 0.5
    """How often a bad worker prefers the left, whatever is shown."""
    contrary: bool = False
    """Whether a bad worker prefers what an honest one would not."""


CROWDS = (
    Crowd(name="clean", bad=0.0),
    Crowd(name="15 % by chance", bad=0.15),
    Crowd(name="30 % by chance", bad=0.3),
    Crowd(name="30 % always left", bad=0.3, left=1.0),
    Crowd(name="15 % contrary", bad=0.15, contrary=True),
)


def judge(crowd: Crowd, votes: int, rng: np.random.Generator) -> tuple[Judgments, NDArray[np.int64]]:
    """Return a study's judgments, every pair by so many different workers, and the best of each query."""
    noise = LapseNoise(error=ERROR)
    chances, best = noise.draw_chances(QUERIES, POOL, rng)
    one, other = np.triu_indices(POOL, 1)
    pairs = QUERIES * one.size
    query = np.repeat(np.arange(QUERIES), one.size * votes)
    x, y = (np.tile(np.repeat(side, votes), QUERIES) for side in (one, other))
    swapped = rng.random(query.size) < 0.5
    left, right = np.where(swapped, y, x), np.where(swapped, x, y)
    worker = rng.permuted(np.tile(np.arange(WORKERS), (pairs, 1)), axis=1)[:, :votes].ravel()
    bad = worker < round(crowd.bad * WORKERS)
    chance = chances[query, left, right]
    chance = np.where(bad, 1.0 - chance if crowd.contrary else crowd.left, chance)
    judgments = Judgments(
        queries=tuple(f"q{number:03}" for number in range(QUERIES)),
        docs=tuple(f"d{number:04}" for number in range(QUERIES * POOL)),
        workers=tuple(f"w{number}" for number in range(WORKERS)),
        query=query.astype(np.int32),
        left=(query * POOL + left).astype(np.int32),
        right=(query * POOL + right).astype(np.int32),
        choice=np.where(rng.random(query.size) < chance, 1, -1).astype(np.int8),
        strength=np.ones(query.size, dtype=np.int8),
        worker=worker.astype(np.int32),
    )
    return judgments, best


def right_answers(judgments: Judgments, best: NDArray[np.int64]) -> list[float]:
    """Return the share of queries whose winner by each rule is the best; a random pick of several."""
    shares = []
    for found in resolve_all(judgments, rules=RULES).values():
        winners = found.winner.reshape(QUERIES, POOL)
        shares.append(float((winners[np.arange(QUERIES), best] / winners.sum(axis=1)).mean()))
    return shares


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table; each study is judged by a crowd of its own."""
    yield f"{QUERIES} queries of {POOL}, {WORKERS} workers, {ERROR:.0%} of an honest vote wrong"
    yield FORM.format("votes", "crowd", *RULES, "gain", "+-")
    for votes, crowd in product(VOTES, CROWDS):
        rng = np.random.default_rng([seed, votes, CROWDS.index(crowd)])
        found = np.array([right_answers(*judge(crowd, votes, rng)) for _ in range(studies)])
        gains = found[:, -1] - found[:, 0]
        error = float(gains.std(ddof=1) / np.sqrt(studies))
        figures = (*found.mean(axis=0).tolist(), float(gains.mean()), error)
        yield FORM.format(votes, crowd.name, *(f"{figure:.3f}" for figure in figures))

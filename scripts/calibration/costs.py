"""Plans held against studies: how often what `run` costs lies within what `plan` says."""

from collections.abc import Iterator

import numpy as np
from cells import log_of
from shapes import drawn

from prefjudge.core.hits import CENT
from prefjudge.core.planning.plans import LikelyStudy, Packing, compare_plans
from prefjudge.core.planning.rounds import next_round, parse_strategy
from prefjudge.core.resolving.scales import prior_scales
from prefjudge.core.resolving.shapes import ShapedNoise, usual_shapes
from prefjudge.core.strategies import LapseNoise, Strategy

QUERIES, POOL = 40, 6
STRATEGIES = ("default", "sure:80")
CROWDS = ("bradley-terry", "two classes", "two equal bests")
PACKING = Packing(golds_per_hit=0, price=lambda many: CENT * 100)


def table(studies: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table.

    ``within``: the share of studies that cost no more than the plan says of 19 in 20; ``found`` less
    ``right``: how many best answers the plan expects, and how many were found, as shares.
    """
    yield f"{studies} studies of {QUERIES} queries of {POOL}; each has as many wrong votes as crowds may have"
    yield "strategy     crowd             plan  at most    cost within    +-  found  right    +-"
    usual, count = prior_scales(), 20
    errors = usual.errors_at((np.arange(count) + 0.5) / count).tolist()
    for name in STRATEGIES:
        strategy = parse_strategy(name)
        rng = np.random.default_rng(seed)
        likely = [
            LikelyStudy(noise=ShapedNoise(LapseNoise(error=one), usual_shapes(rng)), error=one)
            for one in errors
        ]
        (plan,) = compare_plans({POOL: QUERIES}, likely, packing=PACKING, strategies=[strategy], rng=rng)
        for number, crowd in enumerate(CROWDS):
            cost, right = np.empty((2, studies))
            for study in range(studies):
                rng = np.random.default_rng([seed, number, study])
                (error,) = usual.errors_at(rng.random(1)).tolist()
                cost[study], right[study] = _judged(strategy, crowd, error, rng)
            within = cost <= float(plan.most)
            yield (
                f"{name:12s} {crowd:15s} {plan.money:6.0f} {plan.most:8.0f} {cost.mean():7.0f} "
                f"{within.mean():6.2f} {within.std() / studies**0.5:5.2f} {plan.chance:6.3f} "
                f"{right.mean():6.3f} {right.std() / studies**0.5:5.3f}"
            )


def _judged(strategy: Strategy, crowd: str, error: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return what a study costs that asks, votes and asks again, and the share of right answers."""
    chances, best = drawn(crowd, QUERIES, POOL, rng, error=error)
    votes, cost = np.zeros((QUERIES, POOL, POOL)), 0.0
    while True:
        judgments, pools = log_of(votes)
        asked = next_round(judgments, pools, strategy)
        if not len(asked.pairs):
            named = asked.leaders.reshape(QUERIES, POOL)
            return cost, float((named[np.arange(QUERIES), best] / named.sum(axis=1)).mean())
        for many in np.unique(asked.votes).tolist():
            cost += many * np.ceil((asked.votes == many).sum() / PACKING.pairs_per_hit)
        query, x, y = asked.pairs.doc_a // POOL, asked.pairs.doc_a % POOL, asked.pairs.doc_b % POOL
        won = rng.binomial(asked.votes, chances[query, x, y])
        votes[query, x, y] += won
        votes[query, y, x] += asked.votes - won

"""Plans held against studies: how often what `run` costs lies within what `plan` says."""

from collections.abc import Iterator, Sequence

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
STRATEGIES = ("round-robin:3", "default", "sure:80", "sure:90/400")
CROWDS = ("any", "bradley-terry", "two classes", "two equal bests")
"""The first has answers that lie as those of the plan's own studies do."""
PACKING = Packing(golds_per_hit=0, price=lambda many: CENT * 100)


def table(studies: int, seed: int, *, strategies: Sequence[str], known: float) -> Iterator[str]:
    """Yield the lines of the table.

    ``within``: the share of studies that cost no more than the plan says of 19 in 20; ``found``, ``right``:
    how many best answers the plan expects, and how many were found, as shares; ``held``: the share of studies
    where that is as the plan says of nine in ten.
    """
    wrong = (
        f"{known:.0%} wrong votes, as the plan knows" if known else "as many wrong votes as crowds may have"
    )
    yield f"{studies} studies of {QUERIES} queries of {POOL}; each has {wrong}"
    yield "strategy      crowd             plan  at most    cost within    +-  found  right    +-  held"
    usual, count = prior_scales(), 20
    errors = [known] * count if known else usual.errors_at((np.arange(count) + 0.5) / count).tolist()
    for name in strategies:
        strategy = parse_strategy(name)
        rng = np.random.default_rng(seed)
        likely = [LikelyStudy(noise=ShapedNoise(LapseNoise(error=one), usual_shapes(rng))) for one in errors]
        (plan,) = compare_plans({POOL: QUERIES}, likely, packing=PACKING, strategies=[strategy], rng=rng)
        for number, crowd in enumerate(CROWDS):
            cost, right = np.empty((2, studies))
            for study in range(studies):
                rng = np.random.default_rng([seed, number, study])
                (error,) = [known] if known else usual.errors_at(rng.random(1)).tolist()
                cost[study], right[study] = _judged(strategy, crowd, error, rng)
            within = cost <= float(plan.most)
            held = (plan.ends[0] <= right) & (right <= plan.ends[1])
            yield (
                f"{name:13s} {crowd:15s} {plan.money:6.0f} {plan.most:8.0f} {cost.mean():7.0f} "
                f"{within.mean():6.2f} {within.std() / studies**0.5:5.2f} {plan.chance:6.3f} "
                f"{right.mean():6.3f} {right.std() / studies**0.5:5.3f} {held.mean():5.2f}"
            )


def _judged(strategy: Strategy, crowd: str, error: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return what a study costs that asks, votes and asks again, and the share of right answers."""
    if crowd == CROWDS[0]:
        chances, best = ShapedNoise(LapseNoise(error=error), usual_shapes(rng)).draw_chances(
            QUERIES, POOL, rng
        )
    else:
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

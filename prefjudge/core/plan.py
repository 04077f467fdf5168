"""Plan: what judging a study's pools costs under each strategy, and how often it will find the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil

import numpy as np

from prefjudge.core.noise import Noise
from prefjudge.core.simulation import Outlook, simulate
from prefjudge.core.strategies import (
    DEFAULT,
    Halving,
    Knockout,
    LeadStop,
    RoundRobin,
    Strategy,
    combine,
    parse_strategy,
)

Price = Callable[[int], Decimal]
"""Returns what one assignment costs, fees included, of a HIT with that many assignments."""

STRATEGIES: tuple[Strategy, ...] = (
    DEFAULT,
    RoundRobin(1),
    RoundRobin(2),
    RoundRobin(3),
    RoundRobin(5),
    RoundRobin(7),
    Halving(1, 2),
    Halving(1, 3),
    Halving(2, 2),
    Halving(3, 2),
    Knockout(3),
    Knockout(5),
    LeadStop(2),
    LeadStop(3),
)
"""What a plan compares; the first is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How comparisons become HITs.

    Attributes
    ----------
    pairs_per_hit, golds_per_hit : int
        Comparisons in a HIT, and gold pairs on top of them.
    price : callable
        What an assignment costs, fees included.
    seconds_per_pair : float
        The time of a comparison.
    reissued : float
        The share of all assignments that will fail their gold pairs and be issued again. They are paid.
    """

    pairs_per_hit: int = 10
    golds_per_hit: int = 3
    price: Price
    seconds_per_pair: float = 30.0
    reissued: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to expect of judging all pools in one way.

    Attributes
    ----------
    name : str
        The strategy, or ``by size``.
    strategy : str
        Its spelling, which ``parse_strategy`` reads: ``2=round-robin:5,6=knockout:3`` is one by size.
    chance : float
        The expected share of queries whose best answer will be found.
    error : float
        Its standard error by the number of simulated pools.
    pairs, judgments, hits, assignments : int
        The size of the work, on average.
    rounds : int
        How often work is published, collected and continued, at most.
    money : Decimal
        Rewards and fees of all assignments.
    hours : float
        The workers' time.
    by_size : tuple of Outlook
        The outlook of each pool size.
    """

    name: str
    strategy: str
    chance: float
    error: float
    pairs: int
    judgments: int
    hits: int
    assignments: int
    rounds: int
    money: Decimal
    hours: float
    by_size: tuple[Outlook, ...]


def compare_plans(
    sizes: Mapping[int, int],
    noise: Noise,
    *,
    packing: Packing,
    strategies: Sequence[Strategy] = STRATEGIES,
    trials: int = 1000,
    rng: np.random.Generator,
) -> tuple[Plan, ...]:
    """Simulate every strategy on pools of the study's own sizes.

    Parameters
    ----------
    sizes : mapping of int to int
        How many queries have a pool of each size. Cost grows with the square of the size, so the mean will
        not do.
    noise : Noise
        How votes err.
    packing : Packing
        How votes become HITs, money and hours.
    strategies : sequence of Strategy
        What to compare. Each meets the same simulated pools, so that chance favours none.
    trials : int
        Simulated pools per strategy and size.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    tuple of Plan
        One per strategy, in their order; a strategy that is given twice is compared once.
    """
    seeds = {size: int(rng.integers(1 << 63)) for size in sorted(sizes) if sizes[size]}
    plans = []
    for strategy in dict.fromkeys(strategies):
        outlooks = [
            simulate(strategy, size, noise, trials=trials, rng=np.random.default_rng(seed))
            for size, seed in seeds.items()
        ]
        plans.append(_assembled(strategy.name, strategy.name, sizes, outlooks, packing))
    return tuple(plans)


def _assembled(
    name: str, strategy: str, sizes: Mapping[int, int], outlooks: Sequence[Outlook], packing: Packing
) -> Plan:
    """Add up the outlooks of the pool sizes into the plan of the whole study."""
    counts = [sizes[outlook.size] for outlook in outlooks]
    hits = assignments = 0
    money = Decimal(0)
    rounds = max((len(outlook.rounds) for outlook in outlooks), default=0)
    for number in range(rounds):
        asked: dict[int, float] = {}
        for outlook, count in zip(outlooks, counts, strict=True):
            for votes, pairs in outlook.rounds[number].items() if number < len(outlook.rounds) else ():
                asked[votes] = asked.get(votes, 0.0) + pairs * count
        for votes, pairs in asked.items():
            packed = ceil(pairs / packing.pairs_per_hit - 1e-9)
            issued = ceil(packed * votes / (1.0 - packing.reissued) - 1e-9)
            hits, assignments = hits + packed, assignments + issued
            money += packing.price(votes) * issued
    slots = packing.pairs_per_hit + packing.golds_per_hit
    chance, error = _overall_chance(outlooks, sizes)
    return Plan(
        name=name,
        strategy=strategy,
        chance=chance,
        error=error,
        pairs=round(sum(o.pairs * count for o, count in zip(outlooks, counts, strict=True))),
        judgments=round(sum(o.judgments * count for o, count in zip(outlooks, counts, strict=True))),
        hits=hits,
        assignments=assignments,
        rounds=rounds,
        money=money,
        hours=assignments * slots * packing.seconds_per_pair / 3600.0,
        by_size=tuple(outlooks),
    )


def choose_plan(
    plans: Sequence[Plan],
    sizes: Mapping[int, int],
    budget: Decimal,
    packing: Packing,
    *,
    most_rounds: int = 10,
) -> Plan | None:
    """Return the plan that finds the best most often within the budget; None if none is that cheap.

    A plan may take another strategy for each pool size: the one whose chance is worth its votes most, at a
    price of a vote that the budget allows.

    Parameters
    ----------
    plans : sequence of Plan
        The strategies compared, on the same pools.
    sizes : mapping of int to int
        How many queries have a pool of each size.
    budget : Decimal
        The most that rewards and fees may be.
    packing : Packing
        How votes become HITs and money.
    most_rounds : int
        How often work may be published and collected at most: a round takes days with people.
    """
    whole = [plan for plan in plans if plan.rounds <= most_rounds]
    options = [
        [outlook for outlook in outlooks if len(outlook.rounds) <= most_rounds]
        for outlooks in zip(*(plan.by_size for plan in plans), strict=True)
    ]
    every = [*whole, *(_plans_by_size(options, sizes, packing) if options and all(options) else ())]
    affordable = [plan for plan in every if plan.money <= budget]
    chosen = max(affordable, key=lambda plan: (plan.chance, -plan.money), default=None)
    return None if chosen is None else _improved(chosen, options, sizes, budget, packing)


def look_again(
    plan: Plan, sizes: Mapping[int, int], noise: Noise, *, trials: int = 1000, rng: np.random.Generator
) -> Plan:
    """Return a chosen plan with the chances of new simulations.

    The plan that looks best of many looks better than it is: it was chosen for the luck of its simulations,
    too. What it costs stays as it was compared.

    Parameters
    ----------
    plan : Plan
        The plan chosen.
    sizes, noise, trials
        As they were compared.
    rng : numpy.random.Generator
        The source of randomness, which must go on from where the comparison left it.
    """
    outlooks = []
    for old in plan.by_size:
        new = simulate(parse_strategy(old.strategy), old.size, noise, trials=trials, rng=rng)
        outlooks.append(replace(old, chance=new.chance, error=new.error, single=new.single))
    chance, error = _overall_chance(outlooks, sizes)
    return replace(plan, chance=chance, error=error, by_size=tuple(outlooks))


def _overall_chance(outlooks: Sequence[Outlook], sizes: Mapping[int, int]) -> tuple[float, float]:
    """Return the expected share of queries whose best is found, and its standard error."""
    queries = max(sum(sizes[outlook.size] for outlook in outlooks), 1)
    variance = sum((outlook.error * sizes[outlook.size]) ** 2 for outlook in outlooks)
    chance = sum(outlook.chance * sizes[outlook.size] for outlook in outlooks) / queries
    return chance, float(np.sqrt(variance)) / queries


def _plans_by_size(
    options: Sequence[Sequence[Outlook]], sizes: Mapping[int, int], packing: Packing
) -> list[Plan]:
    """Return the plans that are best at some price of a vote, from dear to cheap votes."""
    found: dict[tuple[str, ...], Plan] = {}
    for worth in np.geomspace(0.3, 1e-5, 60):
        chosen = [
            max(outlooks, key=lambda outlook: outlook.chance - float(worth) * outlook.judgments)
            for outlooks in options
        ]
        key = tuple(outlook.strategy for outlook in chosen)
        if key not in found:
            found[key] = _by_size(sizes, chosen, packing)
    return list(found.values())


def _improved(
    plan: Plan,
    options: Sequence[Sequence[Outlook]],
    sizes: Mapping[int, int],
    budget: Decimal,
    packing: Packing,
) -> Plan:
    """Spend what is left of the budget: change the strategy of one size at a time while that helps."""
    while True:
        better = plan
        for place, outlook in enumerate(plan.by_size):
            for other in options[place]:
                if other.chance > outlook.chance:
                    swapped = [*plan.by_size]
                    swapped[place] = other
                    found = _by_size(sizes, swapped, packing)
                    if found.money <= budget and found.chance > better.chance:
                        better = found
        if better is plan:
            return plan
        plan = better


def _by_size(sizes: Mapping[int, int], outlooks: Sequence[Outlook], packing: Packing) -> Plan:
    """Return the plan that takes these strategies; it has a strategy's name where it is one and the same."""
    judged = [outlook for outlook in outlooks if outlook.size > 1] or outlooks
    strategy = combine({outlook.size: parse_strategy(outlook.strategy) for outlook in judged}).name
    return _assembled("by size" if "=" in strategy else strategy, strategy, sizes, outlooks, packing)

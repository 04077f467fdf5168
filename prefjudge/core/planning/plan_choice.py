"""The choice of a plan: the one that finds the best most often within a budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.plan import Office, Packing, Plan, overall_chance
from prefjudge.core.planning.simulation import Outlook, simulate
from prefjudge.core.planning.strategy_names import combine, parse_strategy


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
        The most that rewards and fees may be. It pays for a plan if it pays for 19 of 20 studies.
    packing : Packing
        How votes become HITs and money.
    most_rounds : int
        How often work may be published and collected at most: a round takes days with people.
    """
    office = Office(sizes, packing)
    options = [
        [outlook for outlook in outlooks if office.rounds(outlook) <= most_rounds]
        for outlooks in zip(*(plan.by_size for plan in plans), strict=True)
    ]

    def fits(plan: Plan) -> bool:
        return plan.most <= budget and plan.rounds <= most_rounds

    every = [*plans, *(_plans_by_size(options, office) if options and all(options) else ())]
    chosen = max(filter(fits, every), key=lambda plan: (plan.chance, -plan.money), default=None)
    return None if chosen is None else _improved(chosen, options, office, fits)


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
    chance, error = overall_chance(outlooks, sizes)
    return replace(plan, chance=chance, error=error, by_size=tuple(outlooks))


def _plans_by_size(options: Sequence[Sequence[Outlook]], office: Office) -> list[Plan]:
    """Return the plans that are best at some price of a vote, from dear to cheap votes."""
    found: dict[tuple[str, ...], Plan] = {}
    for worth in np.geomspace(0.3, 1e-5, 60):
        chosen = [
            max(outlooks, key=lambda outlook: outlook.chance - float(worth) * outlook.judgments)
            for outlooks in options
        ]
        key = tuple(outlook.strategy for outlook in chosen)
        if key not in found:
            found[key] = _by_size(chosen, office)
    return list(found.values())


def _improved(
    plan: Plan, options: Sequence[Sequence[Outlook]], office: Office, fits: Callable[[Plan], bool]
) -> Plan:
    """Spend what is left of the budget: change the strategy of one size at a time while that helps."""
    while True:
        better = plan
        for place, outlook in enumerate(plan.by_size):
            for other in options[place]:
                if other.chance > outlook.chance:
                    swapped = [*plan.by_size]
                    swapped[place] = other
                    found = _by_size(swapped, office)
                    if fits(found) and found.chance > better.chance:
                        better = found
        if better is plan:
            return plan
        plan = better


def _by_size(outlooks: Sequence[Outlook], office: Office) -> Plan:
    """Return the plan that takes these strategies; it has a strategy's name where it is one and the same."""
    judged = [outlook for outlook in outlooks if outlook.size > 1] or outlooks
    strategy = combine({outlook.size: parse_strategy(outlook.strategy) for outlook in judged}).name
    return office.assemble("by size" if "=" in strategy else strategy, strategy, outlooks)

"""Plan: what judging a study's pools costs under each strategy, and how often it will find the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from prefjudge.core.asking.costs import CENT
from prefjudge.core.asking.strategies import (
    Counts,
    Floats,
    Halving,
    Knockout,
    LeadStop,
    RoundRobin,
    Strategy,
)
from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.simulation import Outlook, simulate
from prefjudge.core.planning.strategy_names import DEFAULT
from prefjudge.core.planning.sure import Sure

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
    # Patience needs no more votes than any of these for as many right winners: see docs/how-sure.md.
    Sure(0.99, patience=160),
    Sure(0.99, patience=640),
)
"""What a plan compares; the first is the default."""

_STUDIES = 200
"""How many whole studies are put together from the simulated pools."""
_AT_MOST = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How comparisons become HITs.

    Attributes
    ----------
    pairs_per_hit, golds_per_hit : int
        Comparisons in a HIT that are asked for, and others on top of them: gold pairs, and decoys.
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
        How often work is published, collected and continued; 19 of 20 studies need no more.
    money : Decimal
        Rewards and fees of all assignments, on average.
    most : Decimal
        What 19 of 20 studies cost at most.
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
    most: Decimal
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
        Simulated pools per strategy and size; fewer for one that fits a model, also the rarer a size is.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    tuple of Plan
        One per strategy, in their order; a strategy that is given twice is compared once.
    """
    seeds = {size: int(rng.integers(1 << 63)) for size in sorted(sizes) if sizes[size]}
    plans, office, queries = [], Office(sizes, packing), sum(sizes.values())
    for strategy in dict.fromkeys(strategies):
        outlooks = [
            simulate(
                strategy,
                size,
                noise,
                trials=trials,
                rng=np.random.default_rng(seed),
                share=sizes[size] / queries,
            )
            for size, seed in seeds.items()
        ]
        plans.append(office.assemble(strategy.name, strategy.name, outlooks))
    return tuple(plans)


def as_good(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return the plans of which the simulation cannot tell that another finds the best more often.

    They are within two standard errors of the difference to the plan with the greatest chance, which is one.
    """
    best = max(plans, key=lambda plan: plan.chance)
    return tuple(
        plan for plan in plans if best.chance - plan.chance <= 2 * float(np.hypot(best.error, plan.error))
    )


class Office:
    """Adds the outlooks of the pool sizes up into plans of the whole study.

    A round's HITs are packed from the pairs of all pools, so a few pairs too many cost a HIT, and an average
    of pairs says little of the HITs: whole studies are put together from the simulated pools, and packed.
    """

    def __init__(self, sizes: Mapping[int, int], packing: Packing) -> None:
        self._sizes = sizes
        self._packing = packing
        self._known: dict[tuple[str, int], dict[tuple[int, int], Floats]] = {}

    def assemble(self, name: str, strategy: str, outlooks: Sequence[Outlook]) -> Plan:
        """Return the plan of the whole study."""
        packing, counts = self._packing, [self._sizes[outlook.size] for outlook in outlooks]
        rounds, votes, pairs = self._asked(outlooks)
        # 1e-9 less, so that a quotient that rounding put just above a whole number costs no HIT more.
        packed = np.ceil(pairs / packing.pairs_per_hit - 1e-9)
        # A re-issued assignment may fail again: 1 + r + r**2 + ... = 1 / (1 - r).
        issued = np.ceil(packed * votes[:, None] / (1.0 - packing.reissued) - 1e-9)
        prices = [packing.price(int(many)) for many in votes]
        each = np.array([float(price) for price in prices]) @ issued
        money = sum(
            (price * Decimal(float(n)) for price, n in zip(prices, issued.mean(axis=1), strict=True)),
            CENT * 0,
        )
        assignments = float(issued.sum(axis=0).mean())
        slots = packing.pairs_per_hit + packing.golds_per_hit
        chance, error = overall_chance(outlooks, self._sizes)
        return Plan(
            name=name,
            strategy=strategy,
            chance=chance,
            error=error,
            pairs=round(sum(o.pairs * count for o, count in zip(outlooks, counts, strict=True))),
            judgments=round(sum(o.judgments * count for o, count in zip(outlooks, counts, strict=True))),
            hits=round(float(packed.sum(axis=0).mean())),
            assignments=round(assignments),
            rounds=_needed(rounds, pairs),
            money=money.quantize(CENT),
            most=Decimal(_high(each)).quantize(CENT),
            hours=assignments * slots * packing.seconds_per_pair / 3600.0,
            by_size=tuple(outlooks),
        )

    def rounds(self, outlook: Outlook) -> int:
        """Return how many rounds the pools of one size need."""
        rounds, _, pairs = self._asked([outlook])
        return _needed(rounds, pairs)

    def _asked(self, outlooks: Sequence[Outlook]) -> tuple[Floats, Floats, Floats]:
        """Return each round and number of votes that occurs, and how many pairs each study has of them."""
        asked: dict[tuple[int, int], Floats] = {}
        for outlook in outlooks:
            for group, pairs in self._of_size(outlook).items():
                asked[group] = asked[group] + pairs if group in asked else pairs
        groups = np.array(list(asked), dtype=np.float64).reshape(-1, 2)
        return groups[:, 0], groups[:, 1], np.array(list(asked.values())).reshape(-1, _STUDIES)

    def _of_size(self, outlook: Outlook) -> dict[tuple[int, int], Floats]:
        key = (outlook.strategy, outlook.size)
        if key not in self._known:
            count = self._sizes[outlook.size]
            self._known[key] = {group: _totals(pools, count) for group, pools in outlook.work.items()}
        return self._known[key]


def _totals(pools: Counts, count: int) -> Floats:
    """Return what ``count`` pools ask for together, in each of the studies.

    A study takes its pools in a row from the circle of those simulated, each study from another place on. So
    all groups of a pool stay together, and every strategy meets the same studies.
    """
    circles, rest = divmod(count, pools.size)
    # Twice round, so that a stretch of up to one circle is a difference of two sums wherever it starts.
    running = np.concatenate([[0], np.cumsum(np.tile(pools, 2))])
    start = np.arange(_STUDIES) * pools.size // _STUDIES
    return np.asarray(circles * pools.sum() + running[start + rest] - running[start], dtype=np.float64)


def _needed(rounds: Floats, pairs: Floats) -> int:
    """Return the number of rounds, given the round of each row of ``pairs``."""
    return int(_high(((rounds[:, None] + 1.0) * (pairs > 0)).max(axis=0, initial=0.0)))


def _high(studies: Floats) -> float:
    return float(np.quantile(studies, _AT_MOST, method="higher"))


def overall_chance(outlooks: Sequence[Outlook], sizes: Mapping[int, int]) -> tuple[float, float]:
    """Return the expected share of queries whose best is found, and its standard error."""
    queries = max(sum(sizes[outlook.size] for outlook in outlooks), 1)
    # Pools of different sizes are simulated independently, so the variances of their parts of the sum add up.
    variance = sum((outlook.error * sizes[outlook.size]) ** 2 for outlook in outlooks)
    chance = sum(outlook.chance * sizes[outlook.size] for outlook in outlooks) / queries
    return chance, float(np.sqrt(variance)) / queries

"""Plan: what judging a study's pools costs under each strategy, and how often it will find the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from prefjudge.core.asking.costs import CENT
from prefjudge.core.asking.strategies import Counts, Floats, RoundRobin, Strategy
from prefjudge.core.judges.noise import Noise
from prefjudge.core.planning.simulation import Played, Pools, draw_studies, play_studies
from prefjudge.core.planning.strategy_names import DEFAULT

Price = Callable[[int], Decimal]
"""Returns what one assignment costs, fees included, of a HIT with that many assignments."""

STRATEGIES: tuple[Strategy, ...] = (RoundRobin(1), DEFAULT)
"""What a plan compares, beside `sure`."""

FEWEST_STUDIES, _MOST_STUDIES = 20, 40
"""How many studies are simulated. The dearest of 20 is the bound: one more costs more one time in 21."""
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
    """

    pairs_per_hit: int = 10
    golds_per_hit: int = 3
    price: Price
    seconds_per_pair: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyStudy:
    """What a study may be like that has not been judged.

    Attributes
    ----------
    noise : Noise
        How its votes err.
    error : float
        The share of wrong votes on a random pair.
    reissued : float
        The share of all assignments that miss a gold pair and are issued again. They are paid.
    """

    noise: Noise
    error: float
    reissued: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect of a strategy on a pool of one size, on average.

    Attributes
    ----------
    strategy : str
        The strategy's name.
    size : int
        The number of candidates.
    chance : float
        The probability that the winner is the best; a random pick where several win.
    error : float
        The standard error of ``chance`` by the number of simulated pools.
    pairs, judgments : float
        Different pairs, and votes.
    """

    strategy: str
    size: int
    chance: float
    error: float
    pairs: float
    judgments: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to expect of judging all pools in one way.

    Attributes
    ----------
    name : str
        The strategy, or ``by size``.
    strategy : str
        Its spelling, which ``parse_strategy`` reads: ``2=round-robin:5,6=sure:80`` is one by size.
    chance : float
        The expected share of queries whose best answer will be found.
    error : float
        Its standard error by the number of simulated pools.
    ends : tuple of float, optional
        The same where as many votes are wrong as in the worst of twenty studies, and in the best of twenty:
        the least and the greatest. None where the share of wrong votes is known.
    pairs, judgments, hits, assignments : int
        The size of the work, on average.
    rounds : int
        How often work is published, collected and continued; 19 of 20 studies need no more.
    money : Decimal
        Rewards and fees of all assignments, on average.
    least, most : Decimal
        19 of 20 studies cost no less than the one, and 19 of 20 no more than the other.
    hours : float
        The workers' time.
    by_size : tuple of Outlook
        The outlook of each pool size.
    """

    name: str
    strategy: str
    chance: float
    error: float
    ends: tuple[float, float] | None
    pairs: int
    judgments: int
    hits: int
    assignments: int
    rounds: int
    money: Decimal
    least: Decimal
    most: Decimal
    hours: float
    by_size: tuple[Outlook, ...]


def studies_of(sizes: Mapping[int, int], trials: int) -> int:
    """Return how many studies to simulate where ``trials`` pools are to be: more of small ones."""
    judged = sum(count for size, count in sizes.items() if size > 1)
    return int(np.clip(trials // max(1, judged), FEWEST_STUDIES, _MOST_STUDIES))


def compare_plans(
    sizes: Mapping[int, int],
    studies: Sequence[LikelyStudy],
    *,
    packing: Packing,
    strategies: Sequence[Strategy] = STRATEGIES,
    trials: int = 1000,
    ends: tuple[float, float] | None = None,
    rng: np.random.Generator,
) -> tuple[Plan, ...]:
    """Simulate every strategy on independent studies with pools of these sizes.

    Parameters
    ----------
    sizes : mapping of int to int
        How many queries have a pool of each size. Cost grows with the square of the size, so the mean will
        not do.
    studies : sequence of LikelyStudy
        What the studies are like: one is simulated for each. A strategy that learns how votes err learns it
        in each by its own votes.
    packing : Packing
        How votes become HITs, money and hours.
    strategies : sequence of Strategy
        What to compare. Each meets the same simulated pools, so that chance favours none.
    trials : int
        About how many pools are simulated, in all studies together.
    ends : tuple of float, optional
        The least and the greatest share of wrong votes to tell the chance for.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    tuple of Plan
        One per strategy, in their order; a strategy that is given twice is compared once.
    """
    drawing, *seeds = (int(seed) for seed in rng.integers(1 << 63, size=3))
    known = {size: count for size, count in sizes.items() if count}
    pools = draw_studies(
        {size: count for size, count in known.items() if size > 1},
        [study.noise for study in studies],
        pools=max(1, trials // len(studies)),
        rng=np.random.default_rng(drawing),
    )
    plans = []
    for strategy in dict.fromkeys(strategies):
        voting, dropping = (np.random.default_rng(seed) for seed in seeds)
        played = play_studies(strategy, pools, voting)
        office = _Office(known, studies, pools, played)
        plans.append(office.assemble(strategy.name, packing, ends, dropping))
    return tuple(plans)


class _Office:
    """Adds what became of the simulated pools up into a plan of the whole study.

    A round's HITs are packed from the pairs of all pools, so a few pairs too many cost a HIT: each study is
    packed by itself.
    """

    def __init__(
        self,
        sizes: Mapping[int, int],
        studies: Sequence[LikelyStudy],
        pools: Sequence[Pools],
        played: Sequence[Played],
    ) -> None:
        self._sizes = sizes
        self._studies = studies
        self._pools = pools
        self._played = played
        self._queries = sum(sizes.values())

    def assemble(
        self, name: str, packing: Packing, ends: tuple[float, float] | None, rng: np.random.Generator
    ) -> Plan:
        """Return the plan."""
        asked = self._asked()
        groups = sorted(asked)
        none = np.zeros((0, len(self._studies)))
        pairs = np.array([asked[group] for group in groups]) if groups else none
        votes = np.array([many for _, many in groups], dtype=np.int64)
        # 1e-9 less, so that a quotient that rounding put just above a whole number costs no HIT more.
        packed = np.ceil(pairs / packing.pairs_per_hit - 1e-9)
        kept = (packed * votes[:, None]).astype(np.int64)
        # What is issued again may miss a gold pair again.
        counts = np.broadcast_to([1.0 - study.reissued for study in self._studies], kept.shape)
        issued = kept + np.where(kept > 0, rng.negative_binomial(np.maximum(kept, 1), counts), 0)
        prices = [packing.price(int(many)) for many in votes]
        costs = self._of_whole_studies(np.array([float(price) for price in prices]) @ issued)
        money = sum(
            (price * Decimal(float(n)) for price, n in zip(prices, issued.mean(axis=1), strict=True)),
            CENT * 0,
        )
        assignments = float(issued.sum(axis=0).mean())
        slots = packing.pairs_per_hit + packing.golds_per_hit
        by_size = tuple(self._outlooks(name))
        # Pools of different sizes are simulated independently: the variances of their parts add up.
        variance = sum((outlook.error * self._sizes[outlook.size]) ** 2 for outlook in by_size)
        return Plan(
            name="by size" if "=" in name else name,
            strategy=name,
            chance=self._weighed(by_size, "chance") / self._queries,
            error=float(np.sqrt(variance)) / self._queries,
            ends=None if ends is None else self._at(ends),
            pairs=round(self._weighed(by_size, "pairs")),
            judgments=round(self._weighed(by_size, "judgments")),
            hits=round(float(packed.sum(axis=0).mean())),
            assignments=round(assignments),
            rounds=self._rounds(np.array([number for number, _ in groups]), pairs),
            money=money.quantize(CENT),
            least=-Decimal(_high(-costs)).quantize(CENT),
            most=Decimal(_high(costs)).quantize(CENT),
            hours=assignments * slots * packing.seconds_per_pair / 3600.0,
            by_size=by_size,
        )

    def _asked(self) -> dict[tuple[int, int], Floats]:
        """Return how many pairs each study has of each round and number of votes that occurs."""
        asked: dict[tuple[int, int], Floats] = {}
        for pools, played in zip(self._pools, self._played, strict=True):
            for group, counts in played.work.items():
                pairs = pools.stands_for * self._per_study(pools, counts)
                asked[group] = asked[group] + pairs if group in asked else pairs
        return asked

    def _per_study(self, pools: Pools, values: Floats | Counts) -> Floats:
        return np.bincount(pools.study, weights=values, minlength=len(self._studies)).astype(np.float64)

    def _of_whole_studies(self, costs: Floats) -> Floats:
        """Return what the studies cost, spread as those are of which all pools are judged.

        Where a pool stands for several, the luck of one is multiplied, while a whole study would average it.
        """
        luck = whole = 0.0
        for pools, played in zip(self._pools, self._played, strict=True):
            own = played.votes.sum(axis=(1, 2))
            count = own.size // len(self._studies)
            varies = float(own.reshape(-1, count).var(axis=1, ddof=1).mean()) if count > 1 else own.var()
            luck += pools.stands_for**2 * count * varies
            whole += pools.stands_for * count * varies
        votes = sum(
            pools.stands_for * self._per_study(pools, played.votes.sum(axis=(1, 2)))
            for pools, played in zip(self._pools, self._played, strict=True)
        )
        spread = float(np.var(votes))
        if luck <= whole * (1.0 + 1e-9) or not spread:
            return costs
        left = np.sqrt(min(1.0, max(spread - luck + whole, whole) / spread))
        found: Floats = costs.mean() + left * (costs - costs.mean())
        return found

    def _outlooks(self, name: str) -> list[Outlook]:
        alone = Outlook(strategy=name, size=1, chance=1.0, error=0.0, pairs=0.0, judgments=0.0)
        found = [alone] if 1 in self._sizes else []
        for pools, played in zip(self._pools, self._played, strict=True):
            chance = float(_right(pools, played).mean())
            found.append(
                Outlook(
                    strategy=name,
                    size=pools.size,
                    chance=chance,
                    # Never 0: that every trial succeeded does not make it certain.
                    error=float(np.sqrt(max(chance * (1.0 - chance), 1e-9) / pools.best.size)),
                    pairs=float((played.votes + played.votes.transpose(0, 2, 1) > 0).sum() / 2)
                    / pools.best.size,
                    judgments=float(played.votes.sum() / pools.best.size),
                )
            )
        return found

    def _weighed(self, by_size: Sequence[Outlook], what: str) -> float:
        return sum(float(getattr(outlook, what)) * self._sizes[outlook.size] for outlook in by_size)

    def _at(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return the chance at the greatest and at the least share of wrong votes, by a straight line."""
        right = np.full(len(self._studies), float(self._sizes.get(1, 0)))
        for pools, played in zip(self._pools, self._played, strict=True):
            right += pools.stands_for * self._per_study(pools, _right(pools, played))
        slope, height = np.polyfit([study.error for study in self._studies], right / self._queries, 1)
        few, many = (float(np.clip(height + slope * error, 0.0, 1.0)) for error in ends)
        return many, few

    def _rounds(self, number: Floats, pairs: Floats) -> int:
        return int(_high(((number[:, None] + 1.0) * (pairs > 0)).max(axis=0, initial=0.0)))


def _right(pools: Pools, played: Played) -> Floats:
    """Return how probably the winner of each pool is the best, if a random one of several is taken."""
    named = played.leaders[np.arange(pools.best.size), pools.best]
    return np.asarray(named / played.leaders.sum(axis=1))


def _high(studies: Floats) -> float:
    """Return what one more study passes one time in twenty at most, whatever the distribution."""
    place = int(np.ceil(_AT_MOST * (studies.size + 1))) - 1
    return float(np.sort(studies)[min(place, studies.size - 1)])


def choose_plan(plans: Sequence[Plan], budget: Decimal) -> Plan | None:
    """Return the plan that finds the best most often where 19 of 20 studies are within the budget."""
    within = [plan for plan in plans if plan.most <= budget]
    return max(within, key=lambda plan: (plan.chance, -plan.money), default=None)

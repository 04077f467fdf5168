"""Plans: what judging costs under each strategy, and how often it will find the best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil

import numpy as np
import scipy

from prefjudge.core.hits import CENT, show_together
from prefjudge.core.judgments import Judgments, worth_of_win
from prefjudge.core.planning.rounds import DEFAULT, next_round, of_size
from prefjudge.core.planning.sure import Crowds, Judged, Sure, likely_crowds
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import DrawnPools
from prefjudge.core.runs import Qrels
from prefjudge.core.strategies import Asked, Counts, Flags, Floats, Noise, RoundRobin, Strategy

_LEARN_AGAIN = 2.0
"""How votes err is learned again once there are so many times as many: a round hardly changes it."""
_LEARN_FROM = 60
"""How many pools of a study tell how its votes err."""

Work = dict[tuple[int, int], Counts]
"""How many pairs each pool has judged in a round, the first number, by so many votes, the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyPools:
    """Simulated pools of one size."""

    chances: Floats
    """Shape (n, k, k): the probability that a vote prefers ``x`` to ``y``."""
    best: Counts
    """Shape (n,): who is truly the best."""
    study: Counts
    """Shape (n,): the study of each."""
    stands_for: float = 1.0
    """How many pools of the study each stands for."""

    @property
    def size(self) -> int:
        """The number of candidates."""
        return int(self.chances.shape[1])


def draw_studies(
    sizes: Mapping[int, int], crowds: Sequence[Noise], *, pools: int, rng: np.random.Generator
) -> tuple[ManyPools, ...]:
    """Draw a study for each crowd."""
    share = min(1.0, pools / max(1, sum(sizes.values())))
    found = []
    for size, count in sorted(sizes.items()):
        some = min(count, int(np.ceil(share * count)))
        drawn = [crowd.draw_chances(some, size, rng) for crowd in crowds]
        found.append(
            ManyPools(
                chances=np.concatenate([chances for chances, _ in drawn]),
                best=np.concatenate([best for _, best in drawn]),
                study=np.repeat(np.arange(len(crowds)), some),
                stands_for=count / some,
            )
        )
    return tuple(found)


def play_studies(
    strategy: Strategy, pools: Sequence[ManyPools], rng: np.random.Generator, *, passages: int = 2
) -> tuple["Table", ...]:
    """Ask and vote until nothing is asked in any study, in questions of up to so many passages.

    A strategy that needs to know how votes err learns it in each study, from the votes of this study alone.
    """
    # A stream for each size: how many votes one draws changes no other's.
    streams = rng.spawn(len(pools))
    tables = [
        Table(one, of_size(strategy, one.size), stream, passages=passages)
        for one, stream in zip(pools, streams, strict=True)
    ]
    _play(tables)
    return tuple(tables)


def play(
    strategy: Strategy,
    chances: Floats,
    rng: np.random.Generator,
    *,
    most: Counts | None = None,
    passages: int = 2,
) -> tuple[Floats, Work]:
    """Ask and vote until nothing is asked, in one study of pools of one size.

    Of ``chances`` each is the probability that a vote prefers ``x`` to ``y``; a pool that has ``most`` votes
    is given up. Returns what a `Table` calls ``votes`` and ``work``.
    """
    none = np.zeros(len(chances), dtype=np.int64)
    pools = ManyPools(chances=chances, best=none, study=none)
    table = Table(pools, of_size(strategy, pools.size), rng, most, passages=passages)
    _play([table])
    return table.votes, table.work


def _play(tables: Sequence["Table"]) -> None:
    """Play to the end."""
    crowds, known, number = None, 0.0, 0
    learning = [table for table in tables if table.learns]
    while True:
        if learning and (crowds is None or sum(table.cast for table in tables) > _LEARN_AGAIN * known):
            crowds, known = _learned(tables, crowds), sum(table.cast for table in tables)
            for table in learning:  # who knows more of the crowd may doubt what was finished
                table.reopen()
        asked = [table.play_round(number, crowds) for table in tables]
        if not any(asked):
            crowds = _learned(tables, crowds) if learning else None
            for table in tables:
                table.finish(crowds)
            return
        number += 1


class Table:
    """The pools of one size while they are played, and what became of them.

    ``votes[q, x, y]`` votes prefer ``x`` to ``y``. HITs are packed by the ``work``, of which each question
    shows up to so many ``passages``; ``read`` were shown in all. In the end ``leaders``, shape (n, k), are
    the best by the votes; several where they are even.
    """

    leaders: Flags

    def __init__(
        self,
        pools: ManyPools,
        strategy: Strategy,
        rng: np.random.Generator,
        most: Counts | None = None,
        *,
        passages: int = 2,
    ) -> None:
        self.pools = pools
        self._strategy = strategy
        self._rng = rng
        self._most = most
        self._unfinished = np.arange(len(pools.study))
        self.votes = np.zeros_like(pools.chances)
        self._passages, self._shown, self._alone = passages, self.votes, self.votes
        if passages > 2:  # how often each was shown; and of each choice one win, as no other is independent
            self._shown, self._alone = np.zeros_like(self.votes), np.zeros_like(self.votes)
        self.work: Work = {}
        self.read = 0
        self.learns = isinstance(strategy, Sure) and strategy.crowd is None and pools.size > 1

    @property
    def cast(self) -> float:
        """How many votes there are."""
        return float(self.votes.sum())

    @property
    def made(self) -> int:
        """How many choices were made."""
        return sum(many * int(counts.sum()) for (_, many), counts in self.work.items())

    def reopen(self) -> None:
        """Look at all pools again."""
        self._unfinished = self._going_on(np.arange(len(self.pools.study)))

    def play_round(self, number: int, crowds: Crowds | None) -> bool:
        """Have a round judged; return whether anything was asked."""
        # A pool that asks for nothing has finished: its strategy would say the same again.
        asked = self._ask(crowds) if self._unfinished.size else None
        if asked is None or not len(asked):
            self._unfinished = self._unfinished[:0]
            return False
        pool, x, y, wanted = self._unfinished[asked.pool], asked.x, asked.y, asked.votes
        if self._passages > 2:
            pool, wanted = self._choose(pool, x, y, wanted)
        else:
            self._compare(pool, x, y, wanted)
        for many in np.unique(wanted).tolist():
            self.work[number, many] = np.bincount(pool[wanted == many], minlength=len(self.votes))
        self._unfinished = self._going_on(np.unique(pool))
        return True

    def _choose(self, pool: Counts, x: Counts, y: Counts, wanted: Counts) -> tuple[Counts, Counts]:
        """Have passages judged together; return the pools of the questions, and how often each was asked."""
        lacking: dict[int, dict[tuple[int, int], int]] = {}
        for one, *pair, votes in zip(pool.tolist(), x.tolist(), y.tolist(), wanted.tolist(), strict=True):
            lacking.setdefault(one, {})[pair[0], pair[1]] = votes
        asked = []
        for one, of in lacking.items():
            for votes, shown in show_together(of, self._passages):
                size, among = len(shown), np.ix_(shown, shown)
                won = self._rng.multinomial(votes, choice_chances(self.pools.chances[one][among]))
                others = 1.0 - np.eye(size)
                self.votes[one][among] += worth_of_win(size) * won[:, None] * others
                self._alone[one][among] += self._rng.multinomial(won, others / (size - 1))
                self._shown[one][among] += 0.5 * votes
                self.read += size * votes
                asked.append((one, votes))
        pools, times = np.array(asked, dtype=np.int64).T
        return pools, times

    def _compare(self, pool: Counts, x: Counts, y: Counts, wanted: Counts) -> None:
        """Have pairs judged."""
        for_x = self._rng.binomial(wanted, self.pools.chances[pool, x, y])
        self.votes[pool, x, y] += for_x
        self.votes[pool, y, x] += wanted - for_x
        self.read += 2 * int(wanted.sum())

    def judged(self, some: Counts | None = None) -> Judged:
        """Return the votes on some of the pools, or on all."""
        every = Judged(self.votes, self.pools.study)
        return every if some is None else every.only(some)

    def independent(self) -> Judged:
        """Return what tells how votes err."""
        return Judged(self._alone, self.pools.study)

    def finish(self, crowds: Crowds | None) -> None:
        """Find who is the best by the votes."""
        if self.learns and crowds is not None:
            assert isinstance(self._strategy, Sure)
            self.leaders = self._strategy.leaders_in(self.judged(), crowds)
        else:
            self.leaders = self._strategy.leaders(self.votes)

    @property
    def right(self) -> Floats:
        """How probably the winner of each pool is the best, if a random one of several is taken."""
        named = self.leaders[np.arange(self.pools.best.size), self.pools.best]
        return np.asarray(named / self.leaders.sum(axis=1))

    def _ask(self, crowds: Crowds | None) -> Asked:
        if self.learns and crowds is not None:
            assert isinstance(self._strategy, Sure)
            return self._strategy.ask_in(self.judged(self._unfinished), crowds)
        by = self.votes if isinstance(self._strategy, Sure) else self._shown
        return self._strategy.ask(by[self._unfinished])

    def _going_on(self, some: Counts) -> Counts:
        if self._most is None:
            return some
        return np.asarray(some[self.votes[some].sum(axis=(1, 2)) < self._most[some]])


def choice_chances(chances: Floats) -> Floats:
    """Return how probably each of some passages is chosen out of all, from the chances of their pairs.

    It is the mean log odds of its pairs that tells: in Bradley and Terry's model this is Luce's choice.
    """
    with np.errstate(divide="ignore"):
        odds = np.log(chances) - np.log(chances.T)
    np.fill_diagonal(odds, 0.0)
    mean = np.clip(odds, -_SUREST, _SUREST).mean(axis=1)
    weight = np.exp(mean - mean.max())
    return np.asarray(weight / weight.sum())


_SUREST = 30.0
"""Log odds beyond which nothing changes: of a vote that is never wrong they are infinite."""


def _learned(tables: Sequence[Table], near: Crowds | None) -> Crowds:
    """Return what the votes so far say of how those of each study err."""
    every = [table.independent() for table in tables if table.votes.shape[1] > 1]
    studies = 1 + max(int(one.study.max(initial=0)) for one in every)
    share = _LEARN_FROM * studies / max(1, sum(one.study.size for one in every))
    some = [one.only(_first(one.study, share)) for one in every]
    return likely_crowds(some, studies, near=near)


def _first(study: Counts, share: float) -> Counts:
    """Return the first pools of each study, so great a share of them; ``study`` is ascending."""
    if share >= 1.0:
        return np.arange(study.size)
    counts = np.bincount(study)
    place = np.arange(study.size) - (np.cumsum(counts) - counts)[study]
    return np.flatnonzero(place < np.ceil(share * counts)[study])


# Plan: what judging a study's pools costs under each strategy, and how often it will find the best.

Price = Callable[[int], Decimal]
"""Returns what one assignment costs, fees included, of a HIT with that many assignments."""

STRATEGIES: tuple[Strategy, ...] = (RoundRobin(1), DEFAULT)
"""What a plan compares, beside `sure`."""

FEWEST_STUDIES, _MOST_STUDIES = 20, 40
"""How many studies are simulated. The dearest of 20 is the bound: one more costs more one time in 21."""
_AT_MOST = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How comparisons become HITs."""

    pairs_per_hit: int = 10
    golds_per_hit: int = 3
    """Comparisons in a HIT that are asked for, and gold pairs on top of them."""
    passages: int = 2
    """How many passages a comparison shows at most. The time grows with those that are read."""
    price: Price
    """What an assignment costs, fees included."""
    seconds_per_pair: float = 30.0
    """The time of a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyStudy:
    """What a study may be like that has not been judged."""

    noise: Noise
    """How its votes err."""
    reissued: float = 0.0
    """The share of all assignments that miss a gold pair and are issued again. They are paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect of a strategy on a pool of one size, on average."""

    size: int
    """The number of candidates."""
    chance: float
    """The probability that the winner is the best; a random pick where several win."""
    pairs: float
    judgments: float
    """Different pairs, and votes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to expect of judging all pools in one way."""

    name: str
    """The strategy, or ``by size``."""
    strategy: str
    """Its spelling, which ``parse_strategy`` reads: ``2=round-robin:5,6=sure:80`` is one by size."""
    chance: float
    """The expected share of queries whose best answer will be found."""
    ends: tuple[float, float]
    """19 of 20 studies find no smaller a share than the one, 19 of 20 no greater one than the other."""
    pairs: int
    judgments: int
    hits: int
    assignments: int
    """The size of the work, on average."""
    rounds: int
    """How often work is published, collected and continued; 19 of 20 studies need no more."""
    money: Decimal
    """Rewards and fees of all assignments, on average."""
    least: Decimal
    most: Decimal
    """19 of 20 studies cost no less than the one, and 19 of 20 no more than the other."""
    hours: float
    """The workers' time."""
    by_size: tuple[Outlook, ...]
    """The outlook of each pool size."""


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
    rng: np.random.Generator,
) -> tuple[Plan, ...]:
    """Simulate every strategy on independent studies with pools of these sizes."""
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
        played = play_studies(strategy, pools, voting, passages=packing.passages)
        office = _Office(known, studies, played)
        plans.append(office.assemble(strategy.name, packing, dropping))
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
        tables: Sequence[Table],
    ) -> None:
        self._sizes = sizes
        self._studies = studies
        self._tables = tables
        self._queries = sum(sizes.values())

    def assemble(self, name: str, packing: Packing, rng: np.random.Generator) -> Plan:
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
        cost_of = np.array([float(price) for price in prices])
        costs = self._of_whole_studies(cost_of @ issued, [one.votes.sum(axis=(1, 2)) for one in self._tables])
        right = [one.right for one in self._tables]
        found = sum(map(self._per_study, self._tables, right), np.full(len(self._studies), 0.0))
        found = (found + self._sizes.get(1, 0)) / self._queries
        found = self._of_whole_studies(found, right)
        money = sum(
            (price * Decimal(float(n)) for price, n in zip(prices, issued.mean(axis=1), strict=True)),
            CENT * 0,
        )
        assignments = float(issued.sum(axis=0).mean())
        slots = packing.pairs_per_hit + packing.golds_per_hit
        by_size = tuple(self._outlooks())
        return Plan(
            name="by size" if "=" in name else name,
            strategy=name,
            chance=self._weighed(by_size, "chance") / self._queries,
            ends=_between(found),
            pairs=round(self._weighed(by_size, "pairs")),
            judgments=round(self._weighed(by_size, "judgments")),
            hits=round(float(packed.sum(axis=0).mean())),
            assignments=round(assignments),
            rounds=self._rounds(np.array([number for number, _ in groups]), pairs),
            money=money.quantize(CENT),
            least=-Decimal(_high(-costs)).quantize(CENT),
            most=Decimal(_high(costs)).quantize(CENT),
            hours=assignments * slots * packing.seconds_per_pair * self._pairs_read() / 3600.0,
            by_size=by_size,
        )

    def _pairs_read(self) -> float:
        """Return how many pairs take as long to read as a question, on average."""
        made = sum(one.made for one in self._tables)
        return sum(one.read for one in self._tables) / (2.0 * made) if made else 1.0

    def _asked(self) -> dict[tuple[int, int], Floats]:
        """Return how many pairs each study has of each round and number of votes that occurs."""
        asked: dict[tuple[int, int], Floats] = {}
        for played in self._tables:
            for group, counts in played.work.items():
                pairs = self._per_study(played, counts)
                asked[group] = asked[group] + pairs if group in asked else pairs
        return asked

    def _per_study(self, played: Table, values: Floats | Counts) -> Floats:
        """Return the sums over the pools that each study has, of which some may stand for others."""
        sums = np.bincount(played.pools.study, weights=values, minlength=len(self._studies))
        return played.pools.stands_for * sums.astype(np.float64)

    def _of_whole_studies(self, figures: Floats, of_pools: Sequence[Floats]) -> Floats:
        """Return a figure of each study, spread as in those of which all pools are judged.

        It hangs on one ``of_pools``. Where a pool stands for several, the luck of one is multiplied, while a
        whole study would average it.
        """
        luck = whole = 0.0
        for played, own in zip(self._tables, of_pools, strict=True):
            count = own.size // len(self._studies)
            varies = float(own.reshape(-1, count).var(axis=1, ddof=1).mean()) if count > 1 else own.var()
            luck += played.pools.stands_for**2 * count * varies
            whole += played.pools.stands_for * count * varies
        spread = float(np.var(sum(map(self._per_study, self._tables, of_pools))))
        if not spread:
            return figures
        # The luck of pools is known better than what few studies show: they vary no less than by it.
        left = np.sqrt((max(spread - luck, 0.0) + whole) / spread)
        found: Floats = figures.mean() + left * (figures - figures.mean())
        return found

    def _outlooks(self) -> list[Outlook]:
        alone = Outlook(size=1, chance=1.0, pairs=0.0, judgments=0.0)
        found = [alone] if 1 in self._sizes else []
        for played in self._tables:
            found.append(
                Outlook(
                    size=played.pools.size,
                    chance=float(played.right.mean()),
                    pairs=float((played.votes + played.votes.transpose(0, 2, 1) > 0).sum() / 2)
                    / played.pools.best.size,
                    judgments=float(played.made / played.pools.best.size),
                )
            )
        return found

    def _weighed(self, by_size: Sequence[Outlook], what: str) -> float:
        return sum(float(getattr(outlook, what)) * self._sizes[outlook.size] for outlook in by_size)

    def _rounds(self, number: Floats, pairs: Floats) -> int:
        return int(_high(((number[:, None] + 1.0) * (pairs > 0)).max(axis=0, initial=0.0)))


def _high(studies: Floats) -> float:
    """Return what one more study passes one time in twenty at most, whatever the distribution."""
    place = int(np.ceil(_AT_MOST * (studies.size + 1))) - 1
    return float(np.sort(studies)[min(place, studies.size - 1)])


def _between(shares: Floats) -> tuple[float, float]:
    """Return between which shares one more study lies nine times in ten: they are about normal."""
    reach = float(scipy.special.stdtrit(shares.size - 1, _AT_MOST) * (1.0 + 1.0 / shares.size) ** 0.5)
    least, most = np.clip(
        shares.mean() + reach * shares.std(ddof=1) * np.array([-1.0, 1.0]), 0.0, 1.0
    ).tolist()
    return least, most


def choose_plan(plans: Sequence[Plan], budget: Decimal) -> Plan | None:
    """Return the plan that finds the best most often where 19 of 20 studies are within the budget."""
    within = [plan for plan in plans if plan.most <= budget]
    return max(within, key=lambda plan: (plan.chance, -plan.money), default=None)


# Power: what a number of judged pairs can show, before they are paid for.

_SIZES, _FOUND = (50, 100, 200, 500, 1000, 2000, 5000, 10_000), 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a two-sided binomial test of wins against losses can show with this many decided pairs."""

    pairs: int
    """Decided pairs of category B."""
    sample: int
    """Queries to judge so that about this many of them are of category B."""
    wins: int | None
    """The fewest wins that are significant; None where not even winning every pair is."""
    ratio: float | None
    """``wins`` as a share of the pairs."""
    detectable: float | None
    """The true win ratio that such a study finds significant four times in five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNeeds:
    """What one plan needs to tell two runs apart, as some of the answers that it finds are wrong."""

    name: str
    """The plan."""
    shown: float
    """The share of the runs' difference that its answers show."""
    queries: int | None
    judgments: int | None
    """None where no number of queries would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesNeeded:
    """How many queries a paired t test needs to tell two runs apart."""

    difference: float
    deviation: float
    """Of the runs' scores on a query: the mean difference, and its standard deviation over queries."""
    alpha: float
    chance: float
    """The level of the test, and how often it is to find the difference."""
    queries: int
    """Where all best answers are right."""
    by_plan: tuple[PlanNeeds, ...] = ()
    """As right as each plan makes them."""


_MOST_QUERIES = 1 << 30


def queries_needed(
    difference: float, deviation: float, *, alpha: float = 0.05, chance: float = 0.8
) -> QueriesNeeded:
    """Return the fewest queries with which a two-sided paired t test finds a difference with this chance."""
    effect = abs(difference) / deviation if deviation > 0 else 0.0
    if not 0 < effect < float("inf") or _power_of_t(_MOST_QUERIES, effect, alpha) < chance:
        raise ValueError(f"no number of queries shows {difference:g} at a deviation of {deviation:g}")
    low, high = 1, 2
    while _power_of_t(high, effect, alpha) < chance:
        low, high = high, 2 * high
    while high - low > 1:  # the power grows with the queries
        middle = (low + high) // 2
        low, high = (low, middle) if _power_of_t(middle, effect, alpha) >= chance else (middle, high)
    return QueriesNeeded(difference=difference, deviation=deviation, alpha=alpha, chance=chance, queries=high)


def shown_share(size: int, right: float) -> float:
    """Return the share of a difference between runs that answers show of which so many are right.

    Notes
    -----
    Of two candidates a wrong answer shows the opposite. Of more it is one that the runs do not tell apart
    much, on average: with few votes on three, or where all pairs err alike, somewhat the wrong way, and with
    many votes on many, the right way, as it is nearly as good as the best.
    """
    return 2.0 * right - 1.0 if size == 2 else right


def _power_of_t(queries: int, effect: float, alpha: float) -> float:
    # t is noncentral: its mean moves with the root of the queries.
    critical = -float(scipy.special.stdtrit(queries - 1, alpha / 2))
    moved = effect * queries**0.5
    if moved > critical + 30:  # certain, and beyond what the noncentral distribution computes
        return 1.0
    return 1.0 - float(scipy.special.nctdtr(queries - 1, moved, critical))


def powers(available: int, judged: int) -> tuple[Power, ...]:
    """Return what round numbers of pairs up to all that are available can show."""
    sizes = [size for size in _SIZES if size < available] + ([available] if available else [])
    return tuple(_power(size, ceil(size * judged / available)) for size in sizes)


def power(pairs: int, wins: int, ratio: float) -> float:
    """Return how often ``wins`` or more of the pairs are won, or lost, where each is won with ``ratio``.

    The number of wins is binomial, and the test has two sides.
    """
    won, lost = scipy.special.bdtrc(wins - 1, pairs, ratio), scipy.special.bdtr(pairs - wins, pairs, ratio)
    return float(won + lost)


def wins_needed(pairs: int, alpha: float = 0.05) -> int | None:
    """Return the fewest wins of this many pairs that a two-sided binomial test calls significant."""
    more = scipy.special.bdtrc(np.arange(pairs + 1.0), pairs, 0.5)  # how probable more wins than each are
    wins = int((more <= alpha / 2).argmax()) + 1
    return wins if wins <= pairs else None


def _power(pairs: int, sample: int) -> Power:
    wins = wins_needed(pairs)
    if wins is None:
        return Power(pairs=pairs, sample=sample, wins=None, ratio=None, detectable=None)
    low, high = 0.5, 1.0
    for _ in range(40):  # the power grows with the ratio
        middle = (low + high) / 2
        low, high = (low, middle) if power(pairs, wins, middle) >= _FOUND else (middle, high)
    return Power(pairs=pairs, sample=sample, wins=wins, ratio=wins / pairs, detectable=high)


# Replay: what a strategy would have found, had other people been asked from the start.


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A strategy that is to judge pools again."""

    pools: Pools
    """The candidates."""
    strategy: Strategy
    """How the votes were asked for."""
    most: Counts
    """Shape (n_queries,): how many votes a query gets at most: as many as it had, where it was given up
    before its end."""
    passages: int = 2
    """How many passages a question shows at most."""

    def play(self, drawn: DrawnPools, rng: np.random.Generator, *, name: str) -> Qrels:
        """Ask, vote and ask again until nothing is asked, and return the best answers of the drawn pools.

        Who asks by P(best) knows the crowd: votes tell it soon.
        """
        best = np.zeros(self.pools.query.size, dtype=bool)
        for stack in drawn.stacks:
            one = of_size(self.strategy, stack.rows.shape[1])
            if isinstance(one, Sure):
                one = replace(one, crowd=drawn.crowd)
            most = self.most[stack.queries]
            votes, _ = play(one, stack.chances, rng, most=most, passages=self.passages)
            best[stack.rows] = one.leaders(votes)
        found = np.flatnonzero(best)
        return Qrels.all_relevant(
            name, self.pools.queries, self.pools.docs, self.pools.query[found], self.pools.doc[found]
        )


def prepare_replay(judgments: Judgments, pools: Pools, strategy: Strategy) -> Replay:
    """Return the replay of a strategy, given the votes that it had."""
    most = np.full(len(pools.queries), np.iinfo(np.int64).max)
    if any(isinstance(of_size(strategy, size), Sure) for size in np.unique(pools.sizes).tolist()):
        # It names the best so far at any time. The others have no answer before the end, and none to compare.
        given_up = next_round(judgments, pools, strategy).open
        cast = np.bincount(judgments.query, weights=judgments.worth, minlength=len(judgments.queries))
        votes = dict(zip(judgments.queries, cast.tolist(), strict=True))
        most[given_up] = [votes.get(pools.queries[query], 0) for query in np.flatnonzero(given_up).tolist()]
    return Replay(pools=pools, strategy=strategy, most=most, passages=judgments.passages)

"""Plans the judging before any money is spent: what each strategy costs, and how often it finds the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Interval

from prefjudge.core.judgments import dropped_share
from prefjudge.core.planning.plans import (
    STRATEGIES,
    Packing,
    Plan,
    QueriesNeeded,
    choose_plan,
    compare_plans,
    studies_of,
)
from prefjudge.core.planning.rounds import DEFAULT, parse_strategy
from prefjudge.core.planning.sure import Sure
from prefjudge.core.strategies import Strategy
from prefjudge.errors import InputError
from prefjudge.field.challenge import check_sure
from prefjudge.field.crowd import read_prices
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import LabelSets, Runs, Votes, maybe, take_judgments
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Screen, Shown
from prefjudge.show.studies import plans_table
from prefjudge.steps.plan.pilot import (
    NoiseModel,
    PlannedStudy,
    find_needed,
    find_wrong_votes,
    likely_studies,
    needed_by_plans,
    needed_words,
)
from prefjudge.study.store import Study, generator, open_study
from prefjudge.study.values import Dollars
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.study.config import StudyConfig

_USUALLY_SURE = 0.8
_MOST_QUERIES = 10_000_000
_MOST_DOLLARS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlanResult(Shown):
    """The plans compared, and the one that the budget chooses.

    ``error`` is the share of wrong votes on a random pair, ``error_source`` says where it is from, and
    ``errors`` between which bounds it is in nine studies of ten; none where it was given. So many
    ``studies`` were simulated for each strategy.
    ``reissued`` is the share of assignments that miss a gold pair, on average. ``committed`` is what the
    study has spent or promised, and ``left`` is the rest of the budget. ``run`` takes the ``strategy`` of a
    plan; the plan's name is shorter. A question shows up to so many ``passages``.
    """

    sizes: dict[int, int]
    queries: int
    noise: str
    error: float
    error_source: str
    errors: tuple[float, float] | None
    studies: int
    reissued: float
    plans: tuple[Plan, ...]
    budget: Decimal | None
    committed: Decimal
    left: Decimal | None
    chosen: Plan | None
    driven_by: str
    needed: "QueriesNeeded | None"
    notices: tuple[str, ...]
    passages: int = 2

    def tables(self) -> tuple[Table, ...]:
        """Return the plans: what each costs, and how often it finds the best."""
        notes = [
            f"{many(self.queries, 'query')}. {self.error:.0%} of the votes on a random pair are wrong "
            f"({self.error_source}{self._spread()}). "
            "The only winner of a query need not be its best answer.",
            f"{self.studies} studies were simulated, each with a crowd of its own; {self.reissued:.0%} of "
            "the work misses a gold pair and is issued again. What is found and the cost are averages. 19 of "
            "20 studies find and cost no less than “at least” says, and 19 of 20 no more than “at most”, in "
            f"that many rounds. {_EQUALS}",
        ]
        if self.passages > 2:
            notes.append(
                f"A question shows up to {self.passages} passages; each takes half the seconds of a pair."
            )
        if self.needed is not None:
            notes.append(needed_words(self.needed))
        if any(plan.name == DEFAULT.name for plan in self.plans):
            notes.append(
                f"default is {DEFAULT.spelling}: SIZE=STRATEGY is for pools of up to that size, the last for "
                "larger ones, too."
            )
        return (plans_table(self.plans, self.chosen, notes),)

    @property
    def cheapest(self) -> Plan:
        """The plan that costs least."""
        return min(self.plans, key=lambda one: (one.money, -one.chance))

    @property
    def advised(self) -> Plan:
        """The best plan that the budget pays for; without a budget the default one, or else the cheapest."""
        default = next((one for one in self.plans if one.name == DEFAULT.name), self.cheapest)
        return self.chosen or default

    def screen(self) -> Screen:
        """Return the cheapest plan, the advised one and the most certain, and what each of them finds."""
        roles = {
            "cheap": self.cheapest,
            "advised": self.advised,
            "most certain": max(self.plans, key=lambda one: one.chance),
        }
        shown = {id(plan): plan for plan in roles.values()}
        rows = tuple(
            (
                ", ".join(role for role, one in roles.items() if one is plan),
                plan.name,
                plan.money,
                plan.most,
                plan.hours,
                f"the best of {plan.chance * self.queries:,.0f} of {many(self.queries, 'query')}",
            )
            for plan in shown.values()
        )
        table = Table(
            title="",
            columns=(
                Column(name="plan", priority=0),
                Column(name="strategy", priority=0),
                Column(name="money", head="cost", kind="money"),
                Column(name="most", head="at most", kind="money", priority=2),
                Column(name="hours", head="hours of work", kind="number", digits=0, priority=2),
                Column(name="finds"),
            ),
            rows=rows,
        )
        wrong = (
            f"{self.error:.0%} of the votes on a random pair are wrong ({self.error_source}{self._spread()})"
            ". 19 of 20 simulated studies cost no more than the column “at most” says."
        )
        needed = (needed_words(self.needed),) if self.needed else ()
        return Screen(found=(_finding(self.advised, self), *needed), tables=(table,), sure=(wrong, _EQUALS))

    def _spread(self) -> str:
        if self.errors is None:
            return ""
        return f"; {self.errors[0]:.0%} to {self.errors[1]:.0%} in nine crowds of ten"


_EQUALS = (
    "No plan knows whether several answers of a query are equally good: if so, those found are the best less "
    "often. A few votes on each pair tell."
)


def _finding(advised: Plan, result: PlanResult) -> str:
    least, most = (f"{end * result.queries:,.0f}" for end in advised.ends)
    found = f"{advised.chance * result.queries:,.0f} ({least} to {most}) of {many(result.queries, 'query')}"
    finds = f"finds the best answer of about {found}"
    if result.chosen is not None:
        return f"Within ${result.left:,.2f}, {advised.name} {finds}, for about ${advised.money:,.2f}."
    if result.left is not None:
        return f"${result.left:,.2f} pays for none of these plans."
    return f"For about ${advised.money:,.2f}, {advised.name} {finds}."


def plan(
    study: str | Path | Study | None = None,
    *,
    sizes: str | None = None,
    error: float | None = None,
    noise: NoiseModel | Literal["bradley-terry", "constant"] = NoiseModel.BRADLEY_TERRY,
    judgments: Votes | None = None,
    strategy: Sequence[str] = (),
    sure: Annotated[float, Interval(ge=0, le=1)] | None = None,
    budget: Dollars | None = None,
    queries: float | None = None,
    deviation: float | None = None,
    runs: Runs = (),
    qrels: LabelSets = (),
    reward: Dollars | None = None,
    reissued: float | None = None,
    trials: int = 1000,
    seed: Annotated[int, Ge(0)] | None = None,
) -> PlanResult:
    """Simulate strategies on the pools, study by study, and choose the best one that the budget pays.

    Parameters
    ----------
    study : Path, optional
        The study whose pools, or whose open challenge, are to be judged; its config and votes give the
        defaults of the other options.
    sizes : str, optional
        Pool sizes instead: ``2:120,4:200`` are 120 queries with two candidates and 200 with four.
    error : float, optional
        The share of wrong votes on a random pair. By default it is estimated from the votes, repeats and gold
        pairs so far; without any it is 0.33.
    noise : NoiseModel
        Whether close pairs are harder.
    judgments : Path, optional
        Votes to estimate the error from.
    strategy : sequence of str
        What to compare: ``default``, ``round-robin:3``, ``sure:80``, or one for each size, such as
        ``2=round-robin:5,6=sure:80``. By default the paper's ``round-robin:1``, ``default`` and ``sure``, or
        the one by which the challenge is judged that is under way.
    sure : float, optional
        How sure the best answers are to be, as for ``run``; 0.8 by default.
    budget : Decimal, optional
        The most that rewards and fees may come to, including what the study has committed already; its
        config's by default. A plan is within it if 19 of 20 studies cost no more.
    queries : float, optional
        Say how many queries and votes each strategy needs to tell apart, in four of five studies, two runs
        whose mean scores would differ by this much if the best answers were known.
    deviation : float, optional
        The standard deviation of the two runs' difference over queries, which ``queries`` needs. By default a
        pilot tells it: the median over the pairs of ``runs`` under ``qrels``, or of the study's runs.
    runs : sequence of paths or patterns
        The run files of a pilot, or folders of them: of a leaderboard of this kind, say.
    qrels : sequence of str
        The label sets of the pilot, each a file or ``NAME=FILE``; the last one counts.
    reward : Decimal, optional
        The reward of one assignment in dollars; 2.00 by default. What a HIT holds, and how long a pair takes,
        is in a study's config: 10 pairs and 3 gold pairs of 25 seconds by default.
    reissued : float, optional
        The share of assignments that will miss a gold pair and be issued again; they are paid. By default
        that of honest workers who miss one in four times as many as they err, and the study's own as work
        comes in.
    trials : int
        About how many pools are simulated for each strategy, in twenty studies or more.
    seed : int, optional
        The seed of the simulation; a study has its own.

    Raises
    ------
    InputError
        Neither a study nor sizes are given, or an option is out of bounds.
    """
    opened = PlannedStudy(open_study(study))
    if (study is None) == (sizes is None):
        raise InputError(
            "plan takes either a study or --sizes",
            "Run, for instance: prefjudge plan STUDY, or: prefjudge plan --sizes 2:120,4:200,6:180",
        )
    histogram = opened.histogram() if sizes is None else parse_sizes(sizes)
    noise = NoiseModel(noise)
    check_sure(sure)
    _check(trials, "--trials", 1, 100_000)
    most = opened.config.budget if budget is None and opened.config else _amount(budget, "--budget")
    odd: list[Notice] = []
    needed = find_needed(queries, deviation, opened, runs, qrels, odd)
    wrong = find_wrong_votes(error, opened, maybe(take_judgments, judgments), odd)
    packing = _packing(opened.config, _amount(reward, "--reward"))
    rng = generator(opened.study, "plan", seed)
    again = None if reissued is None else _share(reissued, "--reissued")
    studies = likely_studies(
        noise,
        wrong,
        studies_of(histogram, trials),
        lambda error: (
            opened.draw_reissued(dropped_share(error, packing.golds_per_hit), rng) if again is None else again
        ),
        generator(opened.study, "shapes", seed),
    )
    plans = compare_plans(
        histogram,
        studies,
        packing=packing,
        strategies=_strategies(strategy or opened.challenge, sure),
        trials=trials,
        rng=rng,
    )
    left = None if most is None else max(most - opened.committed, Decimal(0))
    chosen = None if left is None else choose_plan(plans, left)
    return PlanResult(
        sizes=histogram,
        queries=sum(histogram.values()),
        noise=noise.value,
        error=wrong.share,
        error_source=wrong.source,
        errors=wrong.ends,
        studies=len(studies),
        reissued=sum(study.reissued for study in studies) / len(studies),
        plans=plans,
        budget=most,
        committed=opened.committed,
        left=left,
        chosen=chosen,
        driven_by=opened.driven_by,
        needed=needed and needed_by_plans(needed, plans, histogram),
        notices=(
            *opened.words(most, left),
            *map(str, odd),
            *(_short_of_money(plans, left, histogram) if chosen is None else ()),
        ),
        passages=packing.passages,
    )


def parse_sizes(text: str) -> dict[int, int]:
    """Return how many queries have a pool of each size: ``2:120,4:200``."""
    try:
        pairs = [tuple(map(int, part.split(":"))) for part in text.split(",")]
        histogram: dict[int, int] = {}
        for size, count in pairs:
            if size < 1 or not 1 <= count <= _MOST_QUERIES:
                raise ValueError
            histogram[size] = histogram.get(size, 0) + count
    except ValueError:
        raise InputError(
            f"--sizes {text}: not pool sizes, or more than {_MOST_QUERIES:,} queries of one",
            "Write SIZE:QUERIES with commas between: 2:120,4:200,6:180",
        ) from None
    if max(histogram) > 200:
        raise InputError(
            f"--sizes {text}: pools of more than 200", "Use a smaller pool depth, or fewer runs."
        )
    return dict(sorted(histogram.items()))


def _check(value: float | None, option: str, least: float, most: float) -> None:
    """Refuse a number that is not between two others; NaN is not."""
    if value is not None and not least <= value <= most:
        raise InputError(f"{option} {value}: out of bounds", f"Give a number between {least:,} and {most:,}.")


def _amount(value: Dollars | None, option: str) -> Decimal | None:
    amount = None if value is None else Decimal(str(value))
    if amount is not None and not (amount.is_finite() and 0 <= amount <= _MOST_DOLLARS):
        raise InputError(
            f"{option} {value}: not a possible amount", f"Give an amount between 0 and {_MOST_DOLLARS:,}."
        )
    return amount


def _share(value: float, option: str) -> float:
    if not 0.0 <= value < 1.0:
        raise InputError(f"{option} {value}: not a share", "Give a share between 0 and 1, such as 0.1.")
    return value


def _packing(config: "StudyConfig | None", reward: Decimal | None) -> Packing:
    """Return how comparisons become HITs."""
    from prefjudge.study.config import StudyConfig

    config = config or StudyConfig(name="plan")
    paid, prices = config.hit.reward if reward is None else reward, read_prices(config)
    return Packing(
        pairs_per_hit=config.design.pairs_per_hit,
        passages=config.hit.passages,
        golds_per_hit=config.design.gold_per_hit,
        price=lambda assignments: prices.submission(paid, assignments),
        seconds_per_pair=config.design.seconds_per_pair,
    )


def _strategies(names: Sequence[str], sure: float | None) -> tuple[Strategy, ...]:
    """Return those named, or the usual ones, and ``sure`` where it is asked for or none is named."""
    try:
        found = tuple(map(parse_strategy, names)) or STRATEGIES
    except ValueError as problem:
        raise InputError(
            str(problem), "Give, for instance: --strategy round-robin:3 --strategy sure:80"
        ) from None
    if sure is not None or not names:
        found = (*found, Sure(_USUALLY_SURE if sure is None else sure))
    if any(isinstance(one, Sure) and one.runs is not None for one in found):
        raise InputError(
            "what it takes to tell runs apart depends on the runs, and cannot be planned from pool sizes",
            "Leave out runs:PERCENT; --queries DIFFERENCE says how many queries it takes.",
        )
    return found


def _short_of_money(
    plans: Sequence[Plan], left: Decimal | None, histogram: dict[int, int]
) -> tuple[str, ...]:
    if left is None:
        return ()
    cheapest = min(plans, key=lambda one: one.most)
    total = sum(histogram.values())
    queries = int(total * left / cheapest.most)
    paid = f"about {queries:,} of the {total:,} queries" if queries else f"none of the {total:,} queries"
    return (
        f"${left:,.2f} is too little: the cheapest plan, {cheapest.name}, costs ${cheapest.most:,.2f}; it "
        f"pays for {paid}",
    )

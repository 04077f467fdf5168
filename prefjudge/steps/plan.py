"""Plans the judging before any money is spent: what each strategy costs, and how often it finds the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.errors import InputError
from prefjudge.steps.inputs import as_path

if TYPE_CHECKING:
    import numpy as np

    from prefjudge.core.judgments import Judgments
    from prefjudge.core.noise import Noise
    from prefjudge.core.plan import Packing, Plan
    from prefjudge.core.strategies import Strategy
    from prefjudge.study.config import StudyConfig

_ASSUMED_ERROR = 0.33
"""What crowds show on the best passages of a query."""


class NoiseModel(StrEnum):
    """How votes err."""

    BRADLEY_TERRY = "bradley-terry"
    """Close pairs are harder, as real ones are."""
    CONSTANT = "constant"
    """All pairs are equally hard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """The plans compared, and the one that the budget chooses.

    ``error`` is the share of wrong votes on a random pair, and ``error_source`` says where it is from.
    """

    sizes: dict[int, int]
    queries: int
    noise: str
    error: float
    error_source: str
    plans: tuple["Plan", ...]
    budget: Decimal | None
    chosen: "Plan | None"
    notices: tuple[str, ...]


def plan(
    study: str | Path | None = None,
    *,
    sizes: str | None = None,
    error: float | None = None,
    noise: NoiseModel = NoiseModel.BRADLEY_TERRY,
    judgments: str | Path | None = None,
    strategy: Sequence[str] = (),
    budget: Decimal | None = None,
    most_rounds: int = 10,
    reward: Decimal | None = None,
    pairs_per_hit: int | None = None,
    gold_per_hit: int | None = None,
    seconds_per_pair: float | None = None,
    reissued: float = 0.0,
    trials: int = 1000,
    seed: int | None = None,
) -> PlanResult:
    """Simulate every strategy on the pools, and choose the best one that the budget pays.

    Parameters
    ----------
    study : Path, optional
        The study whose pools are to be judged; its config and its votes so far give what is not said here.
    sizes : str, optional
        Pool sizes instead: ``2:120,4:200`` are 120 queries with two candidates and 200 with four.
    error : float, optional
        The share of wrong votes on a random pair; else it is estimated from votes, or taken to be 0.33.
    noise : NoiseModel
        Whether close pairs are harder.
    judgments : Path, optional
        Votes to estimate the error from.
    strategy : sequence of str
        What to compare: ``default``, ``round-robin:3``, ``halving:1x2``, ``knockout:5``, ``lead:3``; a
        choice of all by default.
    budget : Decimal, optional
        The most that rewards and fees may be; the study's by default.
    most_rounds : int
        How often work may be published and collected at most, in the plan chosen.
    reward : Decimal, optional
        Of one assignment; 2.00 by default.
    pairs_per_hit, gold_per_hit : int, optional
        What a HIT holds; 10 and 3 by default.
    seconds_per_pair : float, optional
        The time of one comparison; 25 by default.
    reissued : float
        The share of assignments that will fail their gold pairs and be issued again; they are paid.
    trials : int
        Simulated pools for each strategy and size.
    seed : int, optional
        Of the simulation.

    Raises
    ------
    InputError
        Neither a study nor sizes are given, or an option makes no sense.
    """
    from prefjudge.core.plan import choose_plan, compare_plans

    study = as_path(study)
    judgments = as_path(judgments)
    opened = _Opened(study)
    histogram = opened.histogram(sizes)
    model, share, source = _noise(noise, error, opened, judgments)
    packing = _packing(
        opened.config, reward, (pairs_per_hit, gold_per_hit), seconds_per_pair, _share(reissued, "reissued")
    )
    if trials < 1:
        raise InputError(f"--trials {trials}: at least one pool must be simulated", "Leave it out for 1,000.")
    plans = compare_plans(
        histogram,
        model,
        packing=packing,
        strategies=_strategies(strategy),
        trials=trials,
        rng=opened.rng(seed),
    )
    budget = opened.config.budget if budget is None and opened.config else budget
    chosen = (
        choose_plan(plans, histogram, budget, packing, most_rounds=most_rounds)
        if budget is not None
        else None
    )
    return PlanResult(
        sizes=histogram,
        queries=sum(histogram.values()),
        noise=noise.value,
        error=share,
        error_source=source,
        plans=plans,
        budget=budget,
        chosen=chosen,
        notices=_short_of_money(plans, budget, histogram) if chosen is None else (),
    )


class _Opened:
    """What the study knows, where there is one."""

    def __init__(self, folder: Path | None) -> None:
        from prefjudge.study.study import Study

        self.study = Study(folder) if folder is not None else None
        self.config: StudyConfig | None = self.study.config if self.study else None

    def histogram(self, sizes: str | None) -> dict[int, int]:
        from prefjudge.study.pooling import load_pools

        if (self.study is None) == (sizes is None):
            raise InputError(
                "plan takes either a study or --sizes",
                "For instance: prefjudge plan STUDY, or: prefjudge plan --sizes 2:120,4:200,6:180",
            )
        if sizes is not None:
            return parse_sizes(sizes)
        assert self.study is not None
        with self.study.transaction(write=False) as db:
            return load_pools(db).histogram

    def judgments(self) -> "Judgments | None":
        from prefjudge.study.assignments import load_judgments

        if self.study is None:
            return None
        with self.study.transaction(write=False) as db:
            return load_judgments(db)

    def rng(self, seed: int | None) -> "np.random.Generator":
        import numpy as np

        from prefjudge.steps.matrices import DEFAULT_SEED

        if self.study is not None and seed is None:
            return self.study.rng("plan")
        return np.random.default_rng(DEFAULT_SEED if seed is None else seed)


def parse_sizes(text: str) -> dict[int, int]:
    """Return how many queries have a pool of each size: ``2:120,4:200``.

    Raises
    ------
    InputError
        The text is something else.
    """
    try:
        pairs = [tuple(map(int, part.split(":"))) for part in text.split(",")]
        histogram: dict[int, int] = {}
        for size, count in pairs:
            if size < 1 or count < 1:
                raise ValueError
            histogram[size] = histogram.get(size, 0) + count
    except ValueError:
        raise InputError(
            f"--sizes {text}: not pool sizes", "Write SIZE:QUERIES with commas between: 2:120,4:200,6:180"
        ) from None
    if max(histogram) > 200:
        raise InputError(f"--sizes {text}: pools of more than 200", "Pool less deep, or fewer runs.")
    return dict(sorted(histogram.items()))


def _share(value: float, option: str) -> float:
    if not 0.0 <= value < 1.0:
        raise InputError(f"--{option} {value}: not a share", "A share lies between 0 and 1.")
    return value


def _noise(
    kind: NoiseModel, error: float | None, opened: _Opened, judgments: Path | None
) -> tuple["Noise", float, str]:
    """Return the model, its share of wrong votes on a random pair, and where that is from."""
    from prefjudge.core.noise import BradleyTerryNoise, ConstantNoise, error_of_scale, scale_of_error

    source = "given"
    if error is None:
        error, source = _ASSUMED_ERROR, "assumed: crowds show it on the best passages of a query"
        votes = _votes(opened, judgments)
        if votes is not None and len(votes):
            error = error_of_scale(_scale(votes, opened))
            source = f"estimated from {len(votes):,} judgments"
    if not 0.0 < error < 0.5:
        raise InputError(
            f"--error {error}: not a share of wrong votes", "It lies between 0 and 0.5; 0.33 is usual."
        )
    if kind is NoiseModel.CONSTANT:
        return ConstantNoise(error=error), error, source
    return BradleyTerryNoise(scale=scale_of_error(error)), error, source


def _votes(opened: _Opened, judgments: Path | None) -> "Judgments | None":
    from prefjudge.formats.judgments import read_judgments

    return read_judgments(judgments) if judgments is not None else opened.judgments()


def _scale(votes: "Judgments", opened: _Opened) -> float:
    from prefjudge.core.confidence import estimate_scale

    return estimate_scale(votes, rng=opened.rng(None))


def _packing(
    config: "StudyConfig | None",
    reward: Decimal | None,
    holds: tuple[int | None, int | None],
    seconds: float | None,
    reissued: float,
) -> "Packing":
    from prefjudge.core.costs import Fees
    from prefjudge.core.plan import Packing
    from prefjudge.study.config import DesignConfig, FeesConfig, HitConfig

    design = config.design if config else DesignConfig()
    paid = reward if reward is not None else (config.hit if config else HitConfig()).reward
    taken = config.fees if config else FeesConfig()
    fees = Fees(rate=taken.rate, many_rate=taken.many_rate, minimum=taken.minimum)
    pairs, golds = holds
    if (pairs is not None and pairs < 1) or (golds is not None and golds < 0):
        raise InputError("a HIT holds at least one pair", "Leave --pairs-per-hit out for 10.")
    return Packing(
        pairs_per_hit=pairs or design.pairs_per_hit,
        golds_per_hit=design.gold_per_hit if golds is None else golds,
        price=lambda assignments: paid + fees.of_reward(paid, assignments),
        seconds_per_pair=seconds or design.seconds_per_pair,
        reissued=reissued,
    )


def _strategies(names: Sequence[str]) -> tuple["Strategy", ...]:
    from prefjudge.core.plan import STRATEGIES
    from prefjudge.core.strategies import parse_strategy

    try:
        return tuple(map(parse_strategy, names)) or STRATEGIES
    except ValueError as problem:
        raise InputError(str(problem), "For instance: --strategy round-robin:3 --strategy halving") from None


def _short_of_money(
    plans: Sequence["Plan"], budget: Decimal | None, histogram: dict[int, int]
) -> tuple[str, ...]:
    if budget is None or not plans:
        return ()
    cheapest = min(plans, key=lambda one: one.money)
    if cheapest.money <= budget:
        return ("no plan within the budget has so few rounds",)
    queries = int(sum(histogram.values()) * budget / cheapest.money)
    return (
        f"the budget of ${budget} is too small: the cheapest plan, {cheapest.name}, costs ${cheapest.money}; "
        f"it pays for about {queries} of the {sum(histogram.values())} queries",
    )

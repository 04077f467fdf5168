"""The deviation that a pilot shows: of the paired differences of its runs, over its queries."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.judgments import GoldRecord, Judgments, gather_verdicts
from prefjudge.core.planning.plans import (
    LikelyStudy,
    Plan,
    PlanNeeds,
    QueriesNeeded,
    queries_needed,
    shown_share,
)
from prefjudge.core.resolving.scales import Scales, estimate_scales, prior_scales
from prefjudge.core.resolving.shapes import ShapedNoise, usual_shapes
from prefjudge.core.runs import Scores
from prefjudge.core.strategies import (
    USUAL_ERROR,
    LapseNoise,
    Noise,
    error_of_scale,
    log_weight_of_golds,
)
from prefjudge.errors import InputError
from prefjudge.field.challenge import rule_of
from prefjudge.findings.findings import gather
from prefjudge.reading.files import Notice
from prefjudge.reading.given import paths_of
from prefjudge.reading.inputs import LabelSets, Runs
from prefjudge.reading.labels import read_judgments
from prefjudge.study.answers import load_open_challenge
from prefjudge.study.assignments import KEPT, load_gold_records, load_judgments
from prefjudge.study.money import committed_cents
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import is_published, load_inputs, load_pools
from prefjudge.study.progress import Stage, count_verdicts, lacking
from prefjudge.study.store import Study, generator, load_setting
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from prefjudge.study.config import StudyConfig


_MIDDLE = (0.1, 0.9)
_FEW = 50
"""Scores of a query are mostly 0 and 1: with fewer queries the deviation itself is hardly known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """The standard deviations over queries of the differences between each two runs.

    ``deviation`` is the median of the ``pairs`` of runs that differ on any of the ``queries``; four pairs of
    five are between ``low`` and ``high``. ``under`` names the measure and the label set.
    """

    deviation: float
    low: float
    high: float
    pairs: int
    queries: int
    under: str

    def __str__(self) -> str:
        spread = f"; {self.low:.3g} to {self.high:.3g} for four pairs of five" if self.pairs > 1 else ""
        few = ", too few to know it well" if self.queries < _FEW else ""
        middle = "the median of " * (self.pairs > 1)
        return (
            f"deviation {self.deviation:.3g}: {middle}{many(self.pairs, 'pair')} of runs on "
            f"{many(self.queries, 'query')}{few}, by {self.under}{spread}"
        )


def read_pilot(
    study: Study | None, runs: Runs, qrels: LabelSets, notices: list[Notice], *, judged: bool
) -> Pilot:
    """Score the runs of a study, or those given, by its first measure under its last label set.

    A study that is not ``judged`` yet has its original qrels only.
    """
    if study is not None and not judged:
        with study.transaction(write=False) as db:
            inputs = load_inputs(db)
        runs, qrels = (paths_of(inputs, kind, study.folder) for kind in ("run", "qrels"))
        study = None
    found = gather(study, runs=runs, qrels=qrels, preference=False)
    with found.reading(digest=False):
        matrices = found.matrices(())
    notices += found.notices
    if not matrices:
        raise InputError("a pilot needs qrels", "Add --qrels FILE, or give --deviation.")
    last = [one for one in matrices if one.measure == matrices[0].measure][-1]
    return pilot_of(last)


def pilot_of(scores: Scores) -> Pilot:
    """Return what these scores show of the deviation of a difference."""
    queries, count = scores.values.shape
    a, b = np.triu_indices(count, 1)
    if queries > 1:
        covered = np.atleast_2d(np.cov(scores.values.T))
        own = np.diag(covered)
        # Rounding leaves a copy of a run a variance of 1e-17.
        variance = own[a] + own[b] - 2 * covered[a, b]
        found = np.sqrt(variance[variance > 1e-12])
    else:
        found = np.empty(0)
    if not found.size:
        raise InputError(
            "no two runs of the pilot differ on two queries or more",
            "Give runs and qrels that tell them apart, or --deviation.",
        )
    low, high = np.quantile(found, _MIDDLE)
    return Pilot(
        deviation=float(np.median(found)),
        low=float(low),
        high=float(high),
        pairs=found.size,
        queries=queries,
        under=f"{scores.measure} under {scores.qrels}",
    )


# What a plan needs of a study: its pools, money, votes and gold pairs so far.

_MOST_DROPPED = 0.9
"""The largest share of assignments that is assumed to be dropped: at 1 no plan would ever end."""
_EXPECTED = 20
"""How many assignments of the study weigh as much as what is expected of a crowd."""


class PlannedStudy:
    """What the study knows, where there is one."""

    def __init__(self, study: Study | None) -> None:
        self.study = study
        self.config: StudyConfig | None = study.config if study else None
        self.committed = Decimal("0.00")
        self.golds = GoldRecord(right=0, missed=0)
        self.dropped = 0
        """How many assignments were dropped, of those ``submitted``."""
        self.submitted = 0
        self.rehearsal: Rehearsal | None = None
        self.sizes: dict[int, int] = {}
        self.judgments: Judgments | None = None
        """The votes so far."""
        self.challenge: tuple[str, ...] = ()
        """The strategy of the challenge that is under way: then that is what is planned."""
        self.driven_by = ""
        """The strategy that ``run`` began with, or ``publish``; empty before the first HIT."""
        if study is not None:
            self._look(study)

    def _look(self, study: Study) -> None:
        with study.transaction(write=False) as db:
            self.committed = Decimal(committed_cents(db)) / 100
            self.rehearsal = load_rehearsal(db)
            golds, verdicts = load_gold_records(db).values(), count_verdicts(db)
            published = "publish" if is_published(db) else ""
            self.driven_by = load_setting(db, "strategy") or published
            self.sizes, self.judgments = load_pools(db).histogram, load_judgments(db)
            challenge = load_open_challenge(db)
        if challenge is not None:  # what is judged next: the newcomers of each query, and its best answer
            newcomers = Counter(query for query, _ in {row[:2] for row in challenge.rows})
            self.sizes = dict(sorted(Counter(1 + count for count in newcomers.values()).items()))
            self.challenge = (rule_of(challenge).name,)
        self.golds = GoldRecord(right=sum(g.right for g in golds), missed=sum(g.missed for g in golds))
        self.submitted = sum(verdicts.values())
        self.dropped = self.submitted - verdicts.get(KEPT, 0)

    def draw_reissued(self, expected: float, rng: np.random.Generator) -> float:
        """Draw the share of assignments that will be dropped and issued again, by what was dropped so far."""
        dropped = _EXPECTED * expected + self.dropped
        kept = _EXPECTED * (1.0 - expected) + self.submitted - self.dropped
        return min(float(rng.beta(dropped, kept)), _MOST_DROPPED) if dropped else 0.0

    def histogram(self) -> dict[int, int]:
        """Return how many queries have a pool of each size."""
        assert self.study is not None
        if not self.sizes:
            raise lacking(self.study, Stage.POOL)
        return self.sizes

    def words(self, budget: Decimal | None, left: Decimal | None) -> tuple[str, ...]:
        """Return a notice of what the study has spent already, which a plan does not include."""
        if not (self.committed or self.driven_by):
            return ()
        what = "judging all pools from the start"
        if self.challenge:
            what = "the challenge that is under way: the newcomers and the best-known answers"
        rehearsed = (str(self.rehearsal),) if self.rehearsal else ()
        of_budget = "" if left is None else f"; ${left:,.2f} of the budget of ${budget:,.2f} is left"
        return (
            f"planned: {what}; the study has committed ${self.committed:,.2f} already{of_budget}",
            *rehearsed,
        )


# How many queries it takes to tell two runs apart, and how many votes that is.


def find_needed(
    difference: float | None,
    deviation: float | None,
    study: PlannedStudy,
    runs: Runs,
    qrels: LabelSets,
    notices: list[Notice],
) -> QueriesNeeded | None:
    """Return how many queries tell two runs apart that differ by so much; None where nobody asks."""
    piloted = bool(runs or qrels)
    if difference is None:
        if deviation is None and not piloted:
            return None
        raise InputError(
            "--deviation, --runs and --qrels need --queries", "Add --queries DIFFERENCE, such as 0.02."
        )
    if deviation is not None and piloted:
        raise InputError(
            "--deviation and a pilot exclude each other", "Leave out --deviation, or --runs and --qrels."
        )
    if deviation is None:
        if not piloted and study.study is None:
            raise InputError(
                "--queries needs the deviation of a difference over queries",
                "Give --deviation, or a pilot: --runs 'runs/*' --qrels FILE.",
            )
        own, judged = (
            None if piloted else study.study,
            study.judgments is not None and len(study.judgments) > 0,
        )
        pilot = read_pilot(own, runs, qrels, notices, judged=judged)
        notices.append(Notice(where="pilot", what=str(pilot)))
        deviation = pilot.deviation
    try:
        return queries_needed(difference, deviation)
    except ValueError as error:
        raise InputError(
            f"--queries {difference:g} --deviation {deviation:g}: {error}",
            "Give a difference of mean scores, such as 0.02, and its deviation over queries, such as 0.3.",
        ) from None


def needed_by_plans(needed: QueriesNeeded, plans: Sequence[Plan], sizes: Mapping[int, int]) -> QueriesNeeded:
    """Return it with what each plan needs: the more of its answers are wrong, the less they show."""
    return replace(needed, by_plan=tuple(_needs(needed, plan, sizes) for plan in plans))


def _needs(needed: QueriesNeeded, plan: Plan, sizes: Mapping[int, int]) -> PlanNeeds:
    many_queries = sum(sizes.values())
    shown = sum(sizes[one.size] * shown_share(one.size, one.chance) for one in plan.by_size) / many_queries
    try:
        queries = queries_needed(
            needed.difference * max(shown, 0.0),
            needed.deviation,
            alpha=needed.alpha,
            chance=needed.chance,
        ).queries
    except ValueError:
        return PlanNeeds(name=plan.name, shown=shown, queries=None, judgments=None)
    judgments = round(plan.judgments / many_queries * queries)
    return PlanNeeds(name=plan.name, shown=shown, queries=queries, judgments=judgments)


def needed_words(needed: QueriesNeeded) -> str:
    """Say it in words, with the queries and votes that each plan takes."""
    each = ", ".join(
        f"{one.name} –" if one.queries is None else f"{one.name} {one.queries:,} and {one.judgments:,}"
        for one in needed.by_plan
    )
    return (
        f"Two runs differ by {needed.difference:g} in truth (deviation over queries {needed.deviation:.3g}). "
        f"To tell them apart in {needed.chance:.0%} of studies takes {many(needed.queries, 'query')} if all "
        f"answers are right. Wrong ones hide the difference: queries and votes by strategy: {each}."
    )


# How votes err in a plan: the share that is given, or estimated from votes and gold pairs, or usual.


class NoiseModel(StrEnum):
    """How votes err."""

    BRADLEY_TERRY = "bradley-terry"
    """Close pairs are harder, as in reality."""
    CONSTANT = "constant"
    """All pairs are equally hard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongVotes:
    """The share of wrong votes on a random pair, and where it is from; ``scales`` is how well it is known."""

    share: float
    source: str
    scales: Scales | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest share of nine crowds of ten; None where it was given."""
        return None if self.scales is None else self.scales.interval()

    def of_studies(self, count: int) -> list[float]:
        """Return the share of so many studies, evenly spread over what is probable."""
        if self.scales is None:
            return [self.share] * count
        found: list[float] = self.scales.errors_at((np.arange(count) + 0.5) / count).tolist()
        return found


def find_wrong_votes(
    error: float | None,
    opened: PlannedStudy,
    judgments: str | Path | None,
    notices: list[Notice],
) -> WrongVotes:
    """Return the share of wrong votes.

    ``notices`` receives what is odd about the judgments, such as that they are simulated.
    """
    if error is not None:
        if not 0.0 < error < 0.5:
            raise InputError(
                f"--error {error}: not a share of wrong votes",
                "Give a share between 0 and 0.5; 0.33 is usual.",
            )
        return WrongVotes(share=error, source="given")
    votes = opened.judgments if judgments is None else read_judgments(judgments, notices=notices)
    if votes is None or not len(votes):
        source = "assumed: usual for crowds on the best passages of a query"
        return WrongVotes(share=USUAL_ERROR, source=source, scales=prior_scales())
    return _estimated(votes, opened, own=judgments is None)


def likely_studies(
    kind: NoiseModel,
    wrong: WrongVotes,
    count: int,
    reissued: Callable[[float], float],
    rng: np.random.Generator,
) -> list[LikelyStudy]:
    """Return so many studies, each with a crowd of its own, and answers that lie as they may."""
    found = []
    for error in wrong.of_studies(count):
        noise: Noise = LapseNoise(error=error, lapses=1.0)
        if kind is not NoiseModel.CONSTANT:
            plain = LapseNoise(error=float(np.clip(error, 1e-3, 0.499)))
            noise = ShapedNoise(plain, usual_shapes(rng))
        found.append(LikelyStudy(noise=noise, reissued=reissued(error)))
    return found


def _estimated(votes: Judgments, opened: PlannedStudy, *, own: bool) -> WrongVotes:
    """Return the share of wrong votes that the votes and gold pairs suggest."""
    right, missed = (opened.golds.right, opened.golds.missed) if own else (0, 0)

    def log_weight(scale: float) -> float:
        return log_weight_of_golds(error_of_scale(scale), right=right, missed=missed)

    rng = generator(opened.study, "plan")
    scales = estimate_scales(votes, rng=rng, log_weight=log_weight)
    repeats = len(votes) - gather_verdicts(votes).n_pairs
    golds = (
        f" and {many(right + missed, 'answer')} to gold pairs, {missed:,} of them wrong"
        if right + missed
        else ""
    )
    words = f"estimated from {many(len(votes), 'judgment')}, {repeats:,} of them repeats,{golds}".rstrip(",")
    if not scales.told:
        words += ", which tell little: it rests on what crowds usually show"
    return WrongVotes(share=scales.error, source=words, scales=scales)

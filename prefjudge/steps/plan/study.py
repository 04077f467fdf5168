"""What a plan needs of a study: its pools, money, votes and gold pairs so far."""

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.judgments import GoldRecord, Judgments
from prefjudge.field.challenge import rule_of
from prefjudge.study.answers import load_open_challenge
from prefjudge.study.assignments import KEPT, load_gold_records, load_judgments
from prefjudge.study.money import committed_cents
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import is_published, load_pools
from prefjudge.study.progress import Stage, count_verdicts, lacking
from prefjudge.study.store import Study, load_setting
from prefjudge.words import Rehearsal

if TYPE_CHECKING:
    from prefjudge.study.config import StudyConfig

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
            f"the study has committed ${self.committed:,.2f} already{of_budget}. The plans are for {what}",
            *rehearsed,
        )

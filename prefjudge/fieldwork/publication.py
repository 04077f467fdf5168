"""Publication: each HIT is published exactly once, also when a call is interrupted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import Eligibility, Task
from prefjudge.errors import BudgetError, CrowdError
from prefjudge.fieldwork import intents
from prefjudge.fieldwork.entry_test import note_test, refuse_test
from prefjudge.fieldwork.exclusion import exclude_earlier
from prefjudge.fieldwork.hit_requests import Pages, eligibility
from prefjudge.study.hits import HitStatus, StudyHit, delete_hit, load_hits, save_hits, save_published
from prefjudge.study.ledger import TOKEN_LIFE, Intent, intend_all, settle, void
from prefjudge.study.study import Study
from prefjudge.study.targets import forget_answers, refuse_other_target

Progress = Callable[[int, int], None]
_TOGETHER = 20
"""HITs that are recorded together: enough that the disk waits little, few to look for after a kill."""


def interrupted_hits(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs whose publication was interrupted: the marketplace may have them, or not."""
    with study.transaction(write=False) as db:
        refuse_other_target(db, target)
        return tuple(load_hits(db, target, HitStatus.PLANNED))


def publish_hits(
    study: Study, crowd: Crowd, hits: Sequence[StudyHit], progress: Progress | None = None
) -> None:
    """Publish HITs, each exactly once; those that are not reached are not recorded, and planned again.

    Raises
    ------
    BudgetError
        The budget does not allow some HIT; those before it are published.
    CrowdError
        The crowd refused one, failed or cannot be reached; what came of the others is recorded.
    """
    if not hits:
        return
    pages, who = Pages(study), eligibility(study)
    refuse_test(crowd, who.tested_by)
    if who.tested_by:
        note_test(study, hits[0].target)
    for start in range(0, len(hits), _TOGETHER):
        some = hits[start : start + _TOGETHER]
        # before anything is intended: a page may be one that the crowd does not take
        tasks = [pages.task(hit, crowd, who) for hit in some]
        batch, refused = _Batch.intend(study, crowd, some)
        if batch.hits:
            batch.publish(tasks, who, partial(_tell, progress, start, len(hits)))
        if refused:
            raise refused


@dataclass(frozen=True, slots=True)
class _Batch:
    """HITs that are recorded together before their calls, and again after them.

    A commit waits for the disk, so one HIT at a time would wait twice. A process that is killed between the
    two leaves intents without an outcome: each call has its token, so a repeat finds what it made.
    """

    study: Study
    crowd: Crowd
    hits: Sequence[StudyHit]
    intents: Sequence[Intent]
    new: frozenset[str]
    """The keys of the HITs that no interrupted call has recorded before."""

    @classmethod
    def intend(
        cls, study: Study, crowd: Crowd, hits: Sequence[StudyHit]
    ) -> "tuple[_Batch, BudgetError | None]":
        """Record HITs together with the intents to publish them, as far as the budget allows."""
        asked = [intents.creation(study, crowd.prices, hit) for hit in hits]
        with study.transaction() as db:
            known, refused = intend_all(db, asked, budget=study.config.budget)
            pairs = list(zip(hits, asked, known, strict=False))
            new = [hit for hit, intent, found in pairs if found is intent]
            if new:
                forget_answers(db, new[0].target)
                save_hits(db, new)
        return cls(study, crowd, hits[: len(known)], known, frozenset(hit.hit_key for hit in new)), refused

    def publish(self, tasks: Sequence[Task], who: Eligibility, progress: Callable[[int], None]) -> None:
        """Make the calls and record what came of them, also where one fails."""
        made: list[str] = []
        called = 0
        try:
            earlier = exclude_earlier(self.study, self.crowd, self.hits)
            for task, intent in zip(tasks, self.intents, strict=False):
                called += 1
                closed = (*who.closed_to, *earlier[task.key])
                closed_task = replace(task, eligibility=replace(who, closed_to=closed))
                made.append(_publish_one(self.crowd, closed_task, intent))
                progress(len(made))
        except CrowdError as error:
            self._record(made, called, refused=called > 0 and isinstance(error, RefusedError))
            raise
        self._record(made, called)

    def _record(self, made: Sequence[str], called: int, *, refused: bool = False) -> None:
        """Record the ids of the HITs made; forget what does not exist, so that it is planned again.

        That is the HIT that was refused, and those new here that no call has reached. What came of a call
        that failed nobody knows: its intent stays.
        """
        now = time.time()
        pairs = list(zip(self.hits, self.intents, strict=True))
        unmade = [pair for pair in pairs[called:] if pair[0].hit_key in self.new]
        with self.study.transaction() as db:
            for (hit, intent), hit_id in zip(pairs, made, strict=False):
                settle(db, intent.token, hit_id, now)
                save_published(db, hit.hit_key, hit_id, now)
            for hit, intent in [*pairs[called - 1 : called], *unmade] if refused else unmade:
                void(db, intent.token)
                delete_hit(db, hit.hit_key)


def _publish_one(crowd: Crowd, task: Task, intent: Intent) -> str:
    """Publish a HIT, or find it where the crowd may have forgotten the token of the first call."""
    # From an hour before the token expires the crowd is searched first: a call with an expired token would
    # publish, and pay for, a second HIT.
    if time.time() - intent.intended > TOKEN_LIFE - 3600 and (found := _find(crowd, task.key)):
        return found
    try:
        return crowd.publish(task)
    except RefusedError:
        if found := _find(crowd, task.key):  # an earlier call made it, and the config has changed since
            return found
        raise


def _tell(progress: Progress | None, before: int, of: int, done: int) -> None:
    if progress:
        progress(before + done, of)


def _find(crowd: Crowd, key: str) -> str | None:
    return next((listed.task_id for listed in crowd.tasks() if listed.key == key), None)

"""Publication: each HIT is published exactly once, also when a call is interrupted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import Task
from prefjudge.fieldwork import intents
from prefjudge.fieldwork.exclusion import exclude_earlier
from prefjudge.fieldwork.hit_requests import Pages, eligibility
from prefjudge.study.hits import HitStatus, StudyHit, delete_hit, load_hits, save_hits, save_published
from prefjudge.study.ledger import TOKEN_LIFE, Intent, intend, settle, void
from prefjudge.study.study import Study
from prefjudge.study.targets import forget_answers, refuse_other_target

Progress = Callable[[int, int], None]


def interrupted_hits(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs whose publication was interrupted: the marketplace may have them, or not."""
    with study.transaction(write=False) as db:
        refuse_other_target(db, target)
        return tuple(load_hits(db, target, HitStatus.PLANNED))


def publish_hits(
    study: Study, crowd: Crowd, hits: Sequence[StudyHit], progress: Progress | None = None
) -> None:
    """Publish HITs, each exactly once; those that are not reached are not recorded, and planned again."""
    if not hits:
        return
    pages, who = Pages(study), eligibility(study)
    for number, hit in enumerate(hits, start=1):
        task = pages.task(hit, crowd, who)
        intent = _intend(study, crowd, hit)
        earlier = exclude_earlier(study, crowd, hit)
        task = replace(task, eligibility=replace(who, closed_to=(*who.closed_to, *earlier)))
        hit_id = _publish_one(study, crowd, task, intent)
        with study.transaction() as db:
            settle(db, task.token, hit_id, time.time())
            save_published(db, hit.hit_key, hit_id, time.time())
        if progress:
            progress(number, len(hits))


def _publish_one(study: Study, crowd: Crowd, task: Task, intent: Intent) -> str:
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
        with study.transaction() as db:
            void(db, task.token)
            delete_hit(db, task.key)
        raise


def _find(crowd: Crowd, key: str) -> str | None:
    return next((listed.task_id for listed in crowd.tasks() if listed.key == key), None)


def _intend(study: Study, crowd: Crowd, hit: StudyHit) -> Intent:
    """Record a HIT together with the intent to publish it."""
    intent = intents.creation(study, crowd.prices, hit)
    with study.transaction() as db:
        known = intend(db, intent, budget=study.config.budget)
        if known is intent:  # new: an interrupted call has recorded its HIT already
            forget_answers(db, hit.target)
            save_hits(db, [hit])
    return known

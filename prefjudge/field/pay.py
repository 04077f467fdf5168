"""The calls that spend money: one verb at a time makes them, each recorded before and after."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from prefjudge.core.hits import CENT
from prefjudge.crowd.protocol import Crowd, Prices, Recruiting, RefusedError
from prefjudge.crowd.tasks import SubmissionState
from prefjudge.errors import StudyError
from prefjudge.field.crowd import open_crowd
from prefjudge.study.hits import StudyHit, has_hit, read_hit_key
from prefjudge.study.money import Intent, intend, load_rejections, void
from prefjudge.study.store import RECOVERING, Study, advised, command

LOCK_TIMEOUT = 60.0
"""How many seconds a verb waits for another one to end."""


@contextmanager
def lock_crowd(study: Study, target: str) -> Iterator[Crowd]:
    """Yield the crowd to one verb of the study at a time, across all processes."""
    # The lock comes first: what another verb has just published must be in the store that is compared.
    with lock_spending(study), open_crowd(study, target) as crowd:
        refuse_unknown_hits(study, crowd, target)
        refuse_forgotten(study, crowd, target)
        yield crowd


@contextmanager
def lock_spending(study: Study) -> Iterator[None]:
    """Wait until no other verb of the study spends, and keep others waiting."""
    with study.database.exclusive(LOCK_TIMEOUT) as alone:
        if not alone:
            raise StudyError(
                "another verb is publishing, collecting or paying in this study",
                "Wait until it has ended, then repeat the verb.",
            )
        yield


def refuse_unknown_hits(study: Study, crowd: Crowd, target: str) -> None:
    """Refuse to spend with a store that is older than the study's work at the marketplace.

    Looking at the study's newest HIT is enough: each HIT is recorded before it is published, so a store that
    knows the newest one knows all earlier ones.
    """
    refuse_unwhole(study)
    for listed in crowd.tasks():
        key = read_hit_key(listed.key)
        if key is None or key.mark != study.mark:
            continue
        with study.transaction(write=False) as db:
            known = has_hit(db, listed.key)
        if not known:
            raise StudyError(
                "the marketplace has HITs of this study that its store does not know, such as "
                f"{listed.task_id}",
                f"Run: {command('store recover', study.folder, target)}; it asks the marketplace.",
            )
        return


def refuse_forgotten(study: Study, crowd: Crowd, target: str) -> None:
    """Refuse where somebody else pays, by a marketplace that was restored and has forgotten decisions.

    In time it approves by itself, in full, what was paid in part or rejected. The latest decision that it
    knows is enough: it knows all earlier ones.
    """
    if not isinstance(crowd, Recruiting):
        return
    with study.transaction(write=False) as db:
        rejected = load_rejections(db, target)
    for assignment_id in rejected:
        try:
            state = crowd.state(assignment_id)
        except RefusedError:  # it was submitted after the copy was made, or its HIT is deleted
            continue
        if state is SubmissionState.SUBMITTED:
            raise StudyError(
                "the marketplace has forgotten what the study has decided, such as on the assignment "
                f"{assignment_id}: it was restored from a backup",
                f"Run: {command('store recover', study.folder, target)}; it decides the same again there.",
            )
        return


def refuse_unwhole(study: Study) -> None:
    """Refuse to continue with a store that is being rebuilt, or was restored from a backup."""
    if why := study.setting(RECOVERING):
        raise StudyError(
            f"the study's store {why}, and may lack what happened since",
            f"Run: {advised(study, 'store recover')}; it asks the marketplace.",
        )


@contextmanager
def intended(study: Study, intent: Intent, *, budget: Decimal | None) -> Iterator[Intent]:
    """Record an intent for the call in the block, or find it where an earlier call was interrupted.

    What the marketplace refused did nothing, so its intent is taken back.
    """
    # Committed before the call: a process that is killed during it leaves a record that money may be spent.
    with study.transaction() as db:
        known = intend(db, intent, budget=budget)
    try:
        yield known
    except RefusedError:  # any other error leaves the outcome unknown, and the intent counts as spent
        with study.transaction() as db:
            void(db, intent.token)
        raise


# The calls that spend or give back, as intents: the same call always has the same token.

EXTEND = "CreateAdditionalAssignmentsForHIT"
"""The ledger names calls as Mechanical Turk does, whatever the crowd."""


def creation(study: Study, prices: Prices, hit: StudyHit) -> Intent:
    """Return the intent to publish a HIT."""
    cents = hit.assignments * _cents(prices.submission(hit.reward_cents * CENT, hit.assignments))
    return _intent(study, "create", "CreateHIT", hit.target, hit.hit_key, cents)


def extension(study: Study, prices: Prices, hit: StudyHit, number: int) -> Intent:
    """Return the intent to ask for one more assignment of a HIT, the ``number``-th."""
    cents = _cents(prices.submission(hit.reward_cents * CENT, hit.assignments))
    return _intent(study, "extend", EXTEND, hit.target, hit.hit_key, cents, number)


def bonus(study: Study, prices: Prices, target: str, assignment_id: str, amount: Decimal) -> Intent:
    """Return the intent to pay a bonus in place of an assignment's reward."""
    return _intent(study, "bonus", "SendBonus", target, assignment_id, _cents(prices.bonus(amount)))


def release(
    study: Study, prices: Prices, target: str, assignment_id: str, reward: Decimal, hit_assignments: int
) -> Intent:
    """Return the intent not to pay for an assignment, which gives its reward and fee back."""
    cents = -_cents(prices.submission(reward, hit_assignments))
    return _intent(study, "release", "RejectAssignment", target, assignment_id, cents)


def overturning(study: Study, rejected: Intent) -> Intent:
    """Return the intent to pay after all for an assignment that was rejected."""
    return _intent(study, "overturn", "OverrideRejection", rejected.target, rejected.subject, -rejected.cents)


def deletion(study: Study, target: str, hit_key: str, cents: int) -> Intent:
    """Return the intent to delete a HIT, which gives back what it holds for answers that never came."""
    return _intent(study, "delete", "DeleteHIT", target, hit_key, cents)


def _intent(
    study: Study, kind: str, operation: str, target: str, subject: str, cents: int, *number: int
) -> Intent:
    return Intent(
        token=study.opaque(kind, subject, *number, length=48),
        operation=operation,
        target=target,
        subject=subject,
        cents=cents,
        intended=time.time(),
    )


def _cents(amount: Decimal) -> int:
    return int(amount / CENT)

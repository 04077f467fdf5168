"""Who is owed what, and why; and the calls that pay it, each once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from prefjudge.core.asking.costs import CENT, prorated
from prefjudge.counts import many
from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.submissions import SubmissionState
from prefjudge.errors import CrowdError
from prefjudge.fieldwork import intents
from prefjudge.fieldwork.decisions import load_decisions
from prefjudge.fieldwork.doubt import waits_until
from prefjudge.fieldwork.spending import intended
from prefjudge.render.pages.hit import languages
from prefjudge.study.assignments import (
    save_decision,
    save_decisions,
    save_rejection,
)
from prefjudge.study.config import EarlyExit
from prefjudge.study.hits import load_unused
from prefjudge.study.ledger import Intent, load_begun_bonuses, load_begun_rejections, settle
from prefjudge.study.people import UndecidedAssignment, evidence_against, load_undecided
from prefjudge.study.progress import moment
from prefjudge.study.study import Study, note_deleted

GIVEN_UP = "its HIT was given up: the texts that it shows are lost"
"""The verdict on an assignment that nobody can read any more."""

MADE_ALL = "made all comparisons"
IN_DOUBT = "paid when its worker's gold pairs leave no doubt"
STOPPED_EARLY = "You stopped early, as you may, and "
"""The start of the reason of a bonus that replaces a reward."""


class Act(StrEnum):
    """What is due to an assignment."""

    APPROVE = "approve"
    """The reward: everybody who worked is paid, those who missed a gold pair too."""
    PRORATE = "prorate"
    """A bonus for the comparisons made, in place of the reward: the worker stopped early."""
    DECIDE = "decide"
    """Nothing yet: the answer is not the page's, or came faster than anybody can read. A person has to look
    at it, and pay or reject."""
    WAIT = "wait"
    """Later: the gold pairs do not show yet that the worker reads (see ``waits_until``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What one assignment is owed."""

    assignment_id: str
    worker_id: str
    hit_key: str
    act: Act
    amount: Decimal
    reward: Decimal
    hit_assignments: int
    why: str
    counts: bool = False


def find_dues(study: Study, target: str, *, held: bool = False) -> tuple[Due, ...]:
    """Return what the assignments that nobody has decided on are owed; with ``held`` a person has decided."""
    with study.transaction(write=False) as db:
        undecided, begun = load_undecided(db, target), load_begun_bonuses(db)
    if not undecided:
        return ()
    decided = () if held else load_decisions(study).keep
    waiting = {} if held else waits_until(study, target, undecided, time.time())
    return tuple(
        _due(
            study,
            one,
            held=held or one.worker_id in decided,
            until=waiting.get(one.assignment_id),
            begun=one.assignment_id in begun,
        )
        for one in undecided
    )


def _due(study: Study, one: UndecidedAssignment, *, held: bool, until: float | None, begun: bool) -> Due:
    """Return what an assignment is owed; ``until`` is when at the latest it is paid, if not now.

    A bonus that was ``begun`` is paid to the end, whatever is known of the worker meanwhile: perhaps it was
    paid, and the reward taken back, in a call that was killed.
    """
    reward = one.reward_cents * CENT
    unfinished = one.answered < one.slots
    why = f"made {one.answered} of {one.slots}" if unfinished else MADE_ALL
    act, amount = Act.APPROVE, reward
    if one.verdict == GIVEN_UP:  # paid whole, never rejected: nobody knows how much was answered
        why = GIVEN_UP
    elif not begun and (suspect := evidence_against(one)):
        act, amount, why = (act, amount, suspect) if held else (Act.DECIDE, Decimal("0.00"), suspect)
    elif unfinished and study.config.pay.early_exit is EarlyExit.BONUS and reward:
        act, amount = Act.PRORATE, prorated(reward, one.answered, one.slots)
    if until is not None and act is not Act.DECIDE and not held and not begun:
        act, why = Act.WAIT, f"{why}; {IN_DOUBT}, and by {moment(until)} in any case"
    return Due(
        assignment_id=one.assignment_id,
        worker_id=one.worker_id,
        hit_key=one.hit_key,
        act=act,
        amount=amount,
        reward=reward,
        hit_assignments=one.hit_assignments,
        why=why,
        counts=one.counting > 0,
    )


def pay_dues(study: Study, crowd: Crowd, target: str, dues: Sequence[Due]) -> None:
    """Pay what is due; a repeat pays nothing twice.

    Raises
    ------
    CrowdError
        The marketplace refused some payment; all others are made.
    """
    refused = []
    approved = _Approved(study)
    for due in dues:
        try:
            if due.act is Act.APPROVE:
                # No intent: publishing has committed the reward, and a repeated approval pays nothing.
                crowd.approve(due.assignment_id, _feedback(study, due))
                approved.add(due.assignment_id)
            elif due.act is Act.PRORATE:
                _prorate(study, crowd, target, due)
        except RefusedError as error:
            refused.append(error)
        except CrowdError:
            approved.record()
            raise
    approved.record()
    if refused:
        raise CrowdError(
            f"{many(len(refused), 'assignment')} cannot be paid: {refused[0].message}",
            "All others are paid. Fix the cause, then pay again.",
        )


def _feedback(study: Study, due: Due) -> str:
    """Return what the screening says to the worker: the truth, and nothing of which pair it came from.

    Nobody has screened what a person decides on, or what cannot be read any more.
    """
    words = languages()[study.config.design.language]
    if due.why != MADE_ALL:
        return ""
    return words["counted"] if due.counts else words["not_counted"]


class _Approved:
    """Assignments that were approved, recorded some at a time: a commit waits for the disk."""

    _TOGETHER = 20

    def __init__(self, study: Study) -> None:
        self._study = study
        self._waiting: list[str] = []

    def add(self, assignment_id: str) -> None:
        self._waiting.append(assignment_id)
        if len(self._waiting) == self._TOGETHER:
            self.record()

    def record(self) -> None:
        if not self._waiting:
            return
        with self._study.transaction() as db:
            save_decisions(db, dict.fromkeys(self._waiting, SubmissionState.APPROVED.value))
        self._waiting = []


def withdraw(study: Study, crowd: Crowd, target: str, due: Due, feedback: str) -> None:
    """Reject an assignment, with the reason: its reward and fee come back, and its pairs wait again."""
    release = _release(study, crowd, target, due)
    with intended(study, release, budget=None):
        crowd.reject(due.assignment_id, feedback)
    with study.transaction() as db:
        settle(db, release.token, "rejected", time.time())
        save_rejection(db, due.assignment_id, feedback, time.time())


def finish_rejections(study: Study, crowd: Crowd, target: str) -> None:
    """Record the rejections that a killed call has made; one that it has not made is left to be repeated."""
    with study.transaction(write=False) as db:
        begun, replaced = load_begun_rejections(db, target), load_begun_bonuses(db)
    for assignment_id, token in begun.items():
        if assignment_id in replaced or crowd.state(assignment_id) is not SubmissionState.REJECTED:
            continue
        with study.transaction() as db:
            settle(db, token, "rejected", time.time())
            save_rejection(db, assignment_id, "by a call that was interrupted", time.time())


def release_unused(study: Study, crowd: Crowd, target: str) -> None:
    """Take back the money of closed HITs for answers that never came, once those that came are decided on."""
    with study.transaction(write=False) as db:
        unused = load_unused(db, target)
    for hit in unused:
        used = hit.came * int(crowd.prices.submission(hit.reward_cents * CENT, hit.assignments) / CENT)
        release = intents.deletion(study, target, hit.hit_key, used - hit.cents)
        # Before the call: the crowd no longer lists a deleted HIT, so `store recover` needs this note.
        note_deleted(study.folder, hit.hit_id)
        with intended(study, release, budget=None):
            crowd.delete(hit.hit_id)
        with study.transaction() as db:
            settle(db, release.token, "deleted", time.time())


def _prorate(study: Study, crowd: Crowd, target: str, due: Due) -> None:
    """Pay a bonus for the comparisons made, and take back the reward.

    A crowd pays for an assignment whole or not at all. To take the reward back after an early exit is not a
    verdict on the work.
    """
    bonus = intents.bonus(study, crowd.prices, target, due.assignment_id, due.amount)
    text = f"{STOPPED_EARLY}{due.why} comparisons: paid ${due.amount} by a bonus."
    decided = crowd.state(due.assignment_id)
    # Approved by the crowd's own delay, and paid whole; or rejected by a person, of which a store that
    # was restored knows nothing: our own rejection follows its bonus.
    if decided is SubmissionState.APPROVED or (
        decided is SubmissionState.REJECTED and not crowd.has_bonus(due.assignment_id, text)
    ):
        _decided(study, due.assignment_id, decided)
        return
    release = _release(study, crowd, target, due)
    # The bonus replaces a larger reward, which the budget has allowed.
    with intended(study, bonus, budget=None):
        # The crowd forgets the token of an interrupted call after a day, but not what it paid; and a
        # store that was restored from a backup may not know of the call.
        if not crowd.has_bonus(due.assignment_id, text):
            crowd.bonus(due.worker_id, due.assignment_id, due.amount, text, token=bonus.token)
    with intended(study, release, budget=None):
        crowd.release(due.assignment_id, text)
    # Settled last and together: an interrupted call stays undecided, so the next `pay` repeats all of it.
    with study.transaction() as db:
        settle(db, bonus.token, "paid", time.time())
        settle(db, release.token, "released", time.time())
        save_decision(db, due.assignment_id, prorated_decision(due.amount))


def _release(study: Study, crowd: Crowd, target: str, due: Due) -> Intent:
    return intents.release(study, crowd.prices, target, due.assignment_id, due.reward, due.hit_assignments)


def prorated_decision(amount: Decimal) -> str:
    """Return the decision to record for an assignment that was paid by a bonus in place of its reward."""
    return f"prorated: ${amount} by bonus"


def _decided(study: Study, assignment_id: str, decision: str) -> None:
    with study.transaction() as db:
        save_decision(db, assignment_id, decision)

"""Settlement: who is owed what, and why; and the calls that pay it, each once."""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from prefjudge.core.hits import CENT, Answer, BadAnswerError, check_answer, prorated
from prefjudge.core.judgments import is_unreadable
from prefjudge.crowd.protocol import Crowd, Disputing, RefusedError
from prefjudge.crowd.tasks import Dispute, Submission, SubmissionState
from prefjudge.errors import CrowdError
from prefjudge.field import pay as intents
from prefjudge.field.pay import intended
from prefjudge.field.trust import decisions_on_workers, waits_until
from prefjudge.pages.hit import languages
from prefjudge.study.assignments import (
    KEPT,
    StudyAssignment,
    StudyJudgment,
    has_rejected,
    load_decisions,
    save_decision,
    save_decisions,
    save_rejection,
)
from prefjudge.study.config import EarlyExit
from prefjudge.study.hits import StudyHit, load_unused
from prefjudge.study.money import Intent, load_begun_bonuses, load_begun_rejections, settle
from prefjudge.study.people import (
    STOPPED,
    TOO_FAST,
    UNABLE,
    UNUSABLE,
    Judge,
    UndecidedAssignment,
    evidence_against,
    is_forged,
    load_undecided,
)
from prefjudge.study.progress import WHOLE_HIT, Remark, load_disputed, save_disputed
from prefjudge.study.store import LIVE, Study, command, moment, note_deleted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.study.config import DesignConfig


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

    target: str
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
    decided = () if held else decisions_on_workers(study).keep
    waiting = {} if held else waits_until(study, target, undecided, time.time())
    return tuple(
        _due(
            study,
            target,
            one,
            held=held or one.worker_id in decided,
            until=waiting.get(one.assignment_id),
            begun=one.assignment_id in begun,
        )
        for one in undecided
    )


def _due(
    study: Study, target: str, one: UndecidedAssignment, *, held: bool, until: float | None, begun: bool
) -> Due:
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
        target=target,
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


_TOGETHER = 20
"""Assignments that are recorded as paid together: a commit waits for the disk."""


def pay_dues(study: Study, crowd: Crowd, dues: Sequence[Due]) -> None:
    """Pay what is due; a repeat pays nothing twice."""
    refused = []
    for start in range(0, len(dues), _TOGETHER):
        approved = dict[str, str]()
        try:
            for due in dues[start : start + _TOGETHER]:
                try:
                    if due.act is Act.APPROVE:
                        # No intent: publishing has committed the reward, and a repeat pays nothing.
                        crowd.approve(due.assignment_id, _feedback(study, due))
                        approved[due.assignment_id] = SubmissionState.APPROVED.value
                    elif due.act is Act.PRORATE:
                        _prorate(study, crowd, due)
                except RefusedError as error:
                    refused.append(error)
        finally:
            if approved:
                with study.transaction() as db:
                    save_decisions(db, approved)
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
    if due.counts:
        return words["counted"]
    paid = due.target == LIVE and due.amount  # a sandbox's people are not, and read nothing of pay
    return f"{words['not_counted']} {words['still_paid']}" if paid else words["not_counted"]


def withdraw(study: Study, crowd: Crowd, due: Due, feedback: str) -> None:
    """Reject an assignment, with the reason: its reward and fee come back, and its pairs wait again."""
    release = _release(study, crowd, due)
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
        try:
            with intended(study, release, budget=None):
                crowd.delete(hit.hit_id)
        except RefusedError as error:
            again = command("store recover", study.folder, target)
            raise RefusedError(
                error.message,
                f"If the marketplace was restored from a backup, run: {again}; it decides again there what "
                "the study has decided.",
            ) from error
        with study.transaction() as db:
            settle(db, release.token, "deleted", time.time())


def _prorate(study: Study, crowd: Crowd, due: Due) -> None:
    """Pay a bonus for the comparisons made, and take back the reward.

    A crowd pays for an assignment whole or not at all. To take the reward back after an early exit is not a
    verdict on the work.
    """
    bonus = intents.bonus(study, crowd.prices, due.target, due.assignment_id, due.amount)
    text = f"{STOPPED_EARLY}{due.why} comparisons: paid ${due.amount} by a bonus."
    decided = crowd.state(due.assignment_id)
    # Approved by the crowd's own delay, and paid whole; or rejected by a person, of which a store that
    # was restored knows nothing: our own rejection follows its bonus.
    if decided is SubmissionState.APPROVED or (
        decided is SubmissionState.REJECTED and not crowd.has_bonus(due.assignment_id, text)
    ):
        with study.transaction() as db:
            save_decision(db, due.assignment_id, decided)
        return
    release = _release(study, crowd, due)
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


def _release(study: Study, crowd: Crowd, due: Due) -> Intent:
    return intents.release(
        study, crowd.prices, due.target, due.assignment_id, due.reward, due.hit_assignments
    )


def prorated_decision(amount: Decimal) -> str:
    """Return the decision to record for an assignment that was paid by a bonus in place of its reward."""
    return f"prorated: ${amount} by bonus"


def prorated_amount(decision: str) -> Decimal | None:
    """Return what such a decision paid; None for any other."""
    found = re.fullmatch(r"prorated: \$(.+) by bonus", decision)
    return Decimal(found[1]) if found else None


# Checks what a worker sent back against the HIT as it was served.

MISSED_GOLD = "missed a gold pair"

Pairs = Mapping[int, tuple[str, str, str]]
"""query_id, doc_a and doc_b of each pair, by its number."""


def assumed_judge(study: Study, target: str) -> Judge:
    """Return who judges at a target, by the config; its marketplace may say that a worker is simulated."""
    configured = study.config.target(target)
    return Judge(configured.judge) if configured else Judge.PERSON


def check_assignment(
    hit: StudyHit,
    found: Submission,
    pairs: Pairs,
    design: "DesignConfig",
    withdrawn: Collection[int] = (),
    *,
    judge: Judge = Judge.PERSON,
    words: int | None = None,
    least: float = 0.0,
) -> StudyAssignment:
    """Return the assignment with its verdict, by the gold pairs that were not withdrawn.

    It is kept, or the verdict says why its data is dropped. It is simulated where the marketplace says so;
    otherwise ``judge`` decides, since a program may use an account made for a person, and only the requester
    knows. With ``words``, which the page shows, a person must have had the time to read them: ``least``
    seconds a comparison, and as long as the page says that it was looked at.
    """
    if found.simulated:
        judge = Judge.SIMULATED
    answer, verdict = _read(hit, found, design)
    is_gold = [
        slot.gold_id is not None and not any(pair.gold_id in withdrawn for pair in slot.pairs)
        for slot in hit.slots
    ]
    golds = [c.chose_first for c in answer.choices if is_gold[c.slot]] if answer else []
    if not all(golds):
        verdict = MISSED_GOLD
    elif answer and len(golds) < sum(is_gold):
        verdict = STOPPED
    elif answer and 2 * len(answer.unable) > len(hit.slots):
        verdict = UNABLE
    if answer and words is not None and judge is Judge.PERSON and _too_fast(hit, found, answer, words, least):
        verdict = TOO_FAST
    judged = len(answer.choices) if answer else 0
    return StudyAssignment(
        assignment_id=found.submission_id,
        hit_key=hit.hit_key,
        worker_id=found.worker_id,
        accepted=found.accepted,
        submitted=found.submitted,
        collected=time.time(),
        answer=found.raw,
        judge=judge,
        layout=answer.layout if answer else 0,
        # To find that a pair cannot be judged is work, too; but not where the gold pairs were passed over,
        # nor of more than a few pairs: it would be the quickest way to be paid.
        answered=judged
        + (min(len(answer.unable), -(-len(hit.slots) // 5)) if answer and verdict == KEPT else 0),
        gold_right=sum(golds),
        gold_missed=len(golds) - sum(golds),
        seconds=answer.seconds if answer else 0.0,
        verdict=verdict,
        judgments=_judgments(hit, answer, pairs) if answer else (),
        remarks=_remarks(hit, answer, comments=design.comments) if answer else (),
        pays_itself=found.pays_itself,
    )


def _too_fast(hit: StudyHit, found: Submission, answer: Answer, words: int, least: float) -> bool:
    """Return whether nobody can have read what was answered, by the times that the crowd has measured."""
    if found.accepted is None or found.submitted is None or not answer.choices:
        return False
    share, passed = len(answer.choices) / len(hit.slots), found.submitted - found.accepted
    if is_forged(answer.seconds, passed) or passed < least * len(answer.choices):
        return True
    return is_unreadable(passed, len(answer.choices), int(share * words))


def _read(hit: StudyHit, found: Submission, design: "DesignConfig") -> tuple[Answer | None, str]:
    if hit.given_up:
        return None, GIVEN_UP
    if found.fault:
        return None, f"{UNUSABLE}: {found.fault}"
    try:
        answer = check_answer(
            found.fields,
            [slot.name for slot in hit.slots],
            [slot.passages for slot in hit.slots],
            hit.layouts,
            found.submission_id,
            allow_ties=design.allow_ties,
            strengths=len(design.strengths),
            allow_unable=design.allow_unable,
        )
    except BadAnswerError as error:
        return None, f"{UNUSABLE}: {error}"
    return answer, KEPT


def _remarks(hit: StudyHit, answer: Answer, *, comments: bool) -> tuple[Remark, ...]:
    said = answer.comments if comments else {}
    found = [
        Remark(
            slot=slot,
            pair_id=hit.slots[slot].pair_id,
            unable=answer.unable.get(slot, ""),
            comment=said.get(slot, ""),
        )
        for slot in sorted({*answer.unable, *said})
    ]
    if comments and answer.remark:
        found.append(Remark(slot=WHOLE_HIT, pair_id=None, unable="", comment=answer.remark))
    return tuple(found)


def _judgments(hit: StudyHit, answer: Answer, pairs: Pairs) -> tuple[StudyJudgment, ...]:
    found = []
    for choice in answer.choices:
        slot = hit.slots[choice.slot]
        tokens = [slot.passages[place] for place in choice.shown]
        chosen = "" if choice.chosen is None else slot.passages[choice.chosen]
        docs = {
            token: doc
            for pair in slot.pairs
            if pair.pair_id is not None
            for token, doc in zip(pair.tokens, pairs[pair.pair_id][1:], strict=True)
        }
        for pair in slot.pairs:
            if pair.pair_id is None or (chosen and chosen not in pair.tokens):
                continue
            left, right = sorted(pair.tokens, key=tokens.index)
            found.append(
                StudyJudgment(
                    pair_id=pair.pair_id,
                    query_id=pairs[pair.pair_id][0],
                    left_id=docs[left],
                    right_id=docs[right],
                    choice=(chosen == left) - (chosen == right),
                    strength=choice.strength,
                    milliseconds=choice.milliseconds,
                    shown=" ".join(docs[token] for token in tokens) if slot.more else "",
                )
            )
    return tuple(found)


# The disputes that wait for an answer: whose they are, and how many, without asking at each look.

_ASK_AGAIN = 60.0
"""Seconds for which an answer is good enough: while people work, `collect` looks every two seconds."""


def list_disputes(study: Study, crowd: Disputing, target: str) -> Sequence[Dispute]:
    """Return the disputes of this study's assignments, as its requester may have other studies."""
    with study.transaction(write=False) as db:
        known = load_decisions(db)
    found = [one for one in crowd.disputes() if one.submission_id in known]
    with study.transaction() as db:
        save_disputed(db, target, len(found), time.time())
    return found


def count_disputes(study: Study, crowd: Crowd, target: str, *, again_after: float = _ASK_AGAIN) -> int:
    """Return how many disputes wait; the crowd is asked only where it has them, and not again so soon.

    Where it does not answer, the count is that of the last time: nothing else depends on it.
    """
    with study.transaction(write=False) as db:
        if not has_rejected(db, target):
            return 0
        count, asked = load_disputed(db, target)
    if not isinstance(crowd, Disputing) or time.time() - asked < again_after:
        return count
    try:
        return len(list_disputes(study, crowd, target))
    except CrowdError:
        return count

"""Rejects an assignment, and answers who disputes it: only ever by a person, one at a time, with a reason."""

import time
from dataclasses import dataclass
from pathlib import Path

from prefjudge.crowd.protocol import Crowd, Disputing, Recruiting
from prefjudge.crowd.tasks import SubmissionState
from prefjudge.errors import StudyError
from prefjudge.field import pay as intents
from prefjudge.field.crowd import open_crowd
from prefjudge.field.pay import intended, lock_crowd
from prefjudge.field.publish import settle_elsewhere
from prefjudge.field.settle import count_disputes, find_dues, list_disputes, withdraw
from prefjudge.show.results import Shown
from prefjudge.study.assignments import REJECTED, find_worker, load_decisions, save_decision
from prefjudge.study.money import find_rejection, settle
from prefjudge.study.store import LIVE, SANDBOX, Study, command, moment, open_study


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeRow:
    """A dispute that waits for an answer; the worker by a pseudonym."""

    assignment: str
    worker: str
    raised: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RejectResult(Shown):
    """What was rejected, answered or paid after all, and whose, by a pseudonym.

    ``done`` says which. Where no assignment was named all these are empty, and ``disputes`` has those that
    wait for an answer. ``notices`` says what happened where the people come from.
    """

    assignment_id: str = ""
    worker_id: str = ""
    reason: str = ""
    done: str = ""
    disputes: tuple[DisputeRow, ...] = ()
    notices: tuple[str, ...] = ()


def reject(
    study: str | Path | Study,
    assignment: str | None = None,
    *,
    reason: str = "",
    overturn: bool = False,
    live: bool = False,
) -> RejectResult:
    """Reject an assignment, answer its worker's dispute, or list the disputes that wait for an answer.

    Rejected work no longer counts. If the worker disputes the rejection, a second call with a reason answers
    that it stands; with ``overturn`` the reward is paid after all. The work stays dropped either way: its
    pairs were asked again.

    Parameters
    ----------
    study : Path
        The study's folder.
    assignment : str, optional
        The assignment's id; without it, the disputes are listed.
    reason : str
        What to tell the worker.
    overturn : bool
        Take the rejection back, and pay.
    live : bool
        Do it at the live target.

    Raises
    ------
    StudyError
        The assignment is not the study's, is decided on already, or no reason is given.
    BudgetError
        The budget does not allow to pay after all.
    CrowdError
        The marketplace failed, or its workers cannot dispute a rejection.
    """
    opened = open_study(study)
    target = LIVE if live else SANDBOX
    if assignment is None:
        if reason or overturn:
            raise StudyError("a reason is for one assignment", "Give its id, or leave the options out.")
        with open_crowd(opened, target) as crowd:
            return RejectResult(disputes=_disputes(opened, crowd, target))
    if not reason.strip():
        raise StudyError("a rejection needs a reason", 'Say what was wrong: --reason "…"')
    with lock_crowd(opened, target) as crowd:
        worker, done, happened = _decide(opened, crowd, target, assignment, reason, overturn=overturn)
        if done != REJECTED:
            count_disputes(opened, crowd, target, again_after=0)
    return RejectResult(
        assignment_id=assignment,
        worker_id=opened.opaque("worker", worker),
        reason=reason,
        done=done,
        notices=happened,
    )


def _decide(
    study: Study, crowd: Crowd, target: str, assignment: str, reason: str, *, overturn: bool
) -> tuple[str, str, tuple[str, ...]]:
    """Do what is asked for; return the worker, what was done, and what happened elsewhere."""
    if overturn:
        settle_elsewhere(study, crowd, heeds=assignment)  # what was paid so far is for what was earned so far
        worker = _overturn(study, crowd, target, assignment, reason)
        _, happened = settle_elsewhere(study, crowd, heeds=assignment)
        paid = not isinstance(crowd, Recruiting) or crowd.is_paid(assignment)
        return worker, "paid after all" if paid else "taken back here; it is not paid yet there", happened
    for due in find_dues(study, target):
        if due.assignment_id == assignment:
            withdraw(study, crowd, due, reason)
            return due.worker_id, REJECTED, ()
    if _is_rejected(study, assignment) and isinstance(crowd, Disputing):
        for one in crowd.disputes():
            if one.submission_id == assignment:
                crowd.uphold(assignment, reason)
                return one.worker_id, "answered", ()
    raise StudyError(
        f"{assignment} is not an assignment of this study that waits for a decision",
        f"See: {command('pay', study.folder, target)} --dry-run; "
        f"and who disputes a rejection: {command('reject', study.folder, target)}",
    )


def _is_rejected(study: Study, assignment: str) -> bool:
    with study.transaction(write=False) as db:
        return load_decisions(db).get(assignment) == REJECTED


def _overturn(study: Study, crowd: Crowd, target: str, assignment: str, reason: str) -> str:
    """Pay for a rejected assignment after all; its price is committed again. Return the worker."""
    with study.transaction(write=False) as db:
        rejected = find_rejection(db, assignment, target)
        worker = find_worker(db, assignment)
    if rejected is None or not isinstance(crowd, Disputing):
        raise StudyError(
            f"{assignment} is not an assignment that this study has rejected and can pay after all",
            f"See: {command('reject', study.folder, target)}",
        )
    intent = intents.overturning(study, rejected)
    with intended(study, intent, budget=study.config.budget):
        crowd.overturn(assignment, reason)
    with study.transaction() as db:
        settle(db, intent.token, "approved", time.time())
        save_decision(db, assignment, SubmissionState.APPROVED.value)
    return worker


def _disputes(study: Study, crowd: Crowd, target: str) -> tuple[DisputeRow, ...]:
    if not isinstance(crowd, Disputing):
        raise StudyError(
            f"at {crowd.endpoint} workers do not dispute a rejection through prefjudge",
            "Answer them there.",
        )
    return tuple(
        DisputeRow(
            assignment=one.submission_id,
            worker=study.opaque("worker", one.worker_id),
            raised=moment(one.raised),
            text=one.text,
        )
        for one in list_disputes(study, crowd, target)
    )

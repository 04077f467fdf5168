"""Checks what a worker sent back against the HIT as it was served."""

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from prefjudge.core.asking.slot_answers import Answer, BadAnswerError, check_answer
from prefjudge.core.judges.screening import is_unreadable
from prefjudge.crowd.submissions import Submission
from prefjudge.fieldwork.settlement import GIVEN_UP
from prefjudge.study.assignments import KEPT, StudyAssignment, StudyJudgment
from prefjudge.study.hits import StudyHit
from prefjudge.study.people import STOPPED, TOO_FAST, UNUSABLE
from prefjudge.study.progress import WHOLE_HIT, Remark
from prefjudge.study.rehearsal import Judge
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.study.config import DesignConfig

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
) -> StudyAssignment:
    """Return the assignment with its verdict, by the gold pairs that were not withdrawn.

    It is kept, or the verdict says why its data is dropped. It is simulated where the marketplace says so;
    otherwise ``judge`` decides, since a program may use an account made for a person, and only the requester
    knows. With ``words``, which the page shows, a person must have had the time to read them.
    """
    if found.simulated:
        judge = Judge.SIMULATED
    answer, verdict = _read(hit, found, design)
    is_gold = [slot.gold_id is not None and slot.gold_id not in withdrawn for slot in hit.slots]
    golds = [c.chose_first for c in answer.choices if is_gold[c.slot]] if answer else []
    if not all(golds):
        verdict = MISSED_GOLD
    elif answer and len(golds) < sum(is_gold):
        verdict = STOPPED
    if answer and words is not None and judge is Judge.PERSON and _too_fast(hit, found, answer, words):
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
        # To find that a pair cannot be judged is work, too; but not where the gold pairs were passed over.
        answered=judged + (len(answer.unable) if answer and verdict == KEPT else 0),
        gold_right=sum(golds),
        gold_missed=len(golds) - sum(golds),
        seconds=answer.seconds if answer else 0.0,
        verdict=verdict,
        judgments=_judgments(hit, answer, pairs) if answer else (),
        remarks=_remarks(hit, answer, comments=design.comments) if answer else (),
        pays_itself=found.pays_itself,
    )


def _too_fast(hit: StudyHit, found: Submission, answer: Answer, words: int) -> bool:
    """Return whether nobody can have read what was answered, by the times that the crowd has measured."""
    if found.accepted is None or found.submitted is None or not answer.choices:
        return False
    share = len(answer.choices) / len(hit.slots)
    return is_unreadable(found.submitted - found.accepted, len(answer.choices), int(share * words))


def _read(hit: StudyHit, found: Submission, design: "DesignConfig") -> tuple[Answer | None, str]:
    if hit.given_up:
        return None, GIVEN_UP
    if found.fault:
        return None, f"{UNUSABLE}: {found.fault}"
    try:
        answer = check_answer(
            found.fields,
            [slot.name for slot in hit.slots],
            [slot.tokens for slot in hit.slots],
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
        pair_id = hit.slots[choice.slot].pair_id
        if pair_id is None:
            continue
        query_id, doc_a, doc_b = pairs[pair_id]
        left, right = (doc_a, doc_b) if choice.first_on_left else (doc_b, doc_a)
        found.append(
            StudyJudgment(
                pair_id=pair_id,
                query_id=query_id,
                left_id=left,
                right_id=right,
                choice=choice.choice,
                strength=choice.strength,
                milliseconds=choice.milliseconds,
            )
        )
    return tuple(found)

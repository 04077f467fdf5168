"""Compares what a study knows about its HITs with what the marketplace knows."""

from collections import Counter

from prefjudge.counts import many
from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.submissions import SubmissionState
from prefjudge.errors import PrefjudgeError
from prefjudge.fieldwork.crowds import open_crowd
from prefjudge.fieldwork.settlement import STOPPED_EARLY
from prefjudge.steps.doctor.checks import Check, State, failed
from prefjudge.study.assignments import load_collected
from prefjudge.study.hits import HitStatus, StudyHit, load_hits, read_hit_key
from prefjudge.study.study import Study
from prefjudge.study.targets import command


def compare_hits(study: Study, target: str) -> Check:
    """Return which HITs and assignments only one side knows, and which were paid twice."""
    name = f"study against {target}"
    try:
        with open_crowd(study, target) as crowd:
            wrong, hits, assignments = _compare(study, target, crowd)
    except PrefjudgeError as error:
        return failed(name, error)
    if wrong:
        hint = f"Run: {command('recover', study.folder, target)}; it adds what the store lacks. "
        hint += "What a marketplace lacks after a restore stays lost."
        return Check(name=name, state=State.WRONG, found="; ".join(wrong), hint=hint)
    agreed = f"{many(hits, 'HIT')} and {many(assignments, 'assignment')} are the same in both"
    return Check(name=name, state=State.WELL, found=agreed)


def _compare(study: Study, target: str, crowd: Crowd) -> tuple[list[str], int, int]:
    """Return what is wrong, and how many HITs and assignments were compared."""
    with study.transaction(write=False) as db:
        known = {hit.hit_key: hit for hit in load_hits(db, target) if hit.hit_id}
        collected = load_collected(db, target)
    listed = Counter(task.key for task in crowd.tasks() if _is_own(study, task.key))
    unseen, lost, twice, missed = [], 0, 0, 0
    for key, hit in known.items():
        try:
            there, double = _look(crowd, hit)
        except RefusedError:
            unseen.append(hit.hit_id or "")
            continue
        lost += len(collected.get(key, set()) - there)
        if hit.status is HitStatus.CLOSED:  # `collect` has yet to fetch what came to an open one
            missed += len(there - collected.get(key, set()))
        twice += double
    orphans = sorted(set(listed) - set(known))
    again = sum(count > 1 for count in listed.values())
    findings: tuple[tuple[int, str, str, list[str]], ...] = (
        (len(orphans), "HIT", "there that the study does not know", orphans),
        (len(unseen), "HIT", "that the marketplace does not know", unseen),
        (again, "HIT", "published twice", []),
        (lost, "assignment", "that the marketplace does not know", []),
        (missed, "assignment", "that the study does not know", []),
        (twice, "assignment", "paid twice", []),
    )
    wrong = [
        " ".join([many(count, noun), what, *(f"({name})" for name in names[:1])])
        for count, noun, what, names in findings
        if count
    ]
    return wrong, len(known), sum(map(len, collected.values()))


def _is_own(study: Study, text: str) -> bool:
    key = read_hit_key(text)
    return key is not None and key.mark == study.mark


def _look(crowd: Crowd, hit: StudyHit) -> tuple[set[str], int]:
    """Return the assignments that came to a HIT, and how many were paid more than once."""
    fetched = crowd.fetch(hit.hit_id or "")
    bonuses = Counter(
        paid.submission_id
        for paid in crowd.bonuses(hit.hit_id or "")
        if paid.reason.startswith(STOPPED_EARLY)
    )
    approved = {
        found.submission_id for found in fetched.submissions if found.state is SubmissionState.APPROVED
    }
    double = sum(count > 1 or name in approved for name, count in bonuses.items())
    return {found.submission_id for found in fetched.submissions}, double

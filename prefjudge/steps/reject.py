"""Rejects an assignment: only ever by a person, one at a time, with a reason."""

from dataclasses import dataclass
from pathlib import Path

from prefjudge.errors import StudyError
from prefjudge.fieldwork.settlement import find_dues, withdraw
from prefjudge.fieldwork.spending import lock_crowd
from prefjudge.render.shown import Shown
from prefjudge.study.study import Study, open_study
from prefjudge.study.targets import LIVE, SANDBOX, command


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RejectResult(Shown):
    """What was rejected, and whose, by a pseudonym."""

    assignment_id: str
    worker_id: str
    reason: str


def reject(study: str | Path | Study, assignment: str, *, reason: str, live: bool = False) -> RejectResult:
    """Reject one assignment, with a reason that its worker reads; its judgments count no more.

    Parameters
    ----------
    study : Path
        The study's folder.
    assignment : str
        The assignment's id.
    reason : str
        What to tell the worker.
    live : bool
        Reject at the live target.

    Raises
    ------
    StudyError
        The assignment is not the study's, is decided on already, or no reason is given.
    """
    if not reason.strip():
        raise StudyError("a rejection needs a reason", 'Say what was wrong: --reason "…"')
    opened = open_study(study)
    target = LIVE if live else SANDBOX
    with lock_crowd(opened, target) as crowd:
        found = [due for due in find_dues(opened, target) if due.assignment_id == assignment]
        if not found:
            raise StudyError(
                f"{assignment} is not an assignment of this study that waits for a decision",
                f"See: {command('pay', opened.folder, target)} --dry-run",
            )
        withdraw(opened, crowd, target, found[0], reason)
    worker = opened.opaque("worker", found[0].worker_id)
    return RejectResult(assignment_id=assignment, worker_id=worker, reason=reason)

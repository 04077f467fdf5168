"""The disputes that wait for an answer: whose they are, and how many, without asking at each look."""

import time
from collections.abc import Sequence

from prefjudge.crowd.protocol import Crowd, Disputing
from prefjudge.crowd.submissions import Dispute
from prefjudge.errors import CrowdError
from prefjudge.study.assignments import has_rejected, load_decisions
from prefjudge.study.progress import load_disputed, save_disputed
from prefjudge.study.study import Study

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

"""The study's log in full: every judgment and assignment that was collected, and what became of it."""

from dataclasses import dataclass

from prefjudge.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedJudgment:
    """One worker's choice: 1 for the passage on the left, -1 for the right, 0 for a tie.

    ``dropped`` says why it does not count, and is empty where it does.
    """

    query_id: str
    left: str
    right: str
    choice: int
    strength: int
    milliseconds: int
    worker_id: str
    judge: str
    phase: str
    assignment_id: str
    dropped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAssignment:
    """One worker's work on a HIT: how much was answered, how it fared on gold, and whether it was kept."""

    assignment_id: str
    hit_key: str
    worker_id: str
    answered: int
    gold_right: int
    gold_missed: int
    seconds: float
    verdict: str


def load_judgment_log(db: Connection) -> list[LoggedJudgment]:
    """Return every judgment, in the order of the log."""
    rows = db.execute(
        "SELECT query_id, left_id, right_id, choice, strength, milliseconds, worker_id, judge, phase, "
        "assignment_id, coalesce(reason, '') FROM judgments LEFT JOIN drops USING (judgment_id) "
        "ORDER BY judgment_id"
    )
    names = LoggedJudgment.__slots__
    return [LoggedJudgment(**dict(zip(names, row, strict=True))) for row in rows]


def load_assignment_log(db: Connection) -> list[LoggedAssignment]:
    """Return every assignment, in the order in which they were submitted."""
    rows = db.execute(
        "SELECT assignment_id, hit_key, worker_id, answered, gold_right, gold_missed, seconds, verdict "
        "FROM assignments ORDER BY submitted, assignment_id"
    )
    names = LoggedAssignment.__slots__
    return [LoggedAssignment(**dict(zip(names, row, strict=True))) for row in rows]

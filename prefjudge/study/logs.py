"""The study's log in full: every judgment and assignment that was collected, and what became of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from prefjudge.database import Connection
from prefjudge.study.targets import COUNTED, current_target


class LoggedJudgment(NamedTuple):
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
    """One worker's work on a HIT: how much was answered, gold pairs right and missed, and the verdict.

    ``judge`` says who made its judgments; None where it has none.
    """

    assignment_id: str
    hit_key: str
    worker_id: str
    judge: str | None
    answered: int
    gold_right: int
    gold_missed: int
    seconds: float
    verdict: str


def load_judgment_log(db: Connection) -> list[LoggedJudgment]:
    """Return every judgment at the target whose work is the study's, in the order of the log."""
    return [*each_judgment(db)]


def each_judgment(db: Connection) -> Iterator[LoggedJudgment]:
    """Yield the same one by one, while the transaction is open."""
    for rows in db.parts(
        "SELECT j.query_id, j.left_id, j.right_id, j.choice, j.strength, j.milliseconds, j.worker_id, "
        "j.judge, j.phase, j.assignment_id, coalesce(d.reason, '') FROM judgments j "
        "JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key) "
        f"LEFT JOIN drops d USING (judgment_id) WHERE {COUNTED} ORDER BY j.judgment_id",
        target=current_target(db),
    ):
        yield from map(LoggedJudgment._make, rows)


def load_assignment_log(db: Connection) -> list[LoggedAssignment]:
    """Return every assignment at that target, in the order in which they were submitted."""
    rows = db.execute(
        "SELECT a.assignment_id, a.hit_key, a.worker_id, "
        "(SELECT min(j.judge) FROM judgments j WHERE j.assignment_id = a.assignment_id), "
        "a.answered, a.gold_right, a.gold_missed, a.seconds, a.verdict FROM assignments a "
        f"JOIN hits h USING (hit_key) WHERE {COUNTED} "
        "ORDER BY a.submitted, a.assignment_id",
        target=current_target(db),
    )
    names = LoggedAssignment.__slots__
    return [LoggedAssignment(**dict(zip(names, row, strict=True))) for row in rows]


def load_private(db: Connection) -> list[str]:
    """Return what nobody else may see: ids of workers, work and HITs, what stands for a passage, paths."""
    rows = db.execute(
        "SELECT worker_id FROM assignments UNION SELECT assignment_id FROM assignments "
        "UNION SELECT hit_key FROM hits UNION SELECT hit_id FROM hits WHERE hit_id IS NOT NULL "
        "UNION SELECT first_token FROM slots UNION SELECT second_token FROM slots "
        "UNION SELECT path FROM inputs"
    )
    return [str(found) for (found,) in rows]

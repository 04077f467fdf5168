"""Who judged, and how much of a study is a rehearsal: judged by accounts that were made for simulation."""

from dataclasses import dataclass
from enum import StrEnum

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.database import Connection
from prefjudge.study.targets import COUNTED, current_target


class Judge(StrEnum):
    """Who made a collected judgment; models' votes are stored apart, under the models' names."""

    PERSON = "person"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """One kind of judge: how many there are, 0 where nobody knows, and how many of their judgments count."""

    judge: Judge
    workers: int
    judgments: int


def load_judges(db: Connection) -> list[Judges]:
    """Return who made the judgments that count."""
    rows = db.execute(
        "SELECT j.judge, count(DISTINCT CASE WHEN j.worker_id <> '' THEN j.worker_id END), count(*) "
        "FROM judgments j JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key) "
        "LEFT JOIN drops d ON d.judgment_id = j.judgment_id "
        f"WHERE d.judgment_id IS NULL AND {COUNTED} GROUP BY j.judge ORDER BY j.judge",
        target=current_target(db),
    )
    return [Judges(judge=Judge(judge), workers=workers, judgments=count) for judge, workers, count in rows]


def load_rehearsal(db: Connection) -> Rehearsal | None:
    """Return how much of the study's work is a rehearsal; None where people did all of it."""
    counts: dict[str, int] = dict(
        db.execute(
            "SELECT j.judge, count(*) FROM judgments j JOIN assignments a USING (assignment_id) "
            f"JOIN hits h USING (hit_key) WHERE {COUNTED} GROUP BY j.judge",
            target=current_target(db),
        )
    )
    simulated = int(counts.get(Judge.SIMULATED.value, 0))
    return Rehearsal(simulated=simulated, judgments=sum(counts.values())) if simulated else None

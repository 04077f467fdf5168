"""Who judged, and how much of a study is a rehearsal: judged by accounts that were made for simulation."""

from enum import StrEnum

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.database import Connection
from prefjudge.study.targets import COUNTED, current_target


class Judge(StrEnum):
    """Who made a collected judgment; models' votes are stored apart, under the models' names."""

    PERSON = "person"
    SIMULATED = "simulated"


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

"""Who judged, and how much of a study is rehearsed: judged by accounts that were made for simulation."""

from dataclasses import dataclass
from enum import StrEnum

from prefjudge.counts import many
from prefjudge.database import Connection
from prefjudge.study.targets import current_target


class Judge(StrEnum):
    """Who made a judgment that was collected; the votes of models are kept apart, by the models' names."""

    PERSON = "person"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Judgments that were collected, those that do not count among them, and how many are simulated."""

    simulated: int
    judgments: int

    def __str__(self) -> str:
        return f"rehearsal: {self.simulated:,} of {many(self.judgments, 'judgment')} are simulated"


def load_rehearsal(db: Connection) -> Rehearsal | None:
    """Return how much is rehearsed of the work that is the study's; None where people did all of it."""
    counts: dict[str, int] = dict(
        db.execute(
            "SELECT j.judge, count(*) FROM judgments j JOIN assignments a USING (assignment_id) "
            "JOIN hits h USING (hit_key) WHERE h.target = :target GROUP BY j.judge",
            target=current_target(db),
        )
    )
    simulated = int(counts.get(Judge.SIMULATED.value, 0))
    return Rehearsal(simulated=simulated, judgments=sum(counts.values())) if simulated else None

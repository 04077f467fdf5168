"""What workers said beside their choices: comments, and pairs that they could not judge."""

from collections.abc import Sequence
from dataclasses import dataclass

from prefjudge.database import Connection, row_of
from prefjudge.study.targets import COUNTED, current_target

WHOLE_HIT = -1
"""The slot of a remark on the whole HIT."""
ENOUGH_UNABLE = 3
"""A pair that so many workers could not judge is not asked for again: it would be paid for without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a worker said of one slot of a HIT, or of all of it; neither text is to be trusted.

    ``pair_id`` is None for a gold pair and for the whole HIT. ``unable`` says why the pair could not be
    judged, and is empty where it was.
    """

    slot: int
    pair_id: int | None
    unable: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRemark:
    """A remark with its worker and its pair; ``query_id`` is empty where it is on the whole HIT."""

    assignment_id: str
    worker_id: str
    query_id: str
    doc_a: str
    doc_b: str
    unable: str
    comment: str


def save_remarks(db: Connection, assignment_id: str, remarks: Sequence[Remark]) -> None:
    """Append the remarks of an assignment to the log."""
    db.insert_all("remarks", ({"assignment_id": assignment_id, **row_of(one)} for one in remarks))


def load_remarks(db: Connection) -> list[LoggedRemark]:
    """Return the remarks at the study's target, but those on gold pairs, which stay hidden."""
    rows = db.execute(
        "SELECT r.assignment_id, a.worker_id, coalesce(p.query_id, ''), coalesce(p.doc_a, ''), "
        "coalesce(p.doc_b, ''), r.unable, r.comment FROM remarks r JOIN assignments a USING (assignment_id) "
        f"JOIN hits h USING (hit_key) LEFT JOIN pairs p USING (pair_id) WHERE {COUNTED} "
        f"AND (p.pair_id IS NOT NULL OR r.slot = {WHOLE_HIT}) ORDER BY a.submitted, r.assignment_id, r.slot",
        target=current_target(db),
    )
    names = LoggedRemark.__slots__
    return [LoggedRemark(**dict(zip(names, row, strict=True))) for row in rows]


UNJUDGEABLE = f"""
SELECT r.pair_id FROM remarks r JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key)
WHERE r.unable <> '' AND r.pair_id IS NOT NULL AND a.verdict = 'kept' AND {COUNTED}
GROUP BY r.pair_id HAVING count(DISTINCT a.worker_id) >= {ENOUGH_UNABLE}
"""
"""The pairs that are not asked for again. Only work that was kept tells: a bad worker closes no pair."""


def count_unjudgeable(db: Connection) -> int:
    """Return how many pairs are not asked for again because workers could not judge them."""
    rows = db.execute(f"SELECT count(*) FROM ({UNJUDGEABLE}) AS pairs_left", target=current_target(db))
    return int(rows[0][0])

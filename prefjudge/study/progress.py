"""How far a study is, counted in the store, with the standard library only.

Everything is counted at one target: the given one, or else the one whose work is the study's.
"""

from prefjudge.database import Connection
from prefjudge.study.remarks import UNJUDGEABLE
from prefjudge.study.targets import COUNTED, JUDGES, current_target


def waiting_pairs(db: Connection, target: str | None = None) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs that no open HIT will finish: id, query_id, doc_a, doc_b, votes still missing.

    A pair's votes are the judgments that were not dropped, one per worker; an open HIT promises one for each
    assignment that has not come back.
    """
    return db.execute(_WAITING, target=target or current_target(db))


_WAITING = f"""
WITH kept AS (
    SELECT j.pair_id, {JUDGES} AS votes FROM judgments j
    WHERE j.assignment_id IN (
        SELECT a.assignment_id FROM assignments a JOIN hits h USING (hit_key) WHERE {COUNTED}
    ) AND j.judgment_id NOT IN (SELECT judgment_id FROM drops) GROUP BY j.pair_id
), outstanding AS (
    SELECT h.hit_key,
           h.assignments - (SELECT count(*) FROM assignments a WHERE a.hit_key = h.hit_key) AS missing
    FROM hits h WHERE h.status IN ('planned', 'open') AND h.target = :target
), promised AS (
    SELECT s.pair_id, CAST(sum(o.missing) AS BIGINT) AS votes
    FROM outstanding o CROSS JOIN slots s
    WHERE s.hit_key = o.hit_key AND s.pair_id IS NOT NULL AND o.missing > 0 GROUP BY s.pair_id
)
SELECT p.pair_id, p.query_id, p.doc_a, p.doc_b,
       p.votes - coalesce(k.votes, 0) - coalesce(w.votes, 0) AS missing
FROM pairs p LEFT JOIN kept k USING (pair_id) LEFT JOIN promised w USING (pair_id)
WHERE p.votes - coalesce(k.votes, 0) - coalesce(w.votes, 0) > 0 AND p.pair_id NOT IN ({UNJUDGEABLE})
ORDER BY p.pair_id
"""


def load_mark(db: Connection) -> tuple[int, ...]:
    """Return numbers of which one changes whenever something is added to the study, dropped or settled."""
    tables = ("pooled", "pairs", "judgments", "drops", "assignments", "intents", "answers", "duels", "barred",
              "imports", "model_votes", "remarks")  # fmt: skip
    counted = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)
    others = (
        "(SELECT count(*) FROM hits WHERE status = 'open')",
        "(SELECT count(*) FROM intents WHERE outcome IS NOT NULL)",
        "(SELECT count(*) FROM challenges WHERE concluded IS NOT NULL)",
        "(SELECT count(*) FROM assignments WHERE decision IS NOT NULL)",
    )
    return tuple(map(int, db.execute(f"SELECT {counted}, {', '.join(others)}")[0]))


def count_hits(db: Connection, target: str | None = None) -> dict[str, int]:
    """Return how many HITs are in each state."""
    return dict(
        db.execute(
            "SELECT status, count(*) FROM hits WHERE target = :target GROUP BY status ORDER BY status",
            target=target or current_target(db),
        )
    )


def count_judgments(db: Connection, target: str | None = None) -> tuple[int, int]:
    """Return how many judgments count and how many were dropped."""
    kept, dropped = db.execute(
        "SELECT count(*) - count(d.judgment_id), count(d.judgment_id) FROM judgments j "
        "JOIN assignments USING (assignment_id) JOIN hits h USING (hit_key) "
        f"LEFT JOIN drops d USING (judgment_id) WHERE {COUNTED}",
        target=target or current_target(db),
    )[0]
    return int(kept), int(dropped)


def load_barred(db: Connection, target: str | None = None) -> dict[str, str]:
    """Return the barred workers and why."""
    return dict(
        db.execute(
            "SELECT worker_id, reason FROM barred WHERE target = :target ORDER BY barred, worker_id",
            target=target or current_target(db),
        )
    )


def count_verdicts(db: Connection) -> dict[str, int]:
    """Return how many assignments got each verdict."""
    return dict(
        db.execute(
            "SELECT verdict, count(*) FROM assignments JOIN hits h USING (hit_key) "
            f"WHERE {COUNTED} GROUP BY verdict ORDER BY verdict",
            target=current_target(db),
        )
    )


def count_decisions(db: Connection, target: str) -> dict[str, int]:
    """Return how many assignments got each decision."""
    return dict(
        db.execute(
            "SELECT coalesce(decision, 'undecided'), count(*) FROM assignments JOIN hits h USING (hit_key) "
            "WHERE h.target = :target GROUP BY decision ORDER BY 1",
            target=target,
        )
    )


def count_rows(db: Connection, table: str) -> int:
    """Return how many rows one of the study's tables has."""
    return int(db.execute(f"SELECT count(*) FROM {table}")[0][0])


def count_queries(db: Connection) -> int:
    """Return how many queries have a pool."""
    return int(db.execute("SELECT count(DISTINCT query_id) FROM pooled")[0][0])


def count_missing(db: Connection) -> int:
    """Return how many assignments of published HITs have not come back."""
    rows = db.execute(
        "SELECT coalesce(sum(h.assignments - "
        "(SELECT count(*) FROM assignments a WHERE a.hit_key = h.hit_key)), 0) "
        "FROM hits h WHERE h.status IN ('planned', 'open') AND h.target = :target",
        target=current_target(db),
    )
    return int(rows[0][0])


def hourly_rate(db: Connection) -> float | None:
    """Return how many assignments came an hour, from the first to the last; None for fewer than two."""
    first, last, count = db.execute(
        "SELECT min(submitted), max(submitted), count(submitted) FROM assignments "
        "JOIN hits h USING (hit_key) WHERE h.target = :target",
        target=current_target(db),
    )[0]
    return 3600 * (count - 1) / (last - first) if count > 1 and last > first else None


def load_disputed(db: Connection, target: str) -> tuple[int, float]:
    """Return how many rejections were disputed when that was asked, and when; 0 where nobody has asked."""
    rows = db.execute("SELECT waiting, asked FROM disputes WHERE target = :target", target=target)
    return (int(rows[0][0]), float(rows[0][1])) if rows else (0, 0.0)


def save_disputed(db: Connection, target: str, waiting: int, asked: float) -> None:
    """Record how many disputes wait for an answer, and when that was asked."""
    db.insert(
        "disputes",
        {"target": target, "waiting": waiting, "asked": asked},
        "ON CONFLICT (target) DO UPDATE SET waiting = excluded.waiting, asked = excluded.asked",
    )

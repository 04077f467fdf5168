"""How far a study is, counted in the store: nothing here needs more than the standard library."""

from prefjudge.database import Connection


def waiting_pairs(db: Connection) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs that no open HIT will settle: id, query_id, doc_a, doc_b, votes still missing.

    A pair's votes are the judgments that were not dropped, one per worker; an open HIT promises as many as it
    has assignments that have not come back.
    """
    return db.execute(_WAITING)


_WAITING = """
WITH kept AS (
    SELECT j.pair_id, count(DISTINCT j.worker_id) AS votes
    FROM judgments j LEFT JOIN drops d USING (judgment_id) WHERE d.judgment_id IS NULL GROUP BY j.pair_id
), outstanding AS (
    SELECT h.hit_key,
           h.assignments - (SELECT count(*) FROM assignments a WHERE a.hit_key = h.hit_key) AS missing
    FROM hits h WHERE h.status IN ('planned', 'open')
), promised AS (
    SELECT s.pair_id, CAST(sum(o.missing) AS BIGINT) AS votes
    FROM slots s JOIN outstanding o USING (hit_key)
    WHERE s.pair_id IS NOT NULL AND o.missing > 0 GROUP BY s.pair_id
)
SELECT p.pair_id, p.query_id, p.doc_a, p.doc_b,
       p.votes - coalesce(k.votes, 0) - coalesce(w.votes, 0) AS missing
FROM pairs p LEFT JOIN kept k USING (pair_id) LEFT JOIN promised w USING (pair_id)
WHERE p.votes - coalesce(k.votes, 0) - coalesce(w.votes, 0) > 0
ORDER BY p.pair_id
"""


def count_hits(db: Connection) -> dict[str, int]:
    """Return how many HITs are in each state."""
    return dict(db.execute("SELECT status, count(*) FROM hits GROUP BY status ORDER BY status"))


def count_judgments(db: Connection) -> tuple[int, int]:
    """Return how many judgments count and how many were dropped."""
    kept, dropped = db.execute(
        "SELECT count(*) - count(d.judgment_id), count(d.judgment_id) FROM judgments j "
        "LEFT JOIN drops d USING (judgment_id)"
    )[0]
    return int(kept), int(dropped)


def load_barred(db: Connection) -> dict[str, str]:
    """Return the barred workers and why."""
    return dict(db.execute("SELECT worker_id, reason FROM barred ORDER BY barred, worker_id"))


def count_verdicts(db: Connection) -> dict[str, int]:
    """Return how many assignments got each verdict."""
    return dict(db.execute("SELECT verdict, count(*) FROM assignments GROUP BY verdict ORDER BY verdict"))


def count_rows(db: Connection, table: str) -> int:
    """Return how many rows one of the study's tables has."""
    return int(db.execute(f"SELECT count(*) FROM {table}")[0][0])


def count_missing(db: Connection) -> int:
    """Return how many assignments of published HITs have not come back."""
    rows = db.execute(
        "SELECT coalesce(sum(h.assignments - "
        "(SELECT count(*) FROM assignments a WHERE a.hit_key = h.hit_key)), 0) "
        "FROM hits h WHERE h.status IN ('planned', 'open')"
    )
    return int(rows[0][0])


def hourly_rate(db: Connection) -> float | None:
    """Return how many assignments came an hour, from the first to the last; None for fewer than two."""
    first, last, count = db.execute(
        "SELECT min(submitted), max(submitted), count(submitted) FROM assignments"
    )[0]
    return 3600 * (count - 1) / (last - first) if count > 1 and last > first else None

"""What the store keeps of trust: how many HITs each worker may take, and whose work never counts."""

from collections.abc import Collection

from prefjudge.database import Connection, Value, in_list
from prefjudge.study.undecided import TOO_FAST

GUESSED = "by a worker whose gold pairs were answered no better than by chance"
UNREAD = "by a worker who was mostly faster than anybody can read"
UNPROVEN = "by a worker who was barred before enough gold pairs were right"
AFTER_MISS = "by a worker who was barred, from the first miss on"
DECIDED = "by decision"
BARRED = (GUESSED, UNREAD, UNPROVEN, AFTER_MISS)


def dropped(workers: Collection[str]) -> tuple[str, dict[str, Value]]:
    """Return the condition on the drop ``d`` of a judgment ``j`` that does not count, and its values.

    Judgments of these ``workers`` count that were dropped only because the worker was barred.
    """
    if not workers:
        return "d.judgment_id IS NOT NULL", {}
    reasons, of_reasons = in_list("reason", BARRED)
    names, of_names = in_list("worker", workers)
    barred = f"d.reason IN ({reasons}) AND j.worker_id IN ({names})"
    return f"d.judgment_id IS NOT NULL AND NOT ({barred})", {**of_reasons, **of_names}


def count_workers_verdicts(db: Connection, target: str, verdict: str) -> dict[str, int]:
    """Return how many assignments of each worker got a verdict at a target; others are left out."""
    return {
        worker: int(count)
        for worker, count in db.execute(
            "SELECT worker_id, count(*) FROM assignments JOIN hits USING (hit_key) "
            "WHERE target = :target AND verdict = :verdict GROUP BY worker_id",
            target=target,
            verdict=verdict,
        )
    }


def count_last_dropped(db: Connection, target: str, last: int) -> tuple[int, int]:
    """Return how many assignments there are of the last so many at a target, and how many were dropped."""
    came, dropped = db.execute(
        "SELECT count(*), coalesce(sum(CASE WHEN verdict = 'kept' THEN 0 ELSE 1 END), 0) FROM ("
        "SELECT verdict FROM assignments JOIN hits USING (hit_key) WHERE target = :target "
        "ORDER BY submitted DESC, collected DESC, assignment_id LIMIT :last) AS recent",
        target=target,
        last=last,
    )[0]
    return int(came), int(dropped)


def find_first_miss(db: Connection, target: str, worker_id: str, verdict: str) -> float:
    """Return when a worker first submitted a HIT with a missed gold pair, or of a verdict, at a target."""
    rows = db.execute(
        "SELECT min(coalesce(submitted, collected)) FROM assignments JOIN hits USING (hit_key) "
        "WHERE worker_id = :worker AND target = :target AND (gold_missed > 0 OR verdict = :verdict)",
        worker=worker_id,
        target=target,
        verdict=verdict,
    )
    return float(rows[0][0] or 0.0)


def save_exclusion(
    db: Connection, target: str, worker_id: str, reason: str, when: float, *, since: float = 0.0
) -> None:
    """Drop the judgments of a worker that count at a target, of what was submitted from ``since`` on."""
    db.execute(
        "INSERT INTO drops (judgment_id, reason, dropped) SELECT j.judgment_id, :reason, :when "
        "FROM assignments a JOIN hits h USING (hit_key) JOIN judgments j USING (assignment_id) "
        "WHERE a.worker_id = :worker AND h.target = :target AND coalesce(a.submitted, a.collected) >= :since "
        "AND NOT EXISTS (SELECT 1 FROM drops d WHERE d.judgment_id = j.judgment_id)",
        worker=worker_id,
        target=target,
        reason=reason,
        when=when,
        since=since,
    )


def forgive(db: Connection, target: str, worker_id: str) -> None:
    """Let what a worker judged at a target count again where only the bar, or the haste, had dropped it."""
    reasons, values = in_list("reason", BARRED)
    which = f"(d.reason IN ({reasons}) OR (d.reason = :fast AND a.gold_missed = 0)) AND a.worker_id = :worker"
    _forget_drops(db, target, which, worker=worker_id, fast=TOO_FAST, **values)


def forget_decisions(db: Connection, target: str, still: Collection[str]) -> None:
    """Let the judgments count again that were dropped by decision, but for these workers'."""
    workers, values = in_list("worker", ("", *still))  # nothing is NOT IN an empty list, which is NULL
    _forget_drops(db, target, f"d.reason LIKE '{DECIDED}%' AND a.worker_id NOT IN ({workers})", **values)


def _forget_drops(db: Connection, target: str, which: str, **values: Value) -> None:
    db.execute(
        "DELETE FROM drops WHERE judgment_id IN (SELECT j.judgment_id FROM drops d JOIN judgments j "
        "USING (judgment_id) JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key) "
        f"WHERE h.target = :target AND {which})",
        {"target": target, **values},
    )


def load_workers(db: Connection) -> list[str]:
    """Return everybody who has submitted something, at any target."""
    return [worker for (worker,) in db.execute("SELECT DISTINCT worker_id FROM assignments ORDER BY 1")]


def save_allowance(db: Connection, target: str, worker_id: str, hits: int) -> None:
    """Record how many HITs a worker was allowed to take at a target, in all."""
    db.insert(
        "allowances",
        {"target": target, "worker_id": worker_id, "hits": hits},
        "ON CONFLICT (target, worker_id) DO UPDATE SET hits = excluded.hits",
    )


def load_allowances(db: Connection, target: str) -> dict[str, int]:
    """Return how many HITs each worker was allowed to take at a target, in all."""
    return {
        worker: int(hits)
        for worker, hits in db.execute(
            "SELECT worker_id, hits FROM allowances WHERE target = :target", target=target
        )
    }

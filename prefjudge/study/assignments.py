"""What workers sent back: assignments, the judgments in them, what was dropped and who is barred."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from prefjudge.core.judgments import GoldRecord, Judgments
from prefjudge.database import Connection, in_list, row_of
from prefjudge.study.imports import AssignmentWork, sides_known
from prefjudge.study.imports import StudyJudgment as StudyJudgment
from prefjudge.study.judgments import COLUMNS, LogColumns, load_golds
from prefjudge.study.people import STOPPED, UNABLE, UNUSABLE, Judge, dropped
from prefjudge.study.progress import Remark, save_remarks
from prefjudge.study.store import COUNTED, VOTES, WORK, current_target

KEPT = "kept"
REJECTED = "rejected"
LOST = "lost with its marketplace"
"""The decision on an assignment that no marketplace knows any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAssignment(AssignmentWork):
    """One worker's answer to one HIT, checked; ``pays_itself`` is when the crowd pays if nobody decides."""

    hit_key: str
    accepted: float | None
    submitted: float | None
    collected: float
    answer: str
    judge: Judge
    layout: int
    judgments: Sequence[StudyJudgment]
    remarks: Sequence[Remark] = ()
    pays_itself: float | None = None


def save_assignment(db: Connection, assignment: StudyAssignment, *, phase: str) -> None:
    """Append an assignment and its judgments to the log; record a drop for each that must not count."""
    # These are all judgments of an assignment that is not `kept`, and any on a pair that the worker has
    # judged before at the same target. A choice out of several counts as a whole or not at all.
    row = row_of(assignment)
    del row["judge"], row["judgments"], row["remarks"]  # they are in logs of their own
    repeated = _judged_before(db, assignment)
    db.insert("assignments", row)
    save_remarks(db, assignment.assignment_id, assignment.remarks)
    of = {
        "worker_id": assignment.worker_id,
        "judge": assignment.judge.value,
        "phase": phase,
        "assignment_id": assignment.assignment_id,
    }
    db.insert_all("judgments", ({**row_of(judgment), **of} for judgment in assignment.judgments))
    if assignment.verdict != KEPT or repeated:
        _drop(db, assignment, repeated)


def _judged_before(db: Connection, assignment: StudyAssignment) -> set[int]:
    """Return the pairs of answers in which their worker judged some pair again, at the same target."""
    # By the pairs, which are ten, and not by the worker, whose judgments may be thousands.
    pairs, numbers = in_list("p", (judgment.pair_id for judgment in assignment.judgments))
    found = db.values(
        "SELECT j.pair_id FROM judgments j JOIN assignments USING (assignment_id) "
        f"JOIN hits h USING (hit_key) WHERE j.pair_id IN ({pairs}) AND j.worker_id = :worker "
        "AND h.target = (SELECT target FROM hits WHERE hit_key = :hit)",
        {"worker": assignment.worker_id, "hit": assignment.hit_key, **numbers},
    )
    again = set(found)
    choices = {
        (one.query_id, one.shown) for one in assignment.judgments if one.pair_id in again and one.shown
    }
    return again | {one.pair_id for one in assignment.judgments if (one.query_id, one.shown) in choices}


def _drop(db: Connection, assignment: StudyAssignment, repeated: Collection[int]) -> None:
    numbers = db.execute(
        "SELECT judgment_id, pair_id FROM judgments WHERE assignment_id = :id ORDER BY judgment_id",
        id=assignment.assignment_id,
    )
    reasons = {
        number: "the worker has judged this pair before" if pair in repeated else assignment.verdict
        for number, pair in numbers
    }
    db.insert_all(
        "drops",
        (
            {"judgment_id": number, "reason": reason, "dropped": assignment.collected}
            for number, reason in reasons.items()
            if reason != KEPT
        ),
    )


def load_decisions(db: Connection) -> dict[str, str | None]:
    """Return the decision on every collected assignment; None where there is none."""
    return dict(db.execute("SELECT assignment_id, decision FROM assignments"))


def find_worker(db: Connection, assignment_id: str) -> str:
    """Return the worker of an assignment; empty where the study does not know it."""
    return str(
        db.value("SELECT worker_id FROM assignments WHERE assignment_id = :id", id=assignment_id) or ""
    )


def load_collected(db: Connection, target: str) -> dict[str, set[str]]:
    """Return the ids of the assignments that were collected at a target, by their HIT's key."""
    collected = db.lists(f"SELECT hit_key, assignment_id FROM {WORK} WHERE target = :target", target=target)
    return {key: set(ids) for key, ids in collected.items()}


def save_decisions(db: Connection, decisions: Mapping[str, str]) -> None:
    """Record which assignments were approved, rejected or prorated."""
    db.executemany(
        "UPDATE assignments SET decision = :decision WHERE assignment_id = :id",
        ({"id": assignment_id, "decision": decision} for assignment_id, decision in decisions.items()),
    )


def save_decision(db: Connection, assignment_id: str, decision: str) -> None:
    """Record that an assignment was approved or rejected."""
    save_decisions(db, {assignment_id: decision})


def close_undecided(db: Connection, target: str) -> tuple[int, int]:
    """Record that the undecided assignments at a target stay so, because its marketplace is lost."""
    # Returns how many assignments these are, and their rewards in cents.
    count, cents = db.execute(
        f"SELECT count(*), coalesce(sum(h.reward_cents), 0) FROM {WORK} "
        "WHERE a.decision IS NULL AND h.target = :target",
        target=target,
    )[0]
    db.execute(
        "UPDATE assignments SET decision = :lost WHERE decision IS NULL "
        "AND hit_key IN (SELECT hit_key FROM hits WHERE target = :target)",
        lost=LOST,
        target=target,
    )
    return int(count), int(cents)


def save_rejection(db: Connection, assignment_id: str, reason: str, when: float) -> None:
    """Record that an assignment was rejected, and drop its judgments that counted."""
    save_decision(db, assignment_id, REJECTED)
    db.execute(
        "INSERT INTO drops (judgment_id, reason, dropped) SELECT judgment_id, :reason, :when FROM judgments "
        "WHERE assignment_id = :id AND judgment_id NOT IN (SELECT judgment_id FROM drops)",
        id=assignment_id,
        reason=f"{REJECTED}: {reason}",
        when=when,
    )
    db.update("assignments", {"verdict": REJECTED}, assignment_id=assignment_id, verdict=KEPT)


def save_barred(db: Connection, target: str, worker_id: str, reason: str, when: float) -> None:
    """Record that a worker is barred at a target."""
    db.insert(
        "barred",
        {"target": target, "worker_id": worker_id, "reason": reason, "barred": when},
        "ON CONFLICT (target, worker_id) DO NOTHING",
    )


def forget_barred(db: Connection, target: str, worker_id: str) -> None:
    """Record that a worker is barred at a target no longer."""
    db.execute(
        "DELETE FROM barred WHERE target = :target AND worker_id = :worker", target=target, worker=worker_id
    )


def load_overlaps(db: Connection, target: str, hit_keys: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """Return which workers have judged how many of the pairs of each HIT; HITs new to everyone are absent."""
    # Dropped judgments count: nobody judges a pair twice. Barred workers do not: they get no HIT anyway. All
    # is as the HITs' target knows it.
    wanted, keys = in_list("k", hit_keys)
    return db.lists(
        "SELECT s.hit_key, j.worker_id, count(DISTINCT s.name) "
        "FROM slots s JOIN judgments j USING (pair_id) JOIN assignments a USING (assignment_id) "
        f"{_THERE} AND s.hit_key IN ({wanted}) "
        "GROUP BY s.hit_key, j.worker_id",
        {"target": target, **keys},
    )


def count_workers(db: Connection, target: str) -> int:
    """Return how many workers have taken part at a target and are not barred there."""
    sql = f"SELECT count(DISTINCT a.worker_id) FROM assignments a {_THERE}"
    return int(db.value(sql, target=target))


_THERE = """
JOIN hits h ON h.hit_key = a.hit_key LEFT JOIN barred b ON b.target = h.target AND b.worker_id = a.worker_id
WHERE h.target = :target AND h.hit_id IS NOT NULL AND b.worker_id IS NULL
"""
"""What keeps of the assignments ``a`` those at a target's marketplace whose workers are not barred there."""


def load_gold_records(db: Connection, target: str | None = None) -> dict[str, GoldRecord]:
    """Return how each worker has answered gold pairs at a target."""
    hits: dict[str, list[tuple[int, int]]] = {}
    passed_over: dict[str, set[int]] = {}
    for worker, right, missed, verdict in db.execute(
        f"SELECT worker_id, gold_right, gold_missed, verdict FROM {WORK} "
        "WHERE h.target = :target ORDER BY submitted, collected, assignment_id",
        target=target or current_target(db),
    ):
        if verdict in (STOPPED, UNABLE) or verdict.startswith(UNUSABLE):
            passed_over.setdefault(worker, set()).add(len(hits.get(worker, ())))
        hits.setdefault(worker, []).append((int(right), int(missed)))
    return {
        worker: GoldRecord(
            right=sum(right for right, _ in each),
            missed=sum(missed for _, missed in each),
            hits=tuple(each),
            passed_over=frozenset(passed_over.get(worker, ())),
        )
        for worker, each in hits.items()
    }


def load_choices(db: Connection) -> dict[tuple[str, str, str], list[int]]:
    """Return the votes of people that count, by pair: 1 for ``doc_a``, -1 for ``doc_b``, 0 for a tie."""
    rows = db.execute(
        "SELECT p.query_id, p.doc_a, p.doc_b, CASE WHEN j.left_id = p.doc_a THEN j.choice ELSE -j.choice END "
        f"FROM {VOTES} JOIN pairs p USING (pair_id) WHERE d.judgment_id IS NULL AND {COUNTED} "
        "ORDER BY j.judgment_id",
        target=current_target(db),
    )
    votes: dict[tuple[str, str, str], list[int]] = {}
    for query, a, b, choice in rows:
        votes.setdefault((query, a, b), []).append(choice)
    return votes


def load_judgments(
    db: Connection,
    *,
    target: str | None = None,
    models: bool = False,
    barred: Collection[str] = (),
    phases: Collection[str] = (),
) -> Judgments:
    """Return the judgments that count at a target, as they were logged, then with ``models`` their votes."""
    # The default is the target whose work is the study's. A model is the worker `model:NAME`: so it has a
    # reliability of its own, and can be left out by name. What workers in `barred` did counts, too, unless it
    # was dropped for another reason than that they were barred. Where `phases` are named, those alone count.
    gone, named = dropped(barred)
    phase, of_phase = in_list("phase", phases)
    among = f"AND j.phase IN ({phase}) " if phases else ""
    log, target = LogColumns(), target or current_target(db)
    for part in db.columns(
        f"SELECT {COLUMNS} FROM {VOTES} WHERE NOT ({gone}) AND {COUNTED} {among}ORDER BY j.judgment_id",
        {"target": target, **named, **of_phase},
    ):
        log.add(*part)
    if models:
        for part in db.columns(
            "SELECT p.query_id, p.doc_a, p.doc_b, v.choice, 1, 'model:' || v.model, '' FROM model_votes v "
            "JOIN pairs p USING (pair_id) ORDER BY v.model, v.pair_id"
        ):
            log.add(*part)
    return log.judgments(sides=sides_known(db), golds=load_golds(db, target))


def has_rejected(db: Connection, target: str) -> bool:
    """Return whether any work at a target was rejected, without which nothing can be disputed."""
    sql = f"SELECT 1 FROM {WORK} WHERE target = :target AND decision = :rejected LIMIT 1"
    return bool(db.execute(sql, target=target, rejected=REJECTED))

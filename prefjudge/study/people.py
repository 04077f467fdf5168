"""The people of a study: what it holds of each, whom it trusts, and who is only simulated."""

import logging
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from prefjudge.database import Connection, Value, in_list
from prefjudge.errors import PrefjudgeError
from prefjudge.study.hits import HitStatus
from prefjudge.study.store import COUNTED, SHOWN_VOTES, VOTES, WORK, Study, current_target, end
from prefjudge.words import Rehearsal, many

_LOG = logging.getLogger("prefjudge")

_COMMENT = re.compile(
    r"<Answer>\s*<QuestionIdentifier>(?:[^<]*\.)?comment</QuestionIdentifier>.*?</Answer>", re.DOTALL
)
"""A comment in the XML that a crowd sent, by the names that the study's pages give comments."""

_KNOWN = {
    "assignments": (
        "assignment_id, accepted, submitted, collected, seconds, verdict, decision",
        "FROM assignments WHERE worker_id = :worker ORDER BY collected, assignment_id",
    ),
    "judgments": (
        "query_id, left_id, right_id, choice, strength, milliseconds, judge, assignment_id, shown",
        "FROM judgments WHERE worker_id = :worker ORDER BY judgment_id",
    ),
    "remarks": (
        "assignment_id, slot, unable, comment",
        "FROM remarks WHERE assignment_id IN"
        " (SELECT assignment_id FROM assignments WHERE worker_id = :worker) ORDER BY assignment_id, slot",
    ),
    "barred": ("target, reason, barred", "FROM barred WHERE worker_id = :worker"),
    "allowances": ("target, hits", "FROM allowances WHERE worker_id = :worker"),
}
"""By what it is called in the export: the columns, and where they are."""


def known(db: Connection, worker_id: str) -> dict[str, list[Mapping[str, Value]]]:
    """Return what is stored of a worker, by kind, as rows of names and values."""
    return {kind: [*db.dicts(columns, rest, worker=worker_id)] for kind, (columns, rest) in _KNOWN.items()}


def forget(db: Connection, worker_id: str) -> dict[str, int]:
    """Erase what a worker wrote in words; return how many comments there were. A repeat finds none."""
    theirs = "assignment_id IN (SELECT assignment_id FROM assignments WHERE worker_id = :worker)"
    erased = db.execute(
        f"UPDATE remarks SET comment = '' WHERE comment <> '' AND {theirs} RETURNING slot", worker=worker_id
    )
    db.execute(f"DELETE FROM remarks WHERE comment = '' AND unable = '' AND {theirs}", worker=worker_id)
    for ident, answer in db.execute(
        "SELECT assignment_id, answer FROM assignments WHERE worker_id = :worker", worker=worker_id
    ):
        without = _COMMENT.sub("", str(answer))
        if without != answer:
            db.update("assignments", {"answer": without}, assignment_id=ident)
    return {"comments in the study": len(erased)} if erased else {}


def forget_old(study: Study, now: float) -> int:
    """Erase the comments of workers whose last work is longer ago than ``keep_days``; return how many."""
    # `now` is the time in epoch seconds. The marketplace forgets by itself who they were.
    days = study.config.workers.keep_days
    if days is None:
        return 0
    with study.transaction(write=False) as db:
        old = db.values(
            "SELECT worker_id FROM assignments WHERE worker_id IN (SELECT a.worker_id FROM assignments a"
            " JOIN remarks r USING (assignment_id) WHERE r.comment <> '') GROUP BY worker_id"
            " HAVING max(coalesce(submitted, collected)) <= :before ORDER BY worker_id",
            before=now - days * 86_400,
        )
    if not old:
        return 0
    with study.transaction() as db:
        for worker_id in old:
            forget(db, worker_id)
    try:
        study.database.scrub()
    except PrefjudgeError as error:  # the comments are gone; only the file may still hold their bytes
        _LOG.warning("%s", error.message)
    return len(old)


GUESSED = "by a worker whose gold pairs were answered no better than by chance"
UNREAD = "by a worker who was mostly faster than anybody can read"
UNPROVEN = "by a worker who was barred before enough gold pairs were right"
AFTER_MISS = "by a worker who was barred, from the first miss on"
FAILED = "by a worker who missed a gold pair"
FOLLOWED = "by a worker who is held until you decide"
DOUBTED = "by a worker whose gold pairs leave doubt, and asked again of others"
DECIDED = "by decision"
BARRED = (GUESSED, UNREAD, UNPROVEN, AFTER_MISS, FAILED, FOLLOWED, DOUBTED)
HELD = "is held until you decide"
"""The start of the reason for which a worker gets no more HITs on suspicion alone."""


def dropped(workers: Collection[str]) -> tuple[str, dict[str, Value]]:
    """Return the condition on the drop ``d`` of a judgment ``j`` that does not count, and its values."""
    # Judgments of these `workers` count that were dropped only because the worker was barred.
    if not workers:
        return "d.judgment_id IS NOT NULL", {}
    reasons, of_reasons = in_list("reason", BARRED)
    names, of_names = in_list("worker", workers)
    barred = f"d.reason IN ({reasons}) AND j.worker_id IN ({names})"
    return f"d.judgment_id IS NOT NULL AND NOT ({barred})", {**of_reasons, **of_names}


def count_workers_verdicts(db: Connection, target: str, verdict: str) -> dict[str, int]:
    """Return how many assignments of each worker got a verdict at a target; others are left out."""
    sql = f"SELECT worker_id, count(*) FROM {WORK} WHERE target = :target AND verdict = :verdict GROUP BY 1"
    return db.tally(sql, target=target, verdict=verdict)


def count_last_dropped(db: Connection, target: str, last: int) -> tuple[int, int]:
    """Return how many assignments there are of the last so many at a target, and how many were dropped."""
    came, dropped = db.execute(
        "SELECT count(*), coalesce(sum(CASE WHEN verdict = 'kept' THEN 0 ELSE 1 END), 0) FROM ("
        f"SELECT verdict FROM {WORK} WHERE target = :target "
        "ORDER BY submitted DESC, collected DESC, assignment_id LIMIT :last) AS recent",
        target=target,
        last=last,
    )[0]
    return int(came), int(dropped)


def find_first_miss(db: Connection, target: str, worker_id: str, verdict: str) -> float:
    """Return when a worker first submitted a HIT with a missed gold pair, or of a verdict, at a target."""
    first = db.value(
        f"SELECT min(coalesce(submitted, collected)) FROM {WORK} "
        "WHERE worker_id = :worker AND target = :target AND (gold_missed > 0 OR verdict = :verdict)",
        worker=worker_id,
        target=target,
        verdict=verdict,
    )
    return float(first or 0.0)


def save_exclusion(
    db: Connection, target: str, worker_id: str, reason: str, when: float, *, since: float = 0.0
) -> None:
    """Drop the judgments of a worker that count at a target, of what was submitted from ``since`` on."""
    db.execute(
        "INSERT INTO drops (judgment_id, reason, dropped) SELECT j.judgment_id, :reason, :when "
        f"FROM {WORK} JOIN judgments j USING (assignment_id) "
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


def forget_doubt(db: Connection, target: str, proven: Collection[str]) -> None:
    """Let the judgments count again that were asked again of others, of workers who are proven now."""
    workers, values = in_list("worker", proven)
    if proven:
        _forget_drops(db, target, f"d.reason = '{DOUBTED}' AND a.worker_id IN ({workers})", **values)


def count_votes(db: Connection, target: str, dropped: str = "") -> dict[str, int]:
    """Return how many judgments of each worker count at a target, or were dropped for a reason."""
    return db.tally(
        f"SELECT a.worker_id, count(*) FROM {VOTES} WHERE h.target = :target "
        "AND coalesce(d.reason, '') = :reason GROUP BY a.worker_id ORDER BY a.worker_id",
        {"target": target, "reason": dropped},
    )


def load_voted_pairs(db: Connection, target: str, workers: Collection[str]) -> list[int]:
    """Return the pair of each judgment that counts of these workers."""
    names, values = in_list("worker", workers)
    return db.values(
        f"SELECT j.pair_id FROM {SHOWN_VOTES} "
        f"WHERE h.target = :target AND a.worker_id IN ({names}) AND d.judgment_id IS NULL",
        {"target": target, **values},
    )


def load_voters(db: Connection, target: str) -> dict[int, set[str]]:
    """Return who has judged each pair at a target, whether it counts or not."""
    voters = db.lists(
        "SELECT DISTINCT j.pair_id, a.worker_id FROM judgments j JOIN assignments a USING (assignment_id) "
        "JOIN hits h USING (hit_key) WHERE h.target = :target",
        target=target,
    )
    return {number: set(workers) for number, workers in voters.items()}


def _forget_drops(db: Connection, target: str, which: str, **values: Value) -> None:
    these = (
        "judgment_id IN (SELECT j.judgment_id FROM drops d JOIN judgments j USING (judgment_id) "
        "JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key) "
        f"WHERE h.target = :target AND {which})"
    )
    end(db, "drops", these, time.time(), target=target, **values)


def load_active(db: Connection, target: str) -> set[str]:
    """Return who has submitted something at a target within an hour of the last submission there."""
    there = f"FROM {WORK} WHERE target = :target"
    sql = f"SELECT worker_id {there} AND submitted > (SELECT max(submitted) - 3600 {there})"
    return set(db.values(sql, target=target))


def load_takers(db: Connection, target: str, *, judged: bool) -> list[set[str]]:
    """Return who has submitted each open HIT of a target, or, if asked, has ``judged`` one of its pairs."""
    where = "WHERE target = :target AND status = :open"
    sql = f"SELECT hit_key, worker_id FROM hits LEFT JOIN assignments USING (hit_key) {where}"
    if judged:
        pairs = "hits JOIN slots USING (hit_key) JOIN judgments USING (pair_id)"
        sql += f" UNION SELECT hit_key, worker_id FROM {pairs} {where}"
    had = db.lists(sql, target=target, open=HitStatus.OPEN)
    return [set(workers) - {None} for workers in had.values()]


def load_workers(db: Connection) -> list[str]:
    """Return everybody who has submitted something, at any target."""
    return db.values("SELECT DISTINCT worker_id FROM assignments ORDER BY 1")


def save_allowance(db: Connection, target: str, worker_id: str, hits: int) -> None:
    """Record how many HITs a worker was allowed to take at a target, in all."""
    db.insert(
        "allowances",
        {"target": target, "worker_id": worker_id, "hits": hits},
        "ON CONFLICT (target, worker_id) DO UPDATE SET hits = excluded.hits",
    )


def load_allowances(db: Connection, target: str) -> dict[str, int]:
    """Return how many HITs each worker was allowed to take at a target, in all."""
    return db.tally("SELECT worker_id, hits FROM allowances WHERE target = :target", target=target)


TOO_FAST = "faster than anybody can read"
"""The verdict on an assignment that was submitted too soon after acceptance, by the marketplace's clock."""
AS_GUESSED = "as by guessing"
"""The end of the reason for which a worker is barred whose gold pairs, or the last of them, say so."""
STOPPED = "stopped before every gold pair was answered"
"""The verdict on an assignment that says nothing of its worker: gold pairs were passed over, none missed."""
UNABLE = "could not judge most of its comparisons"
"""The verdict on an assignment that says nothing of its worker, as it says little of anything."""
UNUSABLE = "unusable answer"
"""The start of the verdict on an assignment whose fields the page cannot have sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedAssignment:
    """An assignment that was not approved or rejected, and what its HIT offers and asks.

    ``hit_assignments`` is how many assignments the HIT has, ``slots`` how many comparisons; ``counting`` is
    how many of the assignment's judgments were not dropped. ``barred`` says why its worker is barred; empty
    where that is not so. ``pays_itself`` is when the crowd pays for it if nobody decides.
    """

    assignment_id: str
    worker_id: str
    hit_key: str
    accepted: float | None
    submitted: float | None
    answered: int
    verdict: str
    reward_cents: int
    hit_assignments: int
    slots: int
    counting: int
    barred: str
    pays_itself: float | None
    seconds: float = 0.0


def load_undecided(db: Connection, target: str) -> list[UndecidedAssignment]:
    """Return the assignments at a target that nobody has decided on, in the order of collection."""
    return db.select(
        UndecidedAssignment,
        "FROM (SELECT a.*, h.reward_cents, h.assignments AS hit_assignments, h.target, "
        "(SELECT count(DISTINCT s.name) FROM slots s WHERE s.hit_key = a.hit_key) AS slots, "
        "(SELECT count(*) FROM judgments j LEFT JOIN drops d USING (judgment_id) "
        "WHERE j.assignment_id = a.assignment_id AND d.judgment_id IS NULL) AS counting, "
        "coalesce(b.reason, '') AS barred FROM assignments a JOIN hits h ON h.hit_key = a.hit_key "
        "LEFT JOIN barred b ON b.target = h.target AND b.worker_id = a.worker_id) AS undecided "
        "WHERE decision IS NULL AND target = :target ORDER BY collected, assignment_id",
        target=target,
    )


def paid_unasked(held: Iterable[UndecidedAssignment]) -> float | None:
    """Return when the crowd pays the first of what is held by itself; None where it does not."""
    return min((one.pays_itself for one in held if one.pays_itself is not None), default=None)


def evidence_against(one: UndecidedAssignment) -> str:
    """Return why a person has to look at an assignment before it is paid; empty where nobody has to."""
    if one.verdict.startswith(UNUSABLE):
        return one.verdict
    if one.verdict != TOO_FAST:
        doubted = one.barred.endswith(AS_GUESSED) or one.barred.startswith(HELD)
        return f"its worker {one.barred}" if doubted else ""
    seconds = (one.submitted or 0.0) - (one.accepted or 0.0)
    made, said = many(one.answered, "comparison"), ""
    if is_forged(one.seconds, seconds):
        said = f", though its page says that they were looked at for {one.seconds:.0f}"
    return f"{TOO_FAST}: {made} in {seconds:.1f} seconds by the marketplace's clock{said}"


def is_forged(seconds: float, passed: float) -> bool:
    """Return whether a page was looked at for longer than its HIT was held, but for what clocks differ."""
    return seconds > 1.1 * passed + 60


# Who judged, and how much of a study is a rehearsal: judged by accounts that were made for simulation.


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
        f"FROM {VOTES} WHERE d.judgment_id IS NULL AND {COUNTED} GROUP BY j.judge ORDER BY j.judge",
        target=current_target(db),
    )
    return [Judges(judge=Judge(judge), workers=workers, judgments=count) for judge, workers, count in rows]


def load_rehearsal(db: Connection) -> Rehearsal | None:
    """Return how much of the study's work is a rehearsal; None where people did all of it."""
    counts = db.tally(
        "SELECT j.judge, count(*) FROM judgments j JOIN assignments a USING (assignment_id) "
        f"JOIN hits h USING (hit_key) WHERE {COUNTED} GROUP BY j.judge",
        target=current_target(db),
    )
    simulated = counts.get(Judge.SIMULATED.value, 0)
    return Rehearsal(simulated=simulated, judgments=sum(counts.values())) if simulated else None


# Workers' own words without what may say who they are, for pages and files that others read.

_ADDRESS = re.compile(r"[^\s@<>]+@[^\s@<>]+\.\w+|https?://\S+|www\.\S+")
_WORD = re.compile(r"[\w.-]*\w")
REMOVED = "[removed]"


class PrivateWords:
    """Takes worker ids and addresses out of texts."""

    def __init__(self, workers: Iterable[str]) -> None:
        self._known = {worker.lower() for worker in workers if len(worker) > 3}

    def without_names(self, text: str) -> str:
        """Return a text without ids of workers and without addresses."""
        text = _ADDRESS.sub(REMOVED, text)
        # Words are looked up: with thousands of workers, to search for each in each comment takes minutes.
        return _WORD.sub(lambda found: REMOVED if found[0].lower() in self._known else found[0], text)

"""How far a study is, counted in the store with the standard library only, and the road from there.

Everything is counted at one target: the given one, or else the one whose work is the study's.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from prefjudge.database import Connection, row_of
from prefjudge.errors import StudyError, quoted
from prefjudge.study.store import (
    COUNTED,
    IMPORTED,
    JUDGES,
    SHOWN,
    SHOWN_VOTES,
    VOTES,
    WORK,
    command,
    current_target,
    load_setting,
    moment,
)
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.core.planning.rounds import Duel
    from prefjudge.study.store import Study


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
    """A remark with its worker and its pair; ``query_id`` is empty where it is on the whole HIT.

    Of a question of several passages ``others`` are those beside the two, between blanks.
    """

    assignment_id: str
    worker_id: str
    slot: int
    query_id: str
    doc_a: str
    doc_b: str
    others: str
    unable: str
    comment: str


def save_remarks(db: Connection, assignment_id: str, remarks: Sequence[Remark]) -> None:
    """Append the remarks of an assignment to the log."""
    db.insert_all("remarks", ({"assignment_id": assignment_id, **row_of(one)} for one in remarks))


def load_remarks(db: Connection) -> list[LoggedRemark]:
    """Return the remarks at the study's target, but those on gold pairs, which stay hidden."""
    more: dict[tuple[str, int], list[str]] = {}
    sql = (
        "SELECT r.assignment_id, r.slot, p.doc_a, p.doc_b "
        "FROM remarks r JOIN assignments a USING (assignment_id) "
        "JOIN slots s ON s.hit_key = a.hit_key AND s.slot = r.slot "
        "JOIN slots t ON t.hit_key = s.hit_key AND t.name = s.name JOIN pairs p ON p.pair_id = t.pair_id"
    )
    for assignment, slot, *docs in db.execute(sql):
        more.setdefault((assignment, slot), []).extend(docs)
    found = db.records(
        LoggedRemark,
        "SELECT r.assignment_id, a.worker_id, r.slot, coalesce(p.query_id, ''), coalesce(p.doc_a, ''), "
        "coalesce(p.doc_b, ''), '', r.unable, r.comment FROM remarks r JOIN assignments a "
        f"USING (assignment_id) JOIN hits h USING (hit_key) LEFT JOIN pairs p USING (pair_id) "
        f"WHERE {COUNTED} "
        f"AND (p.pair_id IS NOT NULL OR r.slot = {WHOLE_HIT}) ORDER BY a.submitted, r.assignment_id, r.slot",
        target=current_target(db),
    )
    return [
        replace(one, others=" ".join(sorted({*docs} - {one.doc_a, one.doc_b})))
        for one in found
        for docs in [more.get((one.assignment_id, one.slot), [])]
    ]


def count_unjudgeable(db: Connection) -> int:
    """Return how many pairs are not asked for again because workers could not judge them."""
    sql = f"SELECT count(*) FROM ({UNJUDGEABLE}) AS pairs_left"
    return int(db.value(sql, target=current_target(db)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeRecord:
    """A challenge in numbers; ``concluded`` is None while it is under way. Times are in UTC, by ISO 8601."""

    challenge: int
    strategy: str
    started: str
    concluded: str | None
    newcomers: int
    queries: int


def count_answers(db: Connection) -> dict[int, tuple[int, int]]:
    """Return how many queries and how many answers each version has, the first version first."""
    return {
        version: (queries, answers)
        for version, queries, answers in db.execute(
            "SELECT version, count(DISTINCT query_id), count(*) FROM answers WHERE version > 0 "
            "GROUP BY version ORDER BY version"
        )
    }


def load_challenges(db: Connection) -> list[ChallengeRecord]:
    """Return the challenges, the first one first."""
    rows = db.execute(
        "SELECT c.challenge, c.strategy, c.started, c.concluded, count(*), count(DISTINCT n.query_id) "
        "FROM challenges c JOIN (SELECT DISTINCT challenge, query_id, doc_id FROM challengers) n "
        "USING (challenge) GROUP BY c.challenge, c.strategy, c.started, c.concluded ORDER BY c.challenge"
    )
    return [
        ChallengeRecord(
            challenge=number,
            strategy=strategy,
            started=moment(started),
            concluded=None if concluded is None else moment(concluded),
            newcomers=newcomers,
            queries=queries,
        )
        for number, strategy, started, concluded, newcomers, queries in rows
    ]


def load_duels(db: Connection, challenge: int) -> tuple["Duel", ...]:
    """Return how each newcomer of a challenge fared, query by query, in the order of trial."""
    from prefjudge.core.planning.rounds import Duel

    return tuple(
        Duel(
            query_id=query,
            incumbent=incumbent,
            newcomer=newcomer,
            brought_by=tuple(runs.split(", ")) if runs else (),
            votes_for=won,
            votes_against=lost,
            dethroned=bool(dethroned),
            chance=chance,
        )
        for query, incumbent, newcomer, runs, won, lost, dethroned, chance in db.execute(
            "SELECT query_id, incumbent, newcomer, brought_by, votes_for, votes_against, dethroned, chance "
            "FROM duels WHERE challenge = :challenge ORDER BY query_id, newcomer",
            challenge=challenge,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Who first had a passage of a query: in which challenge, 0 for the pools, and which runs and qrels."""

    challenge: int
    sources: tuple[str, ...]


def load_findings(db: Connection) -> dict[tuple[str, str], Finding]:
    """Return who first had each candidate, by query_id and doc_id."""
    found: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for query, doc, challenge, source in db.execute(
        "SELECT query_id, doc_id, 0 AS challenge, source FROM pooled "
        "UNION SELECT query_id, doc_id, challenge, source FROM challengers "
        "ORDER BY query_id, doc_id, challenge, source"
    ):
        first, sources = found.setdefault((query, doc), (challenge, []))
        if first == challenge:
            sources.append(source)
    return {key: Finding(challenge=first, sources=tuple(sources)) for key, (first, sources) in found.items()}


def first_answers_since(db: Connection) -> str | None:
    """Return when the last vote before the first challenge was collected; None where there is none."""
    last = db.value(
        f"SELECT max(collected) FROM {WORK} "
        f"WHERE {COUNTED} AND collected < coalesce((SELECT min(started) FROM challenges), 1e300)",
        target=current_target(db),
    )
    return None if last is None else moment(last)


_IMPOSSIBLE = (
    (
        "HITs are published without an intent to publish them",
        "SELECT count(*) FROM hits h WHERE hit_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM intents i WHERE i.subject = h.hit_key AND i.operation = 'CreateHIT')",
    ),
    (
        "HITs were published twice",
        "SELECT count(*) FROM (SELECT hit_id FROM hits WHERE hit_id IS NOT NULL "
        "GROUP BY hit_id HAVING count(*) > 1) AS twice",
    ),
    (
        "calls of one kind were made twice for the same HIT or assignment",
        "SELECT count(*) FROM (SELECT subject FROM intents WHERE operation IN "
        "('CreateHIT', 'SendBonus', 'RejectAssignment', 'DeleteHIT') "
        "GROUP BY operation, subject HAVING count(*) > 1) AS twice",
    ),
    (
        "assignments were both approved and paid by a bonus",
        "SELECT count(*) FROM assignments a WHERE decision = 'approved' AND EXISTS "
        "(SELECT 1 FROM intents i WHERE i.subject = a.assignment_id AND i.operation = 'SendBonus' "
        "AND i.outcome IS NOT NULL)",
    ),
    (
        "assignments were paid by a bonus in place of their reward without the intents of both",
        "SELECT count(*) FROM assignments a WHERE decision LIKE 'prorated:%' AND 2 > "
        "(SELECT count(DISTINCT operation) FROM intents i WHERE i.subject = a.assignment_id "
        "AND i.operation IN ('SendBonus', 'RejectAssignment'))",
    ),
    (
        "HITs have intents that commit less than their rewards",
        "SELECT count(*) FROM hits h WHERE h.assignments * h.reward_cents > "
        "(SELECT coalesce(sum(i.cents), 0) FROM intents i WHERE i.subject = h.hit_key AND i.cents > 0)",
    ),
    (
        "assignments have fewer judgments than comparisons were answered",
        "SELECT count(*) FROM assignments a WHERE a.answered - "
        "(SELECT count(DISTINCT s.name) FROM slots s "
        "WHERE s.hit_key = a.hit_key AND s.gold_id IS NOT NULL) > "
        "(SELECT count(*) FROM judgments j WHERE j.assignment_id = a.assignment_id)",
    ),
    (
        "judgments count although their assignment was dropped",
        f"SELECT count(*) FROM {VOTES} WHERE a.verdict <> 'kept' AND d.judgment_id IS NULL",
    ),
)


def find_impossible(db: Connection) -> list[str]:
    """Return the signs that money was spent twice or rows were lost."""
    found = [(int(db.value(sql)), what) for what, sql in _IMPOSSIBLE]
    return [f"{count:,} {what}" for count, what in found if count]


def ledger_sums(db: Connection) -> dict[str, int]:
    """Return what the study has committed at each target, in cents."""
    return db.tally(
        "SELECT target, sum(cents) FROM intents WHERE cents > 0 OR outcome IS NOT NULL "
        "GROUP BY target ORDER BY target"
    )


def newest_time(db: Connection) -> float:
    """Return the latest time of anything in the store, 0 where there is nothing."""
    newest = db.value(
        "SELECT max(t) FROM (SELECT max(intended) AS t FROM intents UNION ALL "
        "SELECT max(collected) FROM assignments) AS times"
    )
    return float(newest or 0)


UNJUDGEABLE = f"""
SELECT t.pair_id FROM remarks r CROSS JOIN assignments a JOIN hits h USING (hit_key)
JOIN slots s ON s.hit_key = a.hit_key AND s.slot = r.slot
JOIN slots t ON t.hit_key = s.hit_key AND t.name = s.name
WHERE r.assignment_id = a.assignment_id AND r.unable <> '' AND r.pair_id IS NOT NULL AND a.verdict = 'kept'
AND {COUNTED}
AND NOT EXISTS (SELECT 1 FROM barred b WHERE b.target = h.target AND b.worker_id = a.worker_id)
AND (SELECT sum(o.answered) FROM assignments o WHERE o.worker_id = a.worker_id) >= 3 *
(SELECT count(*) FROM assignments o JOIN remarks q USING (assignment_id)
WHERE o.worker_id = a.worker_id AND q.unable <> '')
GROUP BY t.pair_id HAVING count(DISTINCT a.worker_id) >= {ENOUGH_UNABLE} AND count(DISTINCT a.worker_id) >
(SELECT count(*) FROM {SHOWN} j LEFT JOIN drops d USING (judgment_id)
WHERE j.pair_id = t.pair_id AND d.judgment_id IS NULL)
"""
"""The pairs that are not asked for again: more people could not judge them than did. Who is barred, whose
work was not kept, or who says so of a third of all pairs closes none."""


def waiting_pairs(
    db: Connection, target: str | None = None, *, promised: bool = True
) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs that no open HIT will finish: id, query_id, doc_a, doc_b, votes still missing."""
    # A pair's votes are the judgments that were not dropped, one per worker; an open HIT promises one for
    # each assignment that has not come back; without what is `promised`, all that still need votes.
    return db.execute(_WAITING, target=target or current_target(db), promised=int(promised))


_WAITING = f"""
WITH kept AS (
    SELECT j.pair_id, {JUDGES} AS votes FROM {SHOWN} j
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
    WHERE :promised = 1 AND s.hit_key = o.hit_key AND s.pair_id IS NOT NULL AND o.missing > 0
    GROUP BY s.pair_id
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
    return db.tally(
        "SELECT status, count(*) FROM hits WHERE target = :target GROUP BY status ORDER BY status",
        target=target or current_target(db),
    )


def count_expired(study: "Study", target: str) -> int:
    """Return how many open HITs nobody may take any more, as their time is over: `collect` asks again."""
    with study.transaction(write=False) as db:
        rows = db.execute(
            "SELECT count(*) FROM hits WHERE target = :target AND status = 'open' AND published < :begin",
            target=target,
            begin=time.time() - 86_400 * study.config.hit.lifetime_days,
        )
    return int(rows[0][0])


def count_judgments(db: Connection, target: str | None = None) -> tuple[int, int]:
    """Return how many judgments count and how many were dropped."""
    kept, dropped = db.execute(
        f"SELECT count(*) - count(d.judgment_id), count(d.judgment_id) FROM {VOTES} WHERE {COUNTED}",
        target=target or current_target(db),
    )[0]
    return int(kept), int(dropped)


def count_judged_pairs(db: Connection) -> int:
    """Return how many pairs have a judgment that counts."""
    sql = f"SELECT count(DISTINCT j.pair_id) FROM {SHOWN_VOTES} WHERE d.judgment_id IS NULL AND {COUNTED}"
    return int(db.value(sql, target=current_target(db)))


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
    return db.tally(
        f"SELECT verdict, count(*) FROM {WORK} WHERE {COUNTED} GROUP BY verdict ORDER BY verdict",
        target=current_target(db),
    )


def count_decisions(db: Connection, target: str) -> dict[str, int]:
    """Return how many assignments got each decision."""
    return db.tally(
        f"SELECT coalesce(decision, 'undecided'), count(*) FROM {WORK} "
        "WHERE h.target = :target GROUP BY decision ORDER BY 1",
        target=target,
    )


def count_rows(db: Connection, table: str) -> int:
    """Return how many rows one of the study's tables has."""
    return int(db.value(f"SELECT count(*) FROM {table}"))


def count_queries(db: Connection) -> int:
    """Return how many queries have a pool."""
    return int(db.value("SELECT count(DISTINCT query_id) FROM pooled"))


def count_missing(db: Connection) -> int:
    """Return how many assignments of published HITs have not come back."""
    missing = db.value(
        "SELECT sum(h.assignments - (SELECT count(*) FROM assignments a WHERE a.hit_key = h.hit_key)) "
        "FROM hits h WHERE h.status IN ('planned', 'open') AND h.target = :target",
        target=current_target(db),
    )
    return int(missing or 0)


def hourly_rate(db: Connection) -> float | None:
    """Return how many assignments came an hour, from the first to the last; None for fewer than two."""
    first, last, count = db.execute(
        f"SELECT min(submitted), max(submitted), count(submitted) FROM {WORK} WHERE h.target = :target",
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


WHOLE_HIT = -1
"""The slot of a remark on the whole HIT."""


class Stage(IntEnum):
    """What a study comes to have, in this order."""

    POOL = 0
    TEXTS = 1
    GOLD = 2
    PUBLISHED = 3
    JUDGED = 4
    ANSWERED = 5


def lacking(study: "Study", stage: Stage, *, what: str = "", then: str = "", target: str = "") -> StudyError:
    """Return the error of a study that has not come to a stage, with the whole road to it from here."""
    # The command that the hint begins with is one that the study can take now. `what` is the message where
    # the stage alone does not say it, and `then` what follows on the road.
    from prefjudge.study.pools import load_gold_sets, other_gold

    hidden = study.config.design.gold_per_hit
    with study.transaction(write=False) as db:
        target = target or current_target(db)
        passages = study.config.hit.passages
        gold, of_pairs = (len(load_gold_sets(db, each)) for each in (passages, 2))
        upcoming = _next_stage(db, target, stage, short_of_gold=gold < hidden)
        here = min(stage, upcoming)
        driven = load_setting(db, "strategy") is not None
        pooled = bool(db.execute("SELECT 1 FROM inputs WHERE kind = 'run' LIMIT 1"))
        waiting = bool(waiting_pairs(db, target))
        imported = bool(db.execute("SELECT 1 FROM hits WHERE target = :it LIMIT 1", it=IMPORTED))
        told = {
            Stage.POOL: "no pairs to judge" if count_queries(db) else "no pool",
            Stage.TEXTS: "no texts to show" if not count_rows(db, "passages") else "not all texts to show",
            Stage.GOLD: f"{many(gold, 'gold pair')} of the {hidden} that a HIT hides"
            if of_pairs < hidden
            else f"{many(gold, 'gold question')} of {passages} passages (passages in [hit] of study.toml), "
            f"where a HIT hides {hidden}",
            Stage.PUBLISHED: f"nothing published to {target}",
            Stage.JUDGED: "no judgments yet",
            Stage.ANSWERED: "no preference qrels yet",
        }
    folder, texts = quoted(study.folder), "--queries … --collection …"
    votes, accept = f"prefjudge import {folder} VOTES", f"prefjudge gold {folder} --accept"
    commands = {
        Stage.POOL: f"prefjudge pool {folder} --runs … --qrels … {texts}",
        Stage.TEXTS: f"{votes} {texts}"
        if imported and not pooled
        else f"prefjudge pool {folder} --runs … {texts}",
        Stage.GOLD: f"prefjudge gold {folder} --suggest 12, read the file, then: {accept}",
        Stage.PUBLISHED: f"prefjudge publish {folder} --{target}",
        Stage.JUDGED: command("collect", study.folder, target),
        Stage.ANSWERED: f"prefjudge resolve {folder}",
    }
    verbs = ["pool", "", "gold" if gold < hidden else "", "publish", "collect", "resolve"]
    if driven:
        for at in (Stage.PUBLISHED, Stage.JUDGED, Stage.ANSWERED):
            commands[at], verbs[at] = command("run", study.folder, target), "run"
    after = dict.fromkeys(verb for verb in verbs[here + 1 : stage + 1] if verb not in ("", verbs[here]))
    later = [*after, *([then] if then else [])]
    if then and upcoming > stage:
        return StudyError(what, f"Run: {then}")
    if stage is Stage.PUBLISHED and here > Stage.POOL and not waiting:
        way = f"No pair waits for judgments. Run: {commands[Stage.ANSWERED]}"
        return StudyError(f"the study has {told[stage]}", way)
    hint = f"Run: {commands[here]}"
    if later:
        hint = f"{hint}; then {', '.join(later[:-1])}{' and ' * (len(later) > 1)}{later[-1]}"
    if here < stage:
        hint = f"It has {told[here]}. {hint}"
    if stage is Stage.GOLD:
        hint = f"{hint}. Or {other_gold(study)}"
    if stage >= Stage.JUDGED > Stage.GOLD > here:
        hint = f"{hint}. If you have votes already: {votes}"
    return StudyError(what or f"the study has {told[stage]}", hint)  # it ends in a command or a path


def _next_stage(db: Connection, target: str, stage: Stage, *, short_of_gold: bool) -> Stage:
    """Return what a study does not have yet on the road to a stage, and can get now."""
    if stage > Stage.PUBLISHED and count_judgments(db, target)[0]:
        return Stage.ANSWERED
    if stage > Stage.PUBLISHED and count_hits(db, target):
        return Stage.JUDGED
    if not count_rows(db, "pairs"):
        return Stage.POOL
    if db.execute(_WITHOUT_TEXT):
        return Stage.TEXTS
    return Stage.GOLD if short_of_gold else Stage.PUBLISHED


_WITHOUT_TEXT = """
SELECT 1 FROM pairs p WHERE p.query_id NOT IN (SELECT query_id FROM queries)
OR p.doc_a NOT IN (SELECT doc_id FROM passages) OR p.doc_b NOT IN (SELECT doc_id FROM passages) LIMIT 1
"""

"""The versions of the best-known answers, and the challenges that made them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prefjudge.database import Connection
from prefjudge.study.targets import COUNTED, current_target

if TYPE_CHECKING:
    from prefjudge.core.planning.challenge import Duel


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
            "SELECT version, count(DISTINCT query_id), count(*) FROM answers "
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
    from prefjudge.core.planning.challenge import Duel

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
    found: dict[tuple[str, str], Finding] = {}
    for query, doc, challenge, source in db.execute(
        "SELECT query_id, doc_id, 0 AS challenge, source FROM pooled "
        "UNION SELECT query_id, doc_id, challenge, source FROM challengers "
        "ORDER BY query_id, doc_id, challenge, source"
    ):
        first = found.setdefault((query, doc), Finding(challenge=challenge, sources=()))
        if first.challenge == challenge:
            found[query, doc] = Finding(challenge=challenge, sources=(*first.sources, source))
    return found


def first_answers_since(db: Connection) -> str | None:
    """Return when the last vote before the first challenge was collected; None where there is none."""
    rows = db.execute(
        "SELECT max(collected) FROM assignments JOIN hits h USING (hit_key) "
        f"WHERE {COUNTED} AND collected < coalesce((SELECT min(started) FROM challenges), 1e300)",
        target=current_target(db),
    )
    return None if rows[0][0] is None else moment(rows[0][0])


def moment(seconds: float) -> str:
    """Return a time as people read it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

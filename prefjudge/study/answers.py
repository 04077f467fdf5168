"""The best-known answers, version after version, and the challenges that changed them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prefjudge.core.copies import labels_of_candidates
from prefjudge.core.planning.rounds import Duel
from prefjudge.core.pools import Candidate, answers_of, candidates_of
from prefjudge.core.runs import Qrels
from prefjudge.database import Connection, row_of
from prefjudge.study.pools import is_published, load_copies, load_pools
from prefjudge.study.store import end


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChallenge:
    """A challenge that has not been concluded: its number, its strategy and the newcomers' rows."""

    number: int
    strategy: str
    rows: Sequence[tuple[str, str, str]]


def save_answers(db: Connection, version: int, qrels: Qrels) -> None:
    """Record a version of the best-known answers, 0 of what ``resolve`` made; what it was before is kept."""
    # Of the copies of an answer, which files list, the candidate is recorded.
    if copies := load_copies(db):
        qrels = labels_of_candidates(qrels, copies.standing(load_pools(db, newcomers=True)))
    now, when = set(candidates_of(qrels)), time.time()
    before = set(db.execute("SELECT query_id, doc_id FROM answers WHERE version = :version", version=version))
    for query, doc in before - now:
        which = "version = :version AND query_id = :query AND doc_id = :doc"
        end(db, "answers", which, when, version=version, query=query, doc=doc)
    db.insert_all(
        "answers",
        (
            {"version": version, "query_id": query, "doc_id": doc, "made": when}
            for query, doc in sorted(now - before)
        ),
    )


def load_answers(db: Connection, version: int, name: str) -> Qrels:
    """Return a version of the best-known answers."""
    sql = "SELECT query_id, doc_id FROM answers WHERE version = :version ORDER BY query_id, doc_id"
    return answers_of(name, db.lists(sql, version=version))


def last_version(db: Connection) -> int:
    """Return the number of the last version of the answers, 0 where there is none."""
    return int(db.value("SELECT coalesce(max(version), 0) FROM answers"))


def load_compared(db: Connection) -> set[Candidate]:
    """Return the candidates that people may have compared, by query_id and doc_id: they stay."""
    if is_published(db) or last_version(db):
        return set(db.execute("SELECT query_id, doc_id FROM pooled"))
    sides = ("SELECT query_id, left_id FROM judgments", "SELECT query_id, right_id FROM judgments")
    return set(db.execute(" UNION ".join(sides)))


def save_challenge(
    db: Connection, strategy: str, brought_by: Mapping[tuple[str, str], Sequence[str]], when: float
) -> int:
    """Open a challenge with its newcomers, and return its number."""
    number = int(db.value("SELECT coalesce(max(challenge), 0) + 1 FROM challenges"))
    db.insert("challenges", {"challenge": number, "strategy": strategy, "started": when})
    db.insert_all(
        "challengers",
        (
            {"challenge": number, "query_id": query, "doc_id": doc, "source": source}
            for (query, doc), sources in brought_by.items()
            for source in sources
        ),
    )
    return number


def load_open_challenge(db: Connection) -> OpenChallenge | None:
    """Return the challenge that is under way, or None."""
    rows = db.execute("SELECT challenge, strategy FROM challenges WHERE concluded IS NULL ORDER BY challenge")
    if not rows:
        return None
    number, strategy = rows[0]
    return OpenChallenge(
        number=number,
        strategy=strategy,
        rows=db.execute(
            "SELECT query_id, doc_id, source FROM challengers WHERE challenge = :number "
            "ORDER BY query_id, doc_id, source",
            number=number,
        ),
    )


def load_newcomers(db: Connection) -> dict[int, list[tuple[str, str]]]:
    """Return the query_id and doc_id of the newcomers of each challenge, by its number."""
    return db.lists(
        "SELECT DISTINCT challenge, query_id, doc_id FROM challengers ORDER BY challenge, query_id, doc_id"
    )


def save_conclusion(db: Connection, number: int, duels: Iterable[Duel], when: float) -> None:
    """Record how a challenge ended."""
    db.insert_all(
        "duels",
        (
            {
                "challenge": number,
                **row_of(duel),
                "brought_by": ", ".join(duel.brought_by),
                "dethroned": int(duel.dethroned),
            }
            for duel in duels
        ),
        "ON CONFLICT (challenge, query_id, newcomer) DO NOTHING",
    )
    db.update("challenges", {"concluded": when}, challenge=number)

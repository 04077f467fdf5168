"""What the study competes over: its inputs, pools, texts and pairs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prefjudge.core.pairs import Pairs
from prefjudge.core.pools import Pools, pools_of
from prefjudge.database import Connection
from prefjudge.errors import StudyError


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that the study was made from."""

    kind: str
    path: str
    digest: str
    name: str


def is_published(db: Connection, target: str | None = None) -> bool:
    """Return whether the study has HITs, at a target or anywhere."""
    where = "WHERE target = :target" if target else ""
    return bool(db.execute(f"SELECT 1 FROM hits {where} LIMIT 1", {"target": target} if target else {}))


def save_pools(db: Connection, pools: Pools, pairs: Pairs) -> None:
    """Replace the study's pools and pairs, which ask for no votes yet; inputs and models' votes go with them.

    A model that judges again is not asked again: its replies are kept by what was asked.
    """
    for table in ("inputs", "pooled", "model_votes", "pairs"):
        db.execute(f"DELETE FROM {table}")
    db.executemany(
        "INSERT INTO pooled VALUES (:query, :doc, :source)",
        (
            {
                "query": pools.queries[pools.query[row]],
                "doc": pools.docs[pools.doc[row]],
                "source": pools.sources[source],
            }
            for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
        ),
    )
    db.executemany(
        "INSERT INTO pairs VALUES (:id, :query, :a, :b, 0)",
        (
            {"id": i, "query": pairs.queries[q], "a": pairs.docs[a], "b": pairs.docs[b]}
            for i, (q, a, b) in enumerate(
                zip(pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), strict=True), start=1
            )
        ),
    )


def save_inputs(db: Connection, inputs: Iterable[InputFile]) -> None:
    """Record the files that the study is made from; one that was there, by its kind and name, has moved."""
    files = [{"kind": i.kind, "path": i.path, "digest": i.digest, "name": i.name} for i in inputs]
    db.executemany(
        "DELETE FROM inputs WHERE kind = :kind AND name = :name",
        [{"kind": file["kind"], "name": file["name"]} for file in files],
    )
    db.executemany(
        "INSERT INTO inputs VALUES (:kind, :path, :digest, :name) ON CONFLICT (kind, path) DO NOTHING", files
    )


def save_texts(db: Connection, queries: Mapping[str, str], passages: Mapping[str, str]) -> None:
    """Keep the texts of queries and passages.

    Raises
    ------
    StudyError
        Other texts have been published.
    """
    if is_published(db):
        shown = {"query": load_queries(db), "passage": load_passages(db)}
        for kind, texts in (("query", queries), ("passage", passages)):
            other = [key for key, text in texts.items() if shown[kind].get(key, text) != text]
            if other:
                raise StudyError(
                    f"the text of {kind} {other[0]!r} ({len(other):,} in all) is not what was published",
                    "Give the queries and the collection that the study was made from, or make a new study.",
                )
    db.executemany(
        "INSERT INTO queries VALUES (:id, :text) ON CONFLICT (query_id) DO UPDATE SET text = excluded.text",
        ({"id": key, "text": text} for key, text in queries.items()),
    )
    db.executemany(
        "INSERT INTO passages VALUES (:id, :text) ON CONFLICT (doc_id) DO UPDATE SET text = excluded.text",
        ({"id": key, "text": text} for key, text in passages.items()),
    )


def load_pools(db: Connection, *, newcomers: bool = False) -> Pools:
    """Return the study's pools; with ``newcomers``, those that challenges brought are in them, too."""
    brought = "UNION SELECT query_id, doc_id, source FROM challengers" if newcomers else ""
    rows = db.execute(
        f"SELECT query_id, doc_id, source FROM pooled {brought} ORDER BY query_id, doc_id, source"
    )
    return pools_of(rows)


def load_pairs(db: Connection) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs: id, query_id, doc_a, doc_b, votes wanted."""
    return db.execute("SELECT pair_id, query_id, doc_a, doc_b, votes FROM pairs ORDER BY pair_id")


def load_pairs_by_number(db: Connection) -> dict[int, tuple[str, str, str]]:
    """Return query_id, doc_a and doc_b of each pair, by its number."""
    return {number: (query, a, b) for number, query, a, b, _ in load_pairs(db)}


def load_pool_pairs(db: Connection) -> list[tuple[int, str, str, str, int]]:
    """Return the pairs whose passages are both pooled, as :func:`load_pairs`: not those of challenges."""
    members = set(db.execute("SELECT query_id, doc_id FROM pooled"))
    return [row for row in load_pairs(db) if {(row[1], row[2]), (row[1], row[3])} <= members]


def load_queries(db: Connection) -> dict[str, str]:
    """Return the texts of the queries."""
    return dict(db.execute("SELECT query_id, text FROM queries ORDER BY query_id"))


def load_passages(db: Connection) -> dict[str, str]:
    """Return the texts of the passages."""
    return dict(db.execute("SELECT doc_id, text FROM passages ORDER BY doc_id"))


def load_inputs(db: Connection) -> list[InputFile]:
    """Return the files that the study was made from."""
    rows = db.execute("SELECT kind, path, digest, name FROM inputs ORDER BY kind, path")
    return [InputFile(kind=kind, path=path, digest=digest, name=name) for kind, path, digest, name in rows]


def save_pair(db: Connection, number: int, query: str, doc_a: str, doc_b: str) -> None:
    """Add a pair of candidates for which nobody asks, where it is missing."""
    db.execute(
        "INSERT INTO pairs VALUES (:id, :query, :a, :b, 0) ON CONFLICT DO NOTHING",
        id=number,
        query=query,
        a=doc_a,
        b=doc_b,
    )


def save_votes_wanted(db: Connection, votes: Mapping[int, int]) -> None:
    """Ask for so many votes on the pairs, by their numbers."""
    db.executemany(
        "UPDATE pairs SET votes = :votes WHERE pair_id = :id",
        ({"id": number, "votes": count} for number, count in votes.items()),
    )


def save_wanted(db: Connection, wanted: Iterable[tuple[str, str, str, int]], target: str) -> None:
    """Ask for more votes: query_id, doc_a, doc_b, and how many on top of those that count at a target.

    A pair that the study did not have is added.
    """
    kept = {
        (query, a, b): votes
        for query, a, b, votes in db.execute(
            "SELECT p.query_id, p.doc_a, p.doc_b, count(DISTINCT j.worker_id) FROM pairs p "
            "JOIN judgments j USING (pair_id) JOIN assignments a USING (assignment_id) "
            "JOIN hits h USING (hit_key) LEFT JOIN drops d USING (judgment_id) "
            "WHERE d.judgment_id IS NULL AND h.target = :target GROUP BY p.query_id, p.doc_a, p.doc_b",
            target=target,
        )
    }
    following = int(db.execute("SELECT coalesce(max(pair_id), 0) + 1 FROM pairs")[0][0])
    db.executemany(
        "INSERT INTO pairs VALUES (:id, :query, :a, :b, :votes) "
        "ON CONFLICT (query_id, doc_a, doc_b) DO UPDATE SET votes = excluded.votes",
        (
            {"id": following + i, "query": query, "a": a, "b": b, "votes": more + kept.get((query, a, b), 0)}
            for i, (query, a, b, more) in enumerate(wanted)
        ),
    )

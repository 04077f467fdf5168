"""Pool and scores as SQL: one text for every engine that has a table of runs and one of qrels.

Tables: ``runs (path, tag, query, doc, rank, score)`` and ``qrels (query, doc, grade)``; text compares as
bytes. A literal with a decimal point is a DECIMAL to some engines, so every one is cast.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from prefjudge.core.qrels import JudgedRanks, Qrels
from prefjudge.core.runs import Heads, Order, encode
from prefjudge.engines.files import run_tags
from prefjudge.errors import InputError
from prefjudge.formats.problems import Notice, paths_of

_KEYS = {
    Order.SCORE: "score",
    Order.SCORE_F32: "CAST(CAST(score AS FLOAT) AS DOUBLE)",
    Order.RANK: "CAST(-rank AS DOUBLE)",
}


class SqlEngine(Protocol):
    """What runs the texts."""

    def load_runs(self, paths: Sequence[str], order: Order) -> None:
        """Fill the table ``runs``; every line is checked."""
        ...

    def load_qrels(self, qrels: Qrels) -> None:
        """Fill the table ``qrels``."""
        ...

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...


def key_of(order: Order) -> str:
    """Return what ranks a document: higher is better."""
    if order is Order.FILE:
        raise InputError("the order of the file's lines is not known to SQL", "choose --order score, or rank")
    return _KEYS[order]


def top_text(k: int, order: Order) -> str:
    """Return the ``k`` best documents of each query of each run."""
    return f"""
        SELECT path, query, doc, score, position
        FROM (
            SELECT path, query, doc, score,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY {key_of(order)} DESC, doc DESC)
                    AS position
            FROM runs
        ) AS ranked
        WHERE position <= {int(k)}"""


def judged_text(order: Order) -> str:
    """Return the positions of the judged documents and the spans of their ties."""
    return f"""
        SELECT ranked.path AS path, ranked.query AS query, ranked.doc AS doc, qrels.grade AS grade,
            position, best, best + tied - 1 AS worst
        FROM (
            SELECT path, query, doc,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY ranking DESC, doc DESC) AS position,
                RANK() OVER (PARTITION BY path, query ORDER BY ranking DESC) AS best,
                COUNT(*) OVER (PARTITION BY path, query, ranking) AS tied
            FROM (SELECT path, query, doc, {key_of(order)} AS ranking FROM runs) AS keyed
        ) AS ranked
        JOIN qrels ON ranked.query = qrels.query AND ranked.doc = qrels.doc"""


RETRIEVED = """
        SELECT path, runs.query AS query, COUNT(*) AS retrieved
        FROM runs
        JOIN (SELECT DISTINCT query FROM qrels) AS judged ON runs.query = judged.query
        GROUP BY path, runs.query"""
"""How many documents each run returned for each judged query."""


def scores_text(measure: str, cutoff: int, rel: float, order: Order) -> str:
    """Return a score for each run and judged query: ``RR``, ``Success``, ``P`` or ``R`` at a cut-off.

    Each is one division, so that every engine gives the same bits. A query that a run misses scores 0.
    """
    relevant = f"grade >= CAST({float(rel)!r} AS DOUBLE)"
    hit = f"position <= {int(cutoff)} AND {relevant}"
    hits = f"COALESCE(SUM(CASE WHEN {hit} THEN 1 ELSE 0 END), 0)"
    first = f"MIN(CASE WHEN {hit} THEN position END)"
    values = {
        "RR": f"COALESCE(CAST(1 AS DOUBLE) / {first}, CAST(0 AS DOUBLE))",
        "Success": f"CASE WHEN {hits} > 0 THEN CAST(1 AS DOUBLE) ELSE CAST(0 AS DOUBLE) END",
        "P": f"CAST({hits} AS DOUBLE) / CAST({int(cutoff)} AS DOUBLE)",
        "R": f"COALESCE(CAST({hits} AS DOUBLE) / NULLIF(CAST(MAX(relevant) AS DOUBLE), CAST(0 AS DOUBLE)),"
        " CAST(0 AS DOUBLE))",
    }
    if measure not in values:
        raise InputError(f"{measure} is not a measure of the SQL engines", "there are " + ", ".join(values))
    return f"""
        SELECT cells.path AS path, cells.query AS query, {values[measure]} AS value
        FROM (
            SELECT path, query, relevant
            FROM (SELECT DISTINCT path FROM runs) AS files
            CROSS JOIN (
                SELECT query, SUM(CASE WHEN {relevant} THEN 1 ELSE 0 END) AS relevant
                FROM qrels
                GROUP BY query
            ) AS judged
        ) AS cells
        LEFT JOIN ({judged_text(order)}) AS found ON cells.path = found.path AND cells.query = found.query
        GROUP BY cells.path, cells.query"""


def top(
    engine: SqlEngine,
    paths: str | Path | Iterable[str | Path],
    *,
    k: int,
    order: Order | str = Order.SCORE,
    queries: Collection[str] | None = None,
    notices: list[Notice] | None = None,
) -> Heads:
    """Return the ``k`` best documents of each query of each run, as `engines.files.top` does.

    Queries and documents are numbered in the order of their ids.
    """
    order, names = Order(order), paths_of(paths)
    engine.load_runs(names, order)
    rows = engine.rows(top_text(k, order))
    if queries is not None:
        wanted = frozenset(queries)
        rows = [row for row in rows if row[1] in wanted]
    tags = run_tags(names, _tags_of(engine, names), notices)
    place = {name: number for number, name in enumerate(names)}
    rows.sort(key=lambda row: (place[row[0]], row[1], row[4]))
    query_ids, docs = (tuple(sorted({row[column] for row in rows})) for column in (1, 2))
    return Heads(
        runs=tags,
        queries=query_ids,
        docs=docs,
        run=np.array([place[row[0]] for row in rows], dtype=np.int32),
        query=encode([row[1] for row in rows], query_ids),
        doc=encode([row[2] for row in rows], docs),
        position=np.array([row[4] for row in rows], dtype=np.int32),
        score=np.array([row[3] for row in rows], dtype=np.float64),
        order=order,
    )


def judged(
    engine: SqlEngine,
    paths: str | Path | Iterable[str | Path],
    qrels: Qrels,
    *,
    order: Order | str = Order.SCORE,
    notices: list[Notice] | None = None,
) -> list[JudgedRanks]:
    """Return where each run placed the judged documents, as `engines.files.judged` does."""
    order, names = Order(order), paths_of(paths)
    engine.load_runs(names, order)
    engine.load_qrels(qrels)
    codes = {name: code for code, name in enumerate(qrels.queries)}
    pairs = {
        (qrels.queries[query], qrels.docs[doc]): row
        for row, (query, doc) in enumerate(zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True))
    }
    found: dict[str, list[tuple[int, ...]]] = {name: [] for name in names}
    for path, query, doc, _, position, best, worst in engine.rows(judged_text(order)):
        found[path].append((codes[query], position, pairs[query, doc], best, worst))
    seen = {name: np.zeros(len(qrels.queries), np.int32) for name in names}
    for path, query, count in engine.rows(RETRIEVED):
        seen[path][codes[query]] = count
    ranks = []
    for name, tag in zip(names, run_tags(names, _tags_of(engine, names), notices), strict=True):
        columns = np.array(sorted(found[name]), dtype=np.int32).reshape(-1, 5).T
        ranks.append(
            JudgedRanks(
                run=tag,
                query=columns[0],
                judged=columns[2],
                position=columns[1],
                best=columns[3],
                worst=columns[4],
                grade=qrels.grade[columns[2]],
                retrieved=seen[name],
                order=order,
            )
        )
    return ranks


def _tags_of(engine: SqlEngine, names: Sequence[str]) -> list[str]:
    tags = dict(engine.rows("SELECT path, MIN(tag) AS tag FROM runs GROUP BY path"))
    return [tags.get(name) or "" for name in names]

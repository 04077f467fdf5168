"""The pool as SQL, saved by the engine where the runs are: only the sizes of the pools are returned."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import numpy as np

from prefjudge.core.pooling.pools import QrelsPerQuery, build_pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import heads_of
from prefjudge.engines.files.files import top_of_run
from prefjudge.engines.sql.answers import top_answer
from prefjudge.engines.sql.statements import SqlRuns
from prefjudge.engines.sql.tables import NAMES, load_rows, rows_of
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import is_text

KNOWN = "prefjudge_known"
"""The table of what the qrels put into the pool: query, doc, source."""


def pool_text(heads: str) -> str:
    """Return the candidates of each query that a run answers, and who contributed them."""
    return f"""
        SELECT query, doc, ARRAY_JOIN(ARRAY_SORT(ARRAY_AGG(source)), ',') AS contributors
        FROM (
            SELECT query, doc, run AS source
            FROM {heads} AS heads
            JOIN {NAMES} AS names ON heads.path = names.path
            UNION ALL
            SELECT query, doc, source FROM {KNOWN} WHERE query IN (SELECT query FROM {heads} AS answered)
        ) AS contributions
        GROUP BY query, doc"""


def sizes_text(pool: str) -> str:
    """Return how many queries of a saved pool have each number of candidates."""
    return f"""
        SELECT size, COUNT(*) AS queries
        FROM (SELECT query, COUNT(*) AS size FROM {pool} GROUP BY query) AS sizes
        GROUP BY size
        ORDER BY size"""


def save_pool(
    runs: SqlRuns,
    path: str,
    *,
    depth: int = 1,
    qrels: Qrels | None = None,
    per_query: QrelsPerQuery = QrelsPerQuery.FIRST,
    queries: Collection[str] | None = None,
) -> dict[int, int]:
    """Write the pool as Parquet where the engine keeps its files: query, doc, contributors.

    Its rows are those that :func:`prefjudge.core.pooling.pools.build_pools` makes of the same runs, in any
    order.

    Parameters
    ----------
    runs : SqlRuns
        The runs.
    path : str
        A path, or an address that the engine knows.
    depth : int
        How many documents of each run enter the pool.
    qrels : Qrels, optional
        The known relevant documents.
    per_query : QrelsPerQuery
        How many qrels of a query enter its pool.
    queries : collection of str, optional
        The queries to pool; all by default.

    Returns
    -------
    dict of int to int
        How many queries have a pool of each size. Where no run has one of the queries it is empty, and
        nothing is written.

    Raises
    ------
    InputError
        The pool cannot be written, or holds an id that SQL does not know.
    """
    work = partial(top_answer, work=top_of_run(depth, runs.how, queries))
    heads, _ = runs.keep(work)
    if queries is not None and not rows_of(runs.engine, f"SELECT query FROM {heads} AS heads LIMIT 1"):
        return {}
    known = _contributions(qrels, per_query) if qrels is not None else []
    load_rows(runs.engine, KNOWN, {"query": "string", "doc": "string", "source": "string"}, known)
    pool = runs.engine.save(pool_text(heads), path)
    return {int(size): int(count) for size, count in rows_of(runs.engine, sizes_text(pool))}


def _contributions(qrels: Qrels, per_query: QrelsPerQuery) -> list[tuple[str, str, str]]:
    """Return what the qrels put into the pools: those of no run, where every query is answered."""
    none = np.zeros(0, np.int32)
    nothing = heads_of((), qrels.queries, (), run=none, query=none, doc=none)
    pools = build_pools(nothing, qrels, per_query=per_query)
    pairs = zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    rows = [(pools.queries[query], pools.docs[doc], qrels.name) for query, doc in pairs]
    rows = [row for row in rows if is_text(row[0])]  # of the others the runs have none
    odd = next((doc for _, doc, _ in rows if not is_text(doc)), None)
    if odd is not None:
        raise InputError(
            f"the id {odd!r} of the qrels is not UTF-8, and Parquet knows no other text",
            "Write text, for instance .tsv.",
        )
    return rows

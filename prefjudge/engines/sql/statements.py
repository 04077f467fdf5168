"""The top of runs and the places of judged documents as SQL: one text for every engine that has the tables.

From the rows returned the measures are computed as they are from files: equal places give equal scores, to
the last digit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order, encode, heads_of
from prefjudge.engines.files.files import run_tags
from prefjudge.engines.files.overlap import check_overlap
from prefjudge.engines.sql.tables import NAMES, QRELS, QUERIES, RUNS, SqlEngine, load_qrels, load_queries
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice, paths_of

_TOO_LARGE = 3.4028235677973366e38
"""From here on float32 is infinite, which DuckDB would not say of itself."""
_KEYS = {
    Order.SCORE: "score",
    Order.SCORE_F32: f"""
        CASE
            WHEN score >= CAST('{_TOO_LARGE!r}' AS DOUBLE) THEN CAST('Infinity' AS DOUBLE)
            WHEN score <= CAST('-{_TOO_LARGE!r}' AS DOUBLE) THEN CAST('-Infinity' AS DOUBLE)
            ELSE CAST(CAST(score AS FLOAT) AS DOUBLE)
        END""",
    Order.RANK: "CAST(-rank AS DOUBLE)",
}


def key_of(order: Order) -> str:
    """Return what ranks a document: higher is better."""
    if order is Order.FILE:
        raise InputError(
            "the order of the file's lines is not known to SQL", "Choose --order score, or rank."
        )
    return _KEYS[order]


def top_text(k: int, order: Order, *, some: bool = False) -> str:
    """Return the ``k`` best documents of each query of each run, or of each in the table of queries."""
    if k < 1:
        raise InputError(f"the depth is {k}", "Give a depth of 1 or more.")
    wanted = f"WHERE query IN (SELECT query FROM {QUERIES})" if some else ""
    return f"""
        SELECT path, query, doc, position
        FROM (
            SELECT path, query, doc,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY {key_of(order)} DESC, doc DESC)
                    AS position
            FROM {RUNS}
            {wanted}
        ) AS ranked
        WHERE position <= {int(k)}"""


def judged_text(order: Order) -> str:
    """Return the positions of the judged documents and the spans of their ties."""
    return f"""
        SELECT ranked.path AS path, ranked.query AS query, ranked.doc AS doc,
            position, best, best + tied - 1 AS worst
        FROM (
            SELECT path, query, doc,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY ranking DESC, doc DESC) AS position,
                RANK() OVER (PARTITION BY path, query ORDER BY ranking DESC) AS best,
                COUNT(*) OVER (PARTITION BY path, query, ranking) AS tied
            FROM (
                SELECT path, query, doc, {key_of(order)} AS ranking
                FROM {RUNS}
                WHERE query IN (SELECT query FROM {QRELS})
            ) AS keyed
        ) AS ranked
        JOIN {QRELS} AS labels ON ranked.query = labels.query AND ranked.doc = labels.doc"""


RETRIEVED = f"""
        SELECT path, query, COUNT(*) AS retrieved
        FROM {RUNS}
        WHERE query IN (SELECT query FROM {QRELS})
        GROUP BY path, query"""
"""How many documents each run returned for each judged query."""

_EACH_RUN = f"""
        SELECT path, MIN(tag) AS tag, MIN(query) AS query, MIN(doc) AS doc,
            MIN(source) AS source, MAX(source) AS other
        FROM {RUNS}
        GROUP BY path
        ORDER BY path"""


class SqlRuns:
    """Runs in the table of an engine: loaded and checked once, asked as often as one likes.

    Parameters
    ----------
    engine : SqlEngine
        What runs the texts.
    paths : path or iterable of paths
        Run files, and Parquet that may hold many runs. Runs come in the order of their files, and those of
        one Parquet by name.
    order : Order
        What ranks a document higher.
    notices : list of Notice, optional
        Receives what was odd.

    Attributes
    ----------
    paths, tags : sequence of str
        The runs as the table knows them, and what they are called.
    sources : tuple of str
        The file of each run, as it was given; of an address that stands for many, its own.
    examples : list of (str, str)
        A query and a document of each run.
    forms : dict of str to RunForm
        What each run file was taken for.

    Raises
    ------
    InputError
        A run cannot be read.
    """

    def __init__(
        self,
        engine: SqlEngine,
        paths: str | Path | Iterable[str | Path],
        *,
        order: Order | str = Order.SCORE,
        notices: list[Notice] | None = None,
    ) -> None:
        self.engine, self.order, self.notices = engine, Order(order), notices
        key_of(self.order)
        given = tuple(dict.fromkeys(paths_of(paths)))
        remarks: list[Notice] = []
        self.forms = engine.load_runs(given, self.order, remarks)
        place = {path: number for number, path in enumerate(given)}
        found = sorted(engine.rows(_EACH_RUN), key=lambda row: (place.get(row[4], len(given)), row[0]))
        shared = next((row for row in found if row[4] != row[5]), None)
        if shared is not None:
            raise InputError(
                f"{shared[4]} and {shared[5]} both hold a run {shared[0]!r}", "Rename one of them."
            )
        self.paths = [row[0] for row in found]
        self.sources = tuple(row[4] for row in found)
        self.examples = [(row[2], row[3]) for row in found]
        self.tags = run_tags(self.paths, [row[1] or "" for row in found], notices)
        if notices is not None:
            notices += remarks

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self.paths)

    def load_names(self) -> None:
        """Fill the table of what the runs are called."""
        named = list(zip(self.paths, self.tags, strict=True))
        self.engine.load(NAMES, {"path": "STRING", "run": "STRING"}, named)

    def top(self, k: int, queries: Collection[str] | None = None) -> Heads:
        """Return the ``k`` best documents of each query of each run, as `engines.files.top` does.

        Queries and documents are numbered in the order of their ids.
        """
        if queries is not None:
            load_queries(self.engine, queries)
        rows = self.engine.rows(top_text(k, self.order, some=queries is not None))
        place = {name: number for number, name in enumerate(self.paths)}
        rows.sort(key=lambda row: (place[row[0]], row[1], row[3]))
        query_ids, docs = (tuple(sorted({row[column] for row in rows})) for column in (1, 2))
        return heads_of(
            self.tags,
            query_ids,
            docs,
            run=np.array([place[row[0]] for row in rows], dtype=np.int32),
            query=encode([row[1] for row in rows], query_ids),
            doc=encode([row[2] for row in rows], docs),
            order=self.order,
        )

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents, as `engines.files.judged` does."""
        load_qrels(self.engine, qrels)
        codes = {name: code for code, name in enumerate(qrels.queries)}
        pairs = {
            (qrels.queries[query], qrels.docs[doc]): row
            for row, (query, doc) in enumerate(zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True))
        }
        found: dict[str, list[tuple[int, ...]]] = {path: [] for path in self.paths}
        for path, query, doc, position, best, worst in self.engine.rows(judged_text(self.order)):
            found[path].append((codes[query], position, pairs[query, doc], best, worst))
        seen = {path: np.zeros(len(qrels.queries), np.int32) for path in self.paths}
        for path, query, count in self.engine.rows(RETRIEVED):
            seen[path][codes[query]] = count
        ranks = []
        for path, tag, example in zip(self.paths, self.tags, self.examples, strict=True):
            shared = int(np.count_nonzero(seen[path]))
            check_overlap(
                path,
                qrels,
                example=example,
                shared=shared,
                found=len(found[path]),
                notices=self.notices,
            )
            columns = np.array(sorted(found[path]), dtype=np.int32).reshape(-1, 5).T
            ranks.append(
                JudgedRanks(
                    run=tag,
                    query=columns[0],
                    judged=columns[2],
                    position=columns[1],
                    best=columns[3],
                    worst=columns[4],
                    grade=qrels.grade[columns[2]],
                    retrieved=seen[path],
                    order=self.order,
                )
            )
        return ranks

"""The tables that the SQL texts are about, and what an engine does with them.

Tables: runs (path, tag, query, doc, rank, score, and source: the file that it is from) and qrels (query, doc,
grade); text compares as bytes. What is too large to return is saved by the engine where it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Order
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import LIMIT, Notice, is_text
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.tables import Table, to_records

RUNS, QRELS, QUERIES, NAMES, OUTGOING = (
    f"prefjudge_{noun}" for noun in ("runs", "qrels", "queries", "names", "outgoing")
)
"""The tables: a session may be somebody's, with tables of their own."""

_TYPES = {"text": "STRING", "money": "STRING", "integer": "BIGINT", "flag": "BOOLEAN"}
_REPEATED = f"""
        SELECT DISTINCT path, query, doc
        FROM (
            SELECT path, query, doc, LAG(doc) OVER (PARTITION BY path, query ORDER BY doc) AS before
            FROM {RUNS}
        ) AS listed
        WHERE doc = before
        LIMIT {LIMIT}"""
"""Sorting the documents of a query takes a cluster half as long as counting each."""


class SqlEngine(Protocol):
    """What runs the texts."""

    def load_runs(self, paths: Sequence[str], order: Order, notices: list[Notice]) -> dict[str, RunForm]:
        """Fill the table of runs from run files and Parquet; every line of a file is checked.

        Returns what each run file was taken for.
        """
        ...

    def load(self, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Fill a table with rows from home; columns are of the types STRING, BIGINT, DOUBLE or BOOLEAN."""
        ...

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as Parquet where the engine keeps its files; return their name in SQL."""
        ...

    def close(self) -> None:
        """Forget the tables."""
        ...


def load_qrels(engine: SqlEngine, qrels: Qrels) -> None:
    """Fill the table of qrels, without ids that are not UTF-8: SQL knows no other text."""
    rows = zip(qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist(), strict=True)
    named = ((qrels.queries[query], qrels.docs[doc], grade) for query, doc, grade in rows)
    known = [row for row in named if is_text(row[0]) and is_text(row[1])]
    engine.load(QRELS, {"query": "STRING", "doc": "STRING", "grade": "DOUBLE"}, known)


def load_queries(engine: SqlEngine, queries: Collection[str]) -> None:
    """Fill the table of the queries that are wanted."""
    engine.load(QUERIES, {"query": "STRING"}, [(query,) for query in queries if is_text(query)])


def save_table(engine: SqlEngine, table: Table, path: str) -> None:
    """Write a table from home as Parquet."""
    types = {column.name: _TYPES.get(column.kind, "DOUBLE") for column in table.columns}
    kinds = list(types.values())
    rows = [
        tuple(
            float(value) if kind == "DOUBLE" and isinstance(value, int) else value
            for value, kind in zip(record.values(), kinds, strict=True)
        )
        for record in to_records(table)
    ]
    odd = next((cell for row in rows for cell in row if isinstance(cell, str) and not is_text(cell)), None)
    if odd is not None:
        raise InputError(
            f"{path}: {printable(odd)!r} is not UTF-8, and Parquet knows no other text", "Write CSV or JSON."
        )
    engine.load(OUTGOING, types, rows)
    engine.save(f"SELECT * FROM {OUTGOING}", path)


def check_runs(engine: SqlEngine, order: Order) -> None:
    """Refuse a table of runs in which a value is missing, or a document comes twice for a query.

    Raises
    ------
    InputError
        With the rows that are wrong, up to a limit.
    """
    needed = [*("path", "query", "doc", "score"), *(("rank",) if order is Order.RANK else ())]
    missing = " OR ".join(f"{column} IS NULL" for column in needed)
    holes = engine.rows(f"SELECT path, query, doc FROM {RUNS} WHERE {missing} OR isnan(score) LIMIT {LIMIT}")
    if holes:
        raise InputError(
            "rows of the runs lack a value:",
            f"each row needs {', '.join(needed)}, and a score that is a number",
            [f"{path}: query {query!r}, document {doc!r}" for path, query, doc in holes],
        )
    again = engine.rows(_REPEATED)
    if again:
        raise InputError(
            "documents are repeated in the runs:",
            "Keep one line of each; prefjudge check FILE names the lines.",
            [f"{path}: document {doc!r} of query {query!r}" for path, query, doc in sorted(again)],
        )

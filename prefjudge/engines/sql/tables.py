"""What an engine of SQL does: it asks tables, and runs our own reader where the run files are.

Runs that a user has as tables (Parquet) are asked in SQL: runs (path, tag, query, doc, rank, score, source:
the file it is from). What is too large to return is saved by the engine. Text compares as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Order
from prefjudge.engines.sql.answers import Answer, Summary
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.problems import LIMIT, is_text
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.tables import Table, to_records

if TYPE_CHECKING:
    import pyarrow as pa

RUNS, QRELS, QUERIES, NAMES, OUTGOING, FOUND = (
    f"prefjudge_{noun}" for noun in ("runs", "qrels", "queries", "names", "outgoing", "found")
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
_CASTS = "CAST(path AS {text}) AS path, CAST(tag AS {text}) AS tag, CAST(query AS {text}) AS query,"
_CASTS += " CAST(doc AS {text}) AS doc, CAST(rank AS BIGINT) AS rank, CAST(score AS DOUBLE) AS score"


GroupWork: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[tuple[Any, pa.RecordBatch]]]"
"""Makes of a stream of rows summaries, which go home, and rows, which stay."""


class SqlEngine(Protocol):
    """What asks tables, and reads run files."""

    executor: Executor | None
    """Reads run files in parallel, and returns what was found; None where this process reads them."""

    def files(self, path: str) -> list[str]:
        """Return the run files that a path stands for."""
        ...

    def open_tables(self, paths: Sequence[str]) -> None:
        """Make the table of runs from Parquet."""
        ...

    def keep(self, table: str, work: Callable[[str], Answer], paths: Sequence[str]) -> Iterable[Summary]:
        """Fill a table with the rows that ``work`` finds in run files; return the summary of each."""
        ...

    def keep_groups(
        self, table: str, text: str, by: str, work: GroupWork, columns: Mapping[str, str]
    ) -> list[Any]:
        """Fill a table with what ``work`` finds in the rows of ``text``, and return what it says of them.

        It gets streams of rows that are sorted by a column; rows of one value are in one stream.
        """
        ...

    def table(self, path: str) -> str:
        """Return the name of a Parquet in SQL."""
        ...

    def load(self, table: str, rows: pa.Table) -> None:
        """Fill a table with rows from home."""
        ...

    def arrow(self, text: str) -> pa.Table:
        """Return the rows of a query in columns."""
        ...

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as Parquet where the engine keeps its files; return their name in SQL."""
        ...

    def close(self) -> None:
        """Forget the tables."""
        ...


def require_arrow(extra: str) -> None:
    """Refuse to go on without Arrow, in which columns go to an engine and come back."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            "pyarrow is not installed", f"Install it with the extra: pip install 'prefjudge[{extra}]'"
        ) from None


def casts(text: str) -> str:
    """Return the columns of runs in Parquet, each of its type; ``text`` is what the engine calls text."""
    return _CASTS.format(text=text)


def rows_of(engine: SqlEngine, text: str) -> list[tuple[Any, ...]]:
    """Return the few rows of a query."""
    return list(zip(*(column.to_pylist() for column in engine.arrow(text).columns), strict=True))


def load_rows(
    engine: SqlEngine, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Fill a table with rows from home; columns are of the types STRING, BIGINT, DOUBLE or BOOLEAN."""
    import pyarrow as pa

    kinds = {"STRING": pa.string(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = (pa.array(column, kinds[kind]) for column, kind in zip(columns, types.values(), strict=True))
    engine.load(table, pa.table(dict(zip(types, arrays, strict=True))))


def load_qrels(engine: SqlEngine, qrels: Qrels) -> None:
    """Fill the table of qrels: codes and rows. SQL has no ids that are not UTF-8."""
    pairs = zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True)
    named = (
        (qrels.queries[query], qrels.docs[doc], query, number) for number, (query, doc) in enumerate(pairs)
    )
    known = [row for row in named if is_text(row[0]) and is_text(row[1])]
    types = {"query": "STRING", "doc": "STRING", "code": "BIGINT", "number": "BIGINT"}
    load_rows(engine, QRELS, types, known)


def load_queries(engine: SqlEngine, queries: Collection[str]) -> None:
    """Fill the table of the queries that are wanted."""
    load_rows(engine, QUERIES, {"query": "STRING"}, [(query,) for query in queries if is_text(query)])


def save_table(engine: SqlEngine, table: Table, path: str) -> None:
    """Write a table from home as Parquet."""
    types = {column.name: _TYPES.get(column.kind, "DOUBLE") for column in table.columns}
    rows = [tuple(record.values()) for record in to_records(table)]
    odd = next((cell for row in rows for cell in row if isinstance(cell, str) and not is_text(cell)), None)
    if odd is not None:
        raise InputError(
            f"{path}: {printable(odd)!r} is not UTF-8, and Parquet knows no other text", "Write CSV or JSON."
        )
    load_rows(engine, OUTGOING, types, rows)
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
    holes = rows_of(
        engine, f"SELECT path, query, doc FROM {RUNS} WHERE {missing} OR isnan(score) LIMIT {LIMIT}"
    )
    if holes:
        raise InputError(
            "rows of the runs lack a value:",
            f"each row needs {', '.join(needed)}, and a score that is a number",
            [f"{path}: query {query!r}, document {doc!r}" for path, query, doc in holes],
        )
    again = rows_of(engine, _REPEATED)
    if again:
        raise InputError(
            "documents are repeated in the runs:",
            "Keep one row of each.",
            [f"{path}: document {doc!r} of query {query!r}" for path, query, doc in sorted(again)],
        )

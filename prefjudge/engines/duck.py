"""DuckDB: the embedded engine that runs the SQL texts, and spills to disk what memory does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from prefjudge.core.qrels import Qrels
from prefjudge.core.runs import Order
from prefjudge.engines.reading import per_chunk
from prefjudge.errors import ConfigError
from prefjudge.formats.numerals import integers
from prefjudge.formats.problems import Notice, decode
from prefjudge.formats.runs import OnDuplicate, RunChunk

_RUNS = "path VARCHAR, tag VARCHAR, query VARCHAR, doc VARCHAR, rank BIGINT, score DOUBLE"


class DuckEngine:
    """Runs the SQL texts on DuckDB; files are read and checked by this package's readers."""

    def __init__(self, database: str = ":memory:") -> None:
        try:
            import duckdb  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ConfigError(
                "DuckDB is not installed", "install it with the extra: pip install 'prefjudge[sql]'"
            ) from None
        self.connection = duckdb.connect(database)

    def load_runs(self, paths: Sequence[str], order: Order) -> None:
        """Fill the table ``runs``."""
        self.connection.execute(f"CREATE OR REPLACE TABLE runs ({_RUNS})")
        for path in paths:
            notices: list[Notice] = []
            per_chunk(path, partial(self._insert, path), order, OnDuplicate.ERROR, notices)

    def _insert(self, path: str, chunk: RunChunk) -> None:
        import pandas

        rank = chunk.rank if chunk.rank is not None else integers(chunk.rows.ids(chunk.layout.rank))[0]
        names = np.array([decode(name) for name in chunk.queries], dtype=object)
        frame = pandas.DataFrame(
            {
                "path": path,
                "tag": decode(chunk.tag),
                "query": names[chunk.group],
                "doc": [decode(doc) for doc in chunk.docs.to_bytes()],
                "rank": rank,
                "score": chunk.score,
            }
        )
        self._append("runs", frame)

    def load_qrels(self, qrels: Qrels) -> None:
        """Fill the table ``qrels``."""
        import pandas

        self.connection.execute("CREATE OR REPLACE TABLE qrels (query VARCHAR, doc VARCHAR, grade DOUBLE)")
        columns = {
            "query": np.array(qrels.queries, dtype=object)[qrels.query],
            "doc": np.array(qrels.docs, dtype=object)[qrels.doc],
            "grade": qrels.grade,
        }
        self._append("qrels", pandas.DataFrame(columns))

    def _append(self, table: str, frame: Any) -> None:
        self.connection.register("incoming", frame)
        self.connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return list(self.connection.execute(text).fetchall())

"""DuckDB: the embedded engine that runs the SQL texts, and spills to disk what memory does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from prefjudge.core.qrels import Qrels
from prefjudge.core.runs import Order
from prefjudge.engines.reading import per_chunk
from prefjudge.engines.sql import QRELS, RUNS, check_runs, qrels_rows
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.numerals import integers
from prefjudge.formats.parquet import COLUMNS, is_parquet
from prefjudge.formats.problems import Notice, shown
from prefjudge.formats.runs import OnDuplicate, RunChunk
from prefjudge.render.tables import Table, to_records

_COLUMNS = "path VARCHAR, tag VARCHAR, query VARCHAR, doc VARCHAR, rank BIGINT, score DOUBLE"
_TYPES = {"text": "VARCHAR", "money": "VARCHAR", "integer": "BIGINT", "flag": "BOOLEAN"}


class DuckEngine:
    """Runs the SQL texts on DuckDB; run files are read and checked by this package's readers."""

    def __init__(self, database: str = ":memory:") -> None:
        try:
            import duckdb  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ConfigError(
                "DuckDB is not installed", "install it with the extra: pip install 'prefjudge[sql]'"
            ) from None
        self.connection = duckdb.connect(database)
        self._error = duckdb.Error

    def load_runs(self, paths: Sequence[str], order: Order) -> None:
        """Fill the table of runs."""
        self.connection.execute(f"CREATE OR REPLACE TABLE {RUNS} ({_COLUMNS})")
        for path in paths:
            if is_parquet(path):
                self._insert_parquet(path)
            else:
                notices: list[Notice] = []
                per_chunk(path, partial(self._insert, path), order, OnDuplicate.ERROR, notices)
        if any(map(is_parquet, paths)):
            check_runs(self, order)

    def _insert(self, path: str, chunk: RunChunk) -> None:
        import pandas

        rank = chunk.rank if chunk.rank is not None else integers(chunk.rows.ids(chunk.layout.rank))[0]
        names = np.array(_texts(path, chunk.queries), dtype=object)
        (tag,) = _texts(path, [chunk.tag])
        frame = pandas.DataFrame(
            {
                "path": path,
                "tag": tag,
                "query": names[chunk.group],
                "doc": _texts(path, chunk.docs.to_bytes()),
                "rank": rank,
                "score": chunk.score,
            }
        )
        self._append(RUNS, frame)

    def _insert_parquet(self, path: str) -> None:
        files = str(Path(path) / "*.parquet") if Path(path).is_dir() else path
        try:
            self.connection.execute(
                f"INSERT INTO {RUNS} SELECT {', '.join(COLUMNS)} FROM read_parquet(?)", [files]
            )
        except self._error as error:
            raise InputError(
                f"{path} cannot be read as runs: {str(error).splitlines()[0]}",
                f"runs in Parquet have the columns {', '.join(COLUMNS)}",
            ) from None

    def load_qrels(self, qrels: Qrels) -> None:
        """Fill the table of qrels."""
        import pandas

        self.connection.execute(f"CREATE OR REPLACE TABLE {QRELS} (query VARCHAR, doc VARCHAR, grade DOUBLE)")
        self._append(QRELS, pandas.DataFrame(qrels_rows(qrels), columns=["query", "doc", "grade"]))

    def _append(self, table: str, frame: Any) -> None:
        self.connection.register("incoming", frame)
        self.connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return list(self.connection.execute(text).fetchall())

    def write(self, table: Table, path: str) -> None:
        """Write a table as one Parquet file, atomically."""
        import pandas

        names = [column.name for column in table.columns]
        frame = pandas.DataFrame(to_records(table), columns=names, dtype=object)
        casts = (
            f'CAST("{column.name}" AS {_TYPES.get(column.kind, "DOUBLE")}) AS "{column.name}"'
            for column in table.columns
        )
        with TemporaryDirectory() as folder, atomic_write(path) as file:
            whole = Path(folder) / "table.parquet"
            self.connection.register("outgoing", frame)
            quoted = str(whole).replace("'", "''")
            self.connection.execute(
                f"COPY (SELECT {', '.join(casts)} FROM outgoing) TO '{quoted}' (FORMAT parquet)"
            )
            self.connection.unregister("outgoing")
            file.write(whole.read_bytes())

    def close(self) -> None:
        """Close the database."""
        self.connection.close()


def _texts(path: str, names: Iterable[bytes]) -> list[str]:
    """Return ids as SQL knows text."""
    found = list(names)
    try:
        return [name.decode() for name in found]
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: the id {shown(error.object)} is not UTF-8, and SQL knows no other text",
            "read the runs with --engine files",
        ) from None

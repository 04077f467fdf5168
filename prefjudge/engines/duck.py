"""DuckDB: the embedded engine that runs the SQL texts, and spills to disk what memory does not hold."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from prefjudge.core.runs import Order
from prefjudge.engines.reading import per_chunk
from prefjudge.engines.sql_tables import RUNS, check_runs
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.numerals import integers
from prefjudge.formats.parquet import COLUMNS, is_parquet
from prefjudge.formats.problems import Notice, shown
from prefjudge.formats.runs import OnDuplicate, RunChunk

_COLUMNS = "path VARCHAR, tag VARCHAR, query VARCHAR, doc VARCHAR, rank BIGINT, score DOUBLE, source VARCHAR"


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
        joined = "CREATE OR REPLACE TEMP MACRO array_join(words, mark) AS array_to_string(words, mark)"
        self.connection.execute(joined)  # by the name that Spark knows
        self._error = duckdb.Error

    def load_runs(self, paths: Sequence[str], order: Order, notices: list[Notice]) -> None:
        """Fill the table of runs."""
        self.connection.execute(f"CREATE OR REPLACE TABLE {RUNS} ({_COLUMNS})")
        for path in paths:
            if is_parquet(path):
                self._insert_parquet(path)
            else:
                own: list[Notice] = []
                insert, delete = partial(self._insert, path, []), partial(self._delete, path)
                per_chunk(path, insert, order, OnDuplicate.ERROR, own, again=delete)
                notices += own
        if any(map(is_parquet, paths)):
            check_runs(self, order)

    def _insert(self, path: str, tags: list[str], chunk: RunChunk) -> None:
        import pandas

        rank = chunk.rank if chunk.rank is not None else integers(chunk.rows.ids(chunk.layout.rank))[0]
        names = np.array(_texts(path, chunk.queries), dtype=object)
        tags += _texts(path, [chunk.tag])  # the first is the run's
        frame = pandas.DataFrame(
            {
                "path": path,
                "tag": tags[0],
                "query": names[chunk.group],
                "doc": _texts(path, chunk.docs.to_bytes()),
                "rank": rank,
                "score": chunk.score,
                "source": path,
            }
        )
        self._append(RUNS, frame)

    def _delete(self, path: str) -> None:
        self.connection.execute(f"DELETE FROM {RUNS} WHERE path = ?", [path])

    def _insert_parquet(self, path: str) -> None:
        files = str(Path(path) / "*.parquet") if Path(path).is_dir() else path
        try:
            self.connection.execute(
                f"INSERT INTO {RUNS} SELECT {', '.join(COLUMNS)}, ? FROM read_parquet(?)", [path, files]
            )
        except self._error as error:
            raise InputError(
                f"{path} cannot be read as runs: {str(error).splitlines()[0]}",
                f"runs in Parquet have the columns {', '.join(COLUMNS)}",
            ) from None

    def load(self, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Fill a table with rows from home."""
        import pandas

        columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
        self._append(table, pandas.DataFrame(list(rows), columns=list(types), dtype=object))

    def _append(self, table: str, frame: Any) -> None:
        self.connection.register("incoming", frame)
        self.connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return list(self.connection.execute(text).fetchall())

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as one Parquet file, atomically."""
        with atomic_write(path) as file, TemporaryDirectory(dir=Path(path).parent) as folder:
            whole = Path(folder) / "table.parquet"
            self.connection.execute(f"COPY ({text}) TO {_quoted(whole)} (FORMAT parquet)")
            with whole.open("rb") as written:
                shutil.copyfileobj(written, file)
        return f"read_parquet({_quoted(path)})"

    def close(self) -> None:
        """Close the database."""
        self.connection.close()


def _quoted(path: str | Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


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

"""DuckDB: the embedded engine that runs the SQL texts, and spills to disk what memory does not hold."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.reading import per_chunk
from prefjudge.engines.sql.tables import RUNS, check_runs
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.numerals import integers
from prefjudge.formats.lines.problems import Notice, shown
from prefjudge.formats.runs.chunks import OnDuplicate, RunChunk
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.formats.runs.parquet import COLUMNS, is_parquet

_COLUMNS = "path VARCHAR, tag VARCHAR, query VARCHAR, doc VARCHAR, rank BIGINT, score DOUBLE, source VARCHAR"

_SIZE = 8 << 20
"""Bytes of a run that are inserted at once: each insertion is a transaction."""
_INSERT = f"""
        INSERT INTO {RUNS} BY NAME
        WITH names AS (SELECT string_split($queries, chr(10)) AS queries)
        SELECT $path AS path, $tag AS tag, queries[place + 1] AS query, doc, rank, score, $path AS source
        FROM (SELECT unnest(string_split($docs, chr(10))) AS doc)
        POSITIONAL JOIN incoming
        CROSS JOIN names
        WHERE place IS NOT NULL"""
"""The ids come as lines of one text, which DuckDB splits: Python strings take it far longer."""


class DuckEngine:
    """Runs the SQL texts on DuckDB; run files are read and checked by this package's readers."""

    def __init__(self, database: str = ":memory:") -> None:
        try:
            import duckdb  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ConfigError(
                "DuckDB is not installed", "Install it with the extra: pip install 'prefjudge[sql]'"
            ) from None
        self.connection = duckdb.connect(database)
        joined = "CREATE OR REPLACE TEMP MACRO array_join(words, mark) AS array_to_string(words, mark)"
        self.connection.execute(joined)  # by the name that Spark knows
        self._error = duckdb.Error

    def load_runs(self, paths: Sequence[str], order: Order, notices: list[Notice]) -> dict[str, RunForm]:
        """Fill the table of runs; return what each file was taken for."""
        forms = {}
        self.connection.execute(f"CREATE OR REPLACE TABLE {RUNS} ({_COLUMNS})")
        for path in paths:
            if is_parquet(path):
                self._insert_parquet(path)
            else:
                own: list[Notice] = []
                insert, delete = partial(self._insert, path, []), partial(self._delete, path)
                _, forms[path] = per_chunk(
                    path, insert, order, OnDuplicate.ERROR, own, again=delete, size=_SIZE
                )
                notices += own
        if any(map(is_parquet, paths)):
            check_runs(self, order)
        return forms

    def _insert(self, path: str, tags: list[str], chunk: RunChunk) -> None:
        rank = chunk.rank if chunk.rank is not None else integers(chunk.rows.ids(chunk.layout.rank))[0]
        tags.append(_text(path, chunk.tag))  # the first is the run's
        queries = _text(path, b"\n".join(chunk.queries))
        docs = _text(path, chunk.docs.to_lines())
        self.connection.register("incoming", {"place": chunk.group, "rank": rank, "score": chunk.score})
        self.connection.execute(_INSERT, {"path": path, "tag": tags[0], "queries": queries, "docs": docs})
        self.connection.unregister("incoming")

    def _delete(self, path: str) -> None:
        self.connection.execute(f"DELETE FROM {RUNS} WHERE path = ?", [path])

    def _insert_parquet(self, path: str) -> None:
        files = str(Path(path) / "*.parquet") if Path(path).is_dir() else path
        try:
            self.connection.execute(
                f"INSERT INTO {RUNS} BY NAME SELECT {', '.join(COLUMNS)}, ? AS source FROM read_parquet(?)",
                [path, files],
            )
        except self._error as error:
            raise InputError(
                f"{path} cannot be read as runs: {str(error).splitlines()[0]}",
                f"Give runs in Parquet the columns {', '.join(COLUMNS)}",
            ) from None

    def load(self, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Fill a table with rows from home."""
        import pandas

        columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
        self._append(table, pandas.DataFrame(list(rows), columns=list(types), dtype=object))

    def _append(self, table: str, frame: Any) -> None:
        self.connection.register("incoming", frame)
        self.connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
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


def _text(path: str, lines: bytes) -> str:
    """Return ids, one a line, as SQL knows text."""
    try:
        return lines.decode()
    except UnicodeDecodeError as error:
        start, end = lines.rfind(b"\n", 0, error.start) + 1, lines.find(b"\n", error.start)
        raise InputError(
            f"{path}: the id {shown(lines[start : end if end >= 0 else None])} is not UTF-8, "
            "and SQL knows no other text",
            "Read the runs with --engine files.",
        ) from None

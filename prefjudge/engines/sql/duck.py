"""DuckDB: the embedded engine that asks tables in SQL, and spills to disk what memory does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from prefjudge.engines.files.files import each_run
from prefjudge.engines.sql.answers import Answer, Summary
from prefjudge.engines.sql.tables import GroupWork
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.parquet_rows import escaped
from prefjudge.formats.runs.parquet import columns_of_folders, parquet_files


class DuckEngine:
    """Asks tables on DuckDB; run files are read on this machine, by ``executor`` where there is one."""

    def __init__(self, executor: Executor | None = None) -> None:
        try:
            import duckdb  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ConfigError(
                "DuckDB is not installed", "Install it with the extra: pip install 'prefjudge[sql]'"
            ) from None
        self.executor = executor
        self.connection = duckdb.connect()
        joined = "CREATE OR REPLACE TEMP MACRO array_join(words, mark) AS array_to_string(words, mark)"
        self.connection.execute(joined)  # by the name that Spark knows
        self._error = duckdb.Error

    def files(self, path: str) -> list[str]:
        """Return the run files that a path stands for: itself."""
        return [path]

    def keep(self, table: str, work: Callable[[str], Answer], paths: Sequence[str]) -> list[Summary]:
        """Fill a table with the rows that ``work`` finds in run files; return the summary of each."""
        found: list[Summary] = []
        for summary, rows in each_run(work, paths, self.executor):
            stream = pa.RecordBatchReader.from_batches(rows.schema, iter([rows]))
            self._fill(_MORE if found else _FILL, table, stream)
            found.append(summary)
        return found

    def keep_groups(
        self,
        table: str,
        path: str,
        asked: Sequence[str],
        by: Sequence[str],
        work: GroupWork,
        columns: Mapping[str, str],
    ) -> list[Any]:
        """Fill a table with what ``work`` finds in rows, which it gets sorted and in whole groups."""
        found: list[Any] = []
        with self._briefly("DuckDB cannot read the input", "Check the columns, and write it again."):
            text = f"SELECT {', '.join(asked)} FROM {self.table(path)} ORDER BY {', '.join(by)}"
            sorted_ = self.connection.cursor().sql(text)
            stream = pa.RecordBatchReader.from_stream(sorted_)
            for one, rows in work(stream):
                if rows is not None:
                    self._fill(_MORE if found else _FILL, table, rows)
                found.append(one)
        return found

    def table(self, path: str) -> str:
        """Return the name of a Parquet in SQL: of a file, or of the files in a folder."""
        listed = ", ".join(f"'{escaped(str(file))}'" for file in parquet_files(path))
        places = "filename AS prefjudge_file, file_row_number AS prefjudge_row"
        folders = "hive_partitioning = false"  # those that the Parquet lies in say nothing of it
        if columns_of_folders(path):
            folders = "hive_partitioning = true, hive_types_autocast = false"  # an id "007" is no number
        return f"(SELECT *, {places} FROM read_parquet([{listed}], {folders}))"

    def load(self, table: str, rows: pa.Table) -> None:
        """Fill a table with rows from home."""
        self._fill(_FILL, table, rows)

    def _fill(self, text: str, table: str, rows: pa.Table | pa.RecordBatch | pa.RecordBatchReader) -> None:
        self.connection.register("prefjudge_incoming", rows)
        self.connection.execute(text.format(table=table, rows="prefjudge_incoming"))
        self.connection.unregister("prefjudge_incoming")

    def arrow(self, text: str) -> pa.Table:
        """Return the rows of a query in columns."""
        with self._briefly("the runs cannot be read", "Write the Parquet again: it may be damaged."):
            return self.connection.sql(text).to_arrow_table()

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as one Parquet file, atomically."""
        with (
            atomic_write(path) as file,
            self._briefly(f"{path} cannot be written", "Check the runs, and the room on the disk."),
        ):
            part = _quoted(Path(file.name).absolute())  # written there, not beside it
            self.connection.execute(f"COPY ({text}) TO {part} (FORMAT parquet, USE_TMP_FILE false)")
        return self.table(path)

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    @contextmanager
    def _briefly(self, what: str, remedy: str) -> Iterator[None]:
        """Say in one line what DuckDB says in many."""
        try:
            yield
        except self._error as error:
            raise InputError(f"{what}: {str(error).splitlines()[0]}", remedy) from None


_MORE = "INSERT INTO {table} BY NAME SELECT * FROM {rows}"
_FILL = "CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {rows}"


def _quoted(path: str | Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"

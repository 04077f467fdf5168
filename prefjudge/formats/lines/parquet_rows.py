"""The rows of a file in Parquet, which DuckDB reads; the extra ``sql`` installs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.addresses import is_remote, shown
from prefjudge.formats.lines.compressions import compression
from prefjudge.formats.lines.signatures import PACKED_PARQUET

ROW = "file_row_number"
"""What DuckDB calls the number of a row, which counts from 0."""

_BATCH = 4096


class ParquetRows:
    """An open file; ``columns`` has the type of each column by its name."""

    def __init__(self, connection: Any, path: str) -> None:
        self._connection = connection
        self._source = f"read_parquet('{escaped(path)}', file_row_number = true)"
        described = connection.execute(f"DESCRIBE FROM {self._source}").fetchall()
        self.columns: Mapping[str, str] = {row[0]: row[1] for row in described if row[0] != ROW}

    def batches(
        self, cells: Sequence[str], where: str = "true", given: Sequence[object] = ()
    ) -> Iterator[list[Sequence[Any]]]:
        """Yield the cells of the rows, expressions in SQL, some thousand rows at a time."""
        asked = f"SELECT {', '.join(cells)} FROM {self._source} WHERE {where}"
        rows = self._connection.execute(asked, list(given))
        while batch := rows.fetchmany(_BATCH):
            yield batch


@contextmanager
def parquet_rows(path: str) -> Iterator[ParquetRows]:
    """Open a file in Parquet.

    Raises
    ------
    ConfigError
        DuckDB is not installed.
    InputError
        The file is damaged, also where that shows only in the block.
    """
    try:
        import duckdb  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ConfigError(
            f"{path} is Parquet, which DuckDB reads, and that is not installed",
            "Install it with the extra: pip install 'prefjudge[sql]'",
        ) from None
    with _here(path) as file:
        try:
            with duckdb.connect(":memory:") as connection:
                yield ParquetRows(connection, file)
        except duckdb.Error as error:
            name = shown(path)
            if _is_packed(file):
                raise InputError(*PACKED_PARQUET.words(name)) from None
            said = str(error).splitlines()[0].replace(file, name)
            raise InputError(
                f"{name} cannot be read as Parquet: {said}", "Was the file cut off? Get it again."
            ) from None


@contextmanager
def _here(path: str) -> Iterator[str]:
    """Yield a file's own path, or that of a copy of an object: Parquet is read from its end."""
    if not is_remote(path):
        yield path
        return
    from prefjudge.formats.lines.remote import RemoteFile

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "object.parquet"
        with RemoteFile(path) as remote, copy.open("wb") as file:
            copyfileobj(remote, file)
        yield str(copy)


def _is_packed(path: str) -> bool:
    """Tell a compressed file, which DuckDB cannot look up rows in."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return bool(compression(file.read(8)))


def quoted(column: str) -> str:
    """Return a column's name as SQL writes it."""
    return '"' + column.replace('"', '""') + '"'


def escaped(path: str) -> str:
    """Return a path in which nothing is a pattern, as SQL writes text."""
    absolute = str(Path(path).absolute())  # else "s3:" would be an address
    for mark in "[*?":
        absolute = absolute.replace(mark, f"[{mark}]")
    return absolute.replace("'", "''")

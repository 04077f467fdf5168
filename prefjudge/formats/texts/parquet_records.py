"""Queries and collections in Parquet: a column with ids and one with texts, read through DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.lines.problems import is_text
from prefjudge.formats.texts.text_formats import Reading, Record, columns_of

_BATCH = 4096


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file; of a collection, those alone that are wanted are unpacked.

    Raises
    ------
    ConfigError
        DuckDB is not installed.
    InputError
        The file is damaged, or lacks a column.
    """
    del blocks  # a file that is read from its end
    try:
        import duckdb  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ConfigError(
            f"{reading.path} is Parquet, which DuckDB reads, and that is not installed",
            "Install it with the extra: pip install 'prefjudge[sql]'",
        ) from None
    try:
        with duckdb.connect(":memory:") as connection:
            yield from _rows(connection, reading)
    except duckdb.Error as error:
        raise InputError(
            f"{reading.path} cannot be read as Parquet: {str(error).splitlines()[0]}",
            "Was the file cut off? Get it again.",
        ) from None


def _rows(connection: Any, reading: Reading) -> Iterator[Record]:
    source = f"read_parquet('{_escaped(reading.path)}', file_row_number = true)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    kinds = {row[0]: row[1] for row in described if row[0] != "file_row_number"}
    columns = columns_of(list(kinds), reading)
    name = columns[0]
    for column in filter(None, columns):
        if not (kinds[column] == "VARCHAR" or (column == name and "INT" in kinds[column])):
            raise InputError(
                f"{reading.path}: the column {column} holds {kinds[column]}, not text",
                "Say which columns hold the id and the text: --id-field NAME --text-field NAME.",
            )
    ids, texts, titles = (f"CAST({_quoted(one)} AS VARCHAR)" if one else "NULL" for one in columns)
    query = f"SELECT file_row_number + 1, {ids} AS id, {texts}, {titles} FROM {source}"
    given: list[Any] = []
    if reading.wanted is not None:
        wanted = [raw.decode() for raw in reading.wanted if is_text(raw.decode("utf-8", "surrogateescape"))]
        query, given = f"{query} WHERE {ids} IN (SELECT unnest(?))", [wanted]
    rows = connection.execute(query, given)
    while batch := rows.fetchmany(_BATCH):
        for line, key, body, head in batch:
            parts = [part.strip() for part in (head, body) if part and part.strip()]
            if key is None or not key.strip() or not parts:
                what = "no id" if key is None or not key.strip() else "no text"
                reading.problems.add(line, 1, what, str(key or "").encode(), "Fill in the cell.")
            else:
                yield Record(line, key.strip().encode(), "\n".join(parts).encode())


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _escaped(path: str) -> str:
    """Return a path in which nothing is a pattern, as SQL writes text."""
    absolute = str(Path(path).absolute())  # else "s3:" would be an address
    for mark in "[*?":
        absolute = absolute.replace(mark, f"[{mark}]")
    return absolute.replace("'", "''")

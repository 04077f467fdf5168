"""Queries and collections in Parquet: a column with ids and one with texts, read through DuckDB."""

from collections.abc import Iterator

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.lines.parquet_rows import ROW, ParquetRows, parquet_rows, quoted
from prefjudge.formats.lines.problems import is_text
from prefjudge.formats.texts.text_formats import Reading, Record, columns_of


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
    with parquet_rows(reading.path) as file:
        yield from _records(file, reading)


def _records(file: ParquetRows, reading: Reading) -> Iterator[Record]:
    kinds = file.columns
    columns = columns_of(list(kinds), reading)
    name = columns[0]
    for column in filter(None, columns):
        if not (kinds[column] == "VARCHAR" or (column == name and "INT" in kinds[column])):
            raise InputError(
                f"{reading.path}: the column {column} holds {kinds[column]}, not text",
                "Say which columns hold the id and the text: --id-field NAME --text-field NAME.",
            )
    ids, texts, titles = (f"CAST({quoted(one)} AS VARCHAR)" if one else "NULL" for one in columns)
    where, given = "true", []
    if reading.wanted is not None:
        wanted = [raw.decode() for raw in reading.wanted if is_text(raw.decode("utf-8", "surrogateescape"))]
        where, given = f"{ids} IN (SELECT unnest(?))", [wanted]
    for batch in file.batches([f"{ROW} + 1", ids, texts, titles], where, given):
        for line, key, body, head in batch:
            parts = [part.strip() for part in (head, body) if part and part.strip()]
            if key is None or not key.strip() or not parts:
                what = "no id" if key is None or not key.strip() else "no text"
                reading.problems.add(line, 1, what, str(key or "").encode(), "Fill in the cell.")
            else:
                yield Record(line, key.strip().encode(), "\n".join(parts).encode())

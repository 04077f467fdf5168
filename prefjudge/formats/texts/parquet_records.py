"""Queries and collections in Parquet: a column with ids and one with texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.lines.problems import is_text
from prefjudge.formats.runs.parquet import open_parquet
from prefjudge.formats.texts.text_formats import Reading, Record, columns_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_ROWS = 4096
"""Rows that are unpacked at once."""


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file; of a collection, only row groups in which one is wanted are unpacked.

    Raises
    ------
    ConfigError
        pyarrow is not installed.
    InputError
        The file is damaged, or lacks a column.
    """
    del blocks  # a file that is read from its end
    with open_parquet(reading.path) as file:
        yield from _records(file, reading)


def _records(file: pq.ParquetFile, reading: Reading) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = columns_of(list(file.schema_arrow.names), reading)
    _check_types(file, columns, reading)
    name, wanted, start = columns[0], _wanted(reading), 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if wanted is not None:
            ids = file.read_row_group(group, columns=[name])[name].cast(pa.string())
            if not pc.any(pc.is_in(ids, wanted)).as_py():
                start += rows
                continue
        asked = [one for one in dict.fromkeys(columns) if one]
        for batch in file.iter_batches(_ROWS, row_groups=[group], columns=asked):
            keys = batch[name].cast(pa.string())
            places = pa.array(range(batch.num_rows))
            if wanted is not None:
                places = places.filter(pc.is_in(keys, wanted))
            body, head = (
                batch[one].take(places).cast(pa.string()).to_pylist() if one else [None] * len(places)
                for one in columns[1:]
            )
            cells = zip(places.to_pylist(), keys.take(places).to_pylist(), body, head, strict=True)
            yield from _of_rows(start + 1, cells, reading)
            start += batch.num_rows


def _of_rows(
    first: int, cells: Iterator[tuple[int, str | None, str | None, str | None]], reading: Reading
) -> Iterator[Record]:
    for place, key, body, head in cells:
        line = first + place
        parts = [part.strip() for part in (head, body) if part and part.strip()]
        if key is None or not key.strip() or not parts:
            what = "no id" if key is None or not key.strip() else "no text"
            reading.problems.add(line, 1, what, str(key or "").encode(), "Fill in the cell.")
        else:
            yield Record(line, key.strip().encode(), "\n".join(parts).encode())


def _wanted(reading: Reading) -> pa.Array | None:
    import pyarrow as pa

    if reading.wanted is None:
        return None
    names = (raw.decode("utf-8", "surrogateescape") for raw in reading.wanted)
    return pa.array([name for name in names if is_text(name)], pa.string())


def _check_types(file: pq.ParquetFile, columns: tuple[str, str, str | None], reading: Reading) -> None:
    import pyarrow.types as kinds

    for column in filter(None, columns):
        kind = file.schema_arrow.field(column).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        is_word = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
        if not (is_word or (column == columns[0] and kinds.is_integer(kind))):
            raise InputError(
                f"{reading.path}: the column {column} holds {kind}, not text",
                "Say which columns hold the id and the text: --dataset id=NAME,text=NAME.",
            )

"""Packs: rows that travel between executors in bundles of Arrow, so that all rows of a group meet.

A cluster moves, sorts and converts rows one by one, which takes longer than what is asked of them. A pack is
one row to it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from prefjudge.errors import PrefjudgeError
from prefjudge.formats.runs.parquet import RowGroups, read_row_groups, tokens_of_column

RowReader: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"

PACK = "bucket INT, pack BINARY"
"""A pack as a cluster knows it: a number that its groups have in common, and the rows; or an error."""
_BLOCK = 1 << 20
"""About how many rows are shared out at once."""


def packed(
    batches: Iterator[pa.RecordBatch], *, by: Sequence[str], buckets: int, read: RowReader = iter
) -> Iterator[pa.RecordBatch]:
    """Yield rows in packs: those that agree in some columns are a group, and have the same bucket.

    The rows are those that come, or that ``read`` makes of what comes.
    """
    held: list[pa.RecordBatch] = []
    try:
        for batch in read(batches):
            held.append(batch)
            if sum(part.num_rows for part in held) >= _BLOCK:
                yield _packs(pa.Table.from_batches(held), by, buckets)
                held = []
        if held:
            yield _packs(pa.Table.from_batches(held), by, buckets)
    except PrefjudgeError as error:  # goes home with the answers: no retry would help
        yield _batch([None], [pickle.dumps(error)])


def rows_of_parts(
    numbers: Iterator[pa.RecordBatch], *, tasks: Sequence[RowGroups], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Read the parts of files whose numbers come."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from read_row_groups(tasks[number], columns)


def _packs(rows: pa.Table, by: Sequence[str], buckets: int) -> pa.RecordBatch:
    code = np.zeros(rows.num_rows, np.uint64)
    for name in by:
        names, places = _coded(rows[name])
        code = code * np.uint64(31) + tokens_of_column(pa.chunked_array([names])).codes()[places]
    bucket = (code % np.uint64(buckets)).astype(np.int32)
    order = np.argsort(bucket, kind="stable")
    bucket, rows = bucket[order], rows.take(order)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1)).tolist()
    packs = []
    for start, end in pairwise([*starts, bucket.size]):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows.slice(start, end - start))
        packs.append(sink.getvalue().to_pybytes())
    return _batch(bucket[starts], packs)


def _batch(buckets: Sequence[int | None] | NDArray[np.int32], packs: Sequence[bytes]) -> pa.RecordBatch:
    columns = [pa.array(buckets, pa.int32()), pa.array(packs, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["bucket", "pack"])


def unpacked(packs: Iterable[pa.RecordBatch], by: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of packs, those of a group one after the other; raise what is an error."""
    tables = []
    for batch in packs:
        for bucket, pack in zip(*batch.columns, strict=True):
            if not bucket.is_valid:
                raise pickle.loads(pack.as_buffer())  # noqa: S301 - from our own tasks
            tables.append(pa.ipc.open_stream(pack.as_buffer()).read_all())
    if not tables:
        return
    rows = pa.concat_tables(tables)
    group = np.zeros(rows.num_rows, np.int64)
    for name in by:
        names, places = _coded(rows[name])
        group = group * len(names) + places
    yield from rows.take(np.argsort(group, kind="stable")).to_batches()


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the values of a column, each once, and the place among them of each row's."""
    coded = column.combine_chunks().dictionary_encode("encode")
    return coded.dictionary, coded.indices.to_numpy().astype(np.int64)

"""Runs in Parquet: a row for each document of a run, brought together by run and query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import BACK, FRONT, Order, Tokens
from prefjudge.errors import InputError
from prefjudge.reading.held import Held
from prefjudge.reading.runs.runs import RunTable
from prefjudge.words import OnDuplicate

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("path", "tag", "query", "doc", "rank", "score")
"""One row for each line of a run; ``path`` tells the runs apart."""
GROUP = ("path", "query")
"""What the rows of one list share."""

_HINT = "Each row needs ids that are single words, a number to rank by, and a document of its own."


def key_of(order: Order) -> str:
    """Return the column that ranks a document."""
    if order is Order.FILE:
        raise InputError("the rows of Parquet have no order of their own", "Choose --order score, or rank.")
    return "rank" if order is Order.RANK else "score"


def check_columns(path: str, schema: pa.Schema, order: Order) -> None:
    """Refuse a table that is not one of runs."""
    import pyarrow.types as kinds

    def is_text(kind: pa.DataType) -> bool:
        return any(
            of_kind(kind) for of_kind in (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
        )

    def is_id(kind: pa.DataType) -> bool:
        return is_text(kind) or any(of_kind(kind) for of_kind in (kinds.is_binary, kinds.is_integer))

    def is_number(kind: pa.DataType) -> bool:
        return is_text(kind) or any(
            of_kind(kind) for of_kind in (kinds.is_integer, kinds.is_floating, kinds.is_decimal)
        )

    there = {name.lower(): schema.field(name).type for name in schema.names}
    for names, fits, what in (
        (("path",), is_text, "text"),
        (("tag", "query", "doc"), is_id, "ids: text or whole numbers"),
        ((key_of(order),), is_number, "numbers"),
    ):
        for name in names:
            if name not in there:
                raise InputError(
                    f"{path} holds no runs: it has no column {name}, but {', '.join(there)}",
                    f"Give runs in Parquet the columns {', '.join(COLUMNS)}.",
                )
            if not fits(there[name]) and not kinds.is_null(there[name]):
                raise InputError(
                    f"{path}: the column {name} holds {there[name]}, not {what}", "Convert the column."
                )


def whole_groups(batches: Iterable[pa.RecordBatch], by: Sequence[str], size: int) -> Iterator[pa.Table]:
    """Yield rows that come sorted by some columns as tables of whole groups, of about ``size`` rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    held: list[pa.RecordBatch] = []
    wanted = size
    for batch in batches:
        held.append(batch)
        if sum(part.num_rows for part in held) < wanted:
            continue
        table = pa.Table.from_batches(held)
        whole = 0  # where the last group starts
        for name in by:
            column = table[name].slice(whole)
            other = pc.invert(pc.equal(column, column[-1])) if column[-1].is_valid else pc.is_valid(column)
            before = np.flatnonzero(pc.fill_null(other, True).to_numpy())
            whole += int(before[-1]) + 1 if before.size else 0
        if whole:
            yield table.slice(0, whole)
        held = table.slice(whole).to_batches()
        wanted = max(size, 2 * (table.num_rows - whole))  # a group of any size is looked through few times
    if held:
        yield pa.Table.from_batches(held)


def by_run(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each run, which come together, and its name."""
    names = rows["path"].combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    bounds = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)] if len(codes) else []
    for start, end in pairwise(bounds):
        yield names.dictionary[int(codes[start])].as_py(), rows.slice(start, end - start)


class RowsOfRun(Held[RunTable]):
    """Some queries of a run in a table, wherever a path goes; as a text it is the run's name there."""

    def __new__(cls, name: str, content: RunTable) -> RowsOfRun:
        """Make the text that holds them."""
        made = str.__new__(cls, name)
        made.name, made.content = name, content
        return made


class _Rows(RunTable):
    """Rows of a run, which have no numbers: a table is no list."""

    def repeated(self, found: Sequence[tuple[tuple[str, str], int, int]]) -> InputError:
        """Return which documents are repeated."""
        ids = sorted({one[0] for one in found})
        lines = [f"query {query!r}: document {doc!r} is repeated" for query, doc in ids]
        return InputError(f"run {self.name}:", _HINT, lines)


def run_of_rows(name: str, rows: pa.Table, order: Order) -> RowsOfRun:
    """Return whole queries of a run as a reader of files takes them."""
    import pyarrow.compute as pc

    key = key_of(order)
    number = _numbers(rows[key], whole=key == "rank")
    query, doc = (tokens_of_column(rows[column]) for column in ("query", "doc"))
    missing = np.flatnonzero(pc.is_null(number, nan_is_null=True).to_numpy())
    odd = np.union1d(missing, np.union1d(_not_words(query), _not_words(doc)))
    values = number.to_numpy()
    score, rank = (None, values) if key == "rank" else (values, None)
    run = _Rows(name=name, query=query, doc=doc, score=score, rank=rank)
    if odd.size:
        raise InputError(f"run {name}:", _HINT, [*_said(rows, key, odd), *_repeats(run, odd, order)])
    return RowsOfRun(name, run)


def _repeats(run: RunTable, odd: NDArray[np.int64], order: Order) -> Sequence[str]:
    """Return what else is wrong: with the rows that are not odd by themselves."""
    sound = np.delete(np.arange(len(run.query)), odd)
    rest = replace(
        run,
        query=run.query.take(sound),
        doc=run.doc.take(sound),
        score=run.score[sound] if run.score is not None else None,
        rank=run.rank[sound] if run.rank is not None else None,
    )
    try:
        if sound.size:
            list(rest.chunks(order, OnDuplicate.ERROR))
    except InputError as error:
        return error.problems
    return ()


def _numbers(column: pa.ChunkedArray, *, whole: bool) -> pa.ChunkedArray:
    """Return a column as numbers; what is not one becomes null."""
    import pyarrow as pa

    kind = pa.int64() if whole else pa.float64()
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.chunked_array([pa.array([_number(cell, whole) for cell in column.to_pylist()], kind)])


def _number(cell: str | float | None, whole: bool) -> float | None:
    try:
        found = float(cell) if cell is not None else None
    except ValueError:
        return None
    return None if found is not None and whole and found % 1 else found


def tokens_of_column(column: pa.ChunkedArray) -> Tokens:
    """Return ids as pieces of one text: the bytes of the column, as they are; of a missing one, none."""
    import pyarrow as pa

    if pa.types.is_primitive(column.type):
        column = column.cast(pa.string())
    array = pa.concat_arrays(column.cast(pa.large_binary()).chunks)
    _, places, data = array.buffers()
    ends = np.frombuffer(places, np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(ends[0]), int(ends[-1])
    text = b"".join([b"\n" * FRONT, memoryview(data or b"")[first:last], b"\n" * BACK])
    ends = ends - (first - FRONT)
    return Tokens(text, ends[:-1], ends[1:])


def _not_words(ids: Tokens) -> NDArray[np.int64]:
    """Return the rows whose id is empty or holds a blank."""
    symbols = np.frombuffer(ids.text, np.uint8)[FRONT:-BACK]
    empty = np.flatnonzero(ids.starts == ids.ends)
    if empty.size or (symbols <= 32).any():
        return np.flatnonzero([raw.split() != [raw] for raw in ids.to_bytes()])
    return empty


def _said(rows: pa.Table, key: str, odd: NDArray[np.int64]) -> list[str]:
    """Return what is wrong with some rows."""
    cells = rows.select(["query", "doc", key]).take(odd).to_pylist()
    return [f"query {row['query']!r}, document {row['doc']!r}, {key} {row[key]!r}" for row in cells]

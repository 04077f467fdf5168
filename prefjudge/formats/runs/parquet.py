"""Parquet, read by pyarrow: files and folders of it, and runs in them.

Rows of runs stand in any order, so they are brought together by run and query before they get here. They are
checked, ranked and looked up as the lines of a file are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from os import fspath
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import BACK, FRONT, Places, Tokens
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.addresses import is_remote, shown
from prefjudge.formats.lines.blocks import opened
from prefjudge.formats.lines.compressions import compression
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import decode
from prefjudge.formats.lines.signatures import PACKED_PARQUET
from prefjudge.formats.runs.chunks import OnDuplicate
from prefjudge.formats.runs.held_runs import RunTable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

COLUMNS = ("path", "tag", "query", "doc", "rank", "score")
"""One row for each line of a run; ``path`` tells the runs apart."""
GROUP = ("path", "query")
"""What the rows of one list share."""

PART = 1 << 19
"""About how many rows are read at once, or by one task: whole row groups of them."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What the name of a folder says of a row that has no value."""
_HINT = "Each row needs ids that are single words, a number to rank by, and a document of its own."


def is_parquet(path: str | Path) -> bool:
    """Return whether a path names Parquet: a file, or a folder of files as Spark writes it."""
    return str(path).rstrip("/").lower().endswith(".parquet")


def require_arrow(what: str = "") -> None:
    """Refuse to go on without pyarrow; ``what`` says what it is for.

    Raises
    ------
    ConfigError
        It is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"{what}pyarrow is not installed", "Install it with the extra: pip install 'prefjudge[parquet]'"
        ) from None


@contextmanager
def open_parquet(path: str | Path) -> Iterator[pq.ParquetFile]:
    """Open a file of Parquet; an object is fetched whole, since Parquet is read from its end.

    Raises
    ------
    ConfigError
        pyarrow is not installed.
    InputError
        There is no such file, or it is damaged, also where that shows only in the block.
    """
    require_arrow(f"{shown(fspath(path))} is Parquet, and ")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _seekable(path) as file, opened(file) as raw:
        head = raw.read(8)
        raw.seek(0)
        try:
            yield pq.ParquetFile(raw)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            name = shown(fspath(path))
            if compression(head):
                raise InputError(*PACKED_PARQUET.words(name)) from None
            said = str(error).splitlines()[0]
            raise InputError(
                f"{name} cannot be read as Parquet: {said}", "It may be cut off: copy it or write it again."
            ) from None


@contextmanager
def _seekable(path: str | Path) -> Iterator[str | Path]:
    """Yield a file's own path, or that of a copy of an object."""
    if not is_remote(path):
        yield path
        return
    from prefjudge.formats.lines.remote import RemoteFile

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "object.parquet"
        with RemoteFile(path) as remote, copy.open("wb") as file:
            copyfileobj(remote, file)
        yield copy


def parquet_files(path: str) -> list[Path]:
    """Return the files of a Parquet: itself, or those in a folder but for marks and checksums, as Spark does.

    Raises
    ------
    InputError
        There are none, one is damaged, or they do not agree in the types of their columns.
    """
    folder = Path(path)
    files = [folder]
    if folder.is_dir():
        found = (file for file in folder.rglob("*") if file.is_file() and _is_part(file, folder))
        files = sorted(found, key=str)
    if not files:
        raise InputError(f"{path} is a folder without Parquet in it", "Check the program that wrote it.")
    kinds: dict[str, tuple[pa.DataType, Path]] = {}
    for file in files:
        for field in _schema(file):
            kind, before = kinds.setdefault(field.name, (field.type, file))
            if kind != field.type:
                raise InputError(
                    f"{path}: the column {field.name} holds {kind} in {before.name} and {field.type} in "
                    f"{file.name}",
                    "Write the files again, with one type for all.",
                )
    return files


def schema_of(path: str) -> pa.Schema:
    """Return the columns of a Parquet, those in the names of its folders too, as they are read."""
    import pyarrow as pa

    fields = {field.name: _plain_type(field.type) for file in parquet_files(path) for field in _schema(file)}
    return pa.schema([*(fields | dict.fromkeys(columns_of_folders(path), pa.string())).items()])


def _schema(file: Path) -> pa.Schema:
    with open_parquet(file) as table:
        return table.schema_arrow


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file: what one task reads."""

    file: Path
    groups: tuple[int, ...]
    rows: int


def row_groups(files: Sequence[Path], size: int) -> list[RowGroups]:
    """Return files in parts of whole row groups, of ``size`` rows or a little more."""
    parts: list[RowGroups] = []
    for file in files:
        with open_parquet(file) as table:
            sizes = [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)]
        start = 0
        for end in range(1, len(sizes) + 1):
            rows = sum(sizes[start:end])
            if rows >= size or end == len(sizes):
                parts.append(RowGroups(file, tuple(range(start, end)), rows))
                start = end
    return parts


def read_row_groups(
    part: RowGroups, columns: Sequence[str], given: Mapping[str, str | None] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a part of a file, which may be spelled in other letters, as SQL takes them.

    ``given`` are columns that the names of the folders hold.

    Raises
    ------
    InputError
        The file is damaged, or has no such column.
    """
    import pyarrow as pa

    given = given or {}
    with open_parquet(part.file) as table:
        there = {name.lower(): name for name in table.schema_arrow.names}
        missing = next((name for name in columns if name not in there and name not in given), None)
        if missing is not None:
            raise InputError(f"{part.file} has no column {missing}, but {', '.join(there.values())}")
        names = [there[name] for name in columns if name not in given]
        for batch in table.iter_batches(row_groups=part.groups, columns=names):
            cells = [
                pa.repeat(pa.scalar(given[name], pa.string()), batch.num_rows)
                if name in given
                else _plain(batch[there[name]])
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(cells, names=[*columns])


def read_columns(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a Parquet, file by file; those in the names of its folders are texts."""
    for part in row_groups(parquet_files(path), PART):
        folders = part.file.relative_to(path).parts[:-1] if part.file != Path(path) else ()
        named = (name.partition("=") for name in folders if "=" in name)
        given = {name.lower(): None if cell == _NULL else unquote(cell) for name, _, cell in named}
        yield from read_row_groups(part, columns, given)


def _plain(cells: pa.Array) -> pa.Array:
    """Return cells in a type whose rows can be taken: neither codes nor views."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    plain = _plain_type(cells.type)
    return cells.cast(plain) if plain != cells.type else cells


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    plain = {"string_view": pa.string(), "binary_view": pa.binary(), "null": pa.string()}
    return plain.get(str(kind), kind)


def columns_of_folders(path: str) -> set[str]:
    """Return the columns of a Parquet that are in the names of its folders (``query=q1``)."""
    return {one.name.partition("=")[0].lower() for one in Path(path).rglob("*=*") if one.is_dir()}


def _is_part(file: Path, folder: Path) -> bool:
    return not any(name.startswith(("_", ".")) for name in file.relative_to(folder).parts)


def key_of(order: Order) -> str:
    """Return the column that ranks a document."""
    if order is Order.FILE:
        raise InputError("the rows of Parquet have no order of their own", "Choose --order score, or rank.")
    return "rank" if order is Order.RANK else "score"


def check_columns(path: str, schema: pa.Schema, order: Order) -> None:
    """Refuse a table that is not one of runs.

    Raises
    ------
    InputError
        A column is missing, or is of a type that cannot hold what it should.
    """
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

    def _repeated(
        self,
        again: Places,
        first: Places,
        names: list[bytes],
        group: Places,
        docs: Tokens,
        rows: Places | None,
    ) -> InputError:
        found = {(decode(names[group[row]]), decode(docs.raw(row))) for row in again.tolist()}
        lines = [f"query {query!r}: document {doc!r} is repeated" for query, doc in sorted(found)]
        return InputError(f"run {self.name}:", _HINT, lines)


def run_of_rows(name: str, rows: pa.Table, order: Order) -> RowsOfRun:
    """Return whole queries of a run as a reader of files takes them.

    Raises
    ------
    InputError
        Rows lack a value, or hold one that is no id or no number; its ``problems`` name them.
    """
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

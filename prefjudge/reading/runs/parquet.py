"""Runs and qrels in columns: Parquet, CSV with a header, and JSON."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, pairwise
from numbers import Real
from os import fspath
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import BACK, FRONT, Order, Places, Tokens
from prefjudge.errors import ConfigError, InputError
from prefjudge.reading.files import (
    COMPRESSIONS,
    PACKED_PARQUET,
    compression,
    decode,
    is_remote,
    without_secrets,
)
from prefjudge.reading.lines import opened
from prefjudge.reading.memory import Held
from prefjudge.reading.runs.runs import OnDuplicate, RunTable

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
    require_arrow(f"{without_secrets(fspath(path))} is Parquet, and ")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _seekable(path) as file, opened(file) as raw:
        head = raw.read(8)
        raw.seek(0)
        try:
            yield pq.ParquetFile(raw)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            name = without_secrets(fspath(path))
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
    from prefjudge.reading.files import RemoteFile

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


# Qrels in Parquet, as MTEB keeps them: a row for each judged document.

_QRELS_QUERIES = ("query-id", "query_id", "qid", "query", "q_id")
_QRELS_DOCS = ("corpus-id", "doc_id", "docno", "doc", "docid")
_QRELS_GRADES = ("score", "relevance", "label", "grade")


def read_parquet(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels.

    Raises
    ------
    ConfigError
        pyarrow is not installed.
    InputError
        The file is damaged, or holds no qrels.
    """
    del data  # a file that is read from its end
    with open_parquet(path) as file:
        columns, row = _qrels_columns(path, file.schema_arrow.names), 0
        for batch in file.iter_batches(columns=columns):
            cells = zip(*(batch[name].to_pylist() for name in columns), strict=True)
            yield "".join(_line(path, row + place, *line) for place, line in enumerate(cells)).encode()
            row += batch.num_rows


def _line(path: str, row: int, query: object, doc: object, grade: object) -> str:
    """Return a row as a line; rows count from 0. An id with a blank would be two columns, or two lines."""
    for cell in (query, doc):
        if cell is None or len(str(cell).split()) != 1 or str(cell).strip() != str(cell):
            raise InputError(
                f"{path}, row {row}: the id {cell!r} is empty or holds a blank", "Give ids without blanks."
            )
    if grade is None:
        raise InputError(f"{path}, row {row}: there is no grade", "Fill in the cell, or leave out the row.")
    if isinstance(grade, bool) or not isinstance(grade, Real | Decimal):
        raise InputError(f"{path}, row {row}: the grade {grade!r} is not a number", "Give grades as numbers.")
    return f"{query} 0 {doc} {grade:.17g}\n"


def _qrels_columns(path: str, there: Collection[str]) -> list[str]:
    """Return the columns of the query, the document and the grade."""
    found = [
        next((one for one in names if one in there), "")
        for names in (_QRELS_QUERIES, _QRELS_DOCS, _QRELS_GRADES)
    ]
    if not all(found) or "rank" in there:
        raise InputError(
            f"{path} holds no qrels: it has the columns {', '.join(sorted(there))}",
            "Name them query-id, corpus-id and score. If these are runs, give them with --runs.",
        )
    return found


# Runs and qrels in CSV with a header, as Pyserini and PyTerrier write them: ``qid,docno,rank,score``.

_QUERIES = ("qid", "query_id", "q_id", "query-id", "topic_id")
_DOCS = ("docno", "doc_id", "docid", "corpus-id", "pid")
"""``docno`` comes first: beside it, PyTerrier's ``docid`` is a number inside its index."""
_GRADES = ("label", "relevance", "rel", "grade")
_CSV_HINT = "Name the columns qid, docno, rank and score; of qrels qid, docno and label."


def read_csv(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels; what has no header of CSV is left as it is.

    Raises
    ------
    InputError
        A column is missing, or an id is nothing that stands in a column.
    """
    head = b""
    while b"\n" not in head and (piece := next(data, b"")):
        head += piece
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    mark = next((mark for mark in (",", "\t") if mark.encode() in first), "")
    names = [name.strip().strip('"').lower() for name in first.decode("utf-8", "replace").split(mark or None)]
    if not mark or not any(name in _QUERIES for name in names):
        yield from chain([head], data)
        return
    rows = csv.reader(_csv_lines(path, chain([head], data)), delimiter=mark, strict=True)
    next(rows)
    yield b"# the header\n"  # a comment, so that messages count lines as the file has them
    try:
        yield from _columns(path, names, rows)
    except csv.Error as error:
        raise InputError(f"{path}: not CSV: {error}", "Close each quotation mark.") from None


def _columns(path: str, names: Sequence[str], rows: Iterator[list[str]]) -> Iterator[bytes]:
    query, doc, grade = (_place(names, known) for known in (_QUERIES, _DOCS, _GRADES))
    assert query is not None, "else it is not read as CSV"
    rank, score = (_place(names, (name,)) for name in ("rank", "score"))
    if doc is None or rank is score is grade is None:
        lacks = "a column of documents" if doc is None else "a rank, a score or a label"
        raise InputError(f"{path}:1: the header lacks {lacks}: it has {', '.join(names)}", _CSV_HINT)
    place, last = 0, None
    for line, row in enumerate(rows, 2):
        if not row:
            yield b"\n"
            continue
        if len(row) != len(names):
            raise InputError(f"{path}:{line}: {len(row)} cells where the header has {len(names)}", _CSV_HINT)
        cells = [cell.strip() for cell in row]
        for name in (cells[query], cells[doc]):
            if name.split() != [name]:
                raise InputError(f"{path}:{line}: the id {name!r} is empty or holds a blank", _CSV_HINT)
        place = place + 1 if cells[query] == last else 1
        last = cells[query]
        if score is not None or rank is not None:
            at = str(place) if rank is None else cells[rank]
            words = [last, "Q0", cells[doc], at, f"-{at}" if score is None else cells[score]]
        else:
            words = [last, "0", cells[doc], cells[grade or 0]]
        yield " ".join(word or "-" for word in words).encode() + b"\n"


def _place(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def _csv_lines(path: str, data: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for piece in data:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (_text(path, line) for line in whole)
    if rest:
        yield _text(path, rest)


def _text(path: str, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig") + "\n"
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", "Save it as UTF-8.") from None


# Runs and qrels as one JSON object, ``{"query": {"doc": 1.5}}``: how ranx and pytrec_eval keep them.
#
# In ranx's ``NAME.lz4`` the same object is CBOR, a binary JSON, in LZ4 in LZ4.

_OF_QUERIES = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')
_OF_MTEB = re.compile(rb'\s*\{[^\n]*"corpus-id"')
_GLANCE = 4096


def read_json(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels: whole numbers throughout are grades, others are scores.

    Other JSON, such as a collection's lines, is left as it is.

    Raises
    ------
    InputError
        It is not JSON, or an id or a number is nothing that stands in a column.
    """
    head = b""
    while len(head) < _GLANCE and (piece := next(data, b"")):
        head += piece
    text = head.removeprefix(b"\xef\xbb\xbf")
    if not _OF_QUERIES.match(text):
        yield from chain([head], data)
        return
    try:
        found = json.loads(b"".join([text, *data]))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}", "Was the file cut off? Write it again.") from None
    yield from _json_lines(path, found)


def read_lz4(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a run or of qrels that ranx keeps in LZ4; other texts in LZ4 are left as they are.

    Raises
    ------
    InputError
        It is damaged.
    """
    head = next(data, b"")
    if not head.startswith(COMPRESSIONS["lz4"]):
        yield from read_json(path, chain([head], data))
        return
    import lz4.frame  # it unpacked the head

    try:
        import cbor2
    except ImportError:
        raise ConfigError(
            f"{path} is a run of ranx, and the library that reads its CBOR is not installed",
            "Install it with the extra: pip install 'prefjudge[lz4]'",
        ) from None
    try:
        found = cbor2.loads(lz4.frame.decompress(b"".join([head, *data])))
    except (RuntimeError, ValueError, cbor2.CBORError) as error:
        raise InputError(f"{path} is damaged: {error}", "Copy the file again.") from None
    if not isinstance(found, dict):
        raise InputError(
            f"{path} holds no object of queries", "Write the run as ranx does: run.save(NAME.lz4)."
        )
    yield from _json_lines(path, found)


def _json_lines(path: str, found: dict[Any, Any]) -> Iterator[bytes]:
    rows = [(query, doc, value) for query, docs in found.items() for doc, value in _items(path, query, docs)]
    grades = all(isinstance(value, int) for _, _, value in rows)
    place, last = 0, None
    for query, doc, value in rows:
        place = place + 1 if query == last else 1
        last = query
        line = f"{query} 0 {doc} {value}\n" if grades else f"{query} Q0 {doc} {place} {value!r}\n"
        yield line.encode()


def read_json_lines(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels that MTEB keeps as an object a line; other JSON is left as it is."""
    head = b""
    while b"\n" not in head and (piece := next(data, b"")):
        head += piece
    if not _OF_MTEB.match(head):
        yield from chain([head], data)
        return
    rest = b""
    for piece in chain([head], data, [b"\n"]):
        *lines, rest = (rest + piece).split(b"\n")
        for line in filter(bytes.strip, lines):
            try:
                row = json.loads(line)
                query, doc, grade = row["query-id"], row["corpus-id"], row["score"]
            except (ValueError, KeyError, TypeError, RecursionError):
                shown = line[:60].decode("utf-8", "replace")
                raise InputError(
                    f"{path}: {shown!r} is not a judgment",
                    'Write {"query-id": …, "corpus-id": …, "score": …} on each line.',
                ) from None
            for _ in _items(path, str(query), {str(doc): grade}):
                yield f"{query} 0 {doc} {grade:g}\n".encode()


def _items(path: str, query: Any, docs: Any) -> Iterator[tuple[str, int | float]]:
    if not isinstance(docs, dict):
        raise InputError(
            f"{path}: query {query!r} has no object of documents", "Write {query: {doc: score}}."
        )
    for doc, value in docs.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                f"{path}: query {query!r}, document {doc!r}: {json.dumps(value)[:60]} is not a number",
                "Write the score or grade as a number.",
            )
        for name in (query, doc):
            if not isinstance(name, str) or name.split() != [name]:
                raise InputError(f"{path}: the id {name!r} is empty or holds a blank", "Ids have no blanks.")
        yield doc, value

"""Runs and judgments in tables, which an engine sorts and our own reader reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import line_tokens
from prefjudge.errors import InputError
from prefjudge.reading.files import LIMIT, Notice, atomic_write, decode, encode, paths_of
from prefjudge.reading.runs.heads import Found, JudgedRows, Reader, Reading, RunHead, Work, each_found
from prefjudge.reading.runs.parquet import is_parquet, read_columns, schema_of
from prefjudge.reading.runs.rows import (
    GROUP,
    by_run,
    check_columns,
    key_of,
    run_of_rows,
    tokens_of_column,
    whole_groups,
)
from prefjudge.reading.runs.runs import RunForm, stretches

if TYPE_CHECKING:
    import pyarrow as pa


R = TypeVar("R", RunHead, JudgedRows)
T = TypeVar("T")
Rows: TypeAlias = "pa.RecordBatch | None"
GroupWork: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[tuple[Any, Rows]]]"
"""Makes of a stream of rows summaries, which are returned, and rows, which may be written where they are."""

BLOCK = 1 << 18
"""About how many rows are looked at once: whole queries of them."""
_HELD = 1 << 22
"""About how many rows are brought together in memory; more are shared out to files first."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A query of a run in a table: the run's name there and a tag, and a document."""

    path: str | None
    query: object
    tag: str | None
    doc: object


class Tables:
    """Reads Parquet on this machine by pyarrow, and sends run files to where they are read."""

    def __init__(self, executor: Executor | None = None) -> None:
        """Take what reads run files in parallel, and returns what was found; None for this process."""
        self.executor = executor

    def files(self, path: str) -> list[str]:
        """Return the run files that a path stands for: itself."""
        return [path]

    def schema(self, path: str) -> pa.Schema:
        """Return the columns of a Parquet."""
        return schema_of(path)

    def listed(self, path: str) -> list[Listed]:
        """Return the queries of the runs in a Parquet, in the order in which its rows name them."""
        import pyarrow as pa

        parts, start = [], 0
        for batch in read_columns(path, (*GROUP, "tag", "doc")):
            place = pa.array(np.arange(start, start + batch.num_rows))
            start += batch.num_rows
            rows = pa.Table.from_batches([batch]).append_column("place", place)
            parts.append(_least(rows))
        if not parts:
            return []
        rows = _least(pa.concat_tables(parts)).sort_by("place").drop_columns("place")
        return [
            Listed(path, query, None if tag is None else _name(tag), doc)
            for path, query, tag, doc in zip(*_cells(rows), strict=True)
        ]

    def grouped(
        self,
        path: str,
        asked: Sequence[str],
        by: Sequence[str],
        work: GroupWork,
        *,
        out: str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Return what ``work`` says of some columns of a Parquet; write the rows that it makes to ``out``."""
        # It gets streams of rows; those that agree in ``by`` come one after the other, in one stream.
        found: list[Any] = []
        with _written(out, columns or {}) as write, brought_together(read_columns(path, asked), by) as tables:
            for table in tables:
                for one, rows in work(iter(table.to_batches())):
                    found.append(one)
                    write(rows)
            if not found:
                raise InputError(f"{path} is empty: no row is in it")
        return found

    def save(self, rows: pa.Table, path: str) -> None:
        """Write rows as Parquet; what was there stays until they are written."""
        import pyarrow.parquet as pq

        with atomic_write(path) as file:
            pq.write_table(rows, file)

    def close(self) -> None:
        """Forget the tables."""


@contextmanager
def _written(out: str | None, columns: Mapping[str, str]) -> Iterator[Callable[[Rows], None]]:
    """Yield what writes rows of some columns as Parquet, or does not where nothing is to be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if out is None:
        yield lambda rows: None
        return
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in columns.items()])
    with atomic_write(out) as file, pq.ParquetWriter(file, schema) as writer:
        yield lambda rows: writer.write(rows) if rows is not None else None


def _least(rows: pa.Table) -> pa.Table:
    """Return of each query of each run its first place, and the least tag and document."""
    least = rows.group_by([*GROUP], use_threads=False).aggregate(
        [("tag", "min"), ("doc", "min"), ("place", "min")]
    )
    return least.rename_columns([name.removesuffix("_min") for name in least.column_names]).select(
        [*GROUP, "tag", "doc", "place"]
    )


def _cells(rows: pa.Table) -> list[list[Any]]:
    """Return the columns as values; text that is not UTF-8 stays bytes."""
    import pyarrow as pa

    columns = []
    for column in rows.columns:
        try:
            columns.append(column.to_pylist())
        except UnicodeDecodeError:
            columns.append(column.cast(pa.binary()).to_pylist())
    return columns


def _name(cell: object) -> str:
    return decode(cell) if isinstance(cell, bytes) else str(cell)


@contextmanager
def brought_together(batches: Iterable[pa.RecordBatch], by: Sequence[str]) -> Iterator[Iterator[pa.Table]]:
    """Yield rows in tables of whole groups, those of a group one after the other."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    batches = iter(batches)
    for batch in batches:
        held.append(batch)
        if sum(part.num_rows for part in held) > _HELD:
            break
    else:
        yield iter([in_groups(pa.Table.from_batches(held), by)] if held else [])
        return
    with TemporaryDirectory() as folder:
        names = _shared_out(chain(held, batches), by, Path(folder))
        held.clear()
        yield (in_groups(_read(name), by) for name in names)


_FILES = 64
"""Files that rows are shared out to."""


def _shared_out(batches: Iterable[pa.RecordBatch], by: Sequence[str], folder: Path) -> list[Path]:
    """Write rows to files, those of a group to one; return the files."""
    import pyarrow as pa

    with ExitStack() as open_:
        writers: dict[int, Any] = {}
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            bucket = buckets_of(rows, by, _FILES)
            order = np.argsort(bucket, kind="stable")
            rows, bucket = rows.take(order), bucket[order]
            for start, end in pieces(bucket):
                number = int(bucket[start])
                if number not in writers:
                    file = open_.enter_context((folder / str(number)).open("wb"))
                    writers[number] = open_.enter_context(pa.ipc.new_stream(file, rows.schema))
                writers[number].write_table(rows.slice(start, end - start))
    return sorted(folder.iterdir())


def _read(name: Path) -> pa.Table:
    import pyarrow as pa

    with name.open("rb") as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all()


def buckets_of(rows: pa.Table, by: Sequence[str], buckets: int) -> NDArray[np.int32]:
    """Return a number for each row, which those of a group have in common, wherever they are."""
    import pyarrow as pa

    code = np.zeros(rows.num_rows, np.uint64)
    for name in by:
        names, places = _coded(rows[name])
        code = code * np.uint64(31) + tokens_of_column(pa.chunked_array([names])).codes()[places]
    return (code % np.uint64(buckets)).astype(np.int32)


def pieces(numbers: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return where equal numbers, which stand together, start and end."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    return [*zip(starts, [*starts[1:], numbers.size], strict=True)]


def in_groups(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return the rows, those of a group one after the other, as they stand."""
    group = np.zeros(rows.num_rows, np.int64)
    for name in by:
        names, places = _coded(rows[name])
        group = group * len(names) + places
    return rows.take(np.argsort(group, kind="stable"))


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the values of a column, each once, and the place among them of each row's."""
    coded = column.combine_chunks().dictionary_encode("encode")
    return coded.dictionary, coded.indices.to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class TableRun:
    """A run of a table: its name there, its tag, its first query and document, and the file of the table."""

    path: str
    tag: str
    example: tuple[str, str]
    source: str
    queries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Rows of a table that no run has."""

    problems: tuple[str, ...]


class TableRuns(Reader):
    """Runs in files and tables: files are read for each question, tables are opened and checked once."""

    # A Parquet may hold many runs. Runs come in the order of their files, and those of one Parquet by name;
    # their queries as the files list them.

    def __init__(
        self,
        tables: Tables,
        paths: str | Path | Iterable[str | Path],
        how: Reading | None = None,
        *,
        notices: list[Notice] | None = None,
    ) -> None:
        self.tables, self.how = tables, how or Reading()
        self.notices = notices if notices is not None else []
        given = tuple(dict.fromkeys(paths_of(paths)))
        self.forms: dict[str, RunForm] = {}
        place = {path: number for number, path in enumerate(given)}
        files = {path: tables.files(path) for path in given if not is_parquet(path)}
        self.of_files = list(dict.fromkeys(chain.from_iterable(files.values())))
        place |= {name: place[path] for path, names in files.items() for name in names}
        self.in_tables = [path for path in given if is_parquet(path)]
        self.runs = self._opened()
        sources = {path: path for path in self.of_files} | {run.path: run.source for run in self.runs}
        self.paths = sorted(sources, key=lambda path: place[sources[path]])
        self._sources = tuple(sources[path] for path in self.paths)

    @property
    def sources(self) -> tuple[str, ...]:
        """The file of each run, as it was given; of an address that stands for many, its own."""
        return self._sources

    def found(self, work: Work[Found]) -> Iterable[Found]:
        """Return what ``work`` finds in each run, in their order; where all are files, as it comes."""
        files = each_found(work, self.of_files, self.tables.executor, self.how.copies)
        if not self.in_tables:
            return files
        found = {one.path: one for one in files}
        for source in self.in_tables:
            some = self.tables.grouped(
                source, self.columns, GROUP, self.in_rows(partial(without_rows, work=work))
            )
            found |= {one.path: one for one in joined_runs(some, self.in_table(source))}
        return [found[path] for path in self.paths]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that are read."""
        return (*GROUP, "doc", key_of(self.how.order))

    def in_rows(self, work: Callable[[str], tuple[Any, Rows]]) -> GroupWork:
        """Return what does ``work`` on rows that come together by run and query, wherever they are."""
        return partial(found_in_rows, work=work, how=self.how)

    def in_table(self, source: str) -> list[TableRun]:
        """Return the runs of a table."""
        return [run for run in self.runs if run.source == source]

    def _opened(self) -> list[TableRun]:
        """Open the tables; return their runs by name."""
        runs: list[TableRun] = []
        for source in self.in_tables:
            key_of(self.how.order)  # refuses one that no table has
            check_columns(source, self.tables.schema(source), self.how.order)
            listed = self.tables.listed(source)
            if not listed:
                raise InputError(f"{source} is empty: a run needs at least one row")
            if any(one.path is None for one in listed):
                raise InputError(f"{source} has rows without a path", "The path tells the runs apart.")
            by_path: dict[str, list[Listed]] = {}
            for query in listed:
                by_path.setdefault(query.path or "", []).append(query)
            runs += [_run(source, path, own) for path, own in by_path.items()]
        sources = dict.fromkeys(self.of_files, "")
        for run in runs:
            if run.path in sources:
                one, two = sources[run.path] or run.path, run.source
                raise InputError(f"{one} and {two} both hold a run {run.path!r}", "Rename one of them.")
            sources[run.path] = run.source
        return sorted(runs, key=lambda run: run.path)


def _run(source: str, path: str, listed: Sequence[Listed]) -> TableRun:
    example = _name(listed[0].query), _name(listed[0].doc)
    tag = min((one.tag for one in listed if one.tag), default="")
    queries = tuple(dict.fromkeys(encode(_name(one.query)) for one in listed))
    return TableRun(path, tag, example, source, queries)


def without_rows(path: str, *, work: Callable[[str], T]) -> tuple[T, None]:
    """Return an answer of which no rows stay."""
    return work(path), None


def found_in_rows(
    batches: Iterable[pa.RecordBatch], *, work: Callable[[str], tuple[T, Rows]], how: Reading
) -> Iterator[tuple[T | Refused, Rows]]:
    """Yield what ``work`` finds in rows in whole groups; last, what is wrong with the rows."""
    refused: list[str] = []
    names = [*GROUP, "doc", key_of(how.order)]  # in the letters of the table, as they come
    for rows in whole_groups((batch.rename_columns(names) for batch in batches), GROUP, BLOCK):
        for name, own in by_run(rows):
            try:
                yield work(run_of_rows(name, own, how.order))
            except InputError as error:
                if not error.problems:
                    raise
                refused += [f"{name}: {problem}" for problem in error.problems]
        if len(refused) >= LIMIT:
            break
    if refused:
        yield Refused(tuple(sorted(refused)[:LIMIT])), None


def joined_runs(found: Iterable[R | Refused], runs: Sequence[TableRun]) -> list[R]:
    """Return what was found in each run, from what was found in some of its queries after the other."""
    parts: dict[str, list[R]] = {run.path: [] for run in runs}
    for one in sound(found, runs[0].source):
        parts[one.path].append(one)
    return [_joined(run, parts[run.path]) for run in runs]


def sound(found: Iterable[T | Refused], source: str) -> list[T]:
    """Return what was found in the rows of a table."""
    sound: list[T] = []
    refused: list[str] = []
    for one in found:
        if isinstance(one, Refused):
            refused += one.problems
        else:
            sound.append(one)
    if refused:
        raise InputError(
            f"{source} holds rows that no run has:",
            "Each row needs a query and a document, which are single words and come together once, "
            "and a number to rank by.",
            sorted(refused)[:LIMIT],
        )
    return sound


def _joined(run: TableRun, parts: Sequence[R]) -> R:
    """Put the parts of a run together, its queries as they are listed."""
    first = parts[0]
    if isinstance(first, RunHead):
        return replace(_in_order(RunHead.joined(run.path, parts, None), run.queries), tag=run.tag)
    return replace(JudgedRows.joined(run.path, parts, None), tag=run.tag, example=run.example)


def _in_order(head: RunHead, listed: Sequence[bytes]) -> RunHead:
    found = {name: place for place, name in enumerate(head.queries)}
    by = [found[name] for name in listed if name in found]
    starts, kept = (np.cumsum(head.sizes) - head.sizes)[by], head.sizes[by]
    docs = line_tokens(head.docs).take(stretches(starts, kept)).to_lines()
    return replace(head, queries=[head.queries[place] for place in by], sizes=kept, docs=docs)

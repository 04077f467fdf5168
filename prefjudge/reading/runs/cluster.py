"""Runs and judgments on a cluster: our own readers on Spark's executors."""

from __future__ import annotations

import logging
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from prefjudge.core.pools import QrelsPerQuery, build_pools
from prefjudge.core.runs import Qrels, heads_of
from prefjudge.errors import ConfigError, InputError, PrefjudgeError
from prefjudge.reading.files import atomic_folder, is_text, shown
from prefjudge.reading.remote import is_remote, kept_addresses, knowing
from prefjudge.reading.runs.heads import Reader, RunFacts, RunHead, called, top_of_run
from prefjudge.reading.runs.parquet import (
    PART,
    RowGroups,
    columns_of_folders,
    parquet_files,
    read_row_groups,
    row_groups,
)
from prefjudge.reading.runs.rows import GROUP
from prefjudge.reading.runs.runs import stretches
from prefjudge.reading.runs.tables import (
    GroupWork,
    Listed,
    Rows,
    TableRuns,
    Tables,
    buckets_of,
    in_groups,
    pieces,
    sound,
    without_rows,
)

T = TypeVar("T")
RowReader: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"
_Work: TypeAlias = "Callable[[str], tuple[Any, Rows]]"

NAMES, FOUND, KNOWN, RESOLVED = (f"prefjudge_{noun}" for noun in ("names", "found", "known", "resolved"))
"""The tables: a session may be somebody's, with tables of their own."""
ROWS = {"path": "string", "query": "string", "doc": "string", "position": "int32"}
"""The columns of the tops of runs, as they are kept."""
PACK = "bucket INT, pack BINARY"
"""A pack as a cluster knows it: a number that its groups have in common, and the rows; or an error."""

_BLOCK = 1 << 20
"""About how many rows are shared out at once."""
_BUCKETS = 64
"""At least so many buckets of groups, so that tasks get about the same number of rows."""
_PLACES = {"prefjudge_file": "_metadata.file_path", "prefjudge_row": "_metadata.row_index"}
"""The columns that are added to a Parquet: the file of a row, and its number there."""
_EACH_QUERY = """
        SELECT path, query, CAST(MIN(tag) AS STRING), MIN(doc), prefjudge_file, MIN(prefjudge_row)
        FROM {table}
        GROUP BY path, query, prefjudge_file"""
_OUTGOING = "prefjudge_outgoing"
_WHOLE_FILES = {"spark.sql.files.maxPartitionBytes": 1 << 50, "spark.sql.files.openCostInBytes": 1 << 50}
"""Settings by which Spark neither cuts a file of lines nor gives two to one task."""
_TYPED = "spark.sql.sources.partitionColumnTypeInference.enabled"
_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", re.MULTILINE)
_CAUSED = re.compile(r"^(?:Caused by)?: (?:[\w.$]+: )?(.+)", re.MULTILINE)
_FILE = re.compile(r"while reading file (\S+?)\.?(?:\s|$)")
_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]+:/")
"""Spark shows ``file:///a`` as ``file:/a``."""
_WRITING = "Check that the cluster can write there; S3 has the address s3a://… there."
_READING = (
    "Check that every executor sees the runs, and has this version of Python (PYSPARK_PYTHON) with "
    "prefjudge, numpy and pyarrow installed."
)


class SparkTables(Tables):
    """Asks tables and reads run files on a Spark session: the given one, the active one, or its own."""

    def __init__(self, session: Any = None) -> None:
        self.session = session or _session()
        super().__init__(_Executors(self.session))
        self._kept: list[Any] = []
        self._views: set[str] = set()

    def files(self, path: str) -> list[str]:
        """Return the run files that a path stands for: an address may be that of a folder, or a pattern."""
        if not _is_address(path):
            return [path]
        with _briefly(f"Spark cannot read {path}", "Check the address, and that the cluster sees it."):
            return sorted(map(unquote, self.session.read.text(path).inputFiles()))

    def keep(self, table: str, work: _Work, paths: Sequence[str]) -> list[Any]:
        """Fill a table with the rows that ``work`` finds in run files; return the summary of each."""
        known = partial(knowing, kept_addresses(paths), work)
        return _of_each(self._kept_as(table, _answers(self.session, known, paths)), paths)

    def _kept_as(self, table: str, answers: Any) -> list[tuple[int, Any]]:
        """Fill a table with the rows that stay; return the answers that go home, and their places."""
        self._kept.append(answers.persist())
        self._view(table, answers.where("answer IS NULL"))
        return _taken_home(self.session, answers)

    def keep_groups(
        self,
        table: str,
        path: str,
        asked: Sequence[str],
        by: Sequence[str],
        work: GroupWork,
        columns: Mapping[str, str],
    ) -> list[Any]:
        """Fill a table with what ``work`` finds in rows, which it gets in whole groups."""
        # What the executors see under its path they read themselves: Spark's own reader takes longer than all
        # the rest. Columns in the names of folders are left to it.
        cores = self.session.sparkContext.defaultParallelism
        with _columns_are_arrow(), _briefly("Spark cannot read the input", _READING):
            read: RowReader = iter
            if self._is_seen(path) and not columns_of_folders(path).intersection(asked):
                tasks = row_groups(parquet_files(path), PART)
                rows, count = self.session.range(0, len(tasks), 1, len(tasks)), sum(one.rows for one in tasks)
                read = partial(rows_of_parts, tasks=tasks, columns=asked)
            else:
                rows = self.session.sql(f"SELECT {', '.join(asked)} FROM {self.table(path)}")
                count = rows.count()
            parts = max(cores, count // PART)
            share = partial(packed, read=read, by=by, buckets=max(_BUCKETS, 4 * parts))
            found = partial(_on_groups, by=by, work=work, columns=columns)
            packs = rows.mapInArrow(share, PACK).repartition(parts, "bucket")
            answers = packs.mapInArrow(found, _schema(columns))
        return [found for _, found in self._kept_as(table, answers)]

    def _is_seen(self, path: str) -> bool:
        """Tell whether executors see a path, as they see run files."""
        return not _is_address(path) and self._java_files(path).getScheme() == "file"

    def table(self, path: str) -> str:
        """Return the name of a Parquet in SQL."""
        name = f"prefjudge_parquet_{len(self._kept)}"
        if self._is_seen(path):
            parquet_files(path)  # Java says less of what is wrong with one
        with _briefly(f"Spark cannot read {path}", "Check that the cluster sees it, and that it is whole."):
            with _set(self.session, {_TYPED: "false"}):  # the id "007" in a folder's name is no number
                rows = self.session.read.parquet(_literal(path))
            self._view(name, rows.selectExpr("*", *(f"{place} AS {name}" for name, place in _PLACES.items())))
        return name

    def load(self, table: str, columns: Mapping[str, str], rows: Sequence[tuple[object, ...]]) -> None:
        """Make a view of rows from home; columns are of types that Arrow knows by these names."""
        cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
        types = [getattr(pa, kind)() for kind in columns.values()]
        arrays = [pa.array(column, kind) for column, kind in zip(cells, types, strict=True)]
        self._view(table, self.session.createDataFrame(pa.table(dict(zip(columns, arrays, strict=True)))))

    def _view(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(name)
        self._views.add(name)
        self._kept.append(frame)

    def arrow(self, text: str) -> pa.Table:
        """Return the rows of a query in columns."""
        with _briefly("Spark cannot read the input", "Write the Parquet again: it may be damaged."):
            return self.session.sql(text).toArrow()

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the few rows of a query."""
        return list(zip(*(column.to_pylist() for column in self.arrow(text).columns), strict=True))

    def schema(self, path: str) -> pa.Schema:
        """Return the columns of a Parquet."""
        return self.arrow(f"SELECT * FROM {self.table(path)} LIMIT 0").drop_columns([*_PLACES]).schema

    def listed(self, path: str) -> list[Listed]:
        """Return the queries of the runs in a Parquet, in the order in which its rows name them."""
        found = sorted(
            self.rows(_EACH_QUERY.format(table=self.table(path))), key=lambda row: (_file(row[4]), row[5])
        )
        return [Listed(*row[:4]) for row in found]

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
        kept = columns or ROWS
        found = self.keep_groups(RESOLVED, path, asked, by, work, kept)
        if not found:
            raise InputError(f"{path} is empty: no row is in it")
        if out is not None:
            self.save_query(f"SELECT {', '.join(kept)} FROM {RESOLVED}", out)
        return found

    def save(self, rows: pa.Table, path: str) -> None:
        """Write rows as Parquet; what was there stays until they are written."""
        self._view(_OUTGOING, self.session.createDataFrame(rows))
        self.save_query(f"SELECT * FROM {_OUTGOING}", path)

    def save_query(self, text: str, path: str) -> str:
        """Write the rows of a query as a Parquet folder; then it takes the place of one of that name."""
        with _briefly(f"Spark cannot write {path}", _WRITING):
            writer = self.session.sql(text).write.mode("append")  # into the folder that is made for it
            with atomic_folder(path) if self._is_seen(path) else self._address(path) as folder:
                writer.parquet(str(folder))
        return self.table(path)

    @contextmanager
    def _address(self, path: str) -> Iterator[str]:
        """Yield an address beside that of a folder, whose place it takes: where no lock says who writes."""
        folder, _, name = path.rstrip("/").rpartition("/")
        aside, old = (f"{folder or '.'}/.{name}.{os.urandom(6).hex()}.{what}" for what in ("part", "old"))
        new, kept, target = map(self._java_path, (aside, old, path))
        files = self._java_files(path)
        try:
            yield aside
            replaced = files.exists(target) and _renamed(files, target, kept)
            try:
                _renamed(files, new, target)
            except BaseException:
                if replaced:
                    files.rename(kept, target)
                raise
            files.delete(kept, True)
        finally:
            files.delete(new, True)

    def _java_path(self, path: str) -> Any:
        return self.session.sparkContext._jvm.org.apache.hadoop.fs.Path(path)

    def _java_files(self, path: str) -> Any:
        """Return the file system of a path, which the cluster's settings choose."""
        return self._java_path(path).getFileSystem(self.session.sparkContext._jsc.hadoopConfiguration())

    def close(self) -> None:
        """Drop the views, and what the cluster keeps for them; the session stays open."""
        for frame in self._kept:
            frame.unpersist()
        for view in self._views:
            self.session.catalog.dropTempView(view)
        self._kept, self._views = [], set()


class _Executors(Executor):
    """The executors of a cluster: each deals with one run file at a time."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def map(self, work: Callable[[str], T], paths: Iterable[str], **_: Any) -> Iterator[T]:  # type: ignore[override]
        """Return what ``work`` makes of each path, in their order."""
        asked = list(paths)
        if not asked:
            return iter(())
        answers = _answers(self.session, partial(without_rows, work=work), asked)
        return iter(_of_each(_taken_home(self.session, answers), asked))


def _answers(session: Any, work: _Work, paths: Sequence[str]) -> Any:
    """Return as a frame what ``work`` makes of each path: a task for each, on whatever executor is free."""
    # What goes home is in the column ``answer``; the rows that stay have nothing there.
    tasks = [(place, path) for place, path in enumerate(paths) if not _is_address(path)]
    places = {str(Path(path)): (place, path) for place, path in enumerate(paths) if _is_address(path)}
    frames = []
    with _columns_are_arrow():
        if tasks:
            numbers = session.range(0, len(tasks), 1, len(tasks))
            frames.append(numbers.mapInArrow(partial(_on_paths, work=work, tasks=tasks), _schema(ROWS)))
        if places:
            lines = session.read.text([path for _, path in places.values()]).select(
                "_metadata.file_path", "value"
            )
            frames.append(lines.mapInArrow(partial(_on_lines, work=work, places=places), _schema(ROWS)))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _schema(columns: Mapping[str, str]) -> str:
    kinds = {"string": "STRING", "float64": "DOUBLE", "int32": "INT"}
    return ", ".join(["answer BINARY", *(f"{name} {kinds[kind]}" for name, kind in columns.items())])


def _is_address(path: str) -> bool:
    return not is_remote(path) and _ADDRESS.match(path) is not None


def _on_paths(
    numbers: Iterator[pa.RecordBatch], *, work: _Work, tasks: Sequence[tuple[int, str]]
) -> Iterator[pa.RecordBatch]:
    """Read the files that the executor sees."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            place, path = tasks[number]
            yield from _sent(place, map(work, [path]))


def _on_lines(
    lines: Iterator[pa.RecordBatch], *, work: _Work, places: Mapping[str, tuple[int, str]]
) -> Iterator[pa.RecordBatch]:
    """Read the one file whose lines come: from a copy that has its address for a relative path."""
    home, address = Path.cwd(), ""
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for batch in lines:
                if batch.num_rows:
                    # Spark writes one address in several ways, with one slash or three.
                    place, address = places[str(Path(unquote(batch.column(0)[0].as_py())))]
                    Path(address).parent.mkdir(parents=True, exist_ok=True)
                    with Path(address).open("ab") as file:
                        file.writelines(
                            line + b"\n" for line in batch.column(1).cast(pa.binary()).to_pylist()
                        )
            if address:
                yield from _sent(place, map(work, [address]))
        finally:
            os.chdir(home)


def _on_groups(
    packs: Iterator[pa.RecordBatch], *, by: Sequence[str], work: GroupWork, columns: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    yield from _sent(0, work(unpacked(packs, by)), columns)


def _sent(
    place: int, made: Iterable[tuple[Any, pa.RecordBatch | None]], columns: Mapping[str, str] = ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield what goes home, and the rows that stay; an error of the input goes home: no retry would help."""
    schema = pa.schema(
        [("answer", pa.binary()), *((name, getattr(pa, kind)()) for name, kind in columns.items())]
    )

    def to_home(found: object) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"answer": pickle.dumps((place, found))}], schema)

    try:
        for found, rows in made:
            yield to_home(found)
            if rows is not None:
                none = pa.nulls(rows.num_rows, pa.binary())
                yield pa.RecordBatch.from_arrays([none, *rows.columns], schema=schema)
    except PrefjudgeError as error:
        yield to_home(error)


def _taken_home(session: Any, answers: Any) -> list[tuple[int, Any]]:
    """Return the answers and their places, in order; raise the first that is an error."""
    with _briefly("Spark cannot read the input", _READING), _set(session, _WHOLE_FILES):
        home = answers.where("answer IS NOT NULL").select("answer").toArrow()
    found = [pickle.loads(one.as_buffer()) for one in home["answer"]]  # noqa: S301 - from our own tasks
    found.sort(key=lambda one: one[0])
    for _, answer in found:
        if isinstance(answer, PrefjudgeError):
            raise answer
    return found


def _of_each(found: Sequence[tuple[int, Any]], paths: Sequence[str]) -> list[Any]:
    """Return the answers of files; one without a line has none."""
    empty = set(range(len(paths))) - {place for place, _ in found}
    if empty:
        raise InputError(f"{paths[min(empty)]} is empty: a run needs at least one line")
    return [answer for _, answer in found]


@contextmanager
def _set(session: Any, settings: Mapping[str, object]) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def _session() -> Any:
    """Return the active session, or a new one that says nothing while all is well."""
    try:
        with _columns_are_arrow():
            from pyspark.sql import SparkSession
    except ImportError:
        raise ConfigError(
            "Apache Spark is not installed", "Install it with the extra: pip install 'prefjudge[spark]'"
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    quiet = SparkSession.builder.config("spark.log.level", "ERROR")
    try:
        with _columns_are_arrow():
            session = quiet.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except Exception as error:  # Spark has many, and so has its gateway to Java
        raise ConfigError(
            f"Apache Spark does not start: {_said(error)}",
            "Install Java 17 or newer, on the PATH or in JAVA_HOME.",
        ) from error
    context = session.sparkContext
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # by default the python3 of the PATH, which may be an older one
    return session


@contextmanager
def _columns_are_arrow() -> Iterator[None]:
    """Say nothing of pandas 3, which PySpark finds but is not asked to use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _renamed(files: Any, path: Any, name: Any) -> bool:
    if not files.rename(path, name):
        raise InputError(f"{path} cannot be renamed to {name}", "Check who may write there.")
    return True


def _literal(path: str) -> str:
    """Return a path in which no character stands for others; an address may be a pattern."""
    return path if _is_address(path) else re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


@contextmanager
def _briefly(what: str, remedy: str) -> Iterator[None]:
    """Say in one line what Spark says of files in many."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    log = logging.getLogger("SQLQueryContextLogger")  # PySpark's, which shows stacks of Java on the screen
    muted, log.disabled = log.disabled, True
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{what}: {_said(error)}", remedy) from error
    finally:
        log.disabled = muted


def _said(error: Exception) -> str:
    """Return what an error says that happened: of Java's the deepest cause, of Python's the last line."""
    text = str(error)
    found = (_RAISED if "Traceback" in text else _CAUSED).findall(text)
    said: str = next(iter([*found[-1:], *text.splitlines()]), type(error).__name__)
    file = _FILE.search(text)
    return said if file is None or file[1] in said else f"{unquote(file[1])}: {said}"


def _file(name: str) -> str:
    """Return a file's name as the system has it: Spark writes the address."""
    return name if name.startswith("/") else unquote(name)


def packed(
    batches: Iterator[pa.RecordBatch], *, by: Sequence[str], buckets: int, read: RowReader = iter
) -> Iterator[pa.RecordBatch]:
    """Yield rows in packs: those that agree in some columns are a group, and have the same bucket."""
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
    bucket = buckets_of(rows, by, buckets)
    order = np.argsort(bucket, kind="stable")
    bucket, rows = bucket[order], rows.take(order)
    places, packs = pieces(bucket), []
    for start, end in places:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows.slice(start, end - start))
        packs.append(sink.getvalue().to_pybytes())
    return _batch([int(bucket[start]) for start, _ in places], packs)


def _batch(buckets: Sequence[int | None], packs: Sequence[bytes]) -> pa.RecordBatch:
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
    yield from in_groups(pa.concat_tables(tables), by).to_batches()


def pool_text(heads: str) -> str:
    """Return the candidates of each query that a run answers, and who contributed them."""
    return f"""
        SELECT query, doc, ARRAY_JOIN(ARRAY_SORT(ARRAY_AGG(source)), ',') AS contributors
        FROM (
            SELECT query, doc, run AS source
            FROM {heads} AS heads
            JOIN {NAMES} AS names ON heads.path = names.path
            UNION ALL
            SELECT query, doc, source FROM {KNOWN} WHERE query IN (SELECT query FROM {heads} AS answered)
        ) AS contributions
        GROUP BY query, doc"""


def sizes_text(pool: str) -> str:
    """Return how many queries of a saved pool have each number of candidates."""
    return f"""
        SELECT size, COUNT(*) AS queries
        FROM (SELECT query, COUNT(*) AS size FROM {pool} GROUP BY query) AS sizes
        GROUP BY size
        ORDER BY size"""


def save_pool(
    runs: Reader,
    path: str,
    *,
    depth: int = 1,
    qrels: Qrels | None = None,
    per_query: QrelsPerQuery = QrelsPerQuery.FIRST,
    queries: Collection[str] | None = None,
) -> tuple[tuple[str, ...], dict[int, int]]:
    """Write the pool as Parquet where the cluster keeps its files: query, doc, contributors."""
    assert isinstance(runs, TableRuns)
    spark = runs.tables
    assert isinstance(spark, SparkTables)
    work = partial(_top_rows, work=top_of_run(depth, runs.how, queries))
    heads, tags = _kept(spark, runs, work)
    if queries is not None and not spark.rows(f"SELECT query FROM {heads} AS heads LIMIT 1"):
        return tags, {}
    known = _contributions(qrels, per_query) if qrels is not None else []
    spark.load(KNOWN, {"query": "string", "doc": "string", "source": "string"}, known)
    pool = spark.save_query(pool_text(heads), path)
    return tags, {int(size): int(count) for size, count in spark.rows(sizes_text(pool))}


def _kept(spark: SparkTables, runs: TableRuns, work: _Work) -> tuple[str, tuple[str, ...]]:
    """Leave with the cluster what ``work`` finds in runs; return the rows as SQL, and the runs' names."""
    found: dict[str, RunFacts] = {}
    kept_in = []
    if runs.of_files:
        found = {one.path: one for one in spark.keep(FOUND, work, runs.of_files)}
        kept_in.append(FOUND)
    for place, source in enumerate(runs.in_tables):
        kept_in.append(f"{FOUND}_{place}")
        some = spark.keep_groups(kept_in[-1], source, runs.columns, GROUP, runs.in_rows(work), ROWS)
        sound(some, source)
        found |= {run.path: RunFacts(path=run.path, tag=run.tag) for run in runs.in_table(source)}
    facts = list(runs.noted(found[path] for path in runs.paths))
    tags = called(facts, runs.notices)
    spark.load(NAMES, {"path": "string", "run": "string"}, list(zip(runs.paths, tags, strict=True)))
    parts = [f"SELECT path, query, doc, position FROM {table}" for table in kept_in]
    return f"({' UNION ALL '.join(parts)})", tags


def _top_rows(path: str, *, work: Callable[[str], RunHead]) -> tuple[RunFacts, pa.RecordBatch]:
    """Return the top documents of a run as rows."""
    head = work(path)
    queries = _texts(path, b"".join(name + b"\n" for name in head.queries))
    columns = [
        pa.array([path], pa.string()).take(np.zeros(int(head.sizes.sum()), np.int64)),
        queries.take(np.repeat(np.arange(len(queries)), head.sizes)),
        _texts(path, head.docs),
        pa.array(stretches(np.ones_like(head.sizes), head.sizes).astype(np.int32)),
    ]
    facts = RunFacts(path=path, tag=head.tag, notices=head.notices, form=head.form)
    return facts, pa.RecordBatch.from_arrays(columns, names=list(ROWS))


def _texts(path: str, lines: bytes) -> pa.Array:
    """Return ids, one a line, as SQL knows text."""
    try:
        text = lines.decode()
    except UnicodeDecodeError as error:
        start, end = lines.rfind(b"\n", 0, error.start) + 1, lines.find(b"\n", error.start)
        raise InputError(
            f"{path}: the id {shown(lines[start:end])} is not UTF-8, and Parquet knows no other text",
            "Write text, for instance .tsv or .csv.",
        ) from None
    return pa.array(text.split("\n")[:-1], pa.string())


def _contributions(qrels: Qrels, per_query: QrelsPerQuery) -> list[tuple[str, str, str]]:
    """Return what the qrels put into the pools: those of no run, where every query is answered."""
    none = np.zeros(0, np.int32)
    nothing = heads_of((), qrels.queries, (), run=none, query=none, doc=none)
    pools = build_pools(nothing, qrels, per_query=per_query)
    pairs = zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    rows = [(pools.queries[query], pools.docs[doc], qrels.name) for query, doc in pairs]
    rows = [row for row in rows if is_text(row[0])]  # of the others the runs have none
    odd = next((doc for _, doc, _ in rows if not is_text(doc)), None)
    if odd is not None:
        raise InputError(
            f"the id {odd!r} of the qrels is not UTF-8, and Parquet knows no other text",
            "Write text, for instance .tsv.",
        )
    return rows

"""Runs for the engines of SQL: files and tables, read by our own reader where the engine works.

From the rows returned the measures are computed as they are from files: equal places give equal scores, to
the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.files import Runs, Work, called, each_found
from prefjudge.engines.files.heads import RunHead
from prefjudge.engines.files.in_parts import Found
from prefjudge.engines.files.judged import JudgedRows
from prefjudge.engines.files.reading import Reading
from prefjudge.engines.sql.answers import ROWS, Answer, Summary, without_rows
from prefjudge.engines.sql.table_runs import TableRun, found_in_rows, joined_runs
from prefjudge.engines.sql.tables import FOUND, NAMES, PLACE, SqlEngine, load_rows, rows_of
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice, decode, encode, paths_of
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.formats.runs.parquet import GROUP, check_columns, is_parquet, key_of

if TYPE_CHECKING:
    import pyarrow as pa

_EACH_RUN = """
        SELECT path, CAST(MIN(tag) AS STRING) AS tag, MIN(query) AS query, MIN(doc) AS doc
        FROM {table}
        GROUP BY path"""

_EACH_QUERY = """
        SELECT path, query, prefjudge_file, MIN(prefjudge_row) AS row
        FROM {table}
        GROUP BY path, query, prefjudge_file"""

R = TypeVar("R", RunHead, JudgedRows, Summary)


class SqlRuns(Runs):
    """Runs that an engine is asked for: files are read for each question, tables are opened and checked once.

    Parameters
    ----------
    engine : SqlEngine
        What asks the tables, and where files are read.
    paths : path or iterable of paths
        Run files, and Parquet that may hold many runs. Runs come in the order of their files, and those of
        one Parquet by name; their queries as the files list them.
    order : Order
        What ranks a document higher.
    notices : list of Notice, optional
        Receives what was odd.

    Attributes
    ----------
    paths : list of str
        The runs: files, and the names that tables have for theirs.
    tables : list of TableRun
        The runs that are in tables.
    tags : tuple of str
        What the runs are called, once their rows were kept.

    Raises
    ------
    InputError
        A table cannot be read.
    """

    def __init__(
        self,
        engine: SqlEngine,
        paths: str | Path | Iterable[str | Path],
        *,
        order: Order | str = Order.SCORE,
        notices: list[Notice] | None = None,
    ) -> None:
        self.engine, self.how = engine, Reading(order=Order(order))
        self.notices = notices if notices is not None else []
        given = tuple(dict.fromkeys(paths_of(paths)))
        self.forms: dict[str, RunForm] = {}
        self.tags: tuple[str, ...] = ()
        place = {path: number for number, path in enumerate(given)}
        files = {path: engine.files(path) for path in given if not is_parquet(path)}
        self._tables: dict[str, str] = {}
        self._files = list(dict.fromkeys(chain.from_iterable(files.values())))
        place |= {name: place[path] for path, names in files.items() for name in names}
        self.tables = self._opened([path for path in given if is_parquet(path)])
        sources = {path: path for path in self._files} | {run.path: run.source for run in self.tables}
        self.paths = sorted(sources, key=lambda path: place[sources[path]])
        self._sources = tuple(sources[path] for path in self.paths)

    @property
    def sources(self) -> tuple[str, ...]:
        """The file of each run, as it was given; of an address that stands for many, its own."""
        return self._sources

    def found(self, work: Work[Found]) -> Iterable[Found]:
        """Return what ``work`` finds in each run, in their order."""
        files = each_found(work, self._files, self.engine.executor, cut=True)
        return self._in_order(files, partial(without_rows, work=work))

    def keep(self, work: Callable[[str], Answer]) -> tuple[str, list[Summary]]:
        """Leave with the engine what ``work`` finds in runs, and name them.

        Returns
        -------
        str
            The rows as SQL: path, query, doc, position. What the runs are called is in the table of names.
        list of Summary
            What is known of each run.
        """
        kept = self.engine.keep(FOUND, work, self._files) if self._files else ()
        found = list(self._noted(self._in_order(kept, work)))
        self.tags = called(found, self.notices)
        named = list(zip(self.paths, self.tags, strict=True))
        load_rows(self.engine, NAMES, {"path": "string", "run": "string"}, named)
        kept_in = [*([FOUND] if self._files else []), *map(_kept_in, range(len(self._tables)))]
        parts = [f"SELECT path, query, doc, position FROM {table}" for table in kept_in]
        return f"({' UNION ALL '.join(parts)})", found

    def _in_order(
        self, files: Iterable[R], work: Callable[[str], tuple[R, pa.RecordBatch | None]]
    ) -> Iterable[R]:
        """Return what was found in each run in their order; where all are files, as it comes."""
        if not self.tables:
            return files
        order = self.how.order
        found = {one.path: one for one in files}
        in_rows = partial(found_in_rows, work=work, order=order)
        asked = (*GROUP, "doc", key_of(order))
        for place, (source, table) in enumerate(self._tables.items()):
            some = self.engine.keep_groups(_kept_in(place), source, asked, GROUP, in_rows, ROWS)
            own = [run for run in self.tables if run.source == source]
            found |= {one.path: one for one in joined_runs(some, own, partial(self._listed, table))}
        return [found[path] for path in self.paths]

    def _listed(self, table: str) -> dict[str, list[bytes]]:
        """Return the queries of each run of a table in the order in which its rows name them."""
        listed: dict[str, dict[bytes, None]] = {}
        rows = rows_of(self.engine, _EACH_QUERY.format(table=table))
        for path, query, *_ in sorted(rows, key=lambda row: (_file(row[2]), row[3])):
            listed.setdefault(path, {}).setdefault(encode(_name(query)))
        return {path: [*queries] for path, queries in listed.items()}

    def _opened(self, paths: Sequence[str]) -> list[TableRun]:
        """Open the tables; return their runs by name."""
        runs: list[TableRun] = []
        for path in paths:
            key_of(self.how.order)  # refuses one that no table has
            self._tables[path] = name = self.engine.table(path)
            columns = self.engine.arrow(f"SELECT * FROM {name} LIMIT 0").drop_columns([*PLACE])
            check_columns(path, columns.schema, self.how.order)
            found = rows_of(self.engine, _EACH_RUN.format(table=name))
            if not found:
                raise InputError(f"{path} is empty: a run needs at least one row")
            runs += [TableRun(run, tag or "", (_name(q), _name(d)), path) for run, tag, q, d in found]
        sources = dict.fromkeys(self._files, "")
        for run in runs:
            if run.path is None:
                raise InputError(f"{run.source} has rows without a path", "The path tells the runs apart.")
            if run.path in sources:
                one, two = sources[run.path] or run.path, run.source
                raise InputError(f"{one} and {two} both hold a run {run.path!r}", "Rename one of them.")
            sources[run.path] = run.source
        return sorted(runs, key=lambda run: run.path)


def _kept_in(place: int) -> str:
    return f"{FOUND}_{place}"


def _file(name: str) -> str:
    """Return a file's name as the system has it: Spark writes the address."""
    return name if name.startswith("/") else unquote(name)


def _name(cell: object) -> str:
    return decode(cell) if isinstance(cell, bytes) else str(cell)

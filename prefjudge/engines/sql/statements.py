"""Runs for the engines of SQL: files read by our own reader where the engine works, and tables asked in SQL.

From the rows returned the measures are computed as they are from files: equal places give equal scores, to
the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order
from prefjudge.engines.files.files import (
    each_found,
    joined_heads,
    joined_judged,
    judged_of_run,
    run_tags,
    top_of_run,
)
from prefjudge.engines.files.heads import RunHead
from prefjudge.engines.files.judged import JudgedRows
from prefjudge.engines.sql.answers import Answer, Summary
from prefjudge.engines.sql.tables import (
    FOUND,
    NAMES,
    QRELS,
    QUERIES,
    RUNS,
    SqlEngine,
    check_runs,
    load_qrels,
    load_queries,
    load_rows,
    rows_of,
)
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice, encode, paths_of
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.formats.runs.parquet import is_parquet

_TOO_LARGE = 3.4028235677973366e38
"""From here on float32 is infinite, which DuckDB would not say of itself."""
_KEYS = {
    Order.SCORE: "score",
    Order.SCORE_F32: f"""
        CASE
            WHEN score >= CAST('{_TOO_LARGE!r}' AS DOUBLE) THEN CAST('Infinity' AS DOUBLE)
            WHEN score <= CAST('-{_TOO_LARGE!r}' AS DOUBLE) THEN CAST('-Infinity' AS DOUBLE)
            ELSE CAST(CAST(score AS FLOAT) AS DOUBLE)
        END""",
    Order.RANK: "CAST(-rank AS DOUBLE)",
}


def key_of(order: Order) -> str:
    """Return what ranks a document: higher is better."""
    if order is Order.FILE:
        raise InputError(
            "the order of the file's lines is not known to SQL", "Choose --order score, or rank."
        )
    return _KEYS[order]


def top_text(k: int, order: Order, *, some: bool = False) -> str:
    """Return the ``k`` best documents of each query of each run, or of each in the table of queries."""
    wanted = f"WHERE query IN (SELECT query FROM {QUERIES})" if some else ""
    return f"""
        SELECT path, query, doc, position
        FROM (
            SELECT path, query, doc,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY {key_of(order)} DESC, doc DESC)
                    AS position
            FROM {RUNS}
            {wanted}
        ) AS ranked
        WHERE position <= {int(k)}"""


def judged_text(order: Order) -> str:
    """Return the positions of the judged documents and the spans of their ties."""
    return f"""
        SELECT ranked.path AS path, code, number, position, best, best + tied - 1 AS worst
        FROM (
            SELECT path, query, doc,
                ROW_NUMBER() OVER (PARTITION BY path, query ORDER BY ranking DESC, doc DESC) AS position,
                RANK() OVER (PARTITION BY path, query ORDER BY ranking DESC) AS best,
                COUNT(*) OVER (PARTITION BY path, query, ranking) AS tied
            FROM (
                SELECT path, query, doc, {key_of(order)} AS ranking
                FROM {RUNS}
                WHERE query IN (SELECT query FROM {QRELS})
            ) AS keyed
        ) AS ranked
        JOIN {QRELS} AS labels ON ranked.query = labels.query AND ranked.doc = labels.doc"""


RETRIEVED = f"""
        SELECT path, code, COUNT(*) AS retrieved
        FROM {RUNS} AS runs
        JOIN (SELECT DISTINCT query, code FROM {QRELS}) AS labels ON runs.query = labels.query
        GROUP BY path, code"""
"""How many documents each run returned for each judged query."""

_EACH_RUN = f"""
        SELECT path, MIN(tag) AS tag, MIN(query) AS query, MIN(doc) AS doc,
            MIN(source) AS source, MAX(source) AS other
        FROM {RUNS}
        GROUP BY path"""

R = TypeVar("R", RunHead, JudgedRows, Summary)


@dataclass(frozen=True, slots=True)
class TableRun:
    """A run of a table: its name there, its tag, its first query and document, and the file of the table."""

    path: str
    tag: str
    example: tuple[str, str]
    source: str


class SqlRuns:
    """Runs that an engine is asked for: files are read for each question, tables are opened and checked once.

    Parameters
    ----------
    engine : SqlEngine
        What asks the tables, and where files are read.
    paths : path or iterable of paths
        Run files, and Parquet that may hold many runs. Runs come in the order of their files, and those of
        one Parquet by name; their queries as the files list them, and those of Parquet by id.
    order : Order
        What ranks a document higher.
    notices : list of Notice, optional
        Receives what was odd.

    Attributes
    ----------
    paths : list of str
        The runs: files, and the names that tables have for theirs.
    sources : tuple of str
        The file of each run, as it was given; of an address that stands for many, its own.
    tables : list of TableRun
        The runs that are in tables.
    tags : tuple of str
        What the runs are called, once their rows were kept.
    forms : dict of str to RunForm
        What each run file was taken for, once it was read.

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
        self.engine, self.order, self.notices = engine, Order(order), notices
        given = tuple(dict.fromkeys(paths_of(paths)))
        self.forms: dict[str, RunForm] = {}
        self.tags: tuple[str, ...] = ()
        place = {path: number for number, path in enumerate(given)}
        files = {path: engine.files(path) for path in given if not is_parquet(path)}
        self._files = list(dict.fromkeys(chain.from_iterable(files.values())))
        place |= {name: place[path] for path, names in files.items() for name in names}
        self.tables = self._opened([path for path in given if is_parquet(path)])
        sources = {path: path for path in self._files} | {run.path: run.source for run in self.tables}
        self.paths = sorted(sources, key=lambda path: place[sources[path]])
        self.sources = tuple(sources[path] for path in self.paths)

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self.paths)

    def top(self, k: int, queries: Collection[str] | None = None) -> Heads:
        """Return the ``k`` best documents of each query of each run, as `engines.files.top` does."""
        work = top_of_run(k, order=self.order, queries=queries)
        files = each_found(work, self._files, self.engine.executor, cut=True)
        found = self._in_order(files, partial(self._table_heads, k, queries))
        return joined_heads(found, self.order, self.notices, self.forms)

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents, as `engines.files.judged` does."""
        work = judged_of_run(qrels, order=self.order)
        files = each_found(work, self._files, self.engine.executor, cut=True)
        found = self._in_order(files, partial(self._table_judged, qrels))
        return joined_judged(found, qrels, self.order, self.notices, self.forms)

    def keep(self, work: Callable[[str], Answer], text: str) -> tuple[str, list[Summary]]:
        """Leave with the engine what ``work`` finds in files and ``text`` in tables, and name the runs.

        Returns
        -------
        str
            The rows as SQL: path, query, doc, position. What the runs are called is in the table of names.
        list of Summary
            What is known of each run.
        """
        kept = self.engine.keep(FOUND, work, self._files) if self._files else ()
        found = list(self._in_order(kept, lambda: (_summary(run) for run in self.tables)))
        self.forms |= {one.path: one.form for one in found if one.form is not None}
        self.tags = run_tags(self.paths, [one.tag for one in found], self.notices)
        if self.notices is not None:
            self.notices += [notice for one in found for notice in one.notices]
        named = list(zip(self.paths, self.tags, strict=True))
        load_rows(self.engine, NAMES, {"path": "STRING", "run": "STRING"}, named)
        files = f"SELECT path, query, doc, position FROM {FOUND}"
        parts = [*([files] if self._files else []), *([text] if self.tables else [])]
        return f"({' UNION ALL '.join(parts)})", found

    def _in_order(self, files: Iterable[R], tables: Callable[[], Iterable[R]]) -> Iterable[R]:
        """Return what was found in each run in their order; where all are files, as it comes."""
        if not self.tables:
            return files
        found = {one.path: one for one in chain(files, tables())}
        return [found[path] for path in self.paths]

    def _opened(self, paths: Sequence[str]) -> list[TableRun]:
        """Open the tables and check them; return their runs by name."""
        if not paths:
            return []
        key_of(self.order)
        self.engine.open_tables(paths)
        check_runs(self.engine, self.order)
        found = sorted(rows_of(self.engine, _EACH_RUN))
        for name, *_, source, other in found:
            if source != other or name in self._files:
                one, two = (source, other) if source != other else (name, source)
                raise InputError(f"{one} and {two} both hold a run {name!r}", "Rename one of them.")
        return [TableRun(row[0], row[1] or "", (row[2], row[3]), row[4]) for row in found]

    def _table_heads(self, k: int, queries: Collection[str] | None) -> Iterator[RunHead]:
        if queries is not None:
            load_queries(self.engine, queries)
        text = top_text(k, self.order, some=queries is not None)
        rows = self._by_run(f"{text} ORDER BY path, query, position", "query", "doc")
        for run in self.tables:
            query, doc = rows[run.path]
            first = np.flatnonzero(query[1:] != query[:-1]) + 1 if query.size else np.zeros(0, np.int64)
            starts = np.append(np.zeros(min(1, query.size), np.int64), first)
            yield RunHead(
                path=run.path,
                tag=run.tag,
                queries=[encode(name) for name in query[starts]],
                sizes=np.diff(starts, append=query.size),
                docs=encode("".join(f"{name}\n" for name in doc)),
                notices=(),
            )

    def _table_judged(self, qrels: Qrels) -> Iterator[JudgedRows]:
        load_qrels(self.engine, qrels)
        columns = ("code", "number", "position", "best", "worst")
        rows = self._by_run(f"{judged_text(self.order)} ORDER BY path", *columns)
        seen = self._by_run(f"{RETRIEVED} ORDER BY path", "code", "retrieved")
        for run in self.tables:
            query, judged, position, best, worst = rows[run.path]
            counts = dict(zip(*(column.tolist() for column in seen[run.path]), strict=True))
            yield JudgedRows(
                path=run.path,
                tag=run.tag,
                query=query,
                judged=judged,
                position=position,
                best=best,
                worst=worst,
                seen=counts,
                met=len(counts),
                example=run.example,
            )

    def _by_run(self, text: str, *columns: str) -> dict[str, list[NDArray[Any]]]:
        """Return columns of a query's rows for each run of the tables; the rows come sorted by path."""
        found = self.engine.arrow(text)
        names = found["path"].dictionary_encode().combine_chunks()
        order = names.dictionary.to_pylist()
        bounds = np.searchsorted(names.indices.to_numpy(), np.arange(len(order) + 1))
        values = [found[name].to_numpy() for name in columns]
        none = [value[:0] for value in values]
        parts = {
            name: [value[start:end] for value in values]
            for name, start, end in zip(order, bounds[:-1], bounds[1:], strict=True)
        }
        return {run.path: parts.get(run.path, none) for run in self.tables}


def _summary(run: TableRun) -> Summary:
    return Summary(path=run.path, tag=run.tag, notices=(), form=None, example=run.example)

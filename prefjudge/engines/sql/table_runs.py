"""Runs in tables: what our own reader finds in rows that an engine sorts, some queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import line_tokens
from prefjudge.engines.files.heads import RunHead
from prefjudge.engines.files.judged import JudgedRows
from prefjudge.engines.files.ranking import stretches
from prefjudge.engines.sql.answers import Summary
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import LIMIT
from prefjudge.formats.runs.parquet import GROUP, by_run, key_of, run_of_rows, whole_groups

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R", RunHead, JudgedRows, Summary)

_BLOCK = 1 << 18
"""About how many rows are looked at once: whole queries of them."""


@dataclass(frozen=True, slots=True)
class TableRun:
    """A run of a table: its name there, its tag, its first query and document, and the file of the table."""

    path: str
    tag: str
    example: tuple[str, str]
    source: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Rows of a table that no run has."""

    problems: tuple[str, ...]


def found_in_rows(
    batches: Iterable[pa.RecordBatch],
    *,
    work: Callable[[str], tuple[R, pa.RecordBatch | None]],
    order: Order,
) -> Iterator[tuple[R | Refused, pa.RecordBatch | None]]:
    """Yield what ``work`` finds in rows that come sorted by run and query; last, what is wrong with them."""
    refused: list[str] = []
    names = [*GROUP, "doc", key_of(order)]  # in the letters of the table, as they come
    for rows in whole_groups((batch.rename_columns(names) for batch in batches), GROUP, _BLOCK):
        for name, own in by_run(rows):
            try:
                yield work(run_of_rows(name, own, order))
            except InputError as error:
                if not error.problems:
                    raise
                refused += [f"{name}: {problem}" for problem in error.problems]
        if len(refused) >= LIMIT:
            break
    if refused:
        yield Refused(tuple(sorted(refused)[:LIMIT])), None


def joined_runs(
    found: Iterable[R | Refused],
    runs: Sequence[TableRun],
    listed: Callable[[], Mapping[str, Sequence[bytes]]],
) -> list[R]:
    """Return what was found in each run, from what was found in some of its queries after the other.

    ``listed`` tells the queries of the runs in the order in which the table lists them; it is asked where
    that matters.

    Raises
    ------
    InputError
        There are rows that no run has.
    """
    refused: list[str] = []
    parts: dict[str, list[R]] = {run.path: [] for run in runs}
    for one in found:
        if isinstance(one, Refused):
            refused += one.problems
        else:
            parts[one.path].append(one)
    if refused:
        raise InputError(
            f"{runs[0].source} holds rows that no run has:",
            "Each row needs a query and a document, which are single words and come together once, "
            "and a number to rank by.",
            sorted(refused)[:LIMIT],
        )
    by_run = {run: parts[run.path] for run in runs}
    queries = listed() if any(isinstance(some[0], RunHead) for some in by_run.values()) else {}
    return [_joined(run, some, queries.get(run.path, ())) for run, some in by_run.items()]


def _joined(run: TableRun, parts: Sequence[R], listed: Sequence[bytes]) -> R:
    """Put the parts of a run together, its queries as they are listed."""
    first = parts[0]
    if isinstance(first, RunHead):
        return replace(_in_order(RunHead.joined(run.path, parts, None), listed), tag=run.tag)
    if isinstance(first, JudgedRows):
        return replace(JudgedRows.joined(run.path, parts, None), tag=run.tag, example=run.example)
    overlap = np.sum([part.overlap for part in parts], axis=0).tolist()
    shared = tuple((queries, hits) for queries, hits in overlap)
    return replace(first, tag=run.tag, form=None, example=run.example, overlap=shared)


def _in_order(head: RunHead, listed: Sequence[bytes]) -> RunHead:
    found = {name: place for place, name in enumerate(head.queries)}
    by = [found[name] for name in listed if name in found]
    starts, kept = (np.cumsum(head.sizes) - head.sizes)[by], head.sizes[by]
    docs = line_tokens(head.docs).take(stretches(starts, kept)).to_lines()
    return replace(head, queries=[head.queries[place] for place in by], sizes=kept, docs=docs)

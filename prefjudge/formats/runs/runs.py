"""Runs: a run file read as chunks of whole queries, checked line by line, without an object per line."""

from __future__ import annotations

from collections.abc import Iterator
from os import fspath
from pathlib import Path

import numpy as np

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import BACK, Places, same_token
from prefjudge.formats.lines.ahead import ahead
from prefjudge.formats.lines.blocks import BLOCK, Holds, blocks, is_slow, whole_lines
from prefjudge.formats.lines.fields import Fields, joined
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice, Stop
from prefjudge.formats.runs.chunks import OnDuplicate, RunChunk
from prefjudge.formats.runs.held_runs import run_in_memory
from prefjudge.formats.runs.lines import RunReader


def read_chunks(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
    size: int = BLOCK,
) -> Iterator[RunChunk]:
    """Yield a run as chunks of whole queries; memory is bounded by ``size`` and the largest query.

    Raises
    ------
    Scattered
        Where a query comes back after another: read the file with `read_whole` then.
    InputError
        With every problem of the file up to a limit, once the file was read.
    """
    if isinstance(path, Held):
        yield from run_in_memory(path).chunks(order, OnDuplicate(on_duplicate))
        return
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    np.empty(8 * size, np.uint8)  # once given back, glibc keeps smaller blocks, and need not clear them again
    try:
        queries = _queries(reader, whole_lines(path, Holds.COLUMNS, size=size, notices=notices))
        # A thread of its own costs processors a twentieth more, so that it pays only beside other work.
        for rows, changes in ahead(queries) if is_slow(path) else queries:
            yield reader.chunk(rows, changes)
    except Stop:
        pass
    reader.close()


def _queries(reader: RunReader, texts: Iterator[bytes]) -> Iterator[tuple[Fields, Places]]:
    """Yield the fields of whole queries, and the rows where a query starts, the first aside."""
    kept: list[bytes] = []
    held, line, wanted = 0, 1, 0
    for data in texts:
        kept.append(data)
        held += len(data)
        if held < wanted:
            continue
        rows = reader.rows(kept, line)
        changes = rows.ids(0).changes()
        if changes.size:
            start = int(changes[-1])
            yield rows.take(slice(0, start)), changes[:-1]
            line = int(rows.lines[start])
            kept = [rows.text[rows.text.rfind(b"\n", 0, int(rows.starts[start, 0])) + 1 : -BACK]]
            held = len(kept[0])
        wanted = 2 * held  # a query that fills blocks is not tokenised again for each
    rows = reader.rows(kept, line)
    if len(rows):
        yield rows, rows.ids(0).changes()


def read_whole(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
) -> RunChunk:
    """Read a run as one chunk, its lines grouped by query: for files that are not grouped."""
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    chunk = None
    try:
        rows = joined(
            reader.rows(block.data, block.line) for block in blocks(path, Holds.COLUMNS, notices=notices)
        )
        if len(rows):
            chunk = reader.chunk(_grouped(rows))
    except Stop:
        pass
    reader.close()
    assert chunk is not None
    return chunk


def _grouped(rows: Fields) -> Fields:
    """Bring the rows of each query together, queries in the order in which they first come."""
    queries = rows.ids(0)
    _, firsts, member = np.unique(queries.codes(), return_index=True, return_inverse=True)
    if same_token(queries, queries.take(firsts[member])).all():
        group = np.argsort(np.argsort(firsts))[member]
    else:  # two queries share a code
        places: dict[bytes, int] = {}
        group = np.array([places.setdefault(raw, len(places)) for raw in queries.to_bytes()])
    return rows.take(np.argsort(group, kind="stable"))

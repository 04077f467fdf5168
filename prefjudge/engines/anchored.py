"""Judged documents found by their text, without parsing the lines between: for sparse qrels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prefjudge.core.runs import Order
from prefjudge.engines.gallop import NotGalloping, gallop, text_of
from prefjudge.engines.heads import sound_chunk
from prefjudge.engines.judged import Judged, JudgedRows, found
from prefjudge.formats.problems import decode
from prefjudge.formats.runs import Layout, OnDuplicate, RunReader

SPARSE = 6
"""So many judged documents a query, on average, are sooner found one by one than by parsing every line."""

Row = tuple[int, int, int, int, int]
"""query, row of the qrels, position, and the first and the last position of its ties."""


def is_sparse(index: Judged) -> bool:
    """Tell whether qrels have so few documents a query that searching for them pays."""
    return index.query.size <= SPARSE * max(1, len(index.queries))


def anchored(path: str, *, index: Judged, order: Order) -> list[JudgedRows]:
    """Return the judged documents of a run: each is searched for in the lines of its query.

    The lines above it are counted, not read. Where a neighbour ties with it, the query is parsed.

    Raises
    ------
    NotGalloping
        Where the run needs a full reading.
    """
    wanted: dict[bytes, list[tuple[bytes, int]]] = {}
    names = {code: name for name, code in index.queries.items()}
    for row, (doc, query) in enumerate(zip(index.docs.to_bytes(), index.query.tolist(), strict=True)):
        wanted.setdefault(names[query], []).append((doc, row))
    reader = RunReader(path, order, OnDuplicate.ERROR)
    parts = []
    with text_of(path) as text:
        for heads in gallop(text, 1):
            if not heads.spans:
                continue
            chunk = sound_chunk(reader, heads.data, len(heads.spans))
            rows: list[Row] = []
            seen: dict[int, int] = {}
            for name, (start, end) in zip(chunk.queries, heads.spans, strict=True):
                code = index.queries.get(name)
                if code is None:
                    continue
                block = text.read(end - start, start)
                seen[code] = _lines(block)
                for found_row in _found_in(block, wanted.get(name, []), chunk.layout, path, index, order):
                    rows.append((code, *found_row))
            columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
            parts.append(
                JudgedRows(
                    path="",
                    tag=decode(chunk.tag),
                    query=columns[0],
                    judged=columns[1],
                    position=columns[2],
                    best=columns[3],
                    worst=columns[4],
                    seen=seen,
                    met=len(chunk.queries),
                    example=(decode(chunk.queries[0]), decode(chunk.docs.raw(0))),
                )
            )
    if not parts:
        raise NotGalloping
    return parts


def _lines(block: bytes) -> int:
    """Return the number of lines; the last may lack its newline."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10)) + (not block.endswith(b"\n"))


def _found_in(
    block: bytes, docs: list[tuple[bytes, int]], layout: Layout, path: str, index: Judged, order: Order
) -> list[tuple[int, int, int, int]]:
    """Return the row, position and tied positions of each document that stands in the lines of a query."""
    rows = []
    for doc, row in docs:
        start = _line_of(block, doc, layout)
        if start < 0:
            continue
        if order is not Order.FILE and _tied(block, start, layout, order):
            return _parsed(block, path, index, order)
        position = int(np.count_nonzero(np.frombuffer(block, np.uint8, start) == 10)) + 1
        rows.append((row, position, position, position))
    return rows


def _line_of(block: bytes, doc: bytes, layout: Layout) -> int:
    """Return where the line starts that has ``doc`` in the column of documents; -1 where none has."""
    place = block.find(doc)
    while place >= 0:
        start = block.rfind(b"\n", 0, place) + 1
        parts = block[start : place + len(doc) + 1].split()
        if (
            len(parts) == layout.doc + 1
            and parts[-1] == doc
            and block[place + len(doc) : place + len(doc) + 1].isspace()
        ):
            return start
        place = block.find(doc, place + 1)
    return -1


def _tied(block: bytes, start: int, layout: Layout, order: Order) -> bool:
    """Tell whether a line ties with a neighbour; raise where its neighbours are not in order."""
    end = block.find(b"\n", start)
    lines = [block[block.rfind(b"\n", 0, start - 1) + 1 : start]] if start else []
    place = len(lines)
    lines.append(block[start : end if end >= 0 else len(block)])
    if 0 <= end < len(block) - 1:
        after = block.find(b"\n", end + 1)
        lines.append(block[end + 1 : after if after >= 0 else len(block)])
    try:
        keys = [_key(line.split(), layout, order) for line in lines]
    except (IndexError, ValueError):
        raise NotGalloping from None  # a full reading will say what is wrong
    if any(not above >= below for above, below in pairwise(keys)):
        raise NotGalloping
    return any(key == keys[place] for other, key in enumerate(keys) if other != place)


def _key(parts: list[bytes], layout: Layout, order: Order) -> float:
    if order is Order.RANK or layout.score is None:
        return -int(parts[layout.rank])
    score = float(parts[layout.score])
    return float(np.float32(score)) if order is Order.SCORE_F32 else score


def _parsed(block: bytes, path: str, index: Judged, order: Order) -> list[tuple[int, int, int, int]]:
    """Return what a full parse of one query finds."""
    reader = RunReader(path, order, OnDuplicate.ERROR)
    rows = found(sound_chunk(reader, block if block.endswith(b"\n") else block + b"\n", 1), index, order)
    columns = (rows.judged, rows.position, rows.best, rows.worst)
    return list(zip(*(column.tolist() for column in columns), strict=True))

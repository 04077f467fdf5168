"""Judged documents looked up in the copy of a run: one comparison of a column's stretch for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.judged import Judged, JudgedRows, found
from prefjudge.engines.files.run_copy import Copy
from prefjudge.formats.lines.problems import decode


def found_in_copy(copy: Copy, index: Judged, order: Order) -> JudgedRows:
    """Return the judged documents of a run whose copy is in ``order``."""
    group = {name: place for place, name in enumerate(copy.queries)}
    place = np.array([group.get(name, -1) for name in index.queries], dtype=np.int64)
    code = np.array(list(index.queries.values()), dtype=np.int64)
    by_code = np.full(code.max(initial=-1) + 1, -1)
    by_code[code] = place
    columns = copy.doc_words()
    key = copy.ranking_column(order)
    bounds = copy.bounds.tolist()
    rows: list[tuple[int, ...]] = []
    parsed: set[int] = set()
    words = [index.docs.words(word).tolist() for word in range(columns.shape[1])]
    fits = (index.docs.ends - index.docs.starts <= 8 * columns.shape[1]).tolist()
    for row, query in enumerate(index.query.tolist()):
        at = int(by_code[query])
        if at < 0 or at in parsed or not fits[row]:
            continue
        start, end = bounds[at], bounds[at + 1]
        hits = np.flatnonzero(columns[start:end, 0] == words[0][row])
        for column in range(1, columns.shape[1]):
            hits = hits[columns[start + hits, column] == words[column][row]]
        if not hits.size:
            continue
        line = start + int(hits[0])
        if key is not None and _tied(key, start, line, end):
            parsed.add(at)
            continue
        position = line - start + 1
        rows.append((query, row, position, position, position, at))
    kept = [found_row[:5] for found_row in rows if found_row[5] not in parsed]
    for at in sorted(parsed):
        part = found(copy.queries_chunk(at, at + 1), index, order)
        kept += map(tuple, part.rows.T.tolist())
    sizes = np.diff(copy.bounds)
    first = copy.queries_chunk(0, 1)
    return JudgedRows(
        path="",
        tag=decode(copy.tag),
        rows=np.array(kept, dtype=np.int64).reshape(-1, 5).T,
        seen={int(c): int(sizes[p]) for c, p in zip(code, place, strict=True) if p >= 0},
        met=len(copy.queries),
        example=(decode(copy.queries[0]), decode(first.docs.raw(0))),
    )


def _tied(key: NDArray[np.float64], start: int, line: int, end: int) -> bool:
    """Tell whether a line has the key of a neighbour in its query."""
    own = key[line]
    return bool((line > start and key[line - 1] == own) or (line + 1 < end and key[line + 1] == own))

"""Judged documents found by their text, without parsing the lines between: for sparse qrels."""

from __future__ import annotations

import numpy as np

from prefjudge.core.runs import Order
from prefjudge.engines.gallop import NotGalloping, Text, gallop, text_of
from prefjudge.engines.heads import sound_chunk
from prefjudge.engines.judged import Judged, JudgedRows, found
from prefjudge.formats.layouts import Layout
from prefjudge.formats.problems import decode
from prefjudge.formats.runs import OnDuplicate, RunReader

SPARSE = 6
"""So many judged documents a query, on average, are sooner found one by one than by parsing every line."""

_DEPTH = 100
"""So many lines of a query are read first: most judged documents that a run finds are among them."""
_BATCH = 4 << 20
"""Bytes of lines that are held at once."""
_LAST = 1 << 9
"""Bytes that hold a last line."""

_PATIENCE = 100
"""After so many queries that had to be parsed, the whole run is."""

Found = tuple[int, int, int, int]
"""The row of the qrels, its position, and the first and the last position of its ties."""


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
    patience = _PATIENCE
    with text_of(path) as text:
        for heads in gallop(text, _DEPTH, batch=_BATCH):
            if not heads.spans:
                continue
            firsts = b"".join([part[: part.find(b"\n") + 1] for part in heads.parts])
            chunk = sound_chunk(reader, firsts, len(heads.spans))
            rows: list[tuple[int, ...]] = []
            seen: dict[int, int] = {}
            for name, part, (start, end), last in zip(
                chunk.queries, heads.parts, heads.spans, heads.last, strict=True
            ):
                code = index.queries.get(name)
                if code is None:
                    continue
                lines = _Lines(text, part, start, end, last)
                met = _searched(lines, wanted.get(name, []), chunk.layout, order)
                if met is None:
                    patience -= 1
                    if not patience:
                        raise NotGalloping
                    met = _parsed(lines.whole(), path, index, order)
                seen[code], hits = met
                rows += [(code, *hit) for hit in hits]
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


class _Lines:
    """The lines of one query, of which only the first are read at first."""

    def __init__(self, text: Text, head: bytes, start: int, end: int, last: bytes) -> None:
        self.text, self.held, self.start, self.end = text, head, start, end
        self.cut = len(head) < end - start
        self.last = last or self._last()

    def whole(self) -> bytes:
        """Read them all."""
        if self.cut:
            self.held, self.cut = self.text.read(self.end - self.start, self.start), False
        return self.held

    def _last(self) -> bytes:
        block = self.text.read(_LAST, self.end - _LAST) if self.cut else self.held
        if block.find(b"\n", 0, -1) < 0:
            block = self.whole()
        return block[block.rfind(b"\n", 0, -1) + 1 :]


def _searched(
    lines: _Lines, docs: list[tuple[bytes, int]], layout: Layout, order: Order
) -> tuple[int, list[Found]] | None:
    """Return how many lines a query has and which judged documents; None where it must be parsed.

    It must where a document ties with a neighbour, and where its rank does not say how many lines are above:
    then there are blank lines, or the ranks are not plain. How many lines there are, the last rank says.
    """
    try:
        first = int(lines.held[: lines.held.find(b"\n") + 1 or None].split()[layout.rank])
        count = int(lines.last.split()[layout.rank]) - first + 1
        if not lines.cut and count != _newlines(lines.held, len(lines.held)) + (lines.held[-1:] != b"\n"):
            return None
        rows = []
        for doc, row in docs:
            start = _line_of(lines.held, doc, layout)
            near = _neighbours(lines.held, start)
            if lines.cut and not near[2].endswith(b"\n"):
                start = _line_of(lines.whole(), doc, layout)
                near = _neighbours(lines.held, start)
            if start < 0:
                continue
            position = _newlines(lines.held, start) + 1
            if int(near[1].split()[layout.rank]) - first + 1 != position:
                return None
            if order is not Order.FILE and _tied(near, layout, order):
                return None
            rows.append((row, position, position, position))
    except (IndexError, ValueError):
        return None
    return count, rows


def _newlines(block: bytes, end: int) -> int:
    """Count the newlines before a place."""
    if end < 1 << 12:
        return block.count(b"\n", 0, end)
    return int(np.count_nonzero(np.frombuffer(block, np.uint8, end) == 10))


def _line_of(block: bytes, doc: bytes, layout: Layout) -> int:
    """Return where the line starts that has ``doc`` in the column of documents; -1 where none has."""
    place = block.find(doc)
    while place >= 0:
        start = block.rfind(b"\n", 0, place) + 1
        end = place + len(doc)
        parts = block[start:end].split()
        if len(parts) == layout.doc + 1 and parts[-1] == doc and block[end : end + 1].isspace():
            return start
        place = block.find(doc, place + 1)
    return -1


def _neighbours(block: bytes, start: int) -> tuple[bytes, bytes, bytes]:
    """Return the line before the one at ``start``, that line, and the next; nothing where there is none."""
    if start < 0:
        return b"", b"", b""
    before = block[block.rfind(b"\n", 0, start - 1) + 1 : start] if start else b""
    end = block.find(b"\n", start) + 1 or len(block)
    after = block[end : block.find(b"\n", end) + 1 or len(block)]
    return before, block[start:end], after


def _tied(lines: tuple[bytes, bytes, bytes], layout: Layout, order: Order) -> bool:
    """Tell whether a line ties with a neighbour; raise where they are not in order."""
    above, own, below = (_key(line.split(), layout, order) if line else None for line in lines)
    assert own is not None
    if (above is not None and not above >= own) or (below is not None and not own >= below):
        raise NotGalloping
    return own in (above, below)


def _key(parts: list[bytes], layout: Layout, order: Order) -> float:
    if order is Order.RANK or layout.score is None:
        return -int(parts[layout.rank])
    score = float(parts[layout.score])
    if order is Order.SCORE_F32:
        with np.errstate(over="ignore"):
            return float(np.float32(score))
    return score


def _parsed(block: bytes, path: str, index: Judged, order: Order) -> tuple[int, list[Found]]:
    """Return what a full parse of one query finds."""
    reader = RunReader(path, order, OnDuplicate.ERROR)
    chunk = sound_chunk(reader, block if block.endswith(b"\n") else block + b"\n", 1)
    rows = found(chunk, index, order)
    columns = (rows.judged, rows.position, rows.best, rows.worst)
    return len(chunk), list(zip(*(column.tolist() for column in columns), strict=True))

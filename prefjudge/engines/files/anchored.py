"""Judged documents found by their text, without parsing the lines between: for sparse qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.gallop import HeadLines, NotGalloping, Text, gallop, lines_between, text_of
from prefjudge.engines.files.heads import sound_chunk
from prefjudge.engines.files.judged import Judged, JudgedRows, found
from prefjudge.engines.files.ranking import ranking_key
from prefjudge.formats.lines.line_ends import has_lone_cr
from prefjudge.formats.lines.problems import decode
from prefjudge.formats.runs.chunks import FormTally, OnDuplicate, RunChunk
from prefjudge.formats.runs.layouts import Layout, RunForm
from prefjudge.formats.runs.lines import RunReader

SPARSE = 6
"""So many judged documents a query, on average, are sooner found one by one than by parsing every line."""

DEPTH = 100
"""So many lines of a query are read first: most judged documents that a run finds are among them.

The lines of a query that has no more are counted; how many a longer one has, its ranks say.
"""
_BATCH = 4 << 20
"""Bytes of lines that are held at once."""
_LAST = 1 << 9
"""Bytes that hold a last line."""

_MOST_UNSETTLED = 100
"""After this many queries that had to be parsed, the whole run is parsed."""

Wanted = Sequence[tuple[bytes, int]]
"""The judged documents of a query, and the row of the qrels that each is."""
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def is_sparse(index: Judged) -> bool:
    """Tell whether qrels have so few documents a query that searching for them pays."""
    return index.query.size <= SPARSE * max(1, len(index.queries))


def anchored(path: str, *, index: Judged, order: Order) -> tuple[list[JudgedRows], RunForm]:
    """Return the judged documents of a run, and its form: each is searched for in the lines of its query.

    The lines above it are counted, not read. Where a neighbour ties with it, the query is parsed.

    Raises
    ------
    NotGalloping
        Where the run needs a full reading.
    """
    wanted: dict[bytes, list[tuple[bytes, int]]] = {name: [] for name in index.queries}
    names = {code: name for name, code in index.queries.items()}
    for row, (doc, query) in enumerate(zip(index.docs.to_bytes(), index.query.tolist(), strict=True)):
        wanted[names[query]].append((doc, row))
    reader = RunReader(path, order, OnDuplicate.ERROR)
    tally = FormTally()
    parts = []
    allowed = _MOST_UNSETTLED
    with text_of(path) as text:
        for heads in gallop(text, DEPTH, batch=_BATCH):
            if not heads.spans:
                continue
            # One line of each query is parsed in any case: its
            # id, and the rank that others are measured against.
            firsts = b"".join([part[: part.find(b"\n") + 1] for part in heads.parts])
            chunk = tally.add(sound_chunk(reader, firsts, len(heads.spans)))
            lines = _Lines([firsts], len(heads.spans))
            for place, name in enumerate(chunk.queries):
                if name in wanted:
                    lines.add(place, wanted[name], chunk.layout, text, heads)
            part, unsettled = _settled(lines, chunk, reader, index)
            # A run full of ties is parsed query by query: then one reading from end to end is faster.
            allowed -= len(unsettled)
            if allowed <= 0:
                raise NotGalloping
            parts.append(part)
            for place in unsettled:
                whole = RunReader(path, order, OnDuplicate.ERROR)
                block = lines_between(text, *heads.spans[place])
                parts.append(found(sound_chunk(whole, block, 1), index, order))
    if not parts:
        raise NotGalloping
    return parts, tally.form(whole=False)


@dataclass(slots=True)
class _Lines:
    """The lines that settle where the judged documents of a batch of queries stand.

    These are the first line of each query; and of each query that is judged, the line of each judged document
    that the run finds, with the lines next to it, and its last line.

    Attributes
    ----------
    texts : list of bytes
        The lines.
    count : int
        How many they are.
    hits : list of (int, int, int, int, bool)
        Of each document that was found: the place of its query in ``queries``, its row in the qrels, the row
        of its line, how many lines of the query are above it, and whether there is one below.
    queries : list of (int, int, int)
        Of each judged query: its place in the batch, the row of its last line, and how many lines it has
        where its head is all of it, else 0.
    """

    texts: list[bytes]
    count: int
    hits: list[tuple[int, int, int, int, bool]] = field(default_factory=list)
    queries: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, place: int, docs: Wanted, layout: Layout, text: Text, heads: HeadLines) -> None:
        """Look for documents in the head of a query, and where it does not have them, in all its lines."""
        head, (start, end), last = heads.parts[place], heads.spans[place], heads.last[place]
        whole = len(head) >= end - start
        if not whole and head.count(b"\n") < DEPTH:  # its lines are long: ranks count only what is deeper
            head, whole = lines_between(text, start, end), True
        counted = _newlines(head, len(head)) if whole else 0
        for doc, row in docs:
            near = _near(head, doc, layout, whole=whole)
            # Not in the head: all lines of the query are searched as bytes, once for all of its documents.
            if near is None and not whole:
                head, whole = lines_between(text, start, end), True
                near = _near(head, doc, layout, whole=True)
            if near is not None:
                first, own, after, beyond = near
                above, below = own > first, beyond > after
                self.hits.append((len(self.queries), row, self.count + above, _newlines(head, own), below))
                self.texts.append(head[first:beyond])
                self.count += 1 + above + below
        if not last:
            block = head if whole else lines_between(text, max(start, end - _LAST), end)
            if block.find(b"\n") == len(block) - 1:
                block = lines_between(text, start, end)
            last = block[block.rfind(b"\n", 0, -1) + 1 :]
        self.queries.append((place, self.count, counted))
        self.texts.append(last)
        self.count += 1


def _newlines(block: bytes, end: int) -> int:
    """Count the newlines before a place."""
    if end < 1 << 12:
        return block.count(b"\n", 0, end)
    return int(np.count_nonzero(np.frombuffer(block, np.uint8, end) == 10))


def _near(block: bytes, doc: bytes, layout: Layout, *, whole: bool) -> tuple[int, int, int, int] | None:
    """Return where the line before that of a document starts, its own, and the next, and where that ends.

    None where no line has it in the column of documents, or where the next line is not there yet.
    """
    place = block.find(doc)
    while place >= 0:
        own = block.rfind(b"\n", 0, place) + 1
        end = place + len(doc)
        if b"\r" in block[own:end]:
            raise NotGalloping  # it ends a line alone
        # Found as bytes it may be a part of a longer id, or stand in another column.
        parts = block[own:end].split()
        if len(parts) == layout.doc + 1 and parts[-1] == doc and block[end : end + 1].isspace():
            after = block.find(b"\n", end) + 1
            beyond = block.find(b"\n", after) + 1
            if not beyond and not whole:
                return None
            return (block.rfind(b"\n", 0, own - 1) + 1 if own else 0), own, after, beyond or after
        place = block.find(doc, place + 1)
    return None


def _settled(
    lines: _Lines, chunk: RunChunk, reader: RunReader, index: Judged
) -> tuple[JudgedRows, list[int]]:
    """Return what lines tell of a batch, and the places of the queries of which they tell too little.

    They do where a document ties with a neighbour, and where its rank does not say how many lines are above:
    then there are blank lines, or the ranks are not plain. How many lines a query has, its last rank says.
    """
    place, last, counted = np.array(lines.queries, np.int64).reshape(-1, 3).T
    of, judged, own, above, below = np.array(lines.hits, np.int64).reshape(-1, 5).T
    texts = b"".join(lines.texts)
    rows, score, rank = reader.checked(reader.rows(texts, 1), ranks=True)
    if has_lone_cr(texts) or len(rows) != lines.count:
        raise NotGalloping  # a full reading will say what is wrong, and on which line
    assert rank is not None
    # Ranks that rise by one count lines without reading them.
    size = rank[last] - rank[place] + 1
    # Lines counted above must be what the ranks say; else something other than lines of the run lies between.
    sure = rank[own] - rank[place[of]] == above
    if reader.order is not Order.FILE:
        # Each document is compared with the lines next to it: out
        # of order ends the search, a tie leaves its place open.
        upper, lower = np.flatnonzero(above), np.flatnonzero(below)
        key = ranking_key(score, rank, reader.order)
        higher = key[np.concatenate([own[upper] - 1, own[lower]])]
        other = key[np.concatenate([own[upper], own[lower] + 1])]
        if (higher < other).any():
            raise NotGalloping
        sure[np.concatenate([upper, lower])[higher == other]] = False
    plain = (size == counted) | ((size > 0) & (counted == 0))
    plain[of[~sure]] = False
    kept = plain[of]
    judged, position = judged[kept], above[kept] + 1
    queries = [index.queries[chunk.queries[query]] for query in place[plain].tolist()]
    part = JudgedRows(
        path="",
        tag=decode(chunk.tag),
        rows=np.stack([index.query[judged], judged, position, position, position]),
        seen=dict(zip(queries, size[plain].tolist(), strict=True)),
        met=len(chunk.queries) - int(np.count_nonzero(~plain)),
        example=(decode(chunk.queries[0]), decode(chunk.docs.raw(0))),
    )
    return part, place[~plain].tolist()

"""Judged documents looked up in a run or its copy: their positions, by counting what stands above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import Places, Tokens, Words, line_tokens, same_token, tokens_of
from prefjudge.engines.files.ranking import ranked
from prefjudge.engines.files.reading import RunFacts
from prefjudge.formats.lines.problems import Notice, decode, encode
from prefjudge.formats.runs.chunks import RunChunk
from prefjudge.formats.runs.layouts import RunForm

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copy

SPARSE = 6
"""So many judged documents a query, on average, are sooner found in a copy one by one than by all rows."""

_SIEVE = 32
"""Places of the sieve for each key: more let fewer strangers through."""
_SIEVE_BITS = 24
"""The most bits of a place in the sieve."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Qrels prepared for look-up.

    Attributes
    ----------
    queries : dict of bytes to int
        The code of each judged query.
    docs : Tokens
        The document of each row of the qrels.
    query : ndarray of int64
        The query of each row.
    keys, order : ndarray
        The rows' keys, ascending, and the row that each is of. A key is the query, then the document's code
        as far as there is room.
    sieve : ndarray of bool
        True at the upper bits of some key: most rows of a run are ruled out by one look. What a query's rows
        look at is contiguous.
    """

    queries: dict[bytes, int]
    docs: Tokens
    query: Places
    keys: Words
    order: Places
    sieve: NDArray[np.bool_]

    @classmethod
    def of(cls, qrels: Qrels) -> Judged:
        """Prepare qrels."""
        vocabulary = _tokens(qrels.docs)
        query = qrels.query.astype(np.int64)
        keys = _keys(vocabulary.codes()[qrels.doc], query, len(qrels.queries))
        order = np.argsort(keys)
        bits = min(max(10, (keys.size * _SIEVE).bit_length()), _SIEVE_BITS)
        sieve = np.zeros(1 << bits, bool)
        # The upper bits are the query, so the rows of a query look
        # at one stretch of the sieve, which stays in the cache.
        sieve[keys >> np.uint64(64 - bits)] = True
        queries = {encode(name): code for code, name in enumerate(qrels.queries)}
        return cls(queries, vocabulary.take(qrels.doc.astype(np.int64)), query, keys[order], order, sieve)

    @property
    def is_sparse(self) -> bool:
        """Whether the qrels have so few documents a query that looking them up one by one pays."""
        return self.query.size <= SPARSE * max(1, len(self.queries))

    def match(self, codes: Words, query: Places, docs: Tokens) -> tuple[Places, Places]:
        """Return which of the given rows are judged, and the row of the qrels that each is."""
        keys = _keys(codes, query, len(self.queries))
        bits = self.sieve.size.bit_length() - 1
        rows = np.flatnonzero(self.sieve[keys >> np.uint64(64 - bits)] & (query >= 0))
        if not rows.size or not self.keys.size:
            none = np.zeros(0, np.int64)
            return none, none
        places = np.minimum(np.searchsorted(self.keys, keys[rows]), self.keys.size - 1)
        hit = self.keys[places] == keys[rows]
        rows, judged = rows[hit], self.order[places[hit]]
        # Keys hold a part of the code, and codes collide: bytes decide.
        true = same_token(docs.take(rows), self.docs.take(judged)) & (query[rows] == self.query[judged])
        return rows[true], judged[true]


def _tokens(ids: Sequence[str]) -> Tokens:
    tokens = line_tokens(encode("\n".join([*ids, ""])))
    # Encoding all ids at once is several times faster than one after the other.
    if len(tokens) != len(ids):  # an id holds the end of a line
        return tokens_of([encode(name) for name in ids])
    return tokens


def _keys(codes: Words, query: Places, queries: int) -> Words:
    bits = np.uint64(max(1, queries.bit_length()))
    return (query.astype(np.uint64) << (np.uint64(64) - bits)) | (codes >> bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows(RunFacts):
    """The judged documents of one run or of a part of it, as one worker hands them back.

    Attributes
    ----------
    rows : ndarray of int64, shape (5, n)
        Of each document: its query, its row in the qrels, its place in the ranking, and the best and the
        worst place that another order of ties would give it.
    seen : dict of int to int
        How many documents the run returned, by judged query.
    met : int
        How many queries the run holds, judged or not.
    example : tuple of str
        The first query and document of the run.
    """

    rows: Places
    seen: dict[int, int]
    met: int
    example: tuple[str, str]

    @classmethod
    def joined(
        cls, path: str, parts: Sequence[JudgedRows], form: RunForm | None, notices: Iterable[Notice] = ()
    ) -> JudgedRows:
        """Put the parts of one run together."""
        seen: dict[int, int] = {}
        for part in parts:
            seen.update(part.seen)
        return cls(
            path=path,
            tag=next((part.tag for part in parts if part.tag), ""),
            rows=np.concatenate([part.rows for part in parts], axis=1),
            seen=seen,
            met=sum(part.met for part in parts),
            example=parts[0].example,
            notices=tuple(notices),
            form=form,
        )

    def ranks(self, run: str, qrels: Qrels, order: Order) -> JudgedRanks:
        """Return what measures work on, queries in the order of the qrels, each from the top."""
        retrieved = np.zeros(len(qrels.queries), np.int32)
        for code, count in self.seen.items():
            retrieved[code] = count
        # Positions are unique within a query, so the order needs no stable sort.
        by = np.argsort((self.rows[0] << 32) | self.rows[2])
        query, judged, position, best, worst = (column[by].astype(np.int32) for column in self.rows)
        return JudgedRanks(
            run=run,
            query=query,
            judged=judged,
            position=position,
            best=best,
            worst=worst,
            grade=qrels.grade[judged],
            retrieved=retrieved,
            order=order,
        )


def found(chunk: RunChunk, index: Judged, order: Order) -> JudgedRows:
    """Return the judged documents of a chunk."""
    code = np.fromiter((index.queries.get(name, -1) for name in chunk.queries), np.int64, len(chunk.queries))
    sizes = np.diff(chunk.bounds)
    query = np.repeat(code, sizes)
    rows, judged = index.match(chunk.codes, query, chunk.docs)
    ranking = ranked(chunk, order)
    place = np.empty(len(chunk), np.int64)
    place[ranking.rows] = np.arange(len(chunk))
    places = place[rows]
    first = chunk.bounds[:-1][chunk.group[rows]]
    # A span is a group of ties: its first place is the best that
    # any order of it gives the document, its end the worst.
    starts = np.flatnonzero(~ranking.tied)
    span = np.searchsorted(starts, places, side="right") - 1
    ends = np.append(starts[1:], len(chunk))
    return JudgedRows(
        path="",
        tag=decode(chunk.tag),
        rows=np.stack(
            [query[rows], judged, places - first + 1, starts[span] - first + 1, ends[span] - first]
        ),
        seen={int(c): int(size) for c, size in zip(code, sizes, strict=True) if c >= 0},
        met=len(chunk.queries),
        example=(decode(chunk.queries[0]), decode(chunk.docs.raw(0))) if len(chunk) else ("", ""),
    )


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

"""Tournaments: the candidates of each query, and the votes between them, for many queries at once.

Judgments arrive in the order of the log. Here they are cut into blocks of whole queries, so that the memory
in use depends on the block and not on the log, and every candidate gets a row: a win is then one integer,
and counting wins is one ``bincount``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.candidates import contains, number_candidates
from prefjudge.core.coverage import asked_missing, count_parts, pairs_missing
from prefjudge.core.judgments import Judgments
from prefjudge.core.pairs import Pairs
from prefjudge.core.pools import Pools
from prefjudge.core.runs import Codes, encode

Index = NDArray[np.int64]
BLOCK_ROWS = 1 << 18
"""How many judgments a block holds, unless a single query has more. It fits a processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournaments:
    """The tournaments of a block of consecutive queries.

    Attributes
    ----------
    first : int
        The code of the block's first query in the whole vocabulary.
    start : ndarray of int64, shape (n_queries + 1,)
        The candidates of the block's query ``q`` are the rows ``start[q]:start[q + 1]``.
    query, doc : ndarray of int32, shape (n_candidates,)
        Each candidate's query (counted from ``first``) and document code; sorted by both.
    left, right : ndarray of int64, shape (n_votes,)
        The candidate rows that each vote compares.
    choice, strength : ndarray of int8, shape (n_votes,)
        As in the judgments.
    worker : ndarray of int32, shape (n_votes,)
        As in the judgments.
    votes, missing : ndarray of int32, shape (n_queries,)
        How many judgments each query has, and how many pairs that should have been judged have no judgment.
    """

    first: int
    start: Index
    query: Codes
    doc: Codes
    left: Index
    right: Index
    choice: NDArray[np.int8]
    strength: NDArray[np.int8]
    worker: Codes
    votes: Codes
    missing: Codes

    @property
    def n_queries(self) -> int:
        """How many queries the block has."""
        return self.start.size - 1

    @property
    def sizes(self) -> Index:
        """The number of candidates of each query, shape (n_queries,)."""
        return np.diff(self.start)

    def comparisons(self) -> Codes:
        """Return in how many judgments each candidate took part, shape (n_candidates,)."""
        n = self.doc.size
        counts = np.bincount(self.left, minlength=n) + np.bincount(self.right, minlength=n)
        return counts.astype(np.int32)

    def parts(self) -> Index:
        """Return how many groups of candidates, not compared with each other, each query has."""
        return count_parts(self.start, self.query, self.left, self.right)


def tournaments(
    judgments: Judgments,
    *,
    pools: Pools | None = None,
    asked: Pairs | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[Tournaments]:
    """Cut judgments into blocks of whole queries, each query with its candidates.

    Parameters
    ----------
    judgments : Judgments
        The votes. Their order does not matter.
    pools : Pools, optional
        The candidates. Votes on other documents do not count. By default, the candidates are the judged
        documents.
    asked : Pairs, optional
        The pairs that should have been judged; by default all pairs of a query's candidates. Pairs that
        it would take to connect the candidates are missing in any case.
    block_rows : int
        About how many judgments to take at a time.

    Yields
    ------
    Tournaments
        Every query of the vocabulary (that of the pools, where given) occurs exactly once, in its order.
        Document codes are those of the same vocabulary.
    """
    cut = Cut(judgments, pools=pools, asked=asked)
    for span in cut.spans(block_rows):
        yield cut.block(span)


Span = tuple[int, int]
"""The first query of a block, and the first of the next."""


class Cut:
    """Judgments that are ready to be cut: each block can be had by itself, in any order or thread.

    The parameters are those of :func:`tournaments`.
    """

    def __init__(
        self, judgments: Judgments, *, pools: Pools | None = None, asked: Pairs | None = None
    ) -> None:
        self._judgments = judgments if pools is None else _in_vocabulary(judgments, pools)
        self._pools = pools
        self._asked = None if asked is None else _pairs_in_vocabulary(asked, self._judgments)
        n_queries = len(self._judgments.queries)
        nothing = np.empty(0, np.int32)
        self._log = _Sorted(self._judgments.query, n_queries)
        self._pooled = _Sorted(nothing if pools is None else pools.query, n_queries)
        self._wanted = _Sorted(nothing if self._asked is None else self._asked.query, n_queries)

    def spans(self, block_rows: int = BLOCK_ROWS) -> Iterator[Span]:
        """Give the spans of queries that make blocks of about ``block_rows`` judgments."""
        return _cuts(self._log.start + self._pooled.start + self._wanted.start, block_rows)

    def block(self, span: Span) -> Tournaments:
        """Return the block of a span."""
        low, high = span
        block = _Block(low, high, self._judgments, self._log.rows(low, high))
        if self._pools is not None:
            block.add_pool(self._pools, self._pooled.rows(low, high))
        if self._asked is not None:
            block.add_asked(self._asked, self._wanted.rows(low, high))
        return block.build()


def _cuts(load: Index, block_rows: int) -> Iterator[Span]:
    """Cut queries, whose rows begin at ``load``, into spans of at most ``block_rows`` rows or one query."""
    n_queries, low = load.size - 1, 0
    if not n_queries:
        yield 0, 0
    while low < n_queries:
        high = int(np.searchsorted(load, load[low] + block_rows, side="right")) - 1
        high = min(max(high, low + 1), n_queries)
        yield low, high
        low = high


class _Sorted:
    """Access to the rows of consecutive queries, sorted once if they are not grouped already."""

    def __init__(self, query: Codes, n_queries: int) -> None:
        self.start: Index = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=n_queries))])
        self.order: Index | None = None
        if query.size > 1 and bool((query[1:] < query[:-1]).any()):
            # One sort of packed integers is faster than a stable argsort, and just as stable.
            packed = (query.astype(np.int64) << 32) | np.arange(query.size)
            packed.sort()
            self.order = packed & 0xFFFFFFFF

    def rows(self, low: int, high: int) -> slice | Index:
        span = slice(int(self.start[low]), int(self.start[high]))
        return span if self.order is None else self.order[span]


class _Block:
    """Collects what a block's candidates are, then gives each of them a row."""

    def __init__(self, low: int, high: int, judgments: Judgments, rows: slice | Index) -> None:
        self.first, self.n_queries = low, high - low
        self.query = judgments.query[rows] - np.int32(low)
        self.left, self.right = judgments.left[rows], judgments.right[rows]
        self.choice, self.strength = judgments.choice[rows], judgments.strength[rows]
        self.worker = judgments.worker[rows]
        self.pool_query = self.pool_doc = np.empty(0, np.int32)
        self.asked: tuple[Codes, Codes, Codes] | None = None

    def add_pool(self, pools: Pools, rows: slice | Index) -> None:
        self.pool_query, self.pool_doc = pools.query[rows] - np.int32(self.first), pools.doc[rows]
        known = contains(self.pool_query, self.pool_doc, self.query, self.left) & contains(
            self.pool_query, self.pool_doc, self.query, self.right
        )
        if not known.all():
            self.query, self.left, self.right = self.query[known], self.left[known], self.right[known]
            self.choice, self.strength = self.choice[known], self.strength[known]
            self.worker = self.worker[known]

    def add_asked(self, asked: Pairs, rows: slice | Index) -> None:
        self.asked = (asked.query[rows] - np.int32(self.first), asked.doc_a[rows], asked.doc_b[rows])

    def build(self) -> Tournaments:
        parts = [(self.query, self.left), (self.query, self.right), (self.pool_query, self.pool_doc)]
        if self.asked is not None:
            parts += [(self.asked[0], self.asked[1]), (self.asked[0], self.asked[2])]
        query, doc, rows = number_candidates([part for part in parts if part[0].size])
        by_part = iter(rows)
        numbers = [next(by_part) if part[0].size else np.empty(0, np.int64) for part in parts]
        left, right = numbers[0], numbers[1]
        start: Index = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=self.n_queries))])
        if self.asked is None:
            missing = pairs_missing(start, left, right)
        else:
            missing = asked_missing(start, (numbers[3], numbers[4]), (left, right))
            missing = np.maximum(missing, count_parts(start, query, left, right) - 1)
        return Tournaments(
            first=self.first,
            start=start,
            query=query,
            doc=doc,
            left=left,
            right=right,
            choice=self.choice,
            strength=self.strength,
            worker=self.worker,
            votes=np.bincount(self.query, minlength=self.n_queries).astype(np.int32),
            missing=missing.astype(np.int32),
        )


def _in_vocabulary(judgments: Judgments, pools: Pools) -> Judgments:
    """Return the judgments on pooled queries and documents, in the pools' codes."""
    if judgments.queries is pools.queries and judgments.docs is pools.docs:
        return judgments
    query = encode(judgments.queries, pools.queries)[judgments.query]
    doc = encode(judgments.docs, pools.docs)
    left, right = doc[judgments.left], doc[judgments.right]
    keep = (query >= 0) & (left >= 0) & (right >= 0)
    return replace(
        judgments,
        queries=pools.queries,
        docs=pools.docs,
        query=query[keep],
        left=left[keep],
        right=right[keep],
        choice=judgments.choice[keep],
        strength=judgments.strength[keep],
        worker=judgments.worker[keep],
    )


def _pairs_in_vocabulary(asked: Pairs, judgments: Judgments) -> Pairs:
    if asked.queries is judgments.queries and asked.docs is judgments.docs:
        return asked
    query = encode(asked.queries, judgments.queries)[asked.query]
    doc = encode(asked.docs, judgments.docs)
    a, b = doc[asked.doc_a], doc[asked.doc_b]
    if bool((query < 0).any() or (a < 0).any() or (b < 0).any()):
        raise ValueError(
            "the asked pairs name queries or documents that the pools do not have: pass the pools"
        )
    return Pairs(queries=judgments.queries, docs=judgments.docs, query=query, doc_a=a, doc_b=b)

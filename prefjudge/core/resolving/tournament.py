"""Tournaments: the candidates of each query, and the votes between them, for many queries at once.

Judgments arrive in the order of the log. Here they are cut into blocks of whole queries, so that the memory
in use depends on the block and not on the log, and every candidate gets a row: a win is then one integer,
and counting wins is one ``bincount``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.candidates import contains, count_comparisons, number_candidates, number_in_order
from prefjudge.core.pooling.coverage import asked_missing, count_parts, pairs_missing
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.runs import Codes, encode

Index = NDArray[np.int64]
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Applies a function to each of many things, in order: ``map``, or that of a pool of threads."""
BLOCK_ROWS = 1 << 19
"""How many judgments a block holds, unless a single query has more: a column of them fits a cache."""


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
    comparisons : ndarray of int32, shape (n_candidates,)
        In how many judgments each candidate took part.
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
    comparisons: Codes
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

    def count(self, rows: Index) -> Index:
        """Return how many of these candidates each query has, shape (n_queries,)."""
        counts: Index = np.bincount(self.query[rows], minlength=self.n_queries)
        return counts

    def among(self, rows: Index) -> "Tournaments":
        """Return the tournaments among these candidates alone, which are given in order.

        Every query stays, if need be without candidates; all its counts stay as they are.
        """
        # A vote stays where both of its candidates do; ``place`` is left undefined for the others.
        flagged = np.zeros(self.doc.size, dtype=bool)
        flagged[rows] = True
        place = np.empty(self.doc.size, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        votes = np.flatnonzero(flagged[self.left])
        votes = votes[flagged[self.right[votes]]]
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(self.count(rows))]),
            query=self.query[rows],
            doc=self.doc[rows],
            comparisons=self.comparisons[rows],
            left=place[self.left[votes]],
            right=place[self.right[votes]],
            choice=self.choice[votes],
            strength=self.strength[votes],
            worker=self.worker[votes],
        )

    def compared(self) -> "tuple[Tournaments, Index]":
        """Return the tournaments among the candidates that are compared or alone, and the rows of these."""
        # Whom nobody compared has not lost, which a rule must not take for a merit.
        rows = np.flatnonzero((self.comparisons > 0) | (self.sizes == 1)[self.query])
        return (self if rows.size == self.doc.size else self.among(rows)), rows

    def parts(self) -> Index:
        """Return how many groups of candidates, not compared with each other, each query has."""
        return count_parts(self.start, self.query, self.left, self.right)

    def pairs_missing(self) -> Index:
        """Return how many pairs of its candidates each query has no vote on."""
        return pairs_missing(self.start, self.query, self.left, self.right)


def tournaments(
    judgments: Judgments,
    *,
    pools: Pools | None = None,
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
    block_rows : int
        About how many judgments to take at a time.

    Yields
    ------
    Tournaments
        Every query of the vocabulary (that of the pools, where given) occurs exactly once, in its order.
        Document codes are those of the same vocabulary.
    """
    cut = Cut(judgments, pools=pools)
    for span in cut.spans(block_rows):
        yield cut.block(span)


Span = tuple[int, int]
"""The first query of a block, and the first of the next."""


class Cut:
    """Judgments that are ready to be cut: each block can be had by itself, in any order or thread.

    Parameters
    ----------
    judgments, pools
        As for :func:`tournaments`.
    asked : Pairs, optional
        The pairs that should have been judged; by default all pairs of a query's candidates. Those of
        documents outside the pool do not count either. Pairs that it would take to connect the candidates
        are missing in any case.
    each : callable
        What looks through the queries of a log.
    """

    def __init__(
        self,
        judgments: Judgments,
        *,
        pools: Pools | None = None,
        asked: Pairs | None = None,
        each: Each = map,
    ) -> None:
        self._judgments = judgments if pools is None else _in_vocabulary(judgments, pools)
        self._pools = pools
        self._asked = None if asked is None else _pairs_in_vocabulary(asked, self._judgments, pools)
        n_queries = len(self._judgments.queries)
        nothing = np.empty(0, np.int32)
        self._log = _Sorted(self._judgments.query, n_queries, each)
        self._pooled = _Sorted(nothing if pools is None else pools.query, n_queries, each)
        self._wanted = _Sorted(nothing if self._asked is None else self._asked.query, n_queries, each)

    def spans(self, block_rows: int = BLOCK_ROWS) -> Iterator[Span]:
        """Give the spans of queries that make blocks of about ``block_rows`` judgments."""
        return _cuts(self._log.start + self._pooled.start + self._wanted.start, block_rows)

    def block(self, span: Span) -> Tournaments:
        """Return the block of a span."""
        low, high = span
        block = _Block(low, high, self._judgments, self._log)
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
        # The furthest query that still fits; one that is larger than a block has a block to itself.
        high = int(np.searchsorted(load, load[low] + block_rows, side="right")) - 1
        high = min(max(high, low + 1), n_queries)
        yield low, high
        low = high


class _Sorted:
    """Access to the rows of consecutive queries, sorted once if they are not grouped already."""

    def __init__(self, query: Codes, n_queries: int, each: Each) -> None:
        self.order: Index | None = None
        # Blocks share a row, so that a change of query between two of them is seen.
        blocks = [query[row : row + BLOCK_ROWS + 1] for row in range(0, query.size, BLOCK_ROWS)]
        changes = each(lambda block: np.flatnonzero(block[1:] != block[:-1]), blocks)
        rows = [change + place * BLOCK_ROWS + 1 for place, change in enumerate(changes)]
        first = np.concatenate([[0], *rows])[: query.size]
        held = query[first]
        # Stretches of strictly rising codes are whole queries:
        # the log is grouped and in order, and needs no sort.
        if bool((held[1:] > held[:-1]).all()):
            counts = np.zeros(n_queries, dtype=np.int64)
            counts[held] = np.diff(first, append=query.size)
        else:
            counts = np.bincount(query, minlength=n_queries)
            # One sort of packed integers is faster than a stable argsort, and just as stable.
            packed = (query.astype(np.int64) << 32) | np.arange(query.size)
            packed.sort()
            self.order = packed & 0xFFFFFFFF
        self.start: Index = np.concatenate([[0], np.cumsum(counts)])

    def counts(self, low: int, high: int) -> Index:
        return np.diff(self.start[low : high + 1])

    def rows(self, low: int, high: int) -> slice | Index:
        span = slice(int(self.start[low]), int(self.start[high]))
        return span if self.order is None else self.order[span]


class _Block:
    """Collects what a block's candidates are, then gives each of them a row."""

    def __init__(self, low: int, high: int, judgments: Judgments, log: _Sorted) -> None:
        self.first, self.n_queries = low, high - low
        self.votes, rows = log.counts(low, high), log.rows(low, high)
        self.left, self.right = judgments.left[rows], judgments.right[rows]
        self.choice, self.strength = judgments.choice[rows], judgments.strength[rows]
        self.worker = judgments.worker[rows]
        self.pooled: tuple[Codes, Codes] | None = None
        self.asked: tuple[Codes, Codes, Codes] | None = None

    def add_pool(self, pools: Pools, rows: slice | Index) -> None:
        self.pooled = query, doc = pools.query[rows] - np.int32(self.first), pools.doc[rows]
        of = self._query()
        known = contains(query, doc, of, self.left) & contains(query, doc, of, self.right)
        if not known.all():
            self.left, self.right = self.left[known], self.right[known]
            self.choice, self.strength = self.choice[known], self.strength[known]
            self.worker = self.worker[known]
            self.votes = np.bincount(of[known], minlength=self.n_queries)

    def add_asked(self, asked: Pairs, rows: slice | Index) -> None:
        self.asked = (asked.query[rows] - np.int32(self.first), asked.doc_a[rows], asked.doc_b[rows])

    def _query(self) -> Codes:
        """Return the query of each vote."""
        return np.repeat(np.arange(self.n_queries, dtype=np.int32), self.votes)

    def build(self) -> Tournaments:
        if self.pooled is None and self.asked is None:
            in_order = number_in_order(self.votes, self.left, self.right)
            block = in_order and self._numbered(*in_order)
            # A code between those of a query got a row although nobody voted on it: then it is not a
            # candidate.
            if block and block.comparisons.all():
                return block
        return self._numbered(*self._looked_up())

    def _numbered(self, query: Codes, doc: Codes, rows: list[Codes]) -> Tournaments:
        left, right, *asked = rows
        sizes = np.bincount(query, minlength=self.n_queries)
        start: Index = np.concatenate([[0], np.cumsum(sizes)])
        if self.asked is None:
            missing = pairs_missing(start, query, left, right)
        else:
            missing = asked_missing(start, query, (asked[0], asked[1]), (left, right))
            # It takes c - 1 pairs to connect c parts, whatever was asked.
            missing = np.maximum(missing, count_parts(start, query, left, right) - 1)
        # As many votes as pairs and no pair without one: each pair has exactly one vote.
        if self.asked is None and not missing.any() and left.size == (sizes * (sizes - 1) // 2).sum():
            comparisons = np.repeat(sizes - 1, sizes)  # every pair once
        else:
            comparisons = count_comparisons(left, right, doc.size)
        return Tournaments(
            first=self.first,
            start=start,
            query=query,
            doc=doc,
            comparisons=comparisons.astype(np.int32),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            choice=self.choice,
            strength=self.strength,
            worker=self.worker,
            votes=self.votes.astype(np.int32),
            missing=missing.astype(np.int32),
        )

    def _looked_up(self) -> tuple[Codes, Codes, list[Codes]]:
        """Return each candidate's query and doc; and the rows of left and right, and of the asked pairs."""
        of = self._query()
        parts = [(of, self.left), (of, self.right)]
        if self.asked is not None:
            parts += [(self.asked[0], self.asked[1]), (self.asked[0], self.asked[2])]
        query, doc, rows = number_candidates([*parts, *([self.pooled] if self.pooled else [])])
        return query, doc, rows[: len(parts)]


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


def _pairs_in_vocabulary(asked: Pairs, judgments: Judgments, pools: Pools | None) -> Pairs:
    """Return the asked pairs in the codes of the judgments: of the pools, those of pooled documents."""
    query, a, b = asked.query, asked.doc_a, asked.doc_b
    if asked.queries is not judgments.queries or asked.docs is not judgments.docs:
        doc = encode(asked.docs, judgments.docs)
        query, a, b = encode(asked.queries, judgments.queries)[query], doc[a], doc[b]
    if pools is not None:
        known = contains(pools.query, pools.doc, query, a) & contains(pools.query, pools.doc, query, b)
        query, a, b = query[known], a[known], b[known]
    elif min(query.min(initial=0), a.min(initial=0), b.min(initial=0)) < 0:
        raise ValueError("the asked pairs name queries or documents that were not judged: pass the pools")
    return Pairs(queries=judgments.queries, docs=judgments.docs, query=query, doc_a=a, doc_b=b)

"""Pools: the candidates for the best answer of each query, and which runs or qrels put them there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Codes, Heads, Names, Order, encode
from prefjudge.core.pooling.vocabulary import merged, vocabulary_of

_ROWS = 1 << 14
"""Rows that are sorted at once."""


class QrelsPerQuery(StrEnum):
    """How many of a query's relevant documents enter its pool."""

    FIRST = "first"
    """One: the first in the file among those with the highest grade (the paper's choice, section 3.1)."""
    ALL = "all"
    NONE = "none"


class PoolDesign(StrEnum):
    """What is compared with what."""

    SHALLOW = "shallow"
    """The top of every run and the qrel, all with all (section 4)."""
    TOP_AGAINST_QREL = "top-against-qrel"
    """One run's top passage with the qrel; where they are the same, with the run's second (section 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDefaults:
    """How pools are made where nothing else is said; a study's config may say it."""

    depth: int = 1
    order: Order = Order.SCORE
    qrels: QrelsPerQuery = QrelsPerQuery.FIRST
    sample: int | None = None
    min_size: int = 2
    near_copies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """The pooled documents: one row per (query, document), grouped by query.

    Attributes
    ----------
    queries : tuple of str
        The vocabulary of query ids.
    docs : sequence of str
        The vocabulary of doc ids, sorted. Rows are sorted by query code, then by doc_id.
    query, doc : ndarray of int32, shape (n,)
        Codes into ``queries`` and ``docs``.
    sources : tuple of str
        The run tags, and the name of the qrels where they contributed.
    source_row, source : ndarray of int32, shape (m,)
        Who contributed what: ``sources[source[i]]`` put row ``source_row[i]`` into its pool.
    """

    queries: tuple[str, ...]
    docs: Sequence[str]
    query: Codes
    doc: Codes
    sources: tuple[str, ...]
    source_row: Codes
    source: Codes

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The pool size of each query, shape (len(queries),)."""
        return np.bincount(self.query, minlength=len(self.queries))

    @property
    def histogram(self) -> dict[int, int]:
        """How many queries have a pool of each size."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        return {int(size): int(count) for size, count in zip(sizes, counts, strict=True) if size}


def build_pools(
    heads: Heads,
    qrels: Qrels | None = None,
    *,
    depth: int = 1,
    per_query: QrelsPerQuery = QrelsPerQuery.FIRST,
) -> Pools:
    """Pool the top ``depth`` documents of each run with the qrels.

    Parameters
    ----------
    heads : Heads
        The runs' top documents, at least ``depth`` of them per query.
    qrels : Qrels, optional
        The known relevant documents. Those of queries that no run answers are left out.
    depth : int
        How many documents of each run enter the pool.
    per_query : QrelsPerQuery
        One qrel per query, all, or none; from grade 1 on.

    Returns
    -------
    Pools
        One pool per query that some run answers.

    References
    ----------
    Shallow pooling for sparse labels, section 4.1: "the top passage from each run, plus the qrel".
    """
    sizes, doc = np.diff(heads.start).astype(np.int32), heads.doc
    if sizes.max(initial=0) > depth:
        sizes, doc = np.minimum(sizes, depth), doc[heads.position <= depth]
    shown = Contributions(
        heads.docs, heads.list_query, heads.list_run, np.concatenate([[0], np.cumsum(sizes)]), doc
    )
    if qrels is None or per_query is QrelsPerQuery.NONE:
        return group_contributions(heads.queries, heads.runs, [shown])
    rows = chosen_qrels(qrels, per_query)
    query = encode(qrels.queries, heads.queries)[qrels.query[rows]]
    rows, query = rows[query >= 0], query[query >= 0]
    known = Contributions.of_rows(
        qrels.docs, query, qrels.doc[rows], np.full(rows.size, len(heads.runs), dtype=np.int32)
    )
    return group_contributions(heads.queries, (*heads.runs, qrels.name), [shown, known])


def chosen_qrels(qrels: Qrels, per_query: QrelsPerQuery = QrelsPerQuery.FIRST) -> NDArray[np.int64]:
    """Return the rows of the relevant documents (from grade 1 on) that are pooled: the first or all.

    Returns
    -------
    ndarray of int64
        One row per labelled query for ``first``: of the highest grade, and the first in the file among those.
    """
    relevant = np.flatnonzero(qrels.grade >= 1.0)
    if per_query is QrelsPerQuery.ALL:
        return relevant
    order = np.lexsort((relevant, -qrels.grade[relevant], qrels.query[relevant]))
    _, first = np.unique(qrels.query[relevant][order], return_index=True)
    chosen: NDArray[np.int64] = relevant[order[first]]
    return chosen


def unpooled_tops(heads: Heads, pools: Pools) -> dict[str, int]:
    """Return how many first documents of each run that was not pooled are in no pool, where some are.

    People judged such a run only where it does as a pooled one does. Empty where the pools name no run.
    """
    others = np.array([run not in pools.sources for run in heads.runs], dtype=bool)
    if others.all() or not others.any():
        return {}
    asked = (heads.position == 1) & others[heads.run]
    width = len(pools.docs) + 1  # a document in no pool has the code -1
    query = encode(heads.queries, pools.queries).astype(np.int64)[heads.query[asked]]
    first = query * width + encode(heads.docs, pools.docs)[heads.doc[asked]]
    lacking = (query >= 0) & ~np.isin(first, pools.query.astype(np.int64) * width + pools.doc)
    counts = np.bincount(heads.run[asked][lacking], minlength=len(heads.runs)).tolist()
    return {run: count for run, count in zip(heads.runs, counts, strict=True) if count}


@dataclass(frozen=True, slots=True)
class Contributions:
    """What sources put into the pools: lists of documents, each of one source for one query.

    Attributes
    ----------
    docs : sequence of str
        The vocabulary of doc ids.
    query, source : ndarray of int32, shape (n_lists,)
        The query and the source of each list.
    start : ndarray of int64, shape (n_lists + 1,)
        The documents of list ``i`` are the rows ``start[i]:start[i + 1]``.
    doc : ndarray of int32, shape (n,)
        The documents.
    """

    docs: Sequence[str]
    query: Codes
    source: Codes
    start: NDArray[np.int64]
    doc: Codes

    @classmethod
    def of_rows(cls, docs: Sequence[str], query: Codes, doc: Codes, source: Codes) -> Contributions:
        """Return lists of one document each."""
        return cls(docs, query, source, np.arange(doc.size + 1), doc)

    def of_used(self) -> Contributions:
        """Return the same with a vocabulary of the documents that are in some list."""
        used = np.zeros(len(self.docs), bool)
        used[self.doc] = True
        if used.all():
            return self
        # The codes move down by the unused documents before them.
        doc = (np.cumsum(used, dtype=np.int32) - 1)[self.doc]
        docs = vocabulary_of(self.docs).take(np.flatnonzero(used))
        return Contributions(docs, self.query, self.source, self.start, doc)


def group_contributions(
    queries: tuple[str, ...], sources: tuple[str, ...], added: Sequence[Contributions]
) -> Pools:
    """Sort the contributions by (query, doc_id) and merge those of one document.

    Blocks of whole queries are sorted one after the other, so nothing but the columns themselves grows.
    """
    added = [part.of_used() for part in added]
    docs, codes = merged(*(part.docs for part in added))
    query = np.concatenate([part.query for part in added])
    sizes = np.concatenate([np.diff(part.start) for part in added], dtype=np.int32)
    start = np.cumsum(sizes, dtype=np.int32) - sizes
    doc = np.concatenate([code[part.doc] for part, code in zip(added, codes, strict=True)])
    del codes
    by_query = query.argsort()
    row, in_query, member = (np.empty(doc.size, np.int32) for _ in range(3))
    count = 0
    for first, last in pairwise(_cuts(query, sizes)):
        own = by_query[first:last]
        # Consecutive numbers, moved to where each list starts.
        moved = start[own] - (np.cumsum(sizes[own]) - sizes[own])
        rows = np.arange(sizes[own].sum()) + np.repeat(moved, sizes[own])
        keys = np.repeat(query[own].astype(np.int64), sizes[own]) << 32 | doc[rows]
        keys, place = np.unique(keys, return_inverse=True)
        row[rows] = place + count
        in_query[count : count + keys.size] = keys >> 32
        member[count : count + keys.size] = keys & 0xFFFF_FFFF
        count += keys.size
    for column in (in_query, member):  # what runs share is one row
        column.resize(count, refcheck=False)
    return Pools(
        queries=queries,
        docs=docs,
        query=in_query,
        doc=member,
        sources=sources,
        source_row=row,
        source=np.repeat(np.concatenate([part.source for part in added], dtype=np.int32), sizes),
    )


def _cuts(query: Codes, sizes: Codes) -> list[int]:
    """Return where lists in the order of their queries are cut: whole queries of about `_ROWS` rows."""
    rows = np.cumsum(np.bincount(query, weights=sizes))
    lists = np.cumsum(np.bincount(query))
    lasts = np.searchsorted(rows, np.arange(_ROWS, sizes.sum(), _ROWS))
    return sorted({0, *lists[lasts].tolist(), query.size})


def pools_of(rows: Sequence[tuple[str, str, str]]) -> Pools:
    """Return the pools that sorted rows of query_id, doc_id and source make; ``""`` is not a source."""
    return pools_of_columns([tuple(zip(*rows, strict=True))] if rows else [])


def pools_of_columns(parts: Iterable[Sequence[Sequence[str]]]) -> Pools:
    """Return the same from the columns of the rows, a part of them at a time."""
    queries, docs, sources = Names(), Names(), Names()
    coded = [np.zeros((3, 0), dtype=np.int32)]
    for of_query, of_doc, of_source in parts:
        coded.append(np.stack([queries.encode(of_query), docs.encode(of_doc), sources.encode(of_source)]))
    query, doc, source = np.concatenate(coded, axis=1)
    sorted_docs, place = docs.sorted()
    sorted_sources, code = sources.sorted()
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(doc, prepend=-1) != 0)
    source = code[source]
    named = source >= 0
    return Pools(
        queries=tuple(queries),
        docs=sorted_docs,
        query=query[new],
        doc=place[doc[new]],
        sources=sorted_sources,
        source_row=(np.cumsum(new, dtype=np.int32) - 1)[named],
        source=source[named],
    )


def select_queries(pools: Pools, keep: Sequence[str]) -> Pools:
    """Return the pools of the queries in ``keep`` only, in the order of ``pools``."""
    wanted = set(keep)
    mask = np.fromiter((q in wanted for q in pools.queries), dtype=bool, count=len(pools.queries))
    new_query = np.cumsum(mask) - 1
    rows = mask[pools.query]
    new_row = np.cumsum(rows) - 1
    contributed = rows[pools.source_row]
    return replace(
        pools,
        queries=tuple(q for q in pools.queries if q in wanted),
        query=new_query[pools.query[rows]].astype(np.int32),
        doc=pools.doc[rows],
        source_row=new_row[pools.source_row[contributed]].astype(np.int32),
        source=pools.source[contributed],
    )


def drop_candidates(pools: Pools, dropped: Collection[tuple[str, str]]) -> Pools:
    """Return the pools without the given (query_id, doc_id); a pool never loses its last candidate."""
    gone = np.array(
        [
            (pools.queries[query], pools.docs[doc]) in dropped
            for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
        ],
        dtype=bool,
    )
    left = np.bincount(pools.query[~gone], minlength=len(pools.queries))
    rows = ~gone | (left[pools.query] == 0)
    new_row = np.cumsum(rows) - 1
    contributed = rows[pools.source_row]
    return replace(
        pools,
        query=pools.query[rows],
        doc=pools.doc[rows],
        source_row=new_row[pools.source_row[contributed]].astype(np.int32),
        source=pools.source[contributed],
    )


def sample_queries(pools: Pools, count: int, *, min_size: int = 2, rng: np.random.Generator) -> Pools:
    """Return the pools of ``count`` queries drawn at random from those with at least ``min_size`` candidates.

    Raises
    ------
    ValueError
        Fewer queries than ``count`` have such a pool.

    References
    ----------
    Shallow pooling for sparse labels, section 4.1: 500 queries with a pool of at least two.
    """
    eligible = np.flatnonzero(pools.sizes >= min_size)
    if eligible.size < count:
        raise ValueError(f"only {eligible.size} queries have a pool of at least {min_size}, not {count}")
    drawn = np.sort(rng.choice(eligible, size=count, replace=False))
    return select_queries(pools, [pools.queries[i] for i in drawn])

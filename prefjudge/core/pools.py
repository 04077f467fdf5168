"""Pools: the candidates for the best answer of each query, and the pairs to be judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import (
    Codes,
    Heads,
    Names,
    Order,
    Qrels,
    encode,
    merged,
    select_labels,
    vocabulary_of,
)
from prefjudge.errors import InputError

Index = NDArray[np.int64]
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
    """The pooled documents: one row per (query, document), grouped by query."""

    queries: tuple[str, ...]
    """The vocabulary of query ids."""
    docs: Sequence[str]
    """The vocabulary of doc ids, sorted. Rows are sorted by query code, then by doc_id."""
    query: Codes
    doc: Codes
    """Shape (n,): codes into ``queries`` and ``docs``."""
    sources: tuple[str, ...] = ()
    """The run tags, and the name of the qrels where they contributed."""
    source_row: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    source: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    """Shape (m,): who contributed what: ``sources[source[i]]`` put row ``source_row[i]`` into its pool."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The pool size of each query, shape (len(queries),)."""
        return np.bincount(self.query, minlength=len(self.queries))

    def only(self, rows: NDArray[np.bool_]) -> Pools:
        """Return the pools of the flagged rows, with the same vocabularies."""
        number = np.cumsum(rows, dtype=np.int32) - 1
        contributed = rows[self.source_row]
        return replace(
            self,
            query=self.query[rows],
            doc=self.doc[rows],
            source_row=number[self.source_row[contributed]],
            source=self.source[contributed],
        )

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
    """Pool the top ``depth`` documents of each run with the qrels (Shallow pooling, section 4.1)."""
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
    """Return the rows of the relevant documents (from grade 1 on) that are pooled: the first or all."""
    relevant = np.flatnonzero(qrels.grade >= 1.0)
    if per_query is QrelsPerQuery.ALL:
        return relevant
    order = np.lexsort((relevant, -qrels.grade[relevant], qrels.query[relevant]))
    _, first = np.unique(qrels.query[relevant][order], return_index=True)
    chosen: NDArray[np.int64] = relevant[order[first]]
    return chosen


def unpooled_tops(heads: Heads, pools: Pools) -> dict[str, int]:
    """Return how many first documents of each run that was not pooled are in no pool, where some are."""
    # People judged such a run only where it does as a pooled one does. Empty where the pools name no run.
    others = np.array([run not in pools.sources for run in heads.runs], dtype=bool)
    if others.all() or not others.any():
        return {}
    asked = (heads.position == 1) & others[heads.run]
    known = encode(heads.queries, pools.queries)[heads.query[asked]] >= 0
    lacking = known & (find_rows(pools, heads.queries, heads.docs, heads.query[asked], heads.doc[asked]) < 0)
    counts = np.bincount(heads.run[asked][lacking], minlength=len(heads.runs)).tolist()
    return {run: count for run, count in zip(heads.runs, counts, strict=True) if count}


@dataclass(frozen=True, slots=True)
class Contributions:
    """What sources put into the pools: lists of documents, each of one source for one query."""

    docs: Sequence[str]
    """The vocabulary of doc ids."""
    query: Codes
    source: Codes
    """Shape (n_lists,): the query and the source of each list."""
    start: NDArray[np.int64]
    """Shape (n_lists + 1,): the documents of list ``i`` are the rows ``start[i]:start[i + 1]``."""
    doc: Codes
    """Shape (n,): the documents."""

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
    """Sort the contributions by (query, doc_id) and merge those of one document."""
    # Blocks of whole queries are sorted one after the other, so nothing but the columns themselves grows.
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


def exclusive_rows(pools: Pools, sources: Collection[str]) -> NDArray[np.bool_]:
    """Mark the rows of the pools that only ``sources`` contributed."""
    theirs = np.isin(pools.source, [pools.sources.index(source) for source in sources])
    by_them, by_others = (
        np.bincount(pools.source_row[by], minlength=pools.doc.size) for by in (theirs, ~theirs)
    )
    mine: NDArray[np.bool_] = (by_them > 0) & (by_others == 0)
    return mine


def select_queries(pools: Pools, keep: Sequence[str]) -> Pools:
    """Return the pools of the queries in ``keep`` only, in the order of ``pools``."""
    wanted = set(keep)
    mask = np.fromiter((q in wanted for q in pools.queries), dtype=bool, count=len(pools.queries))
    kept = pools.only(mask[pools.query])
    number = np.cumsum(mask, dtype=np.int32) - 1
    return replace(kept, queries=tuple(q for q in pools.queries if q in wanted), query=number[kept.query])


def drop_candidates(pools: Pools, dropped: Collection[Candidate]) -> Pools:
    """Return the pools without the given candidates; a pool never loses its last one."""
    kept = np.array([one not in dropped for one in candidates_of(pools)], dtype=bool)
    left = np.bincount(pools.query[kept], minlength=len(pools.queries))
    return pools.only(kept | (left[pools.query] == 0))


Candidate: TypeAlias = tuple[str, str]
"""A query_id and a doc_id."""


def candidates_of(rows: Pools | Qrels) -> list[Candidate]:
    """Return the query_id and doc_id of each row."""
    queries, docs = rows.queries, rows.docs
    return [(queries[q], docs[d]) for q, d in zip(rows.query.tolist(), rows.doc.tolist(), strict=True)]


def docs_by_query(rows: Pools | Qrels) -> dict[str, set[str]]:
    """Return the doc_ids of each query that has any."""
    found: dict[str, set[str]] = {}
    for query, doc in candidates_of(rows):
        found.setdefault(query, set()).add(doc)
    return found


def answers_of(name: str, docs: Mapping[str, Collection[str]]) -> Qrels:
    """Return the labels of grade 1 that the doc_ids of each query make."""
    rows = [(query, doc) for query, ids in docs.items() for doc in sorted(ids)]
    names = tuple(sorted({doc for _, doc in rows}))
    sizes = np.fromiter(map(len, docs.values()), dtype=np.int64, count=len(docs))
    code = np.repeat(np.arange(len(docs), dtype=np.int32), sizes)
    return Qrels.all_relevant(name, tuple(docs), names, code, encode([doc for _, doc in rows], names))


def find_rows(
    table: Pools | Qrels, queries: Sequence[str], docs: Sequence[str], query: Rows, doc: Rows
) -> Index:
    """Return the rows of a table that these are, given by codes of other vocabularies; -1 for none."""
    of_query, of_doc = query.astype(np.int64), doc.astype(np.int64)
    if queries is not table.queries:
        of_query = encode(queries, table.queries).astype(np.int64)[of_query]
    if docs is not table.docs:
        of_doc = encode(docs, table.docs).astype(np.int64)[of_doc]
    width = len(table.docs)
    wanted = np.where((of_query >= 0) & (of_doc >= 0), of_query * width + of_doc, -1)
    if not table.query.size:
        return np.full(wanted.size, -1)
    keys = table.query.astype(np.int64) * width + table.doc
    order = np.argsort(keys, kind="stable")
    # What comes before the first key is looked up in the last one, from which it differs.
    place = order[np.searchsorted(keys, wanted, side="right", sorter=order) - 1]
    return np.where(keys[place] == wanted, place, -1)


def sample_queries(pools: Pools, count: int, *, min_size: int = 2, rng: np.random.Generator) -> Pools:
    """Return the pools of ``count`` queries drawn at random, of ``min_size`` candidates or more."""
    # Shallow pooling for sparse labels, section 4.1, has 500 queries with a pool of at least two.
    eligible = np.flatnonzero(pools.sizes >= min_size)
    if eligible.size < count:
        raise ValueError(f"only {eligible.size} queries have a pool of at least {min_size}, not {count}")
    drawn = np.sort(rng.choice(eligible, size=count, replace=False))
    return select_queries(pools, [pools.queries[i] for i in drawn])


# Candidates: gives every document of every query a number, for counting by number.


def number_candidates(parts: list[tuple[Codes, Codes]]) -> tuple[Codes, Codes, list[Codes]]:
    """Number distinct (query, doc) rows; return each candidate's query and doc, and the rows' candidates."""
    # Most documents occur under one query, so the number of a document is found by one scatter; only the rows
    # of documents that several queries of the block share are sorted.
    filled = [doc for _, doc in parts if doc.size]
    if not filled:
        return np.empty(0, np.int32), np.empty(0, np.int32), [np.empty(0, np.int32) for _ in parts]
    lowest = min(int(doc.min()) for doc in filled)
    span = max(int(doc.max()) for doc in filled) - lowest + 1
    if span > 16 * sum(doc.size for _, doc in parts) + 1024:
        return _candidates_by_sorting(parts)
    owner = np.full(span, -1, dtype=np.int32)
    locals_ = [(query, doc - np.int32(lowest)) for query, doc in parts]
    for query, doc in locals_:
        # Of several queries with this document the last one
        # written owns it; the rows of the others are ``shared``.
        owner[doc] = query
    shared = [np.flatnonzero(owner[doc] != query) for query, doc in locals_]
    own = np.flatnonzero(owner >= 0).astype(np.int32)
    held = owner[own]
    if not any(rows.size for rows in shared) and bool((held[1:] >= held[:-1]).all()):
        number = np.empty(span, dtype=np.int32)
        number[own] = np.arange(own.size)
        return held, own + np.int32(lowest), [number[doc] for _, doc in locals_]
    extra_query, extra_doc, extra_rows = _candidates_by_sorting(
        [(query[rows], doc[rows]) for (query, doc), rows in zip(locals_, shared, strict=True)]
    )
    all_query = np.concatenate([held, extra_query])
    all_doc = np.concatenate([own, extra_doc])
    order = np.argsort(all_query.astype(np.int64) * span + all_doc, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    number = np.empty(span, dtype=np.int32)
    number[own] = place[: own.size]
    numbers = [number[doc] for _, doc in locals_]
    for column, rows, extra in zip(numbers, shared, extra_rows, strict=True):
        column[rows] = place[own.size :][extra]
    return all_query[order], all_doc[order] + np.int32(lowest), numbers


def number_in_order(votes: Index, left: Codes, right: Codes) -> tuple[Codes, Codes, list[Codes]] | None:
    """Number the candidates of votes whose document codes rise with the queries, as in a log by query."""
    # A candidate's row is its code less the lowest, and nothing has to be looked up. Takes how many votes
    # each query has, and the votes in that order. Returns what `number_candidates` does; None where the codes
    # are not so. Codes between those of a query get a row too, voted on or not.
    held = np.flatnonzero(votes)
    if not held.size:
        return None
    first = (np.cumsum(votes) - votes)[held]
    low = np.minimum.reduceat(np.minimum(left, right), first)
    high = np.maximum.reduceat(np.maximum(left, right), first)
    # Each query's codes go on right where those of the query before end: code less lowest is then the row.
    if not bool((low[1:] == high[:-1] + 1).all()):
        return None
    query = np.repeat(held.astype(np.int32), high - low + 1)
    doc = np.arange(low[0], high[-1] + 1, dtype=np.int32)
    return query, doc, [left - low[0], right - low[0]]


def count_comparisons(left: Codes, right: Codes, candidates: int) -> Index:
    """Return in how many votes each candidate takes part."""
    counts: Index = np.bincount(left, minlength=candidates) + np.bincount(right, minlength=candidates)
    return counts


def _candidates_by_sorting(parts: list[tuple[Codes, Codes]]) -> tuple[Codes, Codes, list[Codes]]:
    # Two codes of 32 bits in one integer: a single sort orders by query, then document.
    packed = np.concatenate([(query.astype(np.int64) << 32) | doc for query, doc in parts])
    keys, row = np.unique(packed, return_inverse=True)
    ends = np.cumsum([doc.size for _, doc in parts])[:-1]
    query, doc = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    return query, doc, np.split(row.astype(np.int32), ends)


def contains(query: Codes, doc: Codes, of_query: Codes, of_doc: Codes) -> NDArray[np.bool_]:
    """Return which of the rows ``(of_query, of_doc)`` are among the rows ``(query, doc)``."""
    keys = np.sort((query.astype(np.int64) << 32) | doc)
    wanted = (of_query.astype(np.int64) << 32) | of_doc
    place = np.searchsorted(keys, wanted)
    # A key beyond the last has no place to compare with.
    found: NDArray[np.bool_] = place < keys.size
    found[found] = keys[place[found]] == wanted[found]
    return found


# Coverage: which pairs of a query's candidates were judged, and whether the pairs connect them all.

Rows = NDArray[np.signedinteger[Any]]


def _cells(first: Rows, second: Rows, size: int) -> Rows:
    """Number each unordered pair of rows of one query, where no query has more than ``size`` candidates."""
    # A row has `size` cells: one for each row that it can be paired with, from itself on.
    cells: Rows = np.minimum(first, second)
    # low x size + (high - low), with ``high - low`` below ``size``: no two pairs share a cell.
    cells *= size - 1
    cells += np.maximum(first, second)
    return cells


def _widened(rows: Rows, cells: int) -> Rows:
    """Return rows as numbers that are wide enough to count this many cells."""
    return rows.astype(np.int64) if cells >= 1 << 31 else rows


def pairs_missing(start: Index, query: Codes, left: Rows, right: Rows) -> Index:
    """Count the pairs of candidates of each query that no vote compares."""
    sizes: Index = np.diff(start)
    needed: Index = sizes * (sizes - 1) // 2
    size = int(sizes.max(initial=1))
    room = size * query.size
    cells = _cells(_widened(left, room), _widened(right, room), size)
    # A table of flags is faster than a sort, unless one large pool makes it mostly empty.
    if room > 32 * (cells.size + 1024):
        judged = np.unique(cells)
    else:
        seen = np.zeros(room, dtype=bool)
        seen[cells.astype(np.int64)] = True  # places in any other type are slow
        if np.count_nonzero(seen) == needed.sum():
            return np.zeros_like(needed)
        judged = np.flatnonzero(seen)
    return needed - np.bincount(query[judged // size], minlength=needed.size)


def asked_missing(start: Index, query: Codes, asked: tuple[Rows, Rows], judged: tuple[Rows, Rows]) -> Index:
    """Count the asked pairs of each query that no vote compares."""
    size = int(np.diff(start).max(initial=1))
    room = size * query.size
    wanted, known = (_cells(_widened(a, room), _widened(b, room), size) for a, b in (asked, judged))
    missing: Index = np.bincount(query[np.setdiff1d(wanted, known) // size], minlength=start.size - 1)
    return missing


def count_parts(start: Index, query: Codes, left: Rows, right: Rows) -> Index:
    """Count the connected parts of each query: every candidate takes the lowest row that it can reach."""
    label = np.arange(int(start[-1]))
    moved = True
    while moved:
        before = label.copy()
        low = np.minimum(label[left], label[right])
        np.minimum.at(label, left, low)
        np.minimum.at(label, right, low)
        # Pointer jumping: paths halve in each round, so long chains of comparisons take few rounds.
        label = label[label]
        moved = bool((label != before).any())
    roots = query[label == np.arange(label.size)]
    parts: Index = np.bincount(roots, minlength=start.size - 1)
    return parts


# Pairs: the unordered comparisons to be judged, ``doc_a < doc_b``.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs to compare: one row per unordered pair of documents of a query."""

    queries: tuple[str, ...]
    docs: Sequence[str]
    """The vocabularies, shared with the pools."""
    query: Codes
    doc_a: Codes
    doc_b: Codes
    """Shape (n,): codes. ``docs[doc_a[i]] < docs[doc_b[i]]``; rows are grouped by query."""

    def __len__(self) -> int:
        return int(self.query.size)


def all_pairs(pools: Pools) -> Pairs:
    """Pair every two documents of each pool (Shallow pooling, section 4.1)."""
    first, second = pair_rows(pools.sizes)
    return Pairs(
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query[first],
        doc_a=pools.doc[first],
        doc_b=pools.doc[second],
    )


def pair_rows(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of both members of each pair: pools of one size are paired in one go."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    firsts, seconds = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        a, b = np.triu_indices(int(size), k=1)
        base = starts[sizes == size][:, None]
        firsts.append((base + a).ravel())
        seconds.append((base + b).ravel())
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    # Paired by size; the rows of a pool are contiguous, so sorting puts the pools back into their order.
    order = np.lexsort((second, first))
    return first[order], second[order]


# Top pairs: what each query asks to be judged where one run's top results meet the qrels.

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPairs:
    """The pair that each labelled query asks to be judged.

    Category A: the run's top passage is the qrel, and is compared with the run's second passage. Category B:
    they differ, and the qrel is compared with the run's top passage. A query that the run does not answer is
    of neither. The pool of this design, its size in numbers and the analysis of its judgments all follow from
    this record, so that they cannot mean different pairs.
    """

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    """The vocabularies."""
    query: Integers
    """Shape (n,): every query with a relevant document."""
    qrel: Integers
    top: Integers
    rival: Integers
    """Shape (n,): the qrel, the run's first passage, and the passage that the qrel is compared with; -1:
    there is none."""

    @property
    def agreed(self) -> NDArray[np.bool_]:
        """Whether the query is of category A."""
        same: NDArray[np.bool_] = self.top == self.qrel
        return same

    @property
    def retrieved(self) -> NDArray[np.bool_]:
        """Whether the run answers the query."""
        return self.top >= 0

    @property
    def split(self) -> TopSplit:
        """How many queries there are of each kind."""
        paired = self.rival >= 0
        return TopSplit(
            a=int(self.agreed.sum()),
            b=int((self.retrieved & ~self.agreed).sum()),
            no_rival=int((self.retrieved & ~paired).sum()),
            not_retrieved=int((~self.retrieved).sum()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopSplit:
    """How the queries split (Arabzadeh et al., "Shallow pooling for sparse labels", Table 1)."""

    a: int
    b: int
    """Queries of category A (the qrel is on top) and of category B (another passage is)."""
    no_rival: int
    """Queries of category A whose run returns nothing but the qrel, so that there is no pair to judge."""
    not_retrieved: int
    """Labelled queries that the run does not answer."""

    @property
    def queries(self) -> int:
        """All labelled queries: what shares are of."""
        return self.a + self.b + self.not_retrieved

    @property
    def pairs(self) -> int:
        """Pairs to judge."""
        return self.a + self.b - self.no_rival


def top_pairs(heads: Heads, qrels: Qrels, run: str, *, queries: Collection[str] | None = None) -> TopPairs:
    """Return the pair of each query: section 3.1's design."""
    if run not in heads.runs:
        raise InputError(f"there is no run {run!r}", f"Choose one of: {', '.join(heads.runs)}.")
    docs = tuple(dict.fromkeys([*heads.docs, *qrels.docs]))
    rows = chosen_qrels(qrels)
    asked = np.array([queries is None or name in queries for name in qrels.queries], dtype=bool)
    rows = rows[asked[qrels.query[rows]]]
    query = qrels.query[rows].astype(np.int64)
    qrel = encode(qrels.docs, docs).astype(np.int64)[qrels.doc[rows]]
    tops = np.full((len(qrels.queries), 3), -1, dtype=np.int64)
    place = encode(heads.queries, qrels.queries)[heads.query]
    mine = (heads.run == heads.runs.index(run)) & (heads.position <= 2) & (place >= 0)
    tops[place[mine], heads.position[mine]] = encode(heads.docs, docs)[heads.doc[mine]]
    top, second = tops[query, 1], tops[query, 2]
    return TopPairs(
        queries=qrels.queries,
        docs=docs,
        query=query,
        qrel=qrel,
        top=top,
        rival=np.where(top == qrel, np.where(second == qrel, -1, second), top),
    )


def pool_top_pairs(heads: Heads, qrels: Qrels) -> Pools:
    """Pool the qrel of each query with the passage of one run that it is compared with (section 3.1)."""
    if len(heads.runs) != 1:
        raise ValueError(f"this design takes the top result of one run, not of {len(heads.runs)} runs")
    pairs = top_pairs(heads, qrels, heads.runs[0])
    labelled = {pairs.queries[code] for code in pairs.query.tolist()}
    queries = tuple(name for name in dict.fromkeys([*heads.queries, *qrels.queries]) if name in labelled)
    query = encode(pairs.queries, queries)[pairs.query]
    real, agreed = pairs.rival >= 0, pairs.agreed
    added = Contributions.of_rows(
        pairs.docs,
        np.concatenate([query, query[real], query[agreed]]),
        np.concatenate([pairs.qrel, pairs.rival[real], pairs.qrel[agreed]]).astype(np.int32),
        np.repeat([1, 0, 0], [query.size, int(real.sum()), int(agreed.sum())]).astype(np.int32),
    )
    return group_contributions(queries, (*heads.runs, qrels.name), [added])


def pooled_qrels(qrels: Qrels, pools: Pools, source: str) -> Qrels:
    """Return the qrels that a pool holds: those are what people were asked about."""
    # A qrel without a text cannot be shown, and another one of its query takes its place in the pool. Whoever
    # compares runs with the qrels afterwards must mean the one that was judged.
    if source not in pools.sources:
        return qrels
    theirs = np.zeros(pools.query.size, dtype=bool)
    theirs[pools.source_row[pools.source == pools.sources.index(source)]] = True
    if not theirs.any():
        return qrels
    rows = find_rows(pools.only(theirs), qrels.queries, qrels.docs, qrels.query, qrels.doc)
    return select_labels(qrels, rows >= 0)

"""Tournaments: the candidates of each query and the votes between them, many queries at once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, passed_over, worth_of_win, worth_of_wins
from prefjudge.core.pools import (
    Pairs,
    Pools,
    asked_missing,
    contains,
    count_comparisons,
    count_parts,
    number_candidates,
    number_in_order,
    pairs_missing,
)
from prefjudge.core.runs import Codes, encode

Index = NDArray[np.int64]
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Applies a function to each of many things, in order: ``map``, or that of a pool of threads."""
BLOCK_ROWS = 1 << 19
"""How many judgments a block holds, unless a single query has more: a column of them fits a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournaments:
    """The tournaments of a block of consecutive queries."""

    first: int
    """The code of the block's first query in the whole vocabulary."""
    start: Index
    """Shape (n_queries + 1,): the candidates of query ``q`` are the rows ``start[q]:start[q + 1]``."""
    query: Codes
    doc: Codes
    """Shape (n_candidates,): each candidate's query (counted from ``first``) and document code; sorted by
    both."""
    comparisons: Codes
    """Shape (n_candidates,): in how many judgments each candidate took part."""
    left: Index
    right: Index
    """Shape (n_votes,): the candidate rows that each vote compares."""
    choice: NDArray[np.int8]
    strength: NDArray[np.int8]
    """Shape (n_votes,): as in the judgments."""
    worker: Codes
    """Shape (n_votes,): as in the judgments."""
    votes: Codes
    missing: Codes
    """Shape (n_queries,): how many judgments each query has, and how many pairs that should have been judged
    have no judgment."""
    worth: "Floats | None" = None
    """Shape (n_votes,): as in the judgments."""
    click: Codes | None = None
    """Shape (n_votes,): which choice out of three or more candidates each is a win of; -1 where of two."""
    passed: Index = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))
    """Shape (2, n): the candidate rows of pairs that a choice showed, and chose neither of."""

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
            worth=None if self.worth is None else self.worth[votes],
            click=None if self.click is None else self.click[votes],
            passed=place[self.passed[:, flagged[self.passed].all(axis=0)]],
        )

    def weighed(self, rows: Index, strengths: bool) -> "Floats":
        """Return what these votes are worth: with ``strengths`` a vote counts as often as it is strong."""
        worth = self.strength[rows].astype(np.float64) if strengths else np.ones(rows.size)
        return worth if self.worth is None else worth * self.worth[rows]

    def shown(self, rows: Index) -> "Floats":
        """Return how often each two of these candidates, shape (n, k), were shown together, (n, k, k)."""
        n, k = rows.shape
        place = np.full(self.doc.size, -1)
        place[rows] = np.arange(n * k).reshape(n, k)
        one, other = place[np.concatenate([np.stack([self.left, self.right]), self.passed], axis=1)]
        held = one >= 0
        cells = one[held] * k + other[held] % k
        counts = np.bincount(cells, minlength=n * k * k).astype(np.float64).reshape(n, k, k)
        return counts + counts.transpose(0, 2, 1)

    def compared(self) -> "tuple[Tournaments, Index]":
        """Return the tournaments among the candidates that are compared or alone, and the rows of these."""
        # Whom nobody compared has not lost, which a rule must not take for a merit.
        rows = np.flatnonzero((self.comparisons > 0) | (self.sizes == 1)[self.query])
        return (self if rows.size == self.doc.size else self.among(rows)), rows

    def parts(self) -> Index:
        """Return how many groups of candidates, not compared with each other, each query has."""
        return count_parts(self.start, self.query, self.left, self.right)

    def pairs_missing(self) -> Index:
        """Return how many pairs of its candidates were never shown, in each query."""
        seen = np.concatenate([np.stack([self.left, self.right]), self.passed], axis=1)
        return pairs_missing(self.start, self.query, *seen)


def tournaments(
    judgments: Judgments,
    *,
    pools: Pools | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[Tournaments]:
    """Cut judgments into blocks of whole queries, each query with its candidates.

    By default these are the judged documents. Every query of the vocabulary (that of the pools, where given)
    occurs exactly once, in its order. Votes on documents outside the pools do not count.
    """
    cut = Cut(judgments, pools=pools)
    for span in cut.spans(block_rows):
        yield cut.block(span)


Span = tuple[int, int]
"""The first query of a block, and the first of the next."""


class Cut:
    """Judgments that are ready to be cut: each block can be had by itself, in any order or thread.

    The pairs that should have been judged are ``asked``; by default all pairs of a query's candidates. Those
    of documents outside the pool do not count either. Pairs that it would take to connect the candidates are
    missing in any case. The queries of a log are looked through by ``each``.
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
        self._passed = passed_over(self._judgments)
        self._passed = self._passed[:, np.argsort(self._passed[0], kind="stable")]
        self._pooled = _Sorted(nothing if pools is None else pools.query, n_queries, each)
        self._wanted = _Sorted(nothing if self._asked is None else self._asked.query, n_queries, each)

    def spans(self, block_rows: int = BLOCK_ROWS) -> Iterator[Span]:
        """Give the spans of queries that make blocks of about ``block_rows`` judgments."""
        return _cuts(self._log.start + self._pooled.start + self._wanted.start, block_rows)

    def block(self, span: Span) -> Tournaments:
        """Return the block of a span."""
        low, high = span
        block = _Block(low, high, self._judgments, self._log)
        if self._judgments.click is not None:
            first, last = np.searchsorted(self._passed[0], span)
            block.add_choices(self._judgments.click[self._log.rows(low, high)], self._passed[:, first:last])
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
        self.click: Codes | None = None
        self.passed: Codes | None = None
        self.pooled: tuple[Codes, Codes] | None = None
        self.asked: tuple[Codes, Codes, Codes] | None = None

    def add_choices(self, click: Codes, passed: Codes) -> None:
        """Say which choices the votes are wins of, and which pairs these passed over."""
        self.click, self.passed = click, passed - np.array([[self.first], [0], [0]], dtype=np.int32)

    def add_pool(self, pools: Pools, rows: slice | Index) -> None:
        self.pooled = query, doc = pools.query[rows] - np.int32(self.first), pools.doc[rows]
        if self.passed is not None:
            asks, *both = self.passed
            self.passed = self.passed[:, np.all([contains(query, doc, asks, one) for one in both], axis=0)]
        of = self._query()
        known = contains(query, doc, of, self.left) & contains(query, doc, of, self.right)
        if not known.all():
            self.left, self.right = self.left[known], self.right[known]
            self.choice, self.strength = self.choice[known], self.strength[known]
            self.worker = self.worker[known]
            self.click = None if self.click is None else self.click[known]
            self.votes = np.bincount(of[known], minlength=self.n_queries)

    def add_asked(self, asked: Pairs, rows: slice | Index) -> None:
        self.asked = (asked.query[rows] - np.int32(self.first), asked.doc_a[rows], asked.doc_b[rows])

    def _query(self) -> Codes:
        """Return the query of each vote."""
        return np.repeat(np.arange(self.n_queries, dtype=np.int32), self.votes)

    def build(self) -> Tournaments:
        if self.pooled is None and self.asked is None and self.passed is None:
            in_order = number_in_order(self.votes, self.left, self.right)
            block = in_order and self._numbered(*in_order)
            # A code between those of a query got a row although nobody voted on it: then it is not a
            # candidate.
            if block and block.comparisons.all():
                return block
        return self._numbered(*self._looked_up())

    def _numbered(self, query: Codes, doc: Codes, rows: list[Codes]) -> Tournaments:
        left, right, *more = rows
        passed = np.stack(more[-2:]) if self.passed is not None else np.zeros((2, 0), dtype=np.int32)
        seen = np.concatenate([np.stack([left, right]), passed], axis=1)
        sizes = np.bincount(query, minlength=self.n_queries)
        start: Index = np.concatenate([[0], np.cumsum(sizes)])
        if self.asked is None:
            missing = pairs_missing(start, query, *seen)
        else:
            missing = asked_missing(start, query, (more[0], more[1]), (seen[0], seen[1]))
            # It takes c - 1 pairs to connect c parts, whatever was asked.
            missing = np.maximum(missing, count_parts(start, query, left, right) - 1)
        worth = None
        if self.click is not None:  # of a choice of which two are candidates, a vote on these is left
            worth = worth_of_wins(self.click)
            self.click = np.where(worth < 1.0, self.click, -1).astype(np.int32)
        # As many votes as pairs and no pair without one: each pair has exactly one vote.
        every = self.asked is None and self.passed is None and not missing.any()
        if every and left.size == (sizes * (sizes - 1) // 2).sum():
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
            worth=worth,
            click=self.click,
            passed=passed.astype(np.int64),
        )

    def _looked_up(self) -> tuple[Codes, Codes, list[Codes]]:
        """Return each candidate's query and doc; and the rows of left and right, and of the asked pairs."""
        of = self._query()
        parts = [(of, self.left), (of, self.right)]
        if self.asked is not None:
            parts += [(self.asked[0], self.asked[1]), (self.asked[0], self.asked[2])]
        if self.passed is not None:
            parts += [(self.passed[0], self.passed[1]), (self.passed[0], self.passed[2])]
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
        click=None if judgments.click is None else judgments.click[keep],
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


# Cast votes: the votes on each pair by how far they are trusted, where they are not all worth the same.

Floats = NDArray[np.float64]
Trusting = Callable[[Index, Index], Floats]
"""Gives the trust in votes, from their queries and workers: codes of the whole log, -1 where nobody knows."""
_STEPS = 20
"""Trust is rounded to twentieths, so that votes on one pair that are nearly worth the same are one sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CastChoices:
    """The choices out of three candidates or more, in the order of the queries: same ones are one."""

    place: Index
    """Shape (n_choices,): as of `CastVotes`."""
    shown: Index
    """Shape (n_choices, most): the candidates, the chosen one first; -1 where there are fewer."""
    trust: Floats
    """Shape (n_choices,): as of `CastVotes`."""
    times: Floats
    """Shape (n_choices,): how often each was made."""

    @property
    def size(self) -> Index:
        """How many candidates each showed, shape (n_choices,)."""
        return np.asarray((self.shown >= 0).sum(axis=1))

    def only(self, some: slice | Index, place: Index) -> "CastChoices":
        """Return some of them, of the queries at these places."""
        return CastChoices(
            place=place, shown=self.shown[some], trust=self.trust[some], times=self.times[some]
        )

    def add_log_likelihood(self, total: NDArray[np.float32], odds: NDArray[np.float32], heed: float) -> None:
        """Add the log probability of each query's choices by the odds of its candidates (Luce).

        They have the shapes (n, draws) and (n, k, draws); ``heed`` is the share of the votes of the most
        reliable workers that are not lapses.
        """
        chance = odds[self.place, self.shown[:, 0]]
        every = chance.copy()
        for column in self.shown.T[1:]:
            held = np.flatnonzero(column >= 0)
            every[held] += odds[self.place[held], column[held]]
        heeded = 0.999999 * heed * self.trust
        chance *= heeded.astype(np.float32)[:, None] / every
        chance += ((1.0 - heeded) / self.size).astype(np.float32)[:, None]
        logs = np.log(chance, out=chance) * self.times.astype(np.float32)[:, None]
        starts = np.flatnonzero(np.diff(self.place, prepend=-1))
        total[self.place[starts]] += np.add.reduceat(logs, starts, axis=0)

    def log_classes(self, n: int, better: Floats, right: float) -> Floats:
        """Return the log probability of each query's choices if a set is the better class, shape (n, sets).

        ``better`` are the sets, as rows of 0 and 1: of two candidates the better one is preferred by the
        share ``right`` of votes.
        """
        inside = np.where(self.shown >= 0, better[:, self.shown], 0.0)
        size, of_set = self.size, inside.sum(axis=2)
        chance = np.where(inside[:, :, 0], right, 1.0 - right) / (
            right * of_set + (1.0 - right) * (size - of_set)
        )
        logs = self.times * np.log(self.trust * chance + (1.0 - self.trust) / size)
        total = np.zeros((n, len(better)))
        np.add.at(total, self.place, logs.T)
        return total

    def log_tops(self, error: float) -> tuple[Index, Index, Floats]:
        """Return who of those shown may be the best, the set of the others, and the choices' logs then.

        They have the shape (n_choices, most). A candidate is a number and a set the sum of 2 to the power of
        each of its candidates; where fewer were shown the logs are 0.
        """
        bits = np.where(self.shown >= 0, 1 << np.maximum(self.shown, 0), 0)
        tossed = 1.0 - self.trust * (1.0 - 2.0 * error)
        logs = np.repeat(np.log(tossed / self.size)[:, None], self.shown.shape[1], axis=1)
        logs[:, 0] = np.log(1.0 - tossed + tossed / self.size)
        others = bits.sum(axis=1, keepdims=True) - bits
        return np.maximum(self.shown, 0), others, np.where(bits, self.times[:, None] * logs, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVotes:
    """The votes of ``n`` queries that have ``k`` candidates each, in the order of the queries."""

    place: Index
    """Shape (n_cells,): the query, counted within the stack; ascending."""
    x: Index
    y: Index
    """Shape (n_cells,): the candidates, counted within the query."""
    trust: Floats
    """Shape (n_cells,): the probability that such a vote is not cast by chance, beside that of the most
    reliable workers."""
    won: Floats
    lost: Floats
    """Shape (n_cells,): the votes for ``x``, and for ``y``. A tie is half a vote to each."""
    choices: CastChoices | None = None
    """Beside them, the choices out of three or more; none where all votes are on pairs."""

    @property
    def wide(self) -> int:
        """How many cells and choices there are."""
        return self.place.size + (0 if self.choices is None else 2 * self.choices.place.size)

    @classmethod
    def of(cls, votes: Floats) -> "CastVotes":
        """Return the votes of matrices, of shape (n, k, k), that are all trusted."""
        place, x, y = np.nonzero(np.triu(votes + votes.transpose(0, 2, 1), 1))
        trust = np.ones(place.size)
        return cls(place=place, x=x, y=y, trust=trust, won=votes[place, x, y], lost=votes[place, y, x])

    def between(self, low: int, high: int) -> "CastVotes":
        """Return the votes of the queries from ``low`` up to ``high``, counted from ``low``."""
        return self._some(lambda of: slice(*np.searchsorted(of, [low, high]).tolist()), lambda of: of - low)

    def only(self, keep: NDArray[np.bool_]) -> "CastVotes":
        """Return the votes of the queries that ``keep`` flags, counted among these."""
        fresh = np.cumsum(keep) - 1
        return self._some(lambda of: np.flatnonzero(keep[of]), lambda of: fresh[of])

    def _some(
        self, select: Callable[[Index], slice | Index], renumber: Callable[[Index], Index]
    ) -> "CastVotes":
        some, choices = select(self.place), self.choices
        if choices is not None:
            of = select(choices.place)
            choices = choices.only(of, renumber(choices.place[of]))
        cells = {name: getattr(self, name)[some] for name in ("x", "y", "trust", "won", "lost")}
        return CastVotes(place=renumber(self.place[some]), **cells, choices=choices)

    def matrices(self, n: int, k: int) -> Floats:
        """Return what the votes for each candidate against each other are worth, shape (n, k, k)."""
        votes = self._summed(n, k, self.trust * self.won, self.trust * self.lost)
        if (of := self.choices) is not None:
            worth = of.trust * of.times * worth_of_win(of.size)
            for column in of.shown.T[1:]:
                held = column >= 0
                np.add.at(votes, (of.place[held], of.shown[held, 0], column[held]), worth[held])
        return votes

    def _summed(self, n: int, k: int, for_x: Floats, for_y: Floats) -> Floats:
        forward = (self.place * k + self.x) * k + self.y
        backward = (self.place * k + self.y) * k + self.x
        cells, each = np.concatenate([forward, backward]), np.concatenate([for_x, for_y])
        return np.bincount(cells, weights=each, minlength=n * k * k).astype(np.float64).reshape(n, k, k)

    def log_orders(self, n: int, k: int, error: float) -> Floats:
        """Return the log probability of each pair's votes if one is above the other, shape (n, k, k).

        Choices are not among them: theirs are `CastChoices.log_tops`.
        """
        right, wrong = np.log(0.5 + self.trust * (0.5 - error)), np.log(0.5 - self.trust * (0.5 - error))
        return self._summed(n, k, self.won * right + self.lost * wrong, self.won * wrong + self.lost * right)


def cast_votes(
    block: Tournaments,
    rows: Index,
    place: Index,
    local: Index,
    trusting: Trusting | None,
    *,
    ties: float,
    strengths: bool,
) -> CastVotes:
    """Return these votes of a block, each with its trust.

    ``place`` has the place of each of the block's queries in the stack, ``local`` that of each candidate in
    its query.
    """
    query = block.query[block.left[rows]].astype(np.int64)
    trust = np.full(rows.size, float(_STEPS))
    if trusting is not None:
        trust = np.rint(_STEPS * trusting(query + block.first, block.worker[rows].astype(np.int64)))
    choices = None
    if block.click is not None and not (of_pairs := block.click[rows] < 0).all():
        choices = _cast_choices(block, rows[~of_pairs], place, local, trust[~of_pairs], strengths)
        rows, query, trust = rows[of_pairs], query[of_pairs], trust[of_pairs]
    left, right, choice = block.left[rows], block.right[rows], block.choice[rows]
    worth = block.weighed(rows, strengths)
    to_left = np.where(choice > 0, worth, np.where(choice < 0, 0.0, ties))
    to_right = np.where(choice < 0, worth, np.where(choice > 0, 0.0, ties))
    one, other = local[left], local[right]
    x, y = np.minimum(one, other), np.maximum(one, other)
    width = int(local.max(initial=0)) + 1
    cell = ((place[query] * width + x) * width + y) * (_STEPS + 1) + trust.astype(np.int64)
    held, of = np.unique(cell, return_inverse=True)
    swapped = one > other
    pair = held // (_STEPS + 1)
    return CastVotes(
        place=pair // width**2,
        x=pair // width % width,
        y=pair % width,
        trust=held % (_STEPS + 1) / _STEPS,
        won=np.bincount(of, weights=np.where(swapped, to_right, to_left)).astype(np.float64),
        lost=np.bincount(of, weights=np.where(swapped, to_left, to_right)).astype(np.float64),
        choices=choices,
    )


def _cast_choices(
    block: Tournaments, rows: Index, place: Index, local: Index, trust: Floats, strengths: bool
) -> CastChoices:
    """Return the choices that these votes are the wins of."""
    assert block.click is not None
    order = np.argsort(block.click[rows], kind="stable")
    rows, click = rows[order], block.click[rows[order]]
    starts = np.flatnonzero(np.diff(click, prepend=-1))
    wins = np.diff(starts, append=rows.size)
    ahead = block.choice[rows] > 0
    won, lost = (local[np.where(ahead == one, block.left[rows], block.right[rows])] for one in (True, False))
    others = np.full((starts.size, int(wins.max(initial=2))), -1)
    of = np.repeat(np.arange(starts.size), wins)
    others[of, np.arange(rows.size) - starts[of]] = lost
    first = rows[starts]
    times = block.strength[first].astype(np.float64) if strengths else np.ones(first.size)
    query = place[block.query[block.left[first]]]
    keys = np.column_stack([query, trust[order][starts], won[starts], -np.sort(-others, axis=1)])
    same, of = np.unique(keys.astype(np.int64), axis=0, return_inverse=True)
    return CastChoices(
        place=same[:, 0],
        shown=same[:, 2:],
        trust=same[:, 1] / _STEPS,
        times=np.bincount(of.ravel(), weights=times, minlength=len(same)).astype(np.float64),
    )


# Counting: winners by the number of votes won, and what every rule takes and returns.
#
# Every rule takes a block of tournaments and returns a :class:`Standing`: a score for each candidate, and
# whether it is among the winners. Whether enough was judged is not a rule's concern.

Flags = NDArray[np.bool_]


class TieWorth(StrEnum):
    """What a tie is worth to each side."""

    IGNORE = "ignore"
    """Nothing. It counts as a judgment of the pair."""
    HALF = "half"
    """Half a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a vote is worth."""

    ties: float = 0.0
    """What a tie is worth to each side: 0, or a half."""
    strengths: bool = False
    """Whether a vote counts as often as it is strong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The outcome of a rule for the candidates of a block."""

    score: Floats
    """Shape (n_candidates,): the rule's own score; higher is better. Its unit is the rule's."""
    winner: Flags
    """Shape (n_candidates,): the best; several where the rule cannot tell them apart."""


Rule = Callable[[Tournaments, Weights, Floats], Standing]
"""Takes the votes, their worth, and the candidates' wins as counted by :func:`wins`."""


def wins(block: Tournaments, weights: Weights) -> Floats:
    """Return the votes won by each candidate, shape (n_candidates,)."""
    left, right, choice, strength = block.left, block.right, block.choice, block.strength
    n = block.doc.size
    worth = strength.astype(np.float64) if weights.strengths else None
    tied = choice == 0
    winner = right + (left - right) * (choice > 0)  # a choice of where() would be guessed wrong half the time
    if not tied.any():
        return np.bincount(winner, weights=worth, minlength=n).astype(np.float64)
    # Half a vote is not an integer, so decided and tied votes are counted apart.
    decided = ~tied
    total = np.bincount(winner[decided], weights=None if worth is None else worth[decided], minlength=n)
    if not weights.ties:
        return total.astype(np.float64)
    return total + weights.ties * (
        np.bincount(left[tied], minlength=n) + np.bincount(right[tied], minlength=n)
    )


def best(block: Tournaments, score: Floats, *, within: float = 0.0) -> Flags:
    """Return which candidates have their query's highest score, up to ``within``, shape (n_candidates,)."""
    leaders: Flags = score >= (highest(block, score) - within).take(block.query)
    return leaders


def highest(block: Tournaments, score: Floats) -> Floats:
    """Return the highest score of each query's candidates, 0 where it has none, shape (n_queries,)."""
    top = np.zeros(block.n_queries)
    filled = np.flatnonzero(block.sizes)
    if filled.size:
        # reduceat gives an empty stretch the first value of
        # the next one: only queries with candidates take part.
        top[filled] = np.maximum.reduceat(score, block.start[filled])
    return top


def most_wins(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """Keep all candidates with the most votes.

    References
    ----------
    Yan, Luo, Clarke, Arabzadeh: Human preferences as dueling bandits (SIGIR 2022): the published best answers
    follow this rule on a complete round robin.
    """
    return Standing(score=won, winner=best(block, won))


def shallow_pooling(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """Keep the candidates with the most votes, repeat among them until one is left or all are tied.

    References
    ----------
    Shallow pooling for sparse labels, section 5.1: "for queries where multiple passages were tied for first
    place, we eliminate the losing passages and repeat the process with the first-place passages".
    """
    winner = best(block, won)
    rows = _undecided(block, winner)
    contest = block.among(rows)
    while rows.size:
        leader = best(contest, wins(contest, weights))
        winner[rows[~leader]] = False
        # Each round drops somebody from every query that is left, so the loop ends.
        again = _undecided(contest, leader)
        rows, contest = rows[again], contest.among(again)
    return Standing(score=won, winner=winner)


def _undecided(block: Tournaments, leader: Flags) -> Index:
    """Return the rows of the leaders of queries that have several, but not all candidates, in the lead."""
    rows = np.flatnonzero(leader)
    count = block.count(rows)
    # Where everybody leads, the next round would count the same votes.
    undecided: Index = rows[((count > 1) & (count < block.sizes))[block.query[rows]]]
    return undecided


# Vote matrices: the tournaments of one size, stacked, for the rules that look at every pair.


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteMatrices:
    """The votes of ``n`` queries that have ``k`` candidates each."""

    queries: Index
    """Shape (n,): the queries' places in the block."""
    rows: Index
    """Shape (n, k): the candidates' rows in the block."""
    votes: Floats
    """Shape (n, k, k): ``votes[q, x, y]`` is what the votes for ``x`` against ``y`` are worth together."""
    cast: CastVotes | None = None
    """The votes one by one, where some are trusted more than others, as ``votes`` are then; or where there
    are choices among them."""

    @property
    def beats(self) -> Flags:
        """Where ``x`` has more votes than ``y``, shape (n, k, k)."""
        more: Flags = self.votes > self.votes.transpose(0, 2, 1)
        return more


def vote_matrices(
    block: Tournaments,
    *,
    ties: float = 0.0,
    strengths: bool = False,
    cells: int = 1 << 22,
    trusting: Trusting | None = None,
) -> Iterator[VoteMatrices]:
    """Stack the votes of the block's queries by their number of candidates."""
    sizes = block.sizes
    # A candidate's place within its query: the row and column of its matrix.
    local = np.arange(block.doc.size) - block.start[block.query]
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    groups = _groups(by_size, sizes, cells)
    # A stable sort of 16-bit integers is numpy's radix sort, which takes linear time.
    group_of = np.full(block.n_queries, -1, dtype=np.int16 if len(groups) < 1 << 15 else np.int64)
    for number, queries in enumerate(groups):
        group_of[queries] = number
    # Both sides of a vote are of one query, so the left one tells which.
    vote_group = group_of[block.query[block.left]]
    vote_rows = np.argsort(vote_group, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(vote_group, minlength=len(groups)))])
    for number, queries in enumerate(groups):
        size = int(sizes[queries[0]])
        rows = block.start[queries][:, None] + np.arange(size)
        slot = np.zeros(block.n_queries, dtype=np.int64)
        slot[queries] = np.arange(queries.size)
        some = vote_rows[ends[number] : ends[number + 1]]
        cast = None
        if trusting is not None or (block.click is not None and (block.click[some] >= 0).any()):
            cast = cast_votes(block, some, slot, local, trusting, ties=ties, strengths=strengths)
        if cast is None or trusting is None:
            votes = _stacked(block, some, slot, local, size, ties, strengths).reshape(-1, size, size)
        else:
            votes = cast.matrices(queries.size, size)
        yield VoteMatrices(queries=queries, rows=rows, votes=votes, cast=cast)


def _groups(by_size: Index, sizes: Index, cells: int) -> list[Index]:
    """Split queries sorted by size into groups of one size and a bounded number of cells."""
    groups = []
    cuts = np.flatnonzero(np.diff(sizes[by_size])) + 1
    for queries in np.split(by_size, cuts):
        if queries.size:
            step = max(1, cells // int(sizes[queries[0]]) ** 2)
            groups += [queries[i : i + step] for i in range(0, queries.size, step)]
    return groups


def _stacked(
    block: Tournaments, rows: Index, slot: Index, local: Index, size: int, ties: float, strengths: bool
) -> Floats:
    left, right, choice = block.left[rows], block.right[rows], block.choice[rows]
    of = slot[block.query[left]]
    total = (int(slot.max()) + 1) * size * size
    # Cells in row-major order of (query, x, y): one bincount fills all matrices.
    forward = (of * size + local[left]) * size + local[right]
    backward = (of * size + local[right]) * size + local[left]
    worth = block.weighed(rows, strengths)
    decided = np.where(choice > 0, forward, backward)
    worth = np.where(choice != 0, worth, 0.0)
    votes = np.bincount(decided, weights=worth, minlength=total).astype(np.float64)
    if ties:
        tied = choice == 0
        both = np.concatenate([forward[tied], backward[tied]])
        votes = votes + ties * np.bincount(both, minlength=total)
    return votes


def reachable(edges: Flags) -> Flags:
    """Return where a path of at least one edge leads from ``x`` to ``y``, shape (n, k, k)."""
    reach = edges.copy()
    for middle in range(edges.shape[1]):
        # Warshall: after this step, every path whose inner nodes are up to ``middle`` is known.
        reach |= reach[:, :, middle, None] & reach[:, None, middle, :]
    return reach

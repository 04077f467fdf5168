"""Gold pairs: comparisons whose answer is known, hidden in every HIT to screen the work."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels

_WORD = re.compile(r"\w{3,}")
_LOOKED_AT = 40
"""The most passages that are looked at for one that is off-topic …"""
_ALWAYS_LOOKED_AT = 5
"""… and the fewest: of the others only those within a fifth of the length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPair:
    """A known relevant passage against an obviously off-topic one.

    Attributes
    ----------
    query_id, query : str
        The question.
    good_id, good : str
        The passage that answers it.
    bad_id, bad : str
        The passage that has nothing to do with it.
    """

    query_id: str
    query: str
    good_id: str
    good: str
    bad_id: str
    bad: str


def suggest_gold(
    qrels: Qrels,
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    count: int,
    *,
    rng: np.random.Generator,
    lengths: Sequence[tuple[int, int, int]] = (),
    avoid: Mapping[str, frozenset[str]] | None = None,
    min_words: int = 15,
) -> tuple[GoldPair, ...]:
    """Suggest gold pairs for review: a relevant passage of a query against one that shares no word with it.

    For each suggestion the lengths of a pooled pair are drawn, and a query, a relevant passage and an
    off-topic one are sought that come near them, so that gold pairs look like the others. The relevant
    passage takes after the pair's first passage or its second by a throw of a coin. The off-topic passage is
    the one, out of those nearest in length, that shares the fewest words with the query and with the relevant
    passage. Each query is used once.

    Parameters
    ----------
    qrels : Qrels
        Which passages are relevant (grade of at least 1).
    queries, passages : mapping of str to str
        Texts by id. Only documents in ``passages`` are used.
    count : int
        How many to suggest.
    rng : Generator
        Draws the pairs to take after, the coins, and the order in which equals are tried.
    lengths : sequence of tuple of int
        The pairs to take after: the lengths in characters of the query and of both passages. Without any,
        lengths play no part.
    avoid : mapping of str to frozenset of str, optional
        For each query the documents that must not be called off-topic: its pool and all its qrels.
    min_words : int
        The fewest words that a passage should have, so that a title is not taken for an answer. Shorter ones
        are used only where ``lengths`` asks for them.

    Returns
    -------
    tuple of GoldPair
        Fewer than ``count`` where the qrels do not yield as many.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: "between a known relevant passage (i.e., a qrel) and an
    obviously off-topic and non-relevant passage".
    """
    shelf = _Shelf(passages, min_words, rng)
    known = _known_relevant(qrels, queries, shelf, any_length=bool(lengths))
    suggestions: list[GoldPair] = []
    while known.row.size and len(suggestions) < count:
        aim = _aim(lengths, rng)
        query_id, good_id = known.choose(aim, shelf, rng)
        known = known.without(query_id)
        banned = (avoid or {}).get(query_id, frozenset()) | {good_id}
        bad_id = shelf.off_topic(f"{queries[query_id]} {passages[good_id]}", aim, banned)
        if bad_id is not None:
            suggestions.append(
                GoldPair(
                    query_id=query_id,
                    query=queries[query_id],
                    good_id=good_id,
                    good=passages[good_id],
                    bad_id=bad_id,
                    bad=passages[bad_id],
                )
            )
    return tuple(suggestions)


def likely_answers(pools: Pools) -> Qrels:
    """Return the documents of each pool that the most sources put there, as qrels: where there are no others.

    Returns
    -------
    Qrels
        All of them have grade 1, and ties stay. A query without a document has no row.
    """
    votes = np.bincount(pools.source_row, minlength=pools.query.size)
    most = np.zeros(len(pools.queries), dtype=votes.dtype)
    np.maximum.at(most, pools.query, votes)
    rows = np.flatnonzero(votes == most[pools.query])
    return Qrels(
        name="pool",
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query[rows],
        doc=pools.doc[rows],
        grade=np.ones(rows.size),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """The lengths to come near, in characters."""

    query: int
    good: int
    bad: int


def _aim(lengths: Sequence[tuple[int, int, int]], rng: np.random.Generator) -> _Aim | None:
    if not lengths:
        return None
    query, first, second = lengths[int(rng.integers(len(lengths)))]
    good, bad = (first, second) if rng.random() < 0.5 else (second, first)
    return _Aim(query=query, good=good, bad=bad)


class _Shelf:
    """The passages to choose from, in random order, so that the first of equals is a random one."""

    def __init__(self, passages: Mapping[str, str], min_words: int, rng: np.random.Generator) -> None:
        ids = sorted(passages)
        self.docs = [ids[i] for i in rng.permutation(len(ids))]
        self._passages = passages
        self.length = _log([len(passages[doc]) for doc in self.docs])
        self.long_enough = np.array(
            [len(passages[doc].split()) >= min_words for doc in self.docs], dtype=bool
        )

    def off_topic(self, topic: str, aim: _Aim | None, banned: frozenset[str]) -> str | None:
        """Return the passage, out of those near the length, with the smallest share of the topic's words."""
        allowed = np.array([doc not in banned for doc in self.docs], dtype=bool)
        if aim is None:
            rows = np.flatnonzero(allowed & self.long_enough)
        else:
            # In logarithms, so that 1.2 times as long and 1.2 times as short are equally far.
            far = np.where(allowed, np.abs(self.length - _log([aim.bad])), np.inf)
            nearest = np.argsort(far, kind="stable")[: np.count_nonzero(allowed)]
            near = np.count_nonzero(far <= np.log(1.2))
            rows = nearest[: max(near, _ALWAYS_LOOKED_AT)]
        words = _words(topic)
        some = (self.docs[row] for row in rows[:_LOOKED_AT])
        return min(some, key=lambda doc: self._shared(doc, words), default=None)

    def _shared(self, doc: str, words: frozenset[str]) -> float:
        own = _words(self._passages[doc])
        return len(own & words) / (len(own) or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRelevant:
    """The relevant passages that are left: ``row`` of the shelf answers ``query_ids[query]``."""

    query_ids: tuple[str, ...]
    query: NDArray[np.int64]
    row: NDArray[np.int64]
    query_length: NDArray[np.float64]

    def choose(self, aim: _Aim | None, shelf: _Shelf, rng: np.random.Generator) -> tuple[str, str]:
        """Return the query and the document nearest to the lengths; without any, the first of some query."""
        if aim is None:
            at = int(np.argmax(self.query == rng.choice(np.unique(self.query))))
        else:
            far = np.abs(self.query_length[self.query] - _log([aim.query]))
            at = int(np.argmin(far + np.abs(shelf.length[self.row] - _log([aim.good]))))
        return self.query_ids[self.query[at]], shelf.docs[self.row[at]]

    def without(self, query_id: str) -> "_KnownRelevant":
        """Return what is left when a query is used."""
        rest = self.query != self.query_ids.index(query_id)
        return replace(self, query=self.query[rest], row=self.row[rest])


def _known_relevant(
    qrels: Qrels, queries: Mapping[str, str], shelf: _Shelf, *, any_length: bool
) -> _KnownRelevant:
    place = {doc: row for row, doc in enumerate(shelf.docs) if any_length or shelf.long_enough[row]}
    row_of = np.array([place.get(doc, -1) for doc in qrels.docs], dtype=np.int64)
    has_text = np.array([query in queries for query in qrels.queries], dtype=bool)
    judged = np.flatnonzero(qrels.grade >= 1)
    judged = judged[has_text[qrels.query[judged]] & (row_of[qrels.doc[judged]] >= 0)]
    return _KnownRelevant(
        query_ids=qrels.queries,
        query=qrels.query[judged].astype(np.int64),
        row=row_of[qrels.doc[judged]],
        query_length=_log([len(queries.get(query, "")) for query in qrels.queries]),
    )


def _log(lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return lengths on the scale on which they are compared: by their ratio."""
    return np.log1p(np.array(lengths, dtype=np.float64))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def rotate_gold(
    count: int,
    per_hit: int,
    hits: int,
    *,
    rng: np.random.Generator,
    used: Sequence[int] = (),
    queries: Sequence[str] = (),
    taken: Sequence[Collection[str]] = (),
) -> Sequence[tuple[int, ...]]:
    """Deal gold pairs to HITs so that each is used equally often and neighbouring HITs share none.

    Parameters
    ----------
    count : int
        How many gold pairs there are.
    per_hit : int
        How many each HIT hides.
    hits : int
        How many HITs.
    rng : Generator
        Shuffles the gold pairs once; the deal then goes round, so that a worker who takes HITs in turn meets
        ``count // per_hit`` of them before a gold pair returns.
    used : sequence of int, optional
        How many earlier HITs hide each gold pair: those that fewest do come first, so that the deal for HITs
        that are issued again goes on where the last one ended.
    queries, taken : sequence, optional
        For HITs with at most one pair of a query: the query of each gold pair, and those of each HIT's pairs.
        A gold pair whose query the HIT has already waits for a later one, for of two comparisons with one
        query one would be known to be gold. Where all clash, one is taken that does.

    Raises
    ------
    ValueError
        There are fewer gold pairs than a HIT hides.
    """
    if count < per_hit:
        raise ValueError(f"a HIT hides {per_hit} gold pairs, and there are only {count}")
    waiting = [int(gold) for gold in rng.permutation(count)]
    if used:
        waiting.sort(key=lambda gold: used[gold])
    dealt = []
    for hit in range(hits):
        asked = set(taken[hit]) if queries else set()
        drawn: list[int] = []
        for _ in range(per_hit):
            free = (at for at, gold in enumerate(waiting) if not queries or queries[gold] not in asked)
            drawn.append(waiting.pop(next(free, 0)))
            if queries:
                asked.add(queries[drawn[-1]])
        waiting += drawn
        dealt.append(tuple(drawn))
    return dealt

"""Gold pairs: comparisons whose answer is known, and suggestions of them for review by a person."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pools import Pools, candidates_of
from prefjudge.core.runs import Qrels


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPair:
    """A known relevant passage against an obviously off-topic one."""

    query_id: str
    query: str
    """The question."""
    good_id: str
    good: str
    """The passage that answers it."""
    bad_id: str
    bad: str
    """The passage that has nothing to do with it."""
    practice: str = ""
    """Why the answer is so, which makes it a pair to practise on: workers are told, so it never screens."""


def gold_pair(
    query: str, good: str, bad: str, queries: Mapping[str, str], passages: Mapping[str, str]
) -> GoldPair:
    """Return the gold pair of two passages, by their ids, with its texts."""
    texts = {"query": queries[query], "good": passages[good], "bad": passages[bad]}
    return GoldPair(query_id=query, good_id=good, bad_id=bad, **texts)


def rotate_gold(
    count: int,
    per_hit: int,
    hits: int,
    *,
    rng: np.random.Generator,
    used: Sequence[int] = (),
) -> Sequence[tuple[int, ...]]:
    """Deal gold pairs to HITs so that each is used equally often and neighbouring HITs share none."""
    if count < per_hit:
        raise ValueError(f"a HIT hides {per_hit} gold pairs, and there are only {count}")
    waiting = [int(gold) for gold in rng.permutation(count)]
    if used:
        waiting.sort(key=lambda gold: used[gold])
    dealt = []
    for _ in range(hits):
        drawn, waiting = waiting[:per_hit], waiting[per_hit:]
        waiting += drawn
        dealt.append(tuple(drawn))
    return dealt


# Lexical overlap: which passage has more of a question's words, as somebody may choose who reads neither.

_WORD = re.compile(r"\w+")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case; function words are words, too."""
    return frozenset(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """What each of some passages shares with a question."""

    words: NDArray[np.float64]
    """Shape (n,): how many of the question's words."""
    weight: NDArray[np.float64]
    """Shape (n,): the same, each word weighted by its rareness, log(N / n), so that one in every passage
    weighs nothing."""


class OverlapIndex:
    """Which passages hold which words of the questions that will be asked for; other words are not kept."""

    def __init__(self, passages: Sequence[str], queries: Iterable[str]) -> None:
        wanted = frozenset[str]().union(*(words_of(query) for query in queries))
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(passages):
            for word in words_of(text) & wanted:
                rows.setdefault(word, []).append(row)
        self._count = len(passages)
        self._rows = {word: np.array(found, dtype=np.int64) for word, found in rows.items()}

    def overlap(self, query: str) -> Overlap:
        """Return what each passage shares with a question."""
        words, weight = np.zeros(self._count), np.zeros(self._count)
        for word in sorted(words_of(query)):
            if (rows := self._rows.get(word)) is not None:
                words[rows] += 1
                weight[rows] += np.log(self._count / rows.size)
        return Overlap(words=words, weight=weight)


def lexical_success(gold: Sequence[GoldPair], passages: Mapping[str, str]) -> float | None:
    """Return the share of gold pairs that the best choice by words in common with the question gets right.

    It chooses the passage with more of the question's words, or with less, counted or weighted by rareness:
    whichever of the four gets most right. Where both have as many, it throws a coin.
    """
    if not gold:
        return None
    texts = list(dict.fromkeys([*passages.values(), *(text for one in gold for text in (one.good, one.bad))]))
    place = {text: row for row, text in enumerate(texts)}
    index = OverlapIndex(texts, {one.query for one in gold})
    leads = []
    for one in gold:
        found, pair = index.overlap(one.query), [place[one.good], place[one.bad]]
        leads.append([float(np.sign(-np.diff(of[pair])[0])) for of in (found.words, found.weight)])
    return 0.5 + float(np.abs(np.mean(leads, axis=0)).max()) / 2


# Suggestions of gold pairs, for review by a person.

_LOOKED_AT = 40
"""The most passages that are looked at for one that is off-topic …"""
_ALWAYS_LOOKED_AT = 5
"""… and the fewest: of the others only those within a fifth of the length."""
_OFF_TOPIC = 1 / 3
"""The greatest share of the topic's words in a passage for which a query is used again: the passages that
have least in common with it are taken first, and those that are left may be about it."""


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
    passages_each: int = 2,
) -> tuple[GoldPair, ...]:
    """Suggest gold pairs for review: a relevant passage of a query against one that is off-topic.

    For questions of more passages there are as many pairs of each relevant passage as it takes.

    For each suggestion the lengths of a pooled pair are drawn, and a query, a relevant passage and an
    off-topic one are sought that come near them, so that gold pairs look like the others. The relevant
    passage takes after the pair's first passage or its second by a throw of a coin.

    Who chooses the passage with more of the question's words should be right in half of the gold pairs. So
    the off-topic passage has more of them by turns, as far as the passages allow: out of those that do and
    come near in length, it is the one that shares least with the relevant passage. At other turns it is the
    one, out of those nearest in length, that shares the fewest words with the query and with the relevant
    passage. A query is used again only when all were, and only with what is clearly off-topic.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: "between a known relevant passage (i.e., a qrel) and an
    obviously off-topic and non-relevant passage".
    """
    shelf = _Shelf(passages, min_words, rng)
    known = _known_relevant(qrels, queries, shelf, any_length=bool(lengths))
    search = _Search(shelf, known, queries, avoid or {}, rng)
    suggestions: list[GoldPair] = []
    count *= passages_each - 1
    while len(suggestions) < count and (found := search.next_pair(aim := _aim(lengths, rng))):
        query_id, good, bad = found
        every = [bad, *search.more(query_id, good, aim, passages_each - 2)]
        if len(every) == passages_each - 1:
            docs = (shelf.docs[row] for row in every)
            suggestions += [gold_pair(query_id, shelf.docs[good], doc, queries, passages) for doc in docs]
    return tuple(suggestions)


def suggest_decoys(
    pools: Pools,
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    elsewhere: Mapping[str, str],
    count: int,
    *,
    rng: np.random.Generator,
    avoid: Mapping[str, Collection[str]],
) -> tuple[GoldPair, ...]:
    """Give pools a passage from elsewhere, compared with every candidate, until there are so many pairs.

    Who reads the whole study then sees one candidate more, and not a passage that stands in few pairs, or
    under two questions. It is about as long as one of the candidates, and has about as many of the question's
    rare words as that one, but little in common with all of them. Each stands in one pool alone.
    """
    pooled: dict[str, list[str]] = {}
    for query, doc in candidates_of(pools):
        pooled.setdefault(query, []).append(doc)
    pooled = {
        query: docs for query, docs in pooled.items() if query in queries and {*docs} <= passages.keys()
    }
    shelf = _Shelf({**elsewhere, **passages}, 1, rng)
    index = OverlapIndex(shelf.texts, (queries[query] for query in pooled))
    taken, lead = {shelf.row[doc] for doc in passages}, 0.0
    found: list[GoldPair] = []
    for query in (list(pooled)[place] for place in rng.permutation(len(pooled)).tolist()):
        rows = [shelf.row[doc] for doc in pooled[query]]
        banned = taken.union(shelf.row[doc] for doc in avoid.get(query, ()) if doc in shelf.row)
        if len(found) >= count or len(rows) < 2 or len(banned) == len(shelf.docs):
            continue
        weight = index.overlap(queries[query]).weight
        # where the candidates had more of the words so far, a decoy has more of them than most
        like = max(rows, key=weight.__getitem__) if lead > 0 else rows[int(rng.integers(len(rows)))]
        length = len(shelf.texts[like])
        near = shelf.near(_Aim(query=0, good=length, bad=length), banned)
        words = [_content_words(shelf.texts[row]) for row in rows]
        others = [frozenset().union(*words[:at], *words[at + 1 :]) for at in range(len(words))]
        usual = np.mean([*map(_share, words, others)]) + _TINY
        in_common = [
            _share(_content_words(shelf.texts[row]), words[0].union(*words)) for row in near.tolist()
        ]
        apart = np.abs(weight[near] - weight[like]) / (
            np.std(weight[rows]) + np.mean(weight[rows]) / 4 + _TINY
        )
        decoy = int(near[np.argmin(apart + np.array(in_common) / usual)])
        taken.add(decoy)
        lead += float(np.sign(weight[rows] - weight[decoy]).sum())
        texts = {**passages, shelf.docs[decoy]: shelf.texts[decoy]}
        found += [gold_pair(query, doc, shelf.docs[decoy], queries, texts) for doc in pooled[query]]
    return tuple(found)


_TINY = 1e-9


def likely_answers(pools: Pools) -> Qrels:
    """Return the documents that most sources of a pool put there, where there are no qrels; ties stay."""
    votes = np.bincount(pools.source_row, minlength=pools.query.size)
    most = np.zeros(len(pools.queries), dtype=votes.dtype)
    np.maximum.at(most, pools.query, votes)
    rows = np.flatnonzero(votes == most[pools.query])
    return Qrels.all_relevant("pool", pools.queries, pools.docs, pools.query[rows], pools.doc[rows])


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
        self.texts = [passages[doc] for doc in self.docs]
        self.row = {doc: row for row, doc in enumerate(self.docs)}
        self.length = _log([len(text) for text in self.texts])
        self.long_enough = np.array([len(text.split()) >= min_words for text in self.texts], dtype=bool)

    def near(self, aim: _Aim | None, banned: Collection[int]) -> NDArray[np.int64]:
        """Return the passages near a length, the nearest first; without one, all that are long enough."""
        allowed = np.ones(len(self.docs), dtype=bool)
        allowed[list(banned)] = False
        if aim is None:
            return np.flatnonzero(allowed & self.long_enough)
        # In logarithms, so that 1.2 times as long and 1.2 times as short are equally far.
        far = np.where(allowed, np.abs(self.length - _log([aim.bad])), np.inf)
        nearest = np.argsort(far, kind="stable")[: np.count_nonzero(allowed)]
        return nearest[: max(np.count_nonzero(far <= np.log(1.2)), _ALWAYS_LOOKED_AT)]

    def least_like(self, rows: NDArray[np.int64], topic: str, most: float) -> int | None:
        """Return the passage, out of the first of these, with the smallest share of the topic's words.

        None where it is greater than ``most``.
        """
        words = _content_words(topic)

        def shared(row: int) -> float:
            return _share(_content_words(self.texts[row]), words)

        best = min((int(row) for row in rows[:_LOOKED_AT]), key=shared, default=None)
        return None if best is None or shared(best) > most else best


class _Search:
    """The search for gold pairs: what was used, and how often the right passage has more of the words."""

    def __init__(
        self,
        shelf: _Shelf,
        known: _KnownRelevant,
        queries: Mapping[str, str],
        avoid: Mapping[str, frozenset[str]],
        rng: np.random.Generator,
    ) -> None:
        self._shelf, self._known, self._queries, self._rng = shelf, known, queries, rng
        self._left = known
        self._banned = {
            query: {shelf.row[doc] for doc in docs if doc in shelf.row} for query, docs in avoid.items()
        }
        asked = {queries[known.query_ids[query]] for query in known.query.tolist()}
        self._index = OverlapIndex(shelf.texts, asked)
        self._lead = 0.0
        self._most = 1.0

    def next_pair(self, aim: _Aim | None) -> tuple[str, int, int] | None:
        """Return a query, the row of a relevant passage and of an off-topic one; None if there is none."""
        misleads = self._lead > 0 or (self._lead == 0 and self._rng.random() < 0.5)
        found = self._find(aim, self._misleading, _LOOKED_AT) if misleads else None
        found = found or self._find(aim, self._off_topic, None)
        if found is None:
            if self._left is self._known:
                return None
            self._left, self._most = self._known, _OFF_TOPIC  # each query was used: begin again
            return self.next_pair(aim)
        query_id, good, bad = found
        self._left = self._left.without(query_id)
        self._banned.setdefault(query_id, set()).add(bad)
        words = self._index.overlap(self._queries[query_id]).words
        self._lead += float(np.sign(words[good] - words[bad]))
        return found

    def more(self, query_id: str, good: int, aim: _Aim | None, count: int) -> list[int]:
        """Return so many further off-topic passages, or as many as there are."""
        found: list[int] = []
        banned = self._banned[query_id]
        while len(found) < count:
            near = self._shelf.near(aim, {good, *banned})
            bad = self._off_topic(self._queries[query_id], good, near)
            if bad is None:
                break
            banned.add(bad)
            found.append(bad)
        return found

    def _find(
        self,
        aim: _Aim | None,
        bad_of: Callable[[str, int, NDArray[np.int64]], int | None],
        most: int | None,
    ) -> tuple[str, int, int] | None:
        """Return the first of the relevant passages, those near the lengths first, that has a partner."""
        for query_id, good in self._left.nearest(aim, self._shelf, self._rng, most):
            near = self._shelf.near(aim, {good, *self._banned.get(query_id, ())})
            if (bad := bad_of(self._queries[query_id], good, near)) is not None:
                return query_id, good, bad
        return None

    def _misleading(self, query: str, good: int, near: NDArray[np.int64]) -> int | None:
        """Return an off-topic passage with more of the question's words than the relevant one."""
        overlap = self._index.overlap(query)
        ahead = near[overlap.words[near] > overlap.words[good]]
        # Also by rare words, if there is any such passage, and then by as little as possible.
        rare = ahead[overlap.weight[ahead] > overlap.weight[good]]
        some = rare if rare.size else ahead
        closest = some[np.argsort(overlap.weight[some], kind="stable")]
        return self._shelf.least_like(closest, self._shelf.texts[good], self._most)

    def _off_topic(self, query: str, good: int, near: NDArray[np.int64]) -> int | None:
        return self._shelf.least_like(near, f"{query} {self._shelf.texts[good]}", self._most)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRelevant:
    """The relevant passages that are left: ``row`` of the shelf answers ``query_ids[query]``."""

    query_ids: tuple[str, ...]
    query: NDArray[np.int64]
    row: NDArray[np.int64]
    query_length: NDArray[np.float64]

    def nearest(
        self, aim: _Aim | None, shelf: _Shelf, rng: np.random.Generator, most: int | None
    ) -> Iterator[tuple[str, int]]:
        """Yield queries and rows of documents, those nearest to the lengths first; without any, at random."""
        if aim is None:
            order = rng.permutation(self.row.size)
        else:
            far = np.abs(self.query_length[self.query] - _log([aim.query]))
            order = np.argsort(far + np.abs(shelf.length[self.row] - _log([aim.good])), kind="stable")
        for at in order[:most].tolist():
            yield self.query_ids[self.query[at]], int(self.row[at])

    def without(self, query_id: str) -> _KnownRelevant:
        """Return what is left when a query is used."""
        rest = self.query != self.query_ids.index(query_id)
        return replace(self, query=self.query[rest], row=self.row[rest])


def _known_relevant(
    qrels: Qrels, queries: Mapping[str, str], shelf: _Shelf, *, any_length: bool
) -> _KnownRelevant:
    row_of = np.array(
        [
            row if (row := shelf.row.get(doc, -1)) >= 0 and (any_length or shelf.long_enough[row]) else -1
            for doc in qrels.docs
        ],
        dtype=np.int64,
    )
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


def _share(own: frozenset[str], words: frozenset[str]) -> float:
    return len(own & words) / (len(own) or 1)


def _content_words(text: str) -> frozenset[str]:
    """Return the words of three letters or more, which are about something."""
    return frozenset(word for word in words_of(text) if len(word) >= 3)

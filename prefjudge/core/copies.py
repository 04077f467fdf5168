"""Copies: documents of one text, which are one candidate of a query under one id."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, select_judgments, whole_choices
from prefjudge.core.pools import Candidate, Contributions, Pools, find_rows, group_contributions
from prefjudge.core.runs import Codes, Heads, JudgedRanks, Qrels, encode, select_labels

_WORD = re.compile(r"\w+")
_IN_WORDS = bytes(ord(chr(code).lower()) if _WORD.match(chr(code)) else 32 for code in range(128)).ljust(256)
"""What each letter of ASCII is among words: a small letter, or a blank."""


def folded(text: str) -> str:
    """Return a text as its readers see it: a blank for each run of blanks, one form of each letter."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    return " ".join(text.split())


def _words(text: str) -> str:
    """Return the words of a text in lower case, without what stands between them."""
    if text.isascii():
        return b" ".join(text.encode().translate(_IN_WORDS).split()).decode()
    from unicodedata import normalize

    return " ".join(_WORD.findall(normalize("NFKC", text).casefold()))


class Copies:
    """Which documents are copies of each other, for whatever query: groups that share a document are one."""

    def __init__(self, groups: Iterable[Collection[str]] = ()) -> None:
        whole: dict[str, set[str]] = {}
        for group in groups:
            joined = set(group).union(*(whole[doc] for doc in group if doc in whole))
            whole |= dict.fromkeys(joined, joined)
        each = {id(group): group for group in whole.values() if len(group) > 1}
        self.groups = tuple(sorted(tuple(sorted(group)) for group in each.values()))
        self._group = {doc: group for group in self.groups for doc in group}

    def __bool__(self) -> bool:
        return bool(self.groups)

    def __or__(self, other: "Copies") -> "Copies":
        return Copies([*self.groups, *other.groups])

    def about(self, docs: Iterable[str]) -> "Copies":
        """Return the groups that hold one of these documents."""
        held = {group[0]: group for doc in docs if (group := self._group.get(doc))}
        return Copies(held.values())

    def of(self, doc: str) -> tuple[str, ...]:
        """Return a document and its copies, by doc_id."""
        return self._group.get(doc, (doc,))

    def rows(self, docs: Sequence[str], doc: Codes) -> list[int]:
        """Return the rows whose documents have copies."""
        has = np.zeros(len(docs) + 1, bool)  # the last is that of the code -1
        has[encode([*self._group], docs)] = True
        has[-1] = False
        found: list[int] = np.flatnonzero(has[doc]).tolist() if self else []
        return found

    def spread(self, labels: Qrels) -> Qrels:
        """Return labels that list all copies of each labelled document, by query and doc_id."""
        # A copy that has a label of its own keeps it; another has the highest of its copies.
        rows = sorted(self.rows(labels.docs, labels.doc), key=lambda row: float(labels.grade[row]))
        said = {row: (int(labels.query[row]), labels.docs[labels.doc[row]]) for row in rows}
        known = {*said.values()}
        more = {
            (query, copy): row
            for row, (query, doc) in said.items()
            for copy in self.of(doc)
            if (query, copy) not in known
        }
        if not more:
            return labels
        docs = tuple(sorted({*labels.docs, *(doc for _, doc in more)}))
        doc = np.concatenate([encode(labels.docs, docs)[labels.doc], encode([doc for _, doc in more], docs)])
        like = np.concatenate([np.arange(labels.doc.size), list(more.values())])
        order = np.lexsort((doc, labels.query[like]))
        subtopics = labels.subtopics
        return replace(
            labels,
            docs=docs,
            query=labels.query[like[order]],
            doc=doc[order],
            grade=labels.grade[like[order]],
            subtopics=None if subtopics is None else subtopics[like[order]],
        )

    def standing(self, pools: Pools) -> dict[Candidate, str]:
        """Return the candidate that stands for each copy that is none, by query_id and doc_id."""
        members: dict[str, list[str]] = {}
        for row in self.rows(pools.docs, pools.doc):
            members.setdefault(pools.queries[pools.query[row]], []).append(pools.docs[pools.doc[row]])
        return {
            (query, copy): doc
            for query, docs in members.items()
            for doc in reversed(docs)  # the first by doc_id stands where people compared two copies
            for copy in self.of(doc)
            if copy not in docs
        }


NO_COPIES = Copies()


def copies_in(texts: Mapping[str, str], *, near: bool = False) -> Copies:
    """Return which documents have the same text but for blanks, or, if ``near``, the same words."""
    # Texts without any tell nothing: they are no copies of each other.
    begins: dict[tuple[str, ...], list[str]] = {}
    for doc, text in texts.items():  # few texts begin alike, and only these are looked at whole
        words = () if near else tuple(text.split(None, 3)[:3])
        begins.setdefault(words if text.isascii() else tuple(map(folded, words)), []).append(doc)
    same: list[list[str]] = []
    for docs in begins.values():
        by_text: dict[str, list[str]] = {}
        for doc in docs if len(docs) > 1 else ():
            by_text.setdefault(_words(texts[doc]) if near else folded(texts[doc]), []).append(doc)
        by_text.pop("", None)
        same += by_text.values()
    return Copies(group for group in same if len(group) > 1)


def merge_copies(
    pools: Pools, copies: Copies, qrels: Qrels | None = None, *, kept: Collection[Candidate] = ()
) -> tuple[Pools, dict[Candidate, str]]:
    """Make the copies in a pool one candidate; return the pools, and what gave way to which candidate."""
    # The copy with the highest label stands for all; of several, the one that the qrels brought into the
    # pool, then the one that most runs have, then the first by doc_id.
    groups: dict[Candidate, dict[str, int]] = {}
    for row in copies.rows(pools.docs, pools.doc):
        query, doc = pools.queries[pools.query[row]], pools.docs[pools.doc[row]]
        groups.setdefault((query, copies.of(doc)[0]), {})[doc] = row
    stays: dict[Candidate, list[str]] = {}
    for query, doc in kept:
        if (query, copies.of(doc)[0]) in groups:
            stays.setdefault((query, copies.of(doc)[0]), []).append(doc)
    labels = _labels(qrels, copies) if qrels and groups else {}
    by_qrels = pools.source == (
        pools.sources.index(qrels.name) if qrels and qrels.name in pools.sources else -1
    )
    runs = np.bincount(pools.source_row[~by_qrels], minlength=pools.query.size).tolist()
    labelled = set(pools.source_row[by_qrels].tolist())
    replaced: dict[Candidate, str] = {}
    for (query, name), rows in groups.items():
        stay = stays.get((query, name), [])

        def rank(doc: str, query: str = query, rows: dict[str, int] = rows) -> tuple[float, bool, int, str]:
            row = rows.get(doc)
            have = 0 if row is None else runs[row]
            return -labels.get((query, doc), 0.0), row not in labelled, -have, doc

        best = min(stay or rows, key=rank)
        replaced |= {(query, doc): best for doc in rows if doc != best and doc not in stay}
    if not replaced:
        return pools, replaced
    docs, doc = _with(replaced, pools.queries, pools.query, pools.docs, pools.doc)
    by = pools.source_row
    added = Contributions.of_rows(docs, pools.query[by], doc[by], pools.source)
    merged = group_contributions(pools.queries, pools.sources, [added])
    pairs = np.unique(merged.source_row.astype(np.int64) << 32 | merged.source)  # a run may have two copies
    halves = [half.astype(np.int32) for half in (pairs >> 32, pairs & 0xFFFF_FFFF)]
    return replace(merged, source_row=halves[0], source=halves[1]), replaced


def heads_of_candidates(heads: Heads, replaced: Mapping[Candidate, str]) -> Heads:
    """Return heads whose copies are called by the candidate that stands for them."""
    docs, doc = _with(replaced, heads.queries, heads.query, heads.docs, heads.doc)
    return replace(heads, docs=docs, doc=doc)


def labels_of_candidates(qrels: Qrels, replaced: Mapping[Candidate, str]) -> Qrels:
    """Return labels whose copies have the id of their candidate; the highest label counts."""
    docs, doc = _with(replaced, qrels.queries, qrels.query, qrels.docs, qrels.doc)
    if docs is qrels.docs and doc is qrels.doc:
        return qrels
    key = qrels.query.astype(np.int64) * len(docs) + doc
    order = np.lexsort((np.arange(key.size), -qrels.grade, key))
    _, first = np.unique(key[order], return_index=True)
    keep = np.zeros(key.size, bool)
    keep[order[first]] = True
    return select_labels(replace(qrels, docs=docs, doc=doc), keep)


def ranks_of_candidates(
    ranks: Sequence[JudgedRanks], wide: Qrels, documents: Qrels, copies: Copies
) -> list[JudgedRanks]:
    """Return where runs placed documents, their copies counted in: the best place counts."""
    row = find_rows(documents, wide.queries, wide.docs, wide.query, wide.doc)
    place = {
        (int(documents.query[one]), copy): one
        for one in reversed(copies.rows(documents.docs, documents.doc))
        for copy in copies.of(documents.docs[documents.doc[one]])
    }
    for one in np.flatnonzero(row < 0).tolist():
        row[one] = place[int(wide.query[one]), wide.docs[wide.doc[one]]]
    found = []
    for placed in ranks:
        target = row[placed.judged]
        by = np.lexsort((placed.position, target))
        _, first = np.unique(target[by], return_index=True)
        best = np.sort(by[first])
        columns = {
            name: getattr(placed, name)[best] for name in ("query", "position", "best", "worst", "grade")
        }
        found.append(replace(placed, judged=target[best].astype(np.int32), **columns))
    return found


# Passages in another collection, such as a newer version: it has other ids for the same texts.


class Carried(StrEnum):
    """How a passage was found in another collection."""

    TEXT = "same text"
    """One text there is the same, but for blanks."""
    WORDS = "same words"
    """One text there has the same words."""
    INSIDE = "inside"
    """One text there, and no other, holds all its words in a row."""
    SEVERAL = "several"
    """Different texts there have its words, or hold them: nobody can say which it is."""
    NONE = "nowhere"


_MOST_FOUND = 100
"""Of more documents that hold a passage the others are not kept: it is found in several."""
_LEAST_WORDS = 8
"""Fewer words in a row stand in a document by chance."""


class Carrier:
    """Finds passages among the texts of another collection, which it is shown one by one.

    It keeps the passages, and of the collection the ids that fit them.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._words = {doc: words for doc, text in texts.items() if (words := _words(text))}
        self._texts = {doc: hash(folded(texts[doc])) for doc in self._words}
        self._same = {words: defaultdict[int, list[str]](list) for words in self._words.values()}
        self._inside = {words: defaultdict[int, list[str]](list) for words in self._same}
        # A passage is looked for where two words stand that seldom stand together.
        counts = Counter(word for words in self._same for word in set(words.split()))
        self._by_pair: dict[tuple[str, str], list[str]] = defaultdict(list)
        for words in self._same:
            if len(each := words.split()) >= _LEAST_WORDS:
                self._by_pair[min(pairwise(each), key=lambda two: counts[two[0]] * counts[two[1]])].append(
                    words
                )
        self._pairs = frozenset(self._by_pair)

    def look(self, doc: str, text: str) -> None:
        """Look at a text of the other collection."""
        words = _words(text)
        found = [self._same[words]] if words in self._same else []
        each = words.split()
        for pair in self._pairs.intersection(pairwise(each)):
            for inner in self._by_pair[pair]:
                if len(inner) < len(words) and f" {inner} " in f" {words} ":
                    found.append(self._inside[inner])
        for places in found:
            if sum(map(len, places.values())) < _MOST_FOUND:
                places[hash(folded(text))].append(doc)

    def found(self, doc: str) -> tuple[Carried, tuple[str, ...]]:
        """Return how a passage was found, and where: copies of one text are one."""
        if (words := self._words.get(doc)) is None:
            return Carried.NONE, ()
        same, inside, own = self._same[words], self._inside[words], self._texts[doc]
        alike = {own: same[own]} if own in same else same
        how = (Carried.TEXT if own in same else Carried.WORDS) if same else Carried.INSIDE
        texts = alike or inside
        docs = tuple(sorted({name for names in texts.values() for name in names}))
        if len(texts) > 1 or len(docs) >= _MOST_FOUND:
            how = Carried.SEVERAL
        return (how if docs else Carried.NONE), docs


def carry_labels(qrels: Qrels, places: Mapping[str, Sequence[str]]) -> Qrels:
    """Return labels with the ids that passages have elsewhere; where two meet, the higher one counts."""
    best: dict[tuple[int, str], int] = {}
    for row, (query, doc) in enumerate(zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True)):
        for place in places.get(qrels.docs[doc], ()):
            if qrels.grade[best.setdefault((query, place), row)] < qrels.grade[row]:
                best[query, place] = row
    docs = tuple(sorted({doc for _, doc in best}))
    like = np.array([*best.values()], dtype=np.int64)
    doc = encode([doc for _, doc in best], docs)
    return replace(qrels, docs=docs, query=qrels.query[like], doc=doc, grade=qrels.grade[like])


def contradicting(qrels: Qrels, places: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the queries and new ids where labels meet that differ: `carry_labels` takes the higher one."""
    met: dict[tuple[str, str], set[float]] = {}
    columns = (qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist())
    for query, doc, grade in zip(*columns, strict=True):
        for place in places.get(qrels.docs[doc], ()):
            met.setdefault((qrels.queries[query], place), set()).add(grade)
    return [where for where, grades in met.items() if len(grades) > 1]


def carry_votes(log: Judgments, places: Mapping[str, Sequence[str]]) -> Judgments:
    """Return the judgments whose two passages stand elsewhere in two; of copies the first by id stands."""
    docs = tuple(sorted({found[0] for doc in log.docs if (found := places.get(doc))}))
    code = encode([places[doc][0] if places.get(doc) else "" for doc in log.docs], docs)
    moved = replace(log, docs=docs, left=code[log.left], right=code[log.right])
    there = (moved.left >= 0) & (moved.right >= 0) & (moved.left != moved.right)
    return select_judgments(moved, whole_choices(moved, there))


def _labels(qrels: Qrels, copies: Copies) -> dict[Candidate, float]:
    """Return the labels of documents that have copies, from grade 1 on."""
    rows = copies.rows(qrels.docs, qrels.doc)
    return {
        (qrels.queries[qrels.query[row]], qrels.docs[qrels.doc[row]]): float(qrels.grade[row])
        for row in rows
        if qrels.grade[row] >= 1
    }


def _with(
    replaced: Mapping[Candidate, str], queries: Sequence[str], query: Codes, docs: Sequence[str], doc: Codes
) -> tuple[Sequence[str], Codes]:
    """Return a vocabulary and rows in which candidates stand for their copies."""
    has = np.zeros(len(docs) + 1, bool)
    has[encode([name for _, name in replaced], docs)] = True
    has[-1] = False
    moved: dict[int, str] = {}
    for row in np.flatnonzero(has[doc]).tolist():
        to = replaced.get((queries[query[row]], docs[doc[row]]))
        if to is not None:
            moved[row] = to
    if not moved:
        return docs, doc
    names = tuple(dict.fromkeys(moved.values()))
    code = encode(names, docs)
    new = [name for name, known in zip(names, code.tolist(), strict=True) if known < 0]
    if new:
        docs = (*docs, *new)
        code = encode(names, docs)
    at: dict[str, int] = dict(zip(names, code.tolist(), strict=True))
    changed: NDArray[np.int32] = doc.copy()
    changed[list(moved)] = [at[name] for name in moved.values()]
    return docs, changed

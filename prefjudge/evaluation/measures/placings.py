"""Placings: where a run placed the judged documents and pairs; every measure computes from them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.copies import Copies, ranks_of_candidates
from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import find_rows
from prefjudge.core.runs import JudgedRanks, Qrels, encode
from prefjudge.errors import InputError
from prefjudge.words import many

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placings:
    """The judged documents that a run retrieved, sorted by query and then by position."""

    queries: int
    """How many judged queries there are; every result has this length."""
    query: Integers
    position: Integers
    """Shape (n,): the query's code and the place in the ranking, from 1."""
    grade: Floats
    """Shape (n,): the label."""
    retrieved: Integers
    """Shape (queries,): how many documents the run returned."""
    subtopics: NDArray[np.uint64] | None = None
    """Shape (n,): as of the qrels."""
    by_id: Integers | None = None
    """Shape (n,): with subtopics, the documents' order by doc_id: what breaks ties of the ideal ranking."""

    def total(self, weights: Floats) -> Floats:
        """Sum one number per document within each query."""
        return np.bincount(self.query, weights=weights, minlength=self.queries).astype(np.float64, copy=False)

    def where(self, keep: NDArray[np.bool_]) -> "Placings":
        """Return only the documents marked in ``keep``."""
        return self._take(np.flatnonzero(keep), self.position)

    def _take(self, rows: Integers, position: Integers) -> "Placings":
        """Return the documents of these rows, at other positions."""
        return replace(
            self,
            query=self.query[rows],
            position=position[rows],
            grade=self.grade[rows],
            subtopics=None if self.subtopics is None else self.subtopics[rows],
            by_id=None if self.by_id is None else self.by_id[rows],
        )

    def up_to(self, cutoff: int | None) -> "Placings":
        """Return only the documents within the first ``cutoff`` places."""
        return self if cutoff is None else self.where(self.position <= cutoff)

    def graded(self, grade: Floats) -> "Placings":
        """Return the same documents with other grades."""
        return replace(self, grade=grade)

    def condensed(self) -> "Placings":
        """Return the ranking without the documents that have no label, or a negative one, as in trec_eval."""
        kept = self.where(self.grade >= 0)
        judged = np.bincount(kept.query, minlength=self.queries)
        return replace(kept, position=number_in_group(kept.query), retrieved=judged)

    def best_first(self) -> "Placings":
        """Return the same documents by grade, the greatest of each query first."""
        rows = np.lexsort((-self.grade, self.query))
        position = np.empty_like(self.position)
        position[rows] = number_in_group(self.query[rows])
        return self.ranked(position)

    def ranked(self, position: Integers) -> "Placings":
        """Return the documents at these positions, in their order; without those at 0."""
        rows = np.lexsort((position, self.query))
        return self._take(rows[position[rows] > 0], position)

    def number(self) -> Integers:
        """Return each document's number within its query, from 1."""
        return number_in_group(self.query)

    def before(self, weights: Floats) -> Floats:
        """Sum one number per document over the documents that stand before it in its query."""
        # Sums over all queries, less what had been summed where the query starts.
        running = np.cumsum(weights) - weights
        first = np.searchsorted(self.query, self.query)
        return running - running[first] if running.size else running


def number_in_group(group: NDArray[np.integer]) -> Integers:
    """Return each row's number within its group, from 1; equal groups are contiguous."""
    if not group.size:
        return np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    sizes = np.diff(np.r_[starts, group.size])
    return np.arange(1, group.size + 1) - np.repeat(starts, sizes)


def placings(ranks: JudgedRanks, qrels: Qrels) -> Placings:
    """Return the judged documents of a run in ranking order."""
    rows = np.lexsort((ranks.position, ranks.query))
    return Placings(
        queries=len(qrels.queries),
        query=ranks.query[rows].astype(np.int64),
        position=ranks.position[rows].astype(np.int64),
        grade=ranks.grade[rows].astype(np.float64),
        retrieved=ranks.retrieved.astype(np.int64),
        subtopics=None if qrels.subtopics is None else qrels.subtopics[ranks.judged[rows]],
    )


def ideal_placings(qrels: Qrels) -> Placings:
    """Return the qrels as the best possible run: grade descending, then as the file lists them."""
    rows = np.lexsort((-qrels.grade, qrels.query))
    query = qrels.query[rows].astype(np.int64)
    ideal = Placings(
        queries=len(qrels.queries),
        query=query,
        position=number_in_group(query),
        grade=qrels.grade[rows].astype(np.float64),
        retrieved=np.bincount(query, minlength=len(qrels.queries)),
    )
    if qrels.subtopics is None:
        return ideal
    order = np.empty(len(qrels.docs), dtype=np.int64)
    order[np.argsort(np.array(list(qrels.docs), dtype=object))] = np.arange(len(qrels.docs))
    return replace(ideal, subtopics=qrels.subtopics[rows], by_id=order[qrels.doc[rows]])


def ratio(numerator: Floats, denominator: NDArray[np.floating] | NDArray[np.integer]) -> Floats:
    """Divide, with 0 where there is nothing to divide by."""
    out = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


# Judged pairs: what the judges preferred, tied to where a run placed the two documents.

NOWHERE = np.iinfo(np.int32).max
"""The position of a document that a run did not retrieve: below every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPairs:
    """All judged pairs, one row a pair, with the votes for either document."""

    documents: Qrels
    """Every document that was compared, one row per (query, document), grade 1. Runs are ranked against
    it."""
    query: Integers
    """Shape (pairs,): code into ``documents.queries``."""
    preferred: Integers
    other: Integers
    """Shape (pairs,): rows of ``documents``: the document with more votes, and the one with fewer. In a tied
    pair the order means nothing."""
    votes_for: Integers
    votes_against: Integers
    """Shape (pairs,): the votes for the preferred document, and for the other; tied votes count for
    neither."""

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether one document of the pair has more votes."""
        return self.votes_for > self.votes_against


def compared_pairs(judgments: Judgments) -> ComparedPairs:
    """Count the votes on every judged pair."""
    width = max(len(judgments.docs), 1)
    judged, query = np.unique(judgments.query, return_inverse=True)
    sides = np.stack([query * width + judgments.left, query * width + judgments.right])
    keys, rows = np.unique(sides, return_inverse=True)
    left, right = rows.reshape(sides.shape)
    real = left != right
    # The same pair whichever side it was shown on: its lower row and its higher row, as one integer.
    low, high = np.minimum(left, right)[real], np.maximum(left, right)[real]
    pair, number = np.unique(low * max(keys.size, 1) + high, return_inverse=True)
    for_low = np.where(left[real] < right[real], judgments.choice[real], -judgments.choice[real])
    votes_low = np.bincount(number[for_low > 0], minlength=pair.size)
    votes_high = np.bincount(number[for_low < 0], minlength=pair.size)
    first, second = np.divmod(pair, max(keys.size, 1))
    swapped = votes_high > votes_low
    queries = tuple(judgments.queries[code] for code in judged)
    of_query, doc = (keys // width).astype(np.int32), (keys % width).astype(np.int32)
    documents = Qrels.all_relevant("judgments", queries, judgments.docs, of_query, doc)
    return ComparedPairs(
        documents=documents,
        query=documents.query.astype(np.int64)[first],
        preferred=np.where(swapped, second, first),
        other=np.where(swapped, first, second),
        votes_for=np.maximum(votes_low, votes_high),
        votes_against=np.minimum(votes_low, votes_high),
    )


def positions(ranks: JudgedRanks, documents: Qrels) -> Integers:
    """Return the position of every row of ``documents``, :data:`NOWHERE` for one that was not retrieved."""
    places = np.full(documents.query.size, NOWHERE, dtype=np.int64)
    places[ranks.judged] = ranks.position
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where runs placed candidates: each has the best place of its copies."""

    documents: Qrels
    """The candidates."""
    ranks: list[JudgedRanks]
    """Where the runs placed them."""
    _wide: Qrels
    _wide_ranks: Sequence[JudgedRanks]
    _copies: Copies

    def under(self, labels: Qrels) -> list[JudgedRanks]:
        """Return where the runs placed what preference qrels label: all copies of the answers."""
        return relabel(self._wide_ranks, self._wide, self.labels(labels))

    def labels(self, labels: Qrels) -> Qrels:
        """Return preference qrels with all copies of the answers."""
        return self._copies.spread(labels)


def place_candidates(
    documents: Qrels, copies: Copies, judged: Callable[[Qrels], Sequence[JudgedRanks]]
) -> Placed:
    """Return where runs place candidates and their copies; ``judged`` ranks documents in the runs."""
    wide = copies.spread(documents)
    found = judged(wide)
    ranks = list(found) if wide is documents else ranks_of_candidates(found, wide, documents, copies)
    return Placed(documents=documents, ranks=ranks, _wide=wide, _wide_ranks=found, _copies=copies)


def union_documents(sets: Sequence[Qrels]) -> Qrels:
    """Return every document that some of the label sets labels, with grade 1: one look-up serves them all."""
    queries = tuple(dict.fromkeys(query for labels in sets for query in labels.queries))
    docs = tuple(dict.fromkeys(doc for labels in sets for doc in labels.docs))
    width = max(len(docs), 1)
    keys = [
        encode(labels.queries, queries).astype(np.int64)[labels.query] * width
        + encode(labels.docs, docs)[labels.doc]
        for labels in sets
    ]
    rows = np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    name = " and ".join(dict.fromkeys(labels.name for labels in sets))
    query, doc = (rows // width).astype(np.int32), (rows % width).astype(np.int32)
    return Qrels.all_relevant(name, queries, docs, query, doc)


def relabel(ranks: Sequence[JudgedRanks], documents: Qrels, qrels: Qrels) -> list[JudgedRanks]:
    """Turn ranks of many documents into ranks under other labels on them, without reading the runs again."""
    source = encode(qrels.queries, documents.queries).astype(np.int64)
    at = find_rows(documents, qrels.queries, qrels.docs, qrels.query, qrels.doc)
    unknown = np.flatnonzero(at < 0)
    if unknown.size:
        query, doc = qrels.queries[qrels.query[unknown[0]]], qrels.docs[qrels.doc[unknown[0]]]
        raise InputError(
            f"the qrels {qrels.name!r} label {many(unknown.size, 'document')} that the runs were not ranked "
            f"against, such as {doc} of query {query}",
            "Rank the runs against all documents that can be labelled.",
        )
    target = np.full(documents.query.size, -1, dtype=np.int32)
    target[at] = np.arange(at.size, dtype=np.int32)
    relabelled = []
    for placed in ranks:
        row = target[placed.judged]
        keep = row >= 0
        # Queries that the runs were not ranked on are -1: `maximum` keeps them from reading the last row.
        retrieved = np.where(source >= 0, placed.retrieved[np.maximum(source, 0)], 0).astype(np.int32)
        relabelled.append(
            JudgedRanks(
                run=placed.run,
                query=qrels.query[row[keep]],
                judged=row[keep],
                position=placed.position[keep],
                best=placed.best[keep],
                worst=placed.worst[keep],
                grade=qrels.grade[row[keep]],
                retrieved=retrieved,
                order=placed.order,
            )
        )
    return relabelled


# The parameters of measures: what each takes, and what it is where it is not given.

Parameter = float | str | bool
Parameters = Mapping[str, Parameter]
"""The parameters of a measure, each with its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A parameter that is a number: what it is where it is not given, and its bounds."""

    default: float
    low: float = -inf
    high: float = inf
    """The bounds; infinite where there is none."""
    open: bool = False
    """Whether the bounds themselves are excluded."""
    required: bool = False
    """Whether it must be given, as no default would fit."""

    def takes(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        if self.open:
            return self.low < number < self.high
        return self.low <= number <= self.high and abs(number) < inf

    def __str__(self) -> str:
        """Say what the parameter takes."""
        both = ", both excluded" if self.open else ""
        if self.low == -inf and self.high == inf:
            return "a number"
        if self.high == inf:
            return f"a number above {self.low:g}" if self.open else f"a number of {self.low:g} or more"
        return f"a number between {self.low:g} and {self.high:g}{both}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A parameter that is one of a few words."""

    default: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return " or ".join(f"'{word}'" for word in self.words)


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter that is True or False, and False where it is not given."""

    default: bool = False

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return "True or False"


@dataclass(frozen=True, slots=True)
class GainTable:
    """A parameter that says what each grade is worth: ``{1:3,2:7}``. Other grades stay as they are."""

    default: str = "{}"

    def read(self, text: str) -> str | None:
        """Return a table as measures print it, without grades that stay; None where it is not a table."""
        pairs = [pair.split(":") for pair in text.strip("{}").split(",") if pair]
        try:
            table = {float(grade): float(gain) for grade, gain in pairs}
        except ValueError:
            return None
        if not re.fullmatch(r"\{.*\}", text) or not np.isfinite([*table, *table.values()]).all():
            return None
        changed = [f"{grade:g}:{gain:g}" for grade, gain in sorted(table.items()) if gain != grade]
        return f"{{{','.join(changed)}}}"

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return "the gain of each grade, such as {1:3,2:7}"


Takes = Number | Choice | Flag | GainTable
"""What a parameter may be."""


def gains_of(grades: Floats, parameters: Parameters) -> Floats:
    """Return what the parameter ``gains`` makes of grades; the grades themselves where it is not given."""
    pairs = [pair.split(":") for pair in str(parameters.get("gains", "{}")).strip("{}").split(",") if pair]
    worth = grades.copy()
    for grade, gain in pairs:
        worth[grades == float(grade)] = float(gain)
    return worth

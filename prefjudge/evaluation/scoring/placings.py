"""Judged documents in ranking order: the view of a run that every measure computes from."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placings:
    """The judged documents that a run retrieved, sorted by query and then by position.

    Attributes
    ----------
    queries : int
        How many judged queries there are; every result has this length.
    query, position : ndarray of int64, shape (n,)
        The query's code and the place in the ranking, from 1.
    grade : ndarray of float64, shape (n,)
        The label.
    retrieved : ndarray of int64, shape (queries,)
        How many documents the run returned.
    subtopics : ndarray of uint64, shape (n,), optional
        As of the qrels.
    by_id : ndarray of int64, shape (n,), optional
        With subtopics, the documents' order by doc_id: what breaks ties of the ideal ranking.
    """

    queries: int
    query: Integers
    position: Integers
    grade: Floats
    retrieved: Integers
    subtopics: NDArray[np.uint64] | None = None
    by_id: Integers | None = None

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

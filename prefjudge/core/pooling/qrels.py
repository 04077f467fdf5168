"""Qrels: the judged documents of each query, and where a run placed them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes, Heads, Order, heads_of

MOST_SUBTOPICS = 64
"""Of one query, as many as a number has bits; the Web Track's have 3 to 12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qrels:
    """Judged documents: one row per (query, document), in the file's order.

    Attributes
    ----------
    name : str
        What the leaderboard calls this set: ``nist``, ``preference``.
    queries : tuple of str
    docs : sequence of str
        The vocabularies. Every query here is judged: it counts in the denominator of a mean.
    query, doc : ndarray of int32, shape (n,)
        Codes into ``queries`` and ``docs``.
    grade : ndarray of float64, shape (n,)
        The label: 0 is judged and not relevant; fractions and negatives are legal. Of judgments of subtopics
        it is the greatest.
    subtopics : ndarray of uint64, shape (n,), optional
        Which subtopics of its query the document is relevant to, a bit for each; None where the source does
        not tell subtopics apart.
    """

    name: str
    queries: tuple[str, ...]
    docs: Sequence[str]
    query: Codes
    doc: Codes
    grade: NDArray[np.float64]
    subtopics: NDArray[np.uint64] | None = None


def select_labels(qrels: Qrels, rows: NDArray[np.bool_]) -> Qrels:
    """Return the labels that ``rows`` flags, with the same vocabularies."""
    return replace(
        qrels,
        query=qrels.query[rows],
        doc=qrels.doc[rows],
        grade=qrels.grade[rows],
        subtopics=None if qrels.subtopics is None else qrels.subtopics[rows],
    )


def number_subtopics(query: Codes, name: Codes) -> NDArray[np.int64] | None:
    """Number the subtopics within each query, from 0; None where some query has more than `MOST_SUBTOPICS`.

    Parameters
    ----------
    query, name : ndarray of int32, shape (n,)
        The query of each judgment, and a code for what its subtopic is called.
    """
    width = int(name.max(initial=0)) + 1
    each, row = np.unique(query.astype(np.int64) * width + name, return_inverse=True)
    of = each // width
    number = np.arange(each.size) - np.searchsorted(of, of)
    return None if number.max(initial=0) >= MOST_SUBTOPICS else number[row]


def with_subtopics(judged: Qrels, subtopic: NDArray[np.int64]) -> Qrels:
    """Return one row for each document of judgments of subtopics, where it first comes.

    Parameters
    ----------
    judged : Qrels
        A row for each document and subtopic.
    subtopic : ndarray of int64, shape (n,)
        The subtopic of each row, numbered within its query from 0, below `MOST_SUBTOPICS`.
    """
    key = judged.query.astype(np.int64) * len(judged.docs) + judged.doc
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    grade, subtopics = judged.grade[first], np.zeros(first.size, dtype=np.uint64)
    np.maximum.at(grade, row, judged.grade)
    bit = np.uint64(1) << subtopic.astype(np.uint64)
    np.bitwise_or.at(subtopics, row, np.where(judged.grade >= 1, bit, np.uint64(0)))
    order = np.argsort(first)
    kept = first[order]
    return replace(
        judged,
        query=judged.query[kept],
        doc=judged.doc[kept],
        grade=grade[order],
        subtopics=subtopics[order],
    )


def restrict(qrels: Qrels, queries: Collection[str]) -> Qrels:
    """Return the qrels of the given queries only, in the order of ``qrels``."""
    wanted = set(queries)
    keep = np.array([query in wanted for query in qrels.queries], dtype=bool)
    rows = keep[qrels.query]
    code = (np.cumsum(keep) - 1).astype(np.int32)
    kept = select_labels(qrels, rows)
    return replace(
        kept, queries=tuple(query for query in qrels.queries if query in wanted), query=code[kept.query]
    )


def restrict_documents(qrels: Qrels, docs: Collection[str]) -> Qrels:
    """Return the qrels without the rows of other documents than ``docs``; the judged queries stay."""
    wanted = set(docs)
    rows = np.array([doc in wanted for doc in qrels.docs], dtype=bool)[qrels.doc]
    return select_labels(qrels, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRanks:
    """Where one run placed the judged documents: all that a measure needs to know of a run.

    One row per judged document that the run retrieved. Documents of the same query that share a score occupy
    a span of positions; ``best`` and ``worst`` are its ends, so the effect of ties can be bounded.

    Attributes
    ----------
    run : str
        The run tag.
    query : ndarray of int32, shape (n,)
        Code into the qrels' ``queries``.
    judged : ndarray of int32, shape (n,)
        The row of the qrels that this document is.
    position, best, worst : ndarray of int32, shape (n,)
        The place in the ranking, from 1, and the ends of its span of tied scores.
    grade : ndarray of float64, shape (n,)
        The label of the document.
    retrieved : ndarray of int32, shape (len(qrels.queries),)
        How many documents the run returned for each judged query; 0 where it missed the query.
    order : Order
        The ordering that produced ``position``.
    """

    run: str
    query: Codes
    judged: Codes
    position: Codes
    best: Codes
    worst: Codes
    grade: NDArray[np.float64]
    retrieved: Codes
    order: Order


def heads_of_judged(ranks: Sequence[JudgedRanks], qrels: Qrels) -> Heads | None:
    """Return the first document of each judged query of each run, where all of them are judged.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        Where the runs placed the documents of ``qrels``.
    qrels : Qrels

    Returns
    -------
    Heads or None
        One document a list. None if some run begins with a document that is not judged: then the runs tell.
    """
    tops = [placed.position == 1 for placed in ranks]
    if any(top.sum() != np.count_nonzero(one.retrieved) for top, one in zip(tops, ranks, strict=True)):
        return None
    query, judged = (
        np.concatenate([column[top] for column, top in zip(columns, tops, strict=True)])
        if tops
        else np.zeros(0, np.int32)
        for columns in ([one.query for one in ranks], [one.judged for one in ranks])
    )
    answered = np.unique(query)
    return heads_of(
        tuple(one.run for one in ranks),
        tuple(qrels.queries[code] for code in answered.tolist()),
        qrels.docs,
        run=np.repeat(np.arange(len(tops), dtype=np.int32), [int(top.sum()) for top in tops]),
        query=np.searchsorted(answered, query).astype(np.int32),
        doc=qrels.doc[judged],
        order=ranks[0].order if ranks else Order.SCORE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One measure of many runs: the query x run matrix that all statistics work on.

    Attributes
    ----------
    measure, qrels : str
        The measure's canonical name (``RR@10``) and the name of the qrels.
    queries, runs : tuple of str
        What the rows and the columns are.
    values : ndarray of float64, shape (len(queries), len(runs))
        The score of each query under each run. A query that a run missed has 0.
    order : Order
        The ordering that ranked the documents.
    """

    measure: str
    qrels: str
    queries: tuple[str, ...]
    runs: tuple[str, ...]
    values: NDArray[np.float64]
    order: Order

    def where(self, keep: NDArray[np.bool_]) -> "Scores":
        """Return the scores of the queries marked in ``keep`` only."""
        queries = tuple(self.queries[row] for row in np.flatnonzero(keep))
        return replace(self, queries=queries, values=self.values[keep])

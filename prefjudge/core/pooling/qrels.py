"""Qrels: the judged documents of each query, and where a run placed them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes, Order


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
        The label: 0 is judged and not relevant; fractions and negatives are legal.
    """

    name: str
    queries: tuple[str, ...]
    docs: Sequence[str]
    query: Codes
    doc: Codes
    grade: NDArray[np.float64]


def restrict(qrels: Qrels, queries: Collection[str]) -> Qrels:
    """Return the qrels of the given queries only, in the order of ``qrels``."""
    wanted = set(queries)
    keep = np.array([query in wanted for query in qrels.queries], dtype=bool)
    rows = keep[qrels.query]
    code = (np.cumsum(keep) - 1).astype(np.int32)
    return replace(
        qrels,
        queries=tuple(query for query in qrels.queries if query in wanted),
        query=code[qrels.query[rows]],
        doc=qrels.doc[rows],
        grade=qrels.grade[rows],
    )


def restrict_documents(qrels: Qrels, docs: Collection[str]) -> Qrels:
    """Return the qrels without the rows of other documents than ``docs``; the judged queries stay."""
    wanted = set(docs)
    rows = np.array([doc in wanted for doc in qrels.docs], dtype=bool)[qrels.doc]
    return replace(qrels, query=qrels.query[rows], doc=qrels.doc[rows], grade=qrels.grade[rows])


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

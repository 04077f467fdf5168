"""Judged pairs: what the judges preferred, tied to where a run placed the two documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.copies import Copies, ranks_of_candidates
from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Codes, encode
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.placings import Integers

NOWHERE = np.iinfo(np.int32).max
"""The position of a document that a run did not retrieve: below every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPairs:
    """All judged pairs, one row a pair, with the votes for either document.

    Attributes
    ----------
    documents : Qrels
        Every document that was compared, one row per (query, document), grade 1. Runs are ranked against it.
    query : ndarray of int64, shape (pairs,)
        Code into ``documents.queries``.
    preferred, other : ndarray of int64, shape (pairs,)
        Rows of ``documents``: the document with more votes, and the one with fewer. In a tied pair the order
        means nothing.
    votes_for, votes_against : ndarray of int64, shape (pairs,)
        The votes for the preferred document, and for the other; tied votes count for neither.
    """

    documents: Qrels
    query: Integers
    preferred: Integers
    other: Integers
    votes_for: Integers
    votes_against: Integers

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether one document of the pair has more votes."""
        return self.votes_for > self.votes_against


def compared_pairs(judgments: Judgments) -> ComparedPairs:
    """Count the votes on every judged pair.

    Parameters
    ----------
    judgments : Judgments
        The votes. A document compared with itself is left out.

    Returns
    -------
    ComparedPairs
        Sorted by query, then by document. Only queries with a judgment are in ``documents.queries``.
    """
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
    documents = Qrels(
        name="judgments",
        queries=tuple(judgments.queries[code] for code in judged),
        docs=judgments.docs,
        query=(keys // width).astype(np.int32),
        doc=(keys % width).astype(np.int32),
        grade=np.ones(keys.size),
    )
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
    """Where runs placed candidates: each has the best place of its copies.

    Attributes
    ----------
    documents : Qrels
        The candidates.
    ranks : list of JudgedRanks
        Where the runs placed them.
    """

    documents: Qrels
    ranks: list[JudgedRanks]
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
    return Qrels(
        name=" and ".join(dict.fromkeys(labels.name for labels in sets)),
        queries=queries,
        docs=docs,
        query=(rows // width).astype(np.int32),
        doc=(rows % width).astype(np.int32),
        grade=np.ones(rows.size),
    )


def relabel(ranks: Sequence[JudgedRanks], documents: Qrels, qrels: Qrels) -> list[JudgedRanks]:
    """Turn ranks of many documents into ranks under other labels on them, without reading the runs again.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        Where each run placed the rows of ``documents``.
    documents : Qrels
        What the runs were ranked against.
    qrels : Qrels
        The new labels; every labelled document is one of ``documents``.

    Raises
    ------
    InputError
        Where a labelled document was never looked up in the runs.
    """
    source = encode(qrels.queries, documents.queries).astype(np.int64)
    at = _rows_of(documents, source[qrels.query], encode(qrels.docs, documents.docs)[qrels.doc])
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


def _rows_of(documents: Qrels, query: Integers, doc: Codes) -> Integers:
    """Return the row of each document, by the codes of ``documents``; -1 where there is none."""
    width = len(documents.docs)
    keys = documents.query.astype(np.int64) * width + documents.doc
    wanted = np.where((query >= 0) & (doc >= 0), query.astype(np.int64) * width + doc, -1)
    if not keys.size:
        return np.full(wanted.size, -1)
    order = np.argsort(keys, kind="stable")
    # what comes before the first key is looked up in the last one, from which it differs
    place = order[np.searchsorted(keys, wanted, side="right", sorter=order) - 1]
    return np.where(keys[place] == wanted, place, -1)

"""Verdicts: the judgments gathered by pair, whichever side each document was shown on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import Codes, encode

Index = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Every judgment, and the pair it is about.

    Attributes
    ----------
    query, doc_a, doc_b : ndarray of int32, shape (n_pairs,)
        The pairs, as codes of the judgments. ``doc_a`` is the first by doc_id.
    pair : ndarray of int64, shape (n_judgments,)
        The pair of each judgment.
    choice : ndarray of int8, shape (n_judgments,)
        1 where ``doc_a`` was preferred, -1 where ``doc_b`` was, 0 for a tie.
    a_left : ndarray of bool, shape (n_judgments,)
        Whether ``doc_a`` was shown on the left.
    """

    query: Codes
    doc_a: Codes
    doc_b: Codes
    pair: Index
    choice: NDArray[np.int8]
    a_left: NDArray[np.bool_]

    @property
    def n_pairs(self) -> int:
        """How many pairs were judged."""
        return self.query.size


def gather_verdicts(judgments: Judgments) -> Verdicts:
    """Gather judgments by pair."""
    place = np.empty(len(judgments.docs), dtype=np.int64)
    # By doc_id and not by code: codes depend on the order in which documents were met.
    place[sorted(range(len(judgments.docs)), key=judgments.docs.__getitem__)] = np.arange(place.size)
    a_left = place[judgments.left] < place[judgments.right]
    doc_a = np.where(a_left, judgments.left, judgments.right)
    doc_b = np.where(a_left, judgments.right, judgments.left)
    # By query, then by both documents; equal rows stay in the order of the log.
    order = np.lexsort((place[doc_b], place[doc_a], judgments.query))
    rows = np.stack([judgments.query, doc_a, doc_b])[:, order]
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    first, pair = order[begins], np.empty(order.size, dtype=np.int64)
    pair[order] = np.cumsum(begins) - 1
    return Verdicts(
        query=judgments.query[first],
        doc_a=doc_a[first],
        doc_b=doc_b[first],
        pair=pair,
        choice=np.where(a_left, judgments.choice, -judgments.choice).astype(np.int8),
        a_left=a_left,
    )


def known_answers(verdicts: Verdicts, judgments: Judgments, golds: Judgments) -> NDArray[np.int8]:
    """Return the answer to each pair that is a gold pair, shape (n_pairs,); 0 for other pairs.

    Parameters
    ----------
    verdicts, judgments : Verdicts, Judgments
        The judged pairs, and the judgments they were gathered from.
    golds : Judgments
        One row per gold pair, with its right answer as the choice.
    """
    query = encode(golds.queries, judgments.queries)[golds.query]
    doc = encode(golds.docs, judgments.docs)
    answer = dict.fromkeys(
        zip(query.tolist(), doc[golds.winner].tolist(), doc[golds.loser].tolist(), strict=True), 1
    )
    pairs = zip(verdicts.query.tolist(), verdicts.doc_a.tolist(), verdicts.doc_b.tolist(), strict=True)
    known = [answer.get((q, a, b), 0) - answer.get((q, b, a), 0) for q, a, b in pairs]
    return np.array(known, dtype=np.int8)

"""Pair votes: what the votes on a pair of passages say, looked up for many pairs at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import encode
from prefjudge.evaluation.scoring.placings import Integers

Votes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVotes:
    """The votes on each judged pair, by query.

    Documents and queries are codes of the vocabularies that the votes were counted for.

    Attributes
    ----------
    key : ndarray of int64, shape (pairs,)
        One number for (query, smaller doc code, greater doc code), ascending.
    smaller, greater, ties : ndarray of int64, shape (pairs,)
        How many votes went to the document with the smaller code, to the other, and to neither.
    width : int
        How many documents the vocabulary holds.
    """

    key: Integers
    smaller: Integers
    greater: Integers
    ties: Integers
    width: int

    def on(self, query: Integers, a: Integers, b: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the votes for ``a``, for ``b`` and for neither; 0 for a pair that was never judged.

        Parameters
        ----------
        query, a, b : ndarray of int64, shape (n,)
            Codes; a negative document is one that does not exist.

        Returns
        -------
        for_a, for_b, for_neither : ndarray of int64, shape (n,)
        """
        out = np.zeros((3, query.size), dtype=np.int64)
        rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
        if not self.key.size or not rows.size:
            return out[0], out[1], out[2]
        wanted = pair_key(query[rows], a[rows], b[rows], self.width)
        # A key beyond the last is compared with the last, and differs.
        slot = np.minimum(np.searchsorted(self.key, wanted), self.key.size - 1)
        judged = self.key[slot] == wanted
        rows, slot = rows[judged], slot[judged]
        first = a[rows] < b[rows]
        out[0, rows] = np.where(first, self.smaller[slot], self.greater[slot])
        out[1, rows] = np.where(first, self.greater[slot], self.smaller[slot])
        out[2, rows] = self.ties[slot]
        return out[0], out[1], out[2]


def pair_key(query: Integers, a: Integers, b: Integers, width: int) -> Integers:
    """Return one number for a query and an unordered pair of documents."""
    key: Integers = (query * width + np.minimum(a, b)) * width + np.maximum(a, b)
    return key


def count_votes(judgments: Judgments, queries: Sequence[str], docs: Sequence[str]) -> PairVotes:
    """Count the votes on each pair, in the codes of the given vocabularies.

    Judgments on queries or documents that the vocabularies do not hold are left out.
    """
    query = encode(judgments.queries, queries).astype(np.int64)[judgments.query]
    code = encode(judgments.docs, docs).astype(np.int64)
    left, right = code[judgments.left], code[judgments.right]
    known = (query >= 0) & (left >= 0) & (right >= 0)
    query, left, right, choice = query[known], left[known], right[known], judgments.choice[known]
    key, pair = np.unique(pair_key(query, left, right, len(docs)), return_inverse=True)
    for_smaller = np.where(left < right, choice, -choice)
    counts = [np.bincount(pair[for_smaller == sign], minlength=key.size) for sign in (1, -1, 0)]
    return PairVotes(key=key, smaller=counts[0], greater=counts[1], ties=counts[2], width=len(docs))


class VoteTables:
    """The votes between the documents that several runs have for each query, for look-ups by the million.

    Each query has a square table of the documents that somebody voted on.

    Parameters
    ----------
    votes : PairVotes
        The votes.
    docs : ndarray of int64, shape (runs, queries)
        The document of each run for each query; a negative one does not exist.
    """

    def __init__(self, votes: PairVotes, docs: Integers) -> None:
        width = max(votes.width, 1)
        smaller, greater = np.divmod(votes.key, width)
        query = smaller // width
        held, place = np.unique(np.concatenate([smaller, query * width + greater]), return_inverse=True)
        of = held // width
        sizes = np.bincount(of, minlength=docs.shape[1])
        column = np.arange(held.size) - (np.cumsum(sizes) - sizes)[of]
        cells = int((sizes**2).sum())
        # A cell is where its row begins, and its column; what is beyond the last holds nothing.
        row = np.append((np.cumsum(sizes**2) - sizes**2)[of] + column * sizes[of], cells)
        column = np.append(column, cells)
        one, other = np.split(place, 2)
        two = one != other  # a vote on one document alone says nothing
        forward, backward = (row[one] + column[other])[two], (row[other] + column[one])[two]
        self._won, self._tied = (np.zeros(cells + 1, dtype=np.int32) for _ in range(2))
        self._won[forward], self._won[backward] = votes.smaller[two], votes.greater[two]
        self._tied[forward] = self._tied[backward] = votes.ties[two]
        wanted = np.where(docs >= 0, np.arange(docs.shape[1]) * width + docs, -1)
        found = np.searchsorted(held, wanted)
        found[np.append(held, -1)[found] != wanted] = held.size
        self._row, self._column, self._nothing = row[found], column[found], cells

    def against_later(self, run: int) -> tuple[Votes, Votes, Votes]:
        """Return the votes for a run's documents against those of each later run, for these, and for neither.

        Returns
        -------
        for_it, for_later, for_neither : ndarray of int32, shape (later runs, queries)
            0 for a pair that was never judged.
        """
        forward = np.minimum(self._row[run] + self._column[run + 1 :], self._nothing)
        backward = np.minimum(self._row[run + 1 :] + self._column[run], self._nothing)
        return self._won[forward], self._won[backward], self._tied[forward]

"""Resolutions: the best answers of each query, and how far the judgments decide them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Codes, encode
from prefjudge.core.resolving.counting import Flags, Floats
from prefjudge.core.resolving.tournament import Index


class Status(StrEnum):
    """How far a query's judgments decide its best answer."""

    SINGLE = "single"
    """One best answer."""
    TIE = "tie"
    """Several that the rule cannot tell apart."""
    CYCLE = "cycle"
    """Several, because the majority prefers some of them in a cycle."""
    PARTIAL = "partial"
    """The best of those that were compared: others were not, or not each with each."""
    SPARSE = "sparse"
    """Not enough is judged to say."""


STATUSES = tuple(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What is known of the best answer to one query.

    Attributes
    ----------
    query_id, rule : str
        The query, and the rule that resolved it.
    status : Status
        Whether it is decided.
    winners : tuple of str
        The best answers; none where the status is sparse.
    margin : float
        How many votes the winner is ahead of the next; 0 for several winners.
    cycle : tuple of str
        The winners that are preferred to each other in a cycle.
    pool_size, votes, missing : int
        Candidates, judgments, and pairs that lack a judgment.
    """

    query_id: str
    rule: str
    status: Status
    winners: tuple[str, ...]
    margin: float
    cycle: tuple[str, ...]
    pool_size: int
    votes: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Which queries another rule gives other winners.

    Attributes
    ----------
    rule : str
        The other rule.
    queries : tuple of str
        The queries, in their order.
    """

    rule: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolutions:
    """The resolution of every query by one rule, with all candidates.

    Attributes
    ----------
    rule : str
        The rule.
    queries : tuple of str
    docs : sequence of str
        The vocabularies.
    status : ndarray of int8, shape (n_queries,)
        Codes into :data:`STATUSES`.
    margin : ndarray of float64, shape (n_queries,)
        Votes between the winner and the next; 0 for several winners.
    votes, missing : ndarray of int32, shape (n_queries,)
        Judgments, and pairs that lack one.
    start : ndarray of int64, shape (n_queries + 1,)
        The candidates of query ``q`` are the rows ``start[q]:start[q + 1]``.
    doc : ndarray of int32, shape (n_candidates,)
        Codes into ``docs``, ascending within a query.
    score, wins : ndarray of float64, shape (n_candidates,)
        The rule's own score, and the votes won.
    comparisons : ndarray of int32, shape (n_candidates,)
        The judgments that the candidate took part in.
    winner, cycle : ndarray of bool, shape (n_candidates,)
        Whether it is a best answer, and whether it is in a cycle of best answers.
    """

    rule: str
    queries: tuple[str, ...]
    docs: Sequence[str]
    status: NDArray[np.int8]
    margin: Floats
    votes: Codes
    missing: Codes
    start: Index
    doc: Codes
    score: Floats
    wins: Floats
    comparisons: Codes
    winner: Flags
    cycle: Flags

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, place: int) -> Resolution:
        rows = slice(int(self.start[place]), int(self.start[place + 1]))
        doc = self.doc[rows]
        return Resolution(
            query_id=self.queries[place],
            rule=self.rule,
            status=STATUSES[int(self.status[place])],
            winners=tuple(sorted(self.docs[code] for code in doc[self.winner[rows]])),
            margin=float(self.margin[place]),
            cycle=tuple(sorted(self.docs[code] for code in doc[self.cycle[rows]])),
            pool_size=rows.stop - rows.start,
            votes=int(self.votes[place]),
            missing=int(self.missing[place]),
        )

    def __iter__(self) -> Iterator[Resolution]:
        return (self[place] for place in range(len(self)))

    def of(self, query_id: str) -> Resolution:
        """Return the resolution of one query."""
        return self[self.queries.index(query_id)]

    @property
    def query(self) -> Codes:
        """The query of each candidate, shape (n_candidates,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))

    def counts(self) -> dict[str, int]:
        """Return how many queries have each status."""
        tally = np.bincount(self.status, minlength=len(STATUSES))
        return {status.value: int(count) for status, count in zip(STATUSES, tally, strict=True)}


def with_answers(resolutions: Resolutions, answers: Qrels, rule: str) -> Resolutions:
    """Return the tournaments with other winners: the best answers that are known, however they were found.

    A query whose winners they are keeps its status, and so does one that is judged in part and has any; any
    other has one answer, or several (a tie), or none.

    Parameters
    ----------
    resolutions : Resolutions
        What one rule made of the judgments.
    answers : Qrels
        The best-known answers.
    rule : str
        What found them.
    """
    query = encode(answers.queries, resolutions.queries)[answers.query]
    doc = encode(answers.docs, resolutions.docs)[answers.doc]
    known = (query >= 0) & (doc >= 0)
    span, owner = len(resolutions.docs), resolutions.query
    # One integer for each (query, document); in 32 bits the product could overflow.
    keys = query[known].astype(np.int64) * span + doc[known]
    winner = np.isin(owner.astype(np.int64) * span + resolutions.doc, keys)
    count = np.bincount(owner[winner], minlength=len(resolutions))
    # A query where any candidate's flag differs has other
    # winners, and its status and margin are derived again.
    other = np.bincount(owner[winner != resolutions.winner], minlength=len(resolutions)) > 0
    named = np.array([STATUSES.index(one) for one in (Status.SPARSE, Status.SINGLE, Status.TIE)], np.int8)
    in_part = (resolutions.status == STATUSES.index(Status.PARTIAL)) & (count > 0)
    best, rest = np.zeros((2, len(resolutions)))
    np.maximum.at(best, owner[winner], resolutions.wins[winner])
    np.maximum.at(rest, owner[~winner], resolutions.wins[~winner])
    return replace(
        resolutions,
        rule=rule,
        status=np.where(other & ~in_part, named[np.minimum(count, 2)], resolutions.status),
        margin=np.where(other, (count == 1) * (best - rest), resolutions.margin),
        winner=winner,
        cycle=resolutions.cycle & ~other[owner],
    )


def difference(one: Resolutions, other: Resolutions) -> Difference:
    """Return which queries have other winners by another rule; both are of the same judgments and pools."""
    queries = np.unique(one.query[one.winner != other.winner]).tolist()
    return Difference(rule=other.rule, queries=tuple(one.queries[query] for query in queries))

"""The qrel against a run's top result: is a ranker already better than the labels that it is scored by?"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.qrels import Qrels
from prefjudge.core.runs import Heads, encode
from prefjudge.errors import InputError
from prefjudge.evaluation.pair_votes import count_votes
from prefjudge.evaluation.perfect import perfect_ranking
from prefjudge.evaluation.placings import Integers
from prefjudge.evaluation.winratio import binomial_p


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPairs:
    """The pair that each query asks to be judged.

    Category A: the run's top passage is the qrel, and is compared with the run's second passage. Category B:
    they differ, and the qrel is compared with the run's top passage.

    Attributes
    ----------
    queries, docs : tuple of str
        The vocabularies.
    query : ndarray of int64, shape (n,)
        Each query that has a qrel and a pair to compare.
    qrel, rival : ndarray of int64, shape (n,)
        The qrel, and the passage that it is compared with.
    agreed : ndarray of bool, shape (n,)
        Whether the query is of category A.
    """

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    query: Integers
    qrel: Integers
    rival: Integers
    agreed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryOutcome:
    """What people preferred on the queries of one category.

    Attributes
    ----------
    queries : int
        How many queries the category holds.
    qrel, rival, tied, unjudged : int
        On how many the majority preferred the qrel, the other passage, neither, or was not asked.
    p : float
        The two-sided binomial test of ``qrel`` against ``rival``.
    """

    queries: int
    qrel: int
    rival: int
    tied: int
    unjudged: int
    p: float

    @property
    def rival_ratio(self) -> float:
        """The share of the decided queries on which the other passage won; NaN where there is none."""
        decided = self.qrel + self.rival
        return self.rival / decided if decided else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopAgainstQrel:
    """One run's top passages against the qrels.

    Attributes
    ----------
    run : str
        The run tag.
    a, b : CategoryOutcome
        Where run and qrels agree on the top passage, and where they differ. The ``rival_ratio`` of ``a`` is a
        rough estimate of the judges' error, were the agreed passage the best; that of ``b`` above one half
        says that the run is better than perfect.
    """

    run: str
    a: CategoryOutcome
    b: CategoryOutcome

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The four parts of Figure 2: rival then qrel of category B, rival then qrel of category A."""
        parts = np.array([self.b.rival, self.b.qrel, self.a.rival, self.a.qrel], dtype=np.float64)
        total = parts.sum()
        first, second, third, fourth = parts / total if total else np.full(4, np.nan)
        return float(first), float(second), float(third), float(fourth)


def top_pairs(heads: Heads, qrels: Qrels, run: str, *, queries: Collection[str] | None = None) -> TopPairs:
    """Return the pair of each query: section 3.1's design.

    Parameters
    ----------
    heads : Heads
        The first two documents of the run.
    qrels : Qrels
        One qrel per query is used: of the highest grade, and the first in the file among equals.
    run : str
        The representative ranker.
    queries : collection of str, optional
        Look at these queries only.

    Raises
    ------
    InputError
        Where ``heads`` does not hold the run.
    """
    if run not in heads.runs:
        raise InputError(f"there is no run {run!r}", f"Runs: {', '.join(heads.runs)}.")
    docs = tuple(dict.fromkeys([*heads.docs, *qrels.docs]))
    best = perfect_ranking(qrels)
    first = best.position == 1
    asked = np.array([queries is None or name in queries for name in qrels.queries], dtype=bool)
    keep = asked[best.query[first]]
    query = best.query[first][keep].astype(np.int64)
    qrel = encode(qrels.docs, docs).astype(np.int64)[best.doc[first][keep]]
    tops = np.full((len(qrels.queries), 3), -1, dtype=np.int64)
    row = encode(heads.queries, qrels.queries)[heads.query]
    mine = (heads.run == heads.runs.index(run)) & (heads.position <= 2) & (row >= 0)
    tops[row[mine], heads.position[mine]] = encode(heads.docs, docs)[heads.doc[mine]]
    top, second = tops[query, 1], tops[query, 2]
    agreed = top == qrel
    rival = np.where(agreed, second, top)
    real = rival >= 0
    return TopPairs(
        queries=qrels.queries,
        docs=docs,
        query=query[real],
        qrel=qrel[real],
        rival=rival[real],
        agreed=agreed[real],
    )


def top_against_qrel(
    judgments: Judgments, heads: Heads, qrels: Qrels, run: str, *, queries: Collection[str] | None = None
) -> TopAgainstQrel:
    """Compare the top passages of a run with the qrels, by the majority of the votes on each pair.

    Parameters
    ----------
    judgments : Judgments
        The votes on the pairs of :func:`top_pairs`; others do not matter.
    heads, qrels, run, queries
        As for :func:`top_pairs`.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 3, Tables 1 and 2, Figure 2.
    """
    pairs = top_pairs(heads, qrels, run, queries=queries)
    votes = count_votes(judgments, pairs.queries, pairs.docs)
    for_qrel, for_rival, neither = votes.on(pairs.query, pairs.qrel, pairs.rival)
    judged = for_qrel + for_rival + neither > 0

    def outcome(category: NDArray[np.bool_]) -> CategoryOutcome:
        wins = np.array([(category & (for_qrel > for_rival)).sum()])
        losses = np.array([(category & (for_qrel < for_rival)).sum()])
        return CategoryOutcome(
            queries=int(category.sum()),
            qrel=int(wins[0]),
            rival=int(losses[0]),
            tied=int((category & judged & (for_qrel == for_rival)).sum()),
            unjudged=int((category & ~judged).sum()),
            p=float(binomial_p(wins, losses)[0]),
        )

    return TopAgainstQrel(run=run, a=outcome(pairs.agreed), b=outcome(~pairs.agreed))

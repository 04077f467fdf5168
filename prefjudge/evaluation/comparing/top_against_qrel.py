"""The qrel against a run's top result: is a ranker already better than the labels that it is scored by?"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Heads
from prefjudge.core.pooling.top_pairs import TopSplit, top_pairs
from prefjudge.evaluation.comparing.pair_votes import count_votes
from prefjudge.evaluation.comparing.winratio import binomial_p


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryOutcome:
    """What people preferred on the queries of one category.

    Attributes
    ----------
    queries : int
        How many queries the category holds.
    qrel, rival, tied, unjudged : int
        On how many the majority preferred the qrel, the other passage, neither, or was not asked.
    no_rival : int
        On how many there is nothing to compare the qrel with: the run returned it alone.
    p : float
        The two-sided binomial test of ``qrel`` against ``rival``.
    """

    queries: int
    qrel: int
    rival: int
    tied: int
    unjudged: int
    no_rival: int
    p: float

    @property
    def rival_ratio(self) -> float:
        """The share of the decided queries on which the other passage won; NaN where there is none."""
        decided = self.qrel + self.rival
        return self.rival / decided if decided else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopAgainstQrel:
    """One run's top passages against the qrels: every labelled query is of one category, or not retrieved.

    Attributes
    ----------
    run : str
        The run tag.
    a, b : CategoryOutcome
        Where run and qrels agree on the top passage, and where they differ. The ``rival_ratio`` of ``a`` is a
        rough estimate of the judges' error, were the agreed passage the best; that of ``b`` above one half
        says that the run is better than perfect.
    not_retrieved : int
        Labelled queries that the run does not answer.
    """

    run: str
    a: CategoryOutcome
    b: CategoryOutcome
    not_retrieved: int

    @property
    def split(self) -> TopSplit:
        """How all labelled queries split into the categories: Table 1."""
        return TopSplit(
            a=self.a.queries,
            b=self.b.queries,
            no_rival=self.a.no_rival,
            not_retrieved=self.not_retrieved,
        )

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The parts of Figure 2, of the decided queries: rival and qrel of category B, then of A."""
        parts = np.array([self.b.rival, self.b.qrel, self.a.rival, self.a.qrel], dtype=np.float64)
        total = parts.sum()
        first, second, third, fourth = parts / total if total else np.full(4, np.nan)
        return float(first), float(second), float(third), float(fourth)


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
    paired = pairs.rival >= 0
    judged = for_qrel + for_rival + neither > 0

    def outcome(category: NDArray[np.bool_]) -> CategoryOutcome:
        wins = np.array([(category & (for_qrel > for_rival)).sum()])
        losses = np.array([(category & (for_qrel < for_rival)).sum()])
        return CategoryOutcome(
            queries=int(category.sum()),
            qrel=int(wins[0]),
            rival=int(losses[0]),
            tied=int((category & judged & (for_qrel == for_rival)).sum()),
            unjudged=int((category & paired & ~judged).sum()),
            no_rival=int((category & ~paired).sum()),
            p=float(binomial_p(wins, losses)[0]),
        )

    return TopAgainstQrel(
        run=run,
        a=outcome(pairs.agreed),
        b=outcome(pairs.retrieved & ~pairs.agreed),
        not_retrieved=pairs.split.not_retrieved,
    )

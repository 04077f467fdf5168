"""Shallow pooling walked with simulated votes: what would such a study find, and show?

Arabzadeh et al., "Shallow pooling for sparse labels" (2021), sections 3 and 4, on any runs and qrels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.paper_rates import (
    Rates,
    all_candidates,
    draw_strengths,
    draw_votes,
    pairs_asked,
    rows_of,
)
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import JudgedRanks
from prefjudge.core.pooling.runs import Heads
from prefjudge.core.pooling.top_pairs import TopPairs, TopSplit
from prefjudge.core.resolving.preferences import resolve
from prefjudge.core.resolving.resolutions import STATUSES, Status
from prefjudge.errors import InputError
from prefjudge.evaluation.comparing.simulated_boards import SimulatedBoards
from prefjudge.evaluation.comparing.winratio import binomial_p

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

_MIDDLE = (2.5, 97.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number over many simulated studies: its mean, and the middle 95 % of them."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPaper:
    """What studies like the paper's find and show.

    Attributes
    ----------
    studies : int
        How many were simulated.
    split : TopSplit
        How the labelled queries split into the paper's categories.
    duels, pairs : int
        Pairs to judge: of one run's top with the qrels, and of the sampled queries' pools.
    queries, documents : int
        Sampled queries, and the candidates in their pools.
    rival_ratio : Spread
        How often the run's first passage beats a qrel that it differs from (category B).
    significant : float
        In what share of the studies that differs from a coin's at 5 %.
    right : Spread
        On what share of the sampled queries the preference qrel is truly the best passage of the pool; of
        several, one is taken at random.
    cycles : Spread
        On how many of them the best answers beat each other in a cycle.
    qrel_ratio : Spread
        How often the qrel beats the run's second passage where it is the run's first (category A).
    significant_ratios : Spread
        How many win ratios of the second experiment are significant at 5 % after Bonferroni's correction.
    better_than_perfect : Spread
        How many runs are so better than the perfect ranking under the original qrels.
    tau : Spread
        Kendall's tau between the leaderboards (RR@10) under the original and the preference qrels.
    """

    studies: int
    split: TopSplit
    duels: int
    pairs: int
    queries: int
    documents: int
    rival_ratio: Spread
    significant: float
    right: Spread
    cycles: Spread
    qrel_ratio: Spread
    significant_ratios: Spread
    better_than_perfect: Spread
    tau: Spread


_MEASURED = (
    "significant",
    "rival_ratio",
    "right",
    "cycles",
    "qrel_ratio",
    "significant_ratios",
    "better_than_perfect",
    "tau",
)
"""What is measured in each study, in this order."""


def simulate_paper(
    pools: Pools,
    top: TopPairs,
    heads: Heads,
    ranks: Sequence[JudgedRanks],
    original: Floats,
    *,
    rates: Rates | None = None,
    studies: int = 200,
    rng: np.random.Generator,
) -> tuple[Judgments, Judgments, SimulatedPaper]:
    """Simulate both experiments of the paper, one vote for each pair.

    Parameters
    ----------
    pools : Pools
        The pools of the sampled queries.
    top : TopPairs
        One run's top passages and the qrels, on all labelled queries.
    heads : Heads
        The first passages of all runs.
    ranks : sequence of JudgedRanks
        Where each run placed each passage of ``pools``, row by row.
    original : ndarray of float64, shape (runs,)
        The runs' RR@10 under the original qrels of the sampled queries, in the order of ``ranks``.
    rates : Rates, optional
        How often people choose which passage; as in the paper by default.
    studies : int
        How many to simulate.

    Returns
    -------
    Judgments
        All votes of the first of the studies: those on pairs of a run's top with the qrels among them, one of
        which may be in no pool.
    Judgments
        Of these, the votes on pairs of the pools: what the preference qrels are made of.
    SimulatedPaper
        What the studies find.

    Raises
    ------
    InputError
        No query has two passages to compare.
    """
    candidates = all_candidates(pools, top)
    duels, pooled = pairs_asked(candidates, pools, top)
    if not len(duels) or not len(pooled):
        raise InputError("no query has two passages to compare", "Give more runs, or other qrels.")
    pairs = np.unique(np.concatenate([duels, pooled]), axis=0)
    boards = SimulatedBoards(candidates, pools, heads, top, ranks, original, pairs)
    found = _Experiments(candidates, pools, top, pairs, duels, pooled, boards)
    rows = np.empty((studies, len(_MEASURED)))
    for study in range(studies):
        strength = draw_strengths(candidates, top, rates or Rates(), rng)
        votes = draw_votes(candidates, pairs, strength, rng)
        if study == 0:
            first = votes
        rows[study] = found.sum_up(votes, strength)
    return (
        first,
        found.in_pools(first),
        SimulatedPaper(
            studies=studies,
            split=top.split,
            duels=len(duels),
            pairs=len(pooled),
            queries=len(pools.queries),
            documents=pools.query.size,
            significant=float(rows[:, 0].mean()),
            **{name: _spread(rows[:, column]) for column, name in enumerate(_MEASURED) if column},
        ),
    )


class _Experiments:
    """What does not change from one simulated study to the next."""

    def __init__(
        self,
        candidates: Pools,
        pools: Pools,
        top: TopPairs,
        pairs: Rows,
        duels: Rows,
        pooled: Rows,
        boards: SimulatedBoards,
    ) -> None:
        self._boards = boards
        count = candidates.query.size
        key = pairs[:, 0] * count + pairs[:, 1]
        real = top.rival >= 0
        asked = np.searchsorted(key, duels[:, 0] * count + duels[:, 1])
        agreed = top.agreed[real]
        self._differing, self._agreeing = asked[~agreed], asked[agreed]
        self._rival = rows_of(candidates, top.queries, top.docs, top.query[real], top.rival[real])
        self._second, self._rival = self._rival[agreed], self._rival[~agreed]
        self._pairs = pairs
        self._pooled = np.unique(np.searchsorted(key, pooled[:, 0] * count + pooled[:, 1]))
        self._own = rows_of(candidates, pools.queries, pools.docs, pools.query, pools.doc)
        self._starts = np.flatnonzero(np.r_[True, np.diff(pools.query) != 0])
        self._pools = pools
        self._candidates = candidates

    def in_pools(self, votes: Judgments) -> Judgments:
        """Return the votes on pairs of the pools."""
        columns = ("query", "left", "right", "choice", "strength", "worker")
        return replace(votes, **{name: getattr(votes, name)[self._pooled] for name in columns})

    def sum_up(self, votes: Judgments, strength: Floats) -> tuple[float, ...]:
        """Return what one study finds and shows, in the order of ``_MEASURED``."""
        chosen = np.where(votes.choice > 0, self._pairs[:, 0], self._pairs[:, 1])
        won = int((chosen[self._differing] == self._rival).sum())
        p = float(binomial_p(np.array([won]), np.array([self._rival.size - won]))[0])
        kept_qrels = int((chosen[self._agreeing] != self._second).sum())
        answers = resolve(self.in_pools(votes))
        kept = np.repeat(np.arange(len(answers.queries)), np.diff(answers.start))
        winners = np.zeros(strength.size, dtype=bool)
        rows = rows_of(self._candidates, answers.queries, answers.docs, kept, answers.doc)
        winners[rows[answers.winner]] = True
        mine = winners[self._own]
        significant, better = self._boards.count_significant(chosen)
        return (
            float(p <= 0.05),
            won / self._rival.size if self._rival.size else float("nan"),
            self._share_right(mine, strength),
            float((answers.status == STATUSES.index(Status.CYCLE)).sum()),
            kept_qrels / self._second.size if self._second.size else float("nan"),
            float(significant),
            float(better),
            self._boards.tau(mine),
        )

    def _share_right(self, mine: NDArray[np.bool_], strength: Floats) -> float:
        """Return on what share of the queries the preference qrel, or one drawn of several, is the best."""
        truth = strength[self._own]
        best = truth == np.repeat(np.maximum.reduceat(truth, self._starts), self._pools.sizes)
        right = np.add.reduceat(mine & best, self._starts)
        return float((right / np.maximum(1, np.add.reduceat(mine, self._starts))).mean())


def _spread(values: Floats) -> Spread:
    low, high = np.percentile(values, _MIDDLE)
    return Spread(mean=float(values.mean()), low=float(low), high=float(high))

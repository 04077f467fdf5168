"""Simulated votes: crowds that err as the paper's did, and what a study of theirs would show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import (
    Contributions,
    Pools,
    TopPairs,
    TopSplit,
    find_rows,
    group_contributions,
    pair_rows,
)
from prefjudge.core.resolving.resolutions import STATUSES, Status, resolve
from prefjudge.core.runs import Heads, JudgedRanks, encode
from prefjudge.core.strategies import scale_of_error
from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.winratios import binomial_p

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the paper's workers chose which passage."""

    error: float = 0.33
    """The share of wrong votes on a random pair."""
    qrel_agreed: float = 1228 / 1868
    """How often a qrel that is the run's first passage beats the second one (category A)."""
    rival_differs: float = 2996 / 5112
    """How often the run's first passage beats a qrel that it is not (category B)."""


def mean_shift(share: float, scale: float) -> float:
    """Return how much stronger a passage is on average that wins this share of its pairs.

    Both strengths are normal with standard deviation ``scale``, so that their difference is normal with
    ``sqrt(2) * scale``; the share is the mean of the logistic function over it, which bisection inverts.
    """
    # Gauss and Hermite's weights exp(-x**2 / 2), normalised: the sum is a mean over a standard normal.
    spread = np.sqrt(2.0) * scale * _NODES
    weights = _WEIGHTS / _WEIGHTS.sum()
    high = 20.0 * (1.0 + scale)  # a large scale spreads the strengths that far
    low = -high
    for _ in range(80):
        middle = (low + high) / 2.0
        won = float(weights @ (0.5 * (1.0 + np.tanh(0.5 * (middle + spread)))))
        low, high = (middle, high) if won < share else (low, middle)
    return high


def all_candidates(pools: Pools, top: TopPairs) -> Pools:
    """Return every passage that is compared in some pool, or in the pair of one run's top with the qrel."""
    queries = tuple(dict.fromkeys([*pools.queries, *(top.queries[code] for code in top.query.tolist())]))
    query = encode(top.queries, queries)[top.query]
    paired = top.rival >= 0
    number, none = np.zeros(pools.doc.size, dtype=np.int32), np.zeros(query.size, dtype=np.int32)
    added = [
        Contributions.of_rows(pools.docs, encode(pools.queries, queries)[pools.query], pools.doc, number),
        Contributions.of_rows(
            top.docs, query, top.qrel.astype(np.int32), np.zeros(query.size, dtype=np.int32)
        ),
        Contributions.of_rows(
            top.docs,
            query[paired],
            top.rival[paired].astype(np.int32),
            none[paired],
        ),
    ]
    return group_contributions(queries, ("",), added)


def pairs_asked(candidates: Pools, pools: Pools, top: TopPairs) -> tuple[Rows, Rows]:
    """Return the pairs of both experiments: of one run's top with the qrel, and of all in each pool.

    They are rows of the candidates, the smaller one first.
    """
    real = top.rival >= 0
    duels = [
        find_rows(candidates, top.queries, top.docs, top.query[real], side[real])
        for side in (top.qrel, top.rival)
    ]
    own = find_rows(candidates, pools.queries, pools.docs, pools.query, pools.doc)
    first, second = pair_rows(pools.sizes)
    return np.sort(np.stack(duels, axis=1), axis=1), np.sort(
        np.stack([own[first], own[second]], axis=1), axis=1
    )


def draw_strengths(candidates: Pools, top: TopPairs, rates: Rates, rng: np.random.Generator) -> Floats:
    """Draw how good each candidate is, as a Bradley-Terry strength on the logit scale.

    A qrel is better than other passages where the run has it on top, and worse where the run prefers another
    one, by as much as the paper's rates say.
    """
    scale = scale_of_error(rates.error)
    strength = rng.normal(0.0, scale, candidates.query.size)
    shown = top.retrieved
    qrel = find_rows(candidates, top.queries, top.docs, top.query[shown], top.qrel[shown])
    better, worse = mean_shift(rates.qrel_agreed, scale), mean_shift(1.0 - rates.rival_differs, scale)
    strength[qrel] += np.where(top.agreed[shown], better, worse)
    return strength


def draw_votes(
    candidates: Pools, pairs: NDArray[np.int64], strength: Floats, rng: np.random.Generator
) -> Judgments:
    """Let one simulated worker choose from each pair, given as rows of the candidates."""
    first, second = pairs.T
    # Bradley-Terry: the logistic function of the difference, as a tanh, which cannot overflow.
    chosen = rng.random(len(pairs)) < 0.5 * (1.0 + np.tanh(0.5 * (strength[first] - strength[second])))
    return Judgments.of_nobody(
        queries=candidates.queries,
        docs=candidates.docs,
        query=candidates.query[first],
        left=candidates.doc[first],
        right=candidates.doc[second],
        choice=np.where(chosen, 1, -1).astype(np.int8),
        sides=False,
    )


# What simulated votes on pools make of the runs: win ratios, and the leaderboard under preference qrels.

_DEPTH = 10
_ALPHA = 0.05


def _first_passages(candidates: Pools, pools: Pools, heads: Heads, top: TopPairs) -> Rows:
    """Return the first passage on each sampled query: of the perfect ranking, then of each run; -1: none."""
    place = {query: number for number, query in enumerate(pools.queries)}
    found = np.full((len(pools.queries), 1 + len(heads.runs)), -1, dtype=np.int64)
    known = np.array([place.get(query, -1) for query in top.queries], dtype=np.int64)[top.query]
    rows = find_rows(candidates, top.queries, top.docs, top.query, top.qrel)
    found[known[known >= 0], 0] = rows[known >= 0]
    first = heads.position == 1
    query, doc, run = heads.query[first], heads.doc[first], heads.run[first]
    number = np.array([place.get(one, -1) for one in heads.queries], dtype=np.int64)[query]
    rows = find_rows(candidates, heads.queries, heads.docs, query, doc)
    found[number[number >= 0], 1 + run[number >= 0]] = rows[number >= 0]
    return found


# Shallow pooling walked with simulated votes: what would such a study find, and show?
#
# Arabzadeh et al., "Shallow pooling for sparse labels" (2021), sections 3 and 4, on any runs and qrels.

_MIDDLE = (2.5, 97.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number over many simulated studies: its mean, and the middle 95 % of them."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPaper:
    """What studies like the paper's find and show."""

    studies: int
    """How many were simulated."""
    split: TopSplit
    """How the labelled queries split into the paper's categories."""
    duels: int
    pairs: int
    """Pairs to judge: of one run's top with the qrels, and of the sampled queries' pools."""
    queries: int
    documents: int
    """Sampled queries, and the candidates in their pools."""
    rival_ratio: Spread
    """How often the run's first passage beats a qrel that it differs from (category B)."""
    significant: float
    """In what share of the studies that differs from a coin's at 5 %."""
    right: Spread
    """On what share of the sampled queries the preference qrel is truly the best passage of the pool; of
    several, one is taken at random."""
    cycles: Spread
    """On how many of them the best answers beat each other in a cycle."""
    qrel_ratio: Spread
    """How often the qrel beats the run's second passage where it is the run's first (category A)."""
    significant_ratios: Spread
    """How many win ratios of the second experiment are significant at 5 % after Bonferroni's correction."""
    better_than_perfect: Spread
    """How many runs are so better than the perfect ranking under the original qrels."""
    tau: Spread
    """Kendall's tau between the leaderboards (RR@10) under the original and the preference qrels."""


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

    The pools are those of the sampled queries, ``top`` one run's top passages and the qrels on all labelled
    ones, ``heads`` the first passages of all runs. ``ranks`` is where each run placed each passage of the
    pools, row by row, and ``original`` its RR@10 under the original qrels of the sampled queries.

    Returns the votes of the first of the studies on the run's tops with the qrels, and on pairs of the pools,
    which the preference qrels are made of, and what the studies find. A pair of both has the same vote.
    """
    found = _Studies(pools, top, heads, ranks, original)
    rows = np.empty((studies, len(_MEASURED)))
    for study in range(studies):
        strength = draw_strengths(found.candidates, top, rates or Rates(), rng)
        votes = draw_votes(found.candidates, found.pairs, strength, rng)
        if study == 0:
            first = votes
        rows[study] = found.sum_up(votes, strength)
    return (
        select_judgments(first, found.asked),
        found.in_pools(first),
        SimulatedPaper(
            studies=studies,
            split=top.split,
            duels=found.duels,
            pairs=found.pooled,
            queries=len(pools.queries),
            documents=pools.query.size,
            significant=float(rows[:, 0].mean()),
            **{name: _spread(rows[:, column]) for column, name in enumerate(_MEASURED) if column},
        ),
    )


class _Studies:
    """The pairs of both experiments, and what else is the same in all simulated studies."""

    def __init__(
        self, pools: Pools, top: TopPairs, heads: Heads, ranks: Sequence[JudgedRanks], original: Floats
    ) -> None:
        self.candidates = all_candidates(pools, top)
        duels, pooled = pairs_asked(self.candidates, pools, top)
        if not len(duels) or not len(pooled):
            raise InputError("no query has two passages to compare", "Give more runs, or other qrels.")
        self.pairs = np.unique(np.concatenate([duels, pooled]), axis=0)
        self.duels, self.pooled = len(duels), len(pooled)
        count = self.candidates.query.size
        key = self.pairs[:, 0] * count + self.pairs[:, 1]
        real = top.rival >= 0
        self.asked = np.searchsorted(key, duels[:, 0] * count + duels[:, 1])
        agreed = top.agreed[real]
        self._differing, self._agreeing = self.asked[~agreed], self.asked[agreed]
        rival = find_rows(self.candidates, top.queries, top.docs, top.query[real], top.rival[real])
        self._second, self._rival = rival[agreed], rival[~agreed]
        self._in_pools = np.unique(np.searchsorted(key, pooled[:, 0] * count + pooled[:, 1]))
        self._own = find_rows(self.candidates, pools.queries, pools.docs, pools.query, pools.doc)
        self._starts = np.flatnonzero(np.r_[True, np.diff(pools.query) != 0])
        self._sizes = pools.sizes
        self._original = original
        self._reciprocal = np.zeros((pools.query.size, len(ranks)))
        for column, placed in enumerate(ranks):
            first = placed.position <= _DEPTH
            self._reciprocal[placed.judged[first], column] = 1.0 / placed.position[first]
        tops = _first_passages(self.candidates, pools, heads, top)
        one, other = np.triu_indices(tops.shape[1], 1)
        self._with_perfect = one == 0  # the perfect ranking is the first column of the tops
        self._a, b = tops[:, one], tops[:, other]
        self._compared = (self._a >= 0) & (b >= 0) & (self._a != b)
        wanted = np.minimum(self._a, b) * count + np.maximum(self._a, b)
        self._pair = np.minimum(np.searchsorted(key, wanted), len(key) - 1)

    def in_pools(self, votes: Judgments) -> Judgments:
        """Return the votes on pairs of the pools."""
        return select_judgments(votes, self._in_pools)

    def sum_up(self, votes: Judgments, strength: Floats) -> tuple[float, ...]:
        """Return what one study finds and shows, in the order of ``_MEASURED``."""
        chosen = np.where(votes.choice > 0, self.pairs[:, 0], self.pairs[:, 1])
        won = int((chosen[self._differing] == self._rival).sum())
        p = float(binomial_p(np.array([won]), np.array([self._rival.size - won]))[0])
        kept_qrels = int((chosen[self._agreeing] != self._second).sum())
        answers = resolve(self.in_pools(votes))
        winners = np.zeros(strength.size, dtype=bool)
        rows = find_rows(self.candidates, answers.queries, answers.docs, answers.query, answers.doc)
        winners[rows[answers.winner]] = True
        mine = winners[self._own]
        significant, better = self._count_significant(chosen)
        found = np.maximum.reduceat(self._reciprocal * mine[:, None], self._starts, axis=0)
        return (
            float(p <= 0.05),
            won / self._rival.size if self._rival.size else float("nan"),
            self._share_right(mine, strength),
            float((answers.status == STATUSES.index(Status.CYCLE)).sum()),
            kept_qrels / self._second.size if self._second.size else float("nan"),
            float(significant),
            float(better),
            kendall_tau(self._original, found.mean(axis=0)),
        )

    def _count_significant(self, chosen: Rows) -> tuple[int, int]:
        """Return how many win ratios are significant, and how many runs so beat the perfect ranking."""
        won = (self._compared & (chosen[self._pair] == self._a)).sum(axis=0)
        lost = self._compared.sum(axis=0) - won
        sure = binomial_p(won, lost) * won.size <= _ALPHA
        return int(sure.sum()), int((sure & self._with_perfect & (lost > won)).sum())

    def _share_right(self, mine: NDArray[np.bool_], strength: Floats) -> float:
        """Return on what share of the queries the preference qrel, or one drawn of several, is the best."""
        truth = strength[self._own]
        best = truth == np.repeat(np.maximum.reduceat(truth, self._starts), self._sizes)
        right = np.add.reduceat(mine & best, self._starts)
        return float((right / np.maximum(1, np.add.reduceat(mine, self._starts))).mean())


def _spread(values: Floats) -> Spread:
    low, high = np.percentile(values, _MIDDLE)
    return Spread(mean=float(values.mean()), low=float(low), high=float(high))

"""Likely pools: what candidates may truly be like, by the votes and by where the runs place them.

Other people who are asked about the same pools agree with the votes as far as both follow the truth. The
truth is not known: it is drawn from the posterior. One most likely truth would not do: it is too decided
where votes were asked for until one candidate was ahead.

The runs are part of what is known. Who places high in them is likelier to be confused with the best, and how
much so the votes tell: the runs have as many votes on each pair as make the votes of people most probable.
They say who is ahead, and by how much beside other pairs; how far apart candidates are, people say.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments, nameless
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Codes, encode
from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.posterior import by_orders, draw_chances, log_evidence
from prefjudge.core.resolving.scales import Scales, estimate_scales, one_scale
from prefjudge.core.resolving.tournament import Index
from prefjudge.core.resolving.vote_matrices import Floats

_WORTHS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
"""The votes on a pair that all runs together may be worth, as probable as each other before any vote."""
_CELLS, _SAMPLES = 1 << 13, 100
"""Cells of vote matrices that tell this, and posterior samples of each query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The ``n`` queries whose pools have ``k`` candidates.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        Codes into the queries of the documents.
    rows : ndarray of int64, shape (n, k)
        The candidates' rows in the documents.
    chances : ndarray of float64, shape (n, k, k)
        The probability that a vote prefers ``x`` to ``y``.
    """

    queries: Index
    rows: Index
    chances: Floats

    @property
    def best(self) -> Index:
        """The place of the best candidate of each pool: votes prefer it to all others."""
        found: Index = self.chances.sum(axis=2).argmax(axis=1)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPools:
    """What pools are truly like in one draw from the posterior.

    Attributes
    ----------
    crowd : Scales
        How votes err.
    stacks : tuple of Stack
        The pools by their size.
    """

    crowd: Scales
    stacks: tuple[Stack, ...]

    @property
    def best(self) -> Index:
        """The rows of the best candidates, one of each pool, in order."""
        best = [stack.rows[np.arange(len(stack.rows)), stack.best] for stack in self.stacks]
        found: Index = np.sort(np.concatenate([*best, np.zeros(0, dtype=np.int64)]))
        return found

    def chances_of(self, left: Index, right: Index) -> Floats:
        """Return the probability that the left one is preferred, by rows; nan where the pool is not drawn."""
        found = np.full(left.size, np.nan)
        most = max([int(one.max(initial=-1)) for one in (left, right, *(one.rows for one in self.stacks))])
        for stack in self.stacks:
            n, k = stack.rows.shape
            pool, place = np.full(most + 1, -1), np.zeros(most + 1, dtype=np.int64)
            pool[stack.rows], place[stack.rows] = np.arange(n)[:, None], np.arange(k)
            votes = np.flatnonzero((left >= 0) & (right >= 0))
            votes = votes[pool[left[votes]] >= 0]
            one, other = left[votes], right[votes]
            found[votes] = stack.chances[pool[one], place[one], place[other]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of the pools of a `Stack`; arrays of shape (n, k, k) but for its queries and rows.

    ``told`` is the share of the runs that retrieved one of a pair, and ``lead`` the log odds with which these
    place ``x`` above ``y``.
    """

    queries: Index
    rows: Index
    votes: Floats
    told: Floats
    lead: Floats

    def only(self, keep: Index | slice) -> "_Known":
        return _Known(
            queries=self.queries[keep],
            rows=self.rows[keep],
            votes=self.votes[keep],
            told=self.told[keep],
            lead=self.lead[keep],
        )

    def votes_of_runs(self, stretch: float) -> Floats:
        """Return one vote of all runs on each pair, with their log odds stretched."""
        return self.told * (0.5 + 0.5 * np.tanh(0.5 * stretch * self.lead))


class LikelyPools:
    """The posterior of pools, to be drawn from.

    Parameters
    ----------
    judgments : Judgments
        The votes. A tie is half a vote to each side. Whoever cast them: others would err as often.
    documents : Qrels
        The candidates, grouped by query in the order of its codes.
    places : ndarray of int, shape (n_runs, n_rows)
        Where each run placed each of the documents, the greatest integer where it did not.
    rng : numpy.random.Generator
    pools : Pools, optional
        The same candidates; by default they are the judged documents.
    """

    def __init__(
        self,
        judgments: Judgments,
        documents: Qrels,
        places: NDArray[np.integer],
        *,
        rng: np.random.Generator,
        pools: Pools | None = None,
    ) -> None:
        self.scales = estimate_scales(nameless(judgments), rng=rng, pools=pools)
        self.left, self.right = (
            _rows_of(judgments, side, documents) for side in (judgments.left, judgments.right)
        )
        self._queries = {query: code for code, query in enumerate(documents.queries)}
        self._known = _known(judgments, self.left, self.right, documents, places)
        self._sample = _sampled(self._known)
        told = sum(float(known.told.sum()) for known in self._known)
        square = sum(float((known.told * known.lead**2).sum()) for known in self._known)
        # A lead is a difference of two strengths: its variance is twice theirs.
        self._apart = float(np.sqrt(0.5 * square / told)) if square else 1.0
        self._worths: dict[int, Floats] = {}

    def draw(self, rng: np.random.Generator, some: Collection[str]) -> DrawnPools:
        """Draw a crowd, and what the pools of some queries are truly like."""
        model = int(rng.choice(self.scales.weight.size, p=self.scales.weight))
        scale, lapses = float(self.scales.scale[model]), float(self.scales.lapses[model])
        if model not in self._worths:
            self._worths[model] = self._weigh_runs(scale, lapses)
        worth = float(rng.choice(_WORTHS, p=self._worths[model]))
        asked = np.zeros(len(self._queries), dtype=bool)
        asked[[self._queries[query] for query in some if query in self._queries]] = True
        stacks = []
        for known in self._known:
            if (keep := np.flatnonzero(asked[known.queries])).size:
                one = known.only(keep)
                votes = one.votes + worth * one.votes_of_runs(scale / self._apart)
                chances = draw_chances(votes, scale=scale, lapses=lapses, rng=rng)
                stacks.append(Stack(queries=one.queries, rows=one.rows, chances=chances))
        return DrawnPools(crowd=one_scale(scale, lapses), stacks=tuple(stacks))

    def among(self, drawn: DrawnPools, some: Collection[str]) -> DrawnPools:
        """Return only the drawn pools of some queries."""
        codes = [self._queries[query] for query in some if query in self._queries]
        stacks = []
        for stack in drawn.stacks:
            if (keep := np.flatnonzero(np.isin(stack.queries, codes))).size:
                stacks.append(
                    Stack(queries=stack.queries[keep], rows=stack.rows[keep], chances=stack.chances[keep])
                )
        return replace(drawn, stacks=tuple(stacks))

    def _weigh_runs(self, scale: float, lapses: float) -> Floats:
        """Return how probable each worth of the runs is: by the votes of people, given theirs."""
        logs = np.array([self._log_evidence(worth, scale, lapses) for worth in _WORTHS.tolist()])
        weight = np.exp(logs - logs.max())
        found: Floats = weight / weight.sum()
        return found

    def _log_evidence(self, worth: float, scale: float, lapses: float) -> float:
        total = 0.0
        for known in self._sample:
            runs = worth * known.votes_of_runs(scale / self._apart)
            for sign, votes in ((1.0, known.votes + runs), (-1.0, runs)):
                fit = None if by_orders(votes.shape[1], lapses) else fit_strengths(votes, scale=scale)
                # The same draws for every worth: their errors cancel in comparisons.
                rng = np.random.default_rng(0)
                total += sign * log_evidence(votes, fit, scale=scale, draws=_SAMPLES, rng=rng, lapses=lapses)
        return total


def _rows_of(judgments: Judgments, side: Codes, documents: Qrels) -> Index:
    """Return the row of each document of a side; -1 where there is none."""
    width = max(1, len(documents.docs))
    keys = documents.query.astype(np.int64) * width + documents.doc
    order = np.argsort(keys)
    query = encode(judgments.queries, documents.queries)[judgments.query].astype(np.int64)
    doc = encode(judgments.docs, documents.docs)[side]
    wanted = np.where((query >= 0) & (doc >= 0), query * width + doc, -1)
    place = np.minimum(np.searchsorted(keys[order], wanted), keys.size - 1)
    rows: Index = np.where(keys[order[place]] == wanted, order[place], -1)
    return rows


def _known(
    judgments: Judgments, left: Index, right: Index, documents: Qrels, places: NDArray[np.integer]
) -> list[_Known]:
    """Return what is known of the pools of each size."""
    sizes = np.bincount(documents.query, minlength=len(documents.queries))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.arange(documents.query.size) - first[documents.query]
    shown = np.flatnonzero((left >= 0) & (right >= 0) & (left != right))
    x, y, choice = left[shown], right[shown], judgments.choice[shown]
    found = []
    for size in np.unique(sizes[sizes > 0]).tolist():
        queries = np.flatnonzero(sizes == size)
        slot = np.full(sizes.size, -1)
        slot[queries] = np.arange(queries.size)
        pool = slot[documents.query[x]]
        votes = np.zeros((queries.size, size, size))
        of = pool >= 0
        np.add.at(votes, (pool[of], place[x[of]], place[y[of]]), 0.5 + 0.5 * choice[of])
        np.add.at(votes, (pool[of], place[y[of]], place[x[of]]), 0.5 - 0.5 * choice[of])
        rows = first[queries][:, None] + np.arange(size)
        above = np.zeros_like(votes)
        for run in places:
            at = run[rows]
            above += at[:, :, None] < at[:, None, :]
        both = above + above.transpose(0, 2, 1)
        found.append(
            _Known(
                queries=queries,
                rows=rows,
                votes=votes,
                told=both / max(1, len(places)),
                # Half a run more for either: no odds are infinite.
                lead=np.log((above + 0.5) / (both - above + 0.5)),
            )
        )
    return found


def _sampled(every: list[_Known]) -> list[_Known]:
    """Return what is known of as many queries as tell what the runs are worth."""
    judged = [known.only(np.flatnonzero(known.votes.any(axis=(1, 2)))) for known in every]
    share = min(1.0, _CELLS / max(1, sum(known.votes.size for known in judged)))
    some = [known.only(slice(int(np.ceil(share * len(known.votes))))) for known in judged]
    return [known for known in some if known.votes.size]

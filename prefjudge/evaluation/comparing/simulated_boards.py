"""What simulated votes on pools make of the runs: win ratios, and the leaderboard under preference qrels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.planning.paper_rates import rows_of
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import JudgedRanks
from prefjudge.core.pooling.runs import Heads
from prefjudge.core.pooling.top_pairs import TopPairs
from prefjudge.evaluation.comparing.winratio import binomial_p
from prefjudge.evaluation.leaderboards.correlation import kendall_tau

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_DEPTH = 10
_ALPHA = 0.05


class SimulatedBoards:
    """The runs on the sampled queries: what does not change from one simulated study to the next.

    Parameters
    ----------
    candidates, pools : Pools
        All passages that are compared, and those in the pools of the sampled queries.
    heads : Heads
        The runs' first passages.
    top : TopPairs
        Says which qrel of each query is in its pool.
    ranks : sequence of JudgedRanks
        Where each run placed each passage of ``pools``, row by row.
    original : ndarray of float64, shape (runs,)
        The runs' RR@10 under the original qrels, in the order of ``ranks``.
    pairs : ndarray of int64, shape (n, 2)
        The pairs that are judged, as rows of ``candidates``, the smaller one first, in order.
    """

    def __init__(
        self,
        candidates: Pools,
        pools: Pools,
        heads: Heads,
        top: TopPairs,
        ranks: Sequence[JudgedRanks],
        original: Floats,
        pairs: Rows,
    ) -> None:
        self._original = original
        self._reciprocal = np.zeros((pools.query.size, len(ranks)))
        for column, placed in enumerate(ranks):
            first = placed.position <= _DEPTH
            self._reciprocal[placed.judged[first], column] = 1.0 / placed.position[first]
        self._starts = np.flatnonzero(np.r_[True, np.diff(pools.query) != 0])
        tops = _first_passages(candidates, pools, heads, top)
        one, other = np.triu_indices(tops.shape[1], 1)
        self._with_perfect = one == 0  # the perfect ranking is the first column of the tops
        a, b = tops[:, one], tops[:, other]
        self._compared = (a >= 0) & (b >= 0) & (a != b)
        count = candidates.query.size
        wanted = np.minimum(a, b) * count + np.maximum(a, b)
        self._pair = np.minimum(np.searchsorted(pairs[:, 0] * count + pairs[:, 1], wanted), len(pairs) - 1)
        self._a = a

    def count_significant(self, chosen: Rows) -> tuple[int, int]:
        """Return how many win ratios are significant, and how many runs so beat the perfect ranking.

        Parameters
        ----------
        chosen : ndarray of int64, shape (n,)
            Which candidate was preferred in each pair.
        """
        won = (self._compared & (chosen[self._pair] == self._a)).sum(axis=0)
        lost = self._compared.sum(axis=0) - won
        sure = binomial_p(won, lost) * won.size <= _ALPHA
        return int(sure.sum()), int((sure & self._with_perfect & (lost > won)).sum())

    def tau(self, best: Flags) -> float:
        """Return Kendall's tau between the boards under the original and the preference qrels.

        Parameters
        ----------
        best : ndarray of bool, shape (rows of the pools,)
            Which passages are preference qrels.
        """
        found = np.maximum.reduceat(self._reciprocal * best[:, None], self._starts, axis=0)
        return kendall_tau(self._original, found.mean(axis=0))


def _first_passages(candidates: Pools, pools: Pools, heads: Heads, top: TopPairs) -> Rows:
    """Return the first passage on each sampled query: of the perfect ranking, then of each run; -1: none."""
    place = {query: number for number, query in enumerate(pools.queries)}
    found = np.full((len(pools.queries), 1 + len(heads.runs)), -1, dtype=np.int64)
    known = np.array([place.get(query, -1) for query in top.queries], dtype=np.int64)[top.query]
    rows = rows_of(candidates, top.queries, top.docs, top.query, top.qrel)
    found[known[known >= 0], 0] = rows[known >= 0]
    first = heads.position == 1
    query, doc, run = heads.query[first], heads.doc[first], heads.run[first]
    number = np.array([place.get(one, -1) for one in heads.queries], dtype=np.int64)[query]
    rows = rows_of(candidates, heads.queries, heads.docs, query, doc)
    found[number[number >= 0], 1 + run[number >= 0]] = rows[number >= 0]
    return found

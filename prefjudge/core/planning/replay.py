"""Replay: what a strategy would have found, had the same crowd been asked again from the start."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.strategies import Counts, Floats, Strategy
from prefjudge.core.judges.judgments import Judgments, nameless
from prefjudge.core.planning.rounds import next_round
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.tournament import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A strategy that is to judge pools whose votes are known already.

    Attributes
    ----------
    pools : Pools
        The candidates.
    strategy : Strategy
        How the votes were asked for.
    strength : ndarray of float64, shape (n_rows,)
        How strong each candidate is by the votes that were cast, in logits.
    most : ndarray of int64, shape (n_queries,)
        How many votes a query gets at most: as many as it had, where it was given up before its end.
    told : bool
        Whether the votes tell how many of them are wrong.
    """

    pools: Pools
    strategy: Strategy
    strength: Floats
    most: Counts
    told: bool

    def draw(self, rng: np.random.Generator, *, name: str) -> Qrels:
        """Ask, vote and ask again until nothing is asked, and return the best answers of all queries."""
        best = np.zeros(self.pools.query.size, dtype=bool)
        for queries, rows in self._sizes():
            strength = self.strength[rows]
            chances = 0.5 * (1.0 + np.tanh(0.5 * (strength[:, :, None] - strength[:, None, :])))
            votes, _ = play(self.strategy, chances, rng, most=self.most[queries])
            best[rows] = of_size(self.strategy, rows.shape[1]).leaders(votes)
        found = np.flatnonzero(best)
        return Qrels(
            name=name,
            queries=self.pools.queries,
            docs=self.pools.docs,
            query=self.pools.query[found],
            doc=self.pools.doc[found],
            grade=np.ones(found.size),
        )

    def _sizes(self) -> Iterator[tuple[Index, Index]]:
        """Yield the queries whose pools have one size, and their rows, shape (n, size)."""
        sizes = self.pools.sizes
        first = np.searchsorted(self.pools.query, np.arange(sizes.size))
        for size in np.unique(sizes[sizes > 0]).tolist():
            queries = np.flatnonzero(sizes == size)
            yield queries, first[queries, None] + np.arange(size)


def prepare_replay(
    judgments: Judgments, pools: Pools, strategy: Strategy, *, rng: np.random.Generator
) -> Replay:
    """Return the replay of a strategy by the votes that it had.

    Parameters
    ----------
    judgments : Judgments
        The votes.
    pools : Pools
        The candidates.
    strategy : Strategy
        How the votes were asked for.
    rng : numpy.random.Generator
    """
    # Other people would err as often as these did, whoever they are: no name takes part.
    fitted = assess_confidence(nameless(judgments), pools=pools, rng=rng, draws=0)
    strength = np.empty(pools.query.size)
    strength[np.lexsort((pools.doc, pools.query))] = fitted.strength
    most = np.full(len(pools.queries), np.iinfo(np.int64).max)
    if any(isinstance(of_size(strategy, size), Sure) for size in np.unique(pools.sizes).tolist()):
        # It names the best so far at any time. The others have no answer before the end, and none to compare.
        given_up = next_round(judgments, pools, strategy).open
        cast = np.bincount(judgments.query, minlength=len(judgments.queries))
        votes = dict(zip(judgments.queries, cast.tolist(), strict=True))
        most[given_up] = [votes.get(pools.queries[query], 0) for query in np.flatnonzero(given_up).tolist()]
    return Replay(pools=pools, strategy=strategy, strength=strength, most=most, told=fitted.scales.told)

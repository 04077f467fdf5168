"""Replay: what a strategy would have found, had other people been asked from the start."""

from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.asking.strategies import Counts, Strategy
from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.rounds import next_round
from prefjudge.core.planning.simulation import play
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.likely_pools import DrawnPools


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A strategy that is to judge pools again.

    Attributes
    ----------
    pools : Pools
        The candidates.
    strategy : Strategy
        How the votes were asked for.
    most : ndarray of int64, shape (n_queries,)
        How many votes a query gets at most: as many as it had, where it was given up before its end.
    """

    pools: Pools
    strategy: Strategy
    most: Counts

    def play(self, drawn: DrawnPools, rng: np.random.Generator, *, name: str) -> Qrels:
        """Ask, vote and ask again until nothing is asked, and return the best answers of the drawn pools.

        Who asks by P(best) knows the crowd: votes tell it soon.
        """
        best = np.zeros(self.pools.query.size, dtype=bool)
        for stack in drawn.stacks:
            one = of_size(self.strategy, stack.rows.shape[1])
            if isinstance(one, Sure):
                one = replace(one, crowd=drawn.crowd)
            votes, _ = play(one, stack.chances, rng, most=self.most[stack.queries])
            best[stack.rows] = one.leaders(votes)
        found = np.flatnonzero(best)
        return Qrels(
            name=name,
            queries=self.pools.queries,
            docs=self.pools.docs,
            query=self.pools.query[found],
            doc=self.pools.doc[found],
            grade=np.ones(found.size),
        )


def prepare_replay(judgments: Judgments, pools: Pools, strategy: Strategy) -> Replay:
    """Return the replay of a strategy, given the votes that it had."""
    most = np.full(len(pools.queries), np.iinfo(np.int64).max)
    if any(isinstance(of_size(strategy, size), Sure) for size in np.unique(pools.sizes).tolist()):
        # It names the best so far at any time. The others have no answer before the end, and none to compare.
        given_up = next_round(judgments, pools, strategy).open
        cast = np.bincount(judgments.query, minlength=len(judgments.queries))
        votes = dict(zip(judgments.queries, cast.tolist(), strict=True))
        most[given_up] = [votes.get(pools.queries[query], 0) for query in np.flatnonzero(given_up).tolist()]
    return Replay(pools=pools, strategy=strategy, most=most)

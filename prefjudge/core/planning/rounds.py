"""Rounds: the votes to ask for next, given the judgments so far, and the best answers when none are left."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.asking.strategies import Counts, Flags, Strategy
from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.neighbours import Neighbours, OrderChance, RunGains, find_neighbours
from prefjudge.core.planning.strategy_names import of_size
from prefjudge.core.planning.sure import Sure, most_probable
from prefjudge.core.planning.worth import worth
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Codes, encode
from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.tournament import Index, Tournaments, tournaments
from prefjudge.core.resolving.trust import Trust
from prefjudge.core.resolving.vote_matrices import Floats, VoteMatrices, vote_matrices

_SEED = 18
"""Of the posterior samples: the same votes ask for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a strategy wants next.

    Attributes
    ----------
    pairs : Pairs
        The pairs to judge, in the vocabulary of the pools.
    votes : ndarray of int64, shape (len(pairs),)
        How many more votes each pair needs, each by another worker.
    open : ndarray of bool, shape (n_queries,)
        Which queries need more votes, in this round or a later one. The others have finished.
    leaders : ndarray of bool, shape (n_rows,)
        For each row of the pools, whether it is the best by the votes so far; several where they are even.
    chance : ndarray of float64, shape (n_rows,), optional
        For each row, the probability of being the best, where the strategy asks by it.
    orders : tuple of OrderChance
        How sure the order of neighbours on the board is, where they are to be told apart.
    """

    pairs: Pairs
    votes: Counts
    open: Flags
    leaders: Flags
    chance: Floats | None = None
    orders: tuple[OrderChance, ...] = ()


def next_round(
    judgments: Judgments,
    pools: Pools,
    strategy: Strategy,
    *,
    best_known: Qrels | None = None,
    settled: Flags | None = None,
    most: int | None = None,
    gains: RunGains | None = None,
) -> Round:
    """Ask a strategy for the next votes of every query.

    The strategy sees nothing but the judgments, so this may be asked again at any time. Votes that are asked
    for but not collected yet are asked for again: collect first.

    Parameters
    ----------
    judgments : Judgments
        The votes so far. A tie is half a vote to each side.
    pools : Pools
        The candidates.
    strategy : Strategy
        How to spend votes.
    best_known : Qrels, optional
        The best answers so far: they come first in the order of candidates, so that challengers meet them.
    settled : ndarray of bool, shape (n_queries,), optional
        Queries that are sure enough, and get no more votes.
    most : int, optional
        How many votes there are to hand out. Where a strategy wants more, those go first that raise the
        expected number of right winners most, whatever the query; this needs P(best), as `Sure` does.
    gains : RunGains, optional
        What the runs score, where the strategy is to tell them apart: votes go where they do so most.
    """
    rank = _ranks(pools, best_known)
    found = _confidence(judgments, pools, strategy)
    chance = None if found is None else _by_row(found, pools)
    trust, crowd = (None, None) if found is None else (found.trust, found.scales)
    aim = _aim(strategy, pools, gains, chance)
    leaders = np.zeros(pools.query.size, dtype=bool)
    query, first, second, votes, values = [], [], [], [], []
    begins = np.searchsorted(pools.query, np.arange(len(pools.queries)))
    for block in tournaments(judgments, pools=pools):
        offset = int(begins[block.first]) if block.n_queries else 0
        row_of = _pool_rows(block, pools, offset)
        for stack, by_trust in _stacks(block, trust):
            rows, order = _ordered(stack, row_of, rank)
            played = _permuted(stack.votes, order)
            one = of_size(strategy, rows.shape[1])
            if isinstance(one, Sure) and chance is not None:
                believed = chance[rows]
                # The best of one candidate needs no votes.
                judged = np.asarray(played.any(axis=(1, 2))) | (rows.shape[1] == 1)
                leaders[rows] = most_probable(believed) & judged[:, None]
                stakes = None if aim is None else aim.stakes(rows, one.level)
                weighed = _permuted(by_trust, order)
                asked = replace(one, crowd=crowd).ask_by(played, believed, stakes, weighed=weighed)
                value = worth(weighed, believed, stakes, crowd=crowd)
                if aim is not None:  # every query that counts is judged once, before any is judged again
                    value[~played.any(axis=(1, 2))] = np.inf
            else:
                leaders[rows], asked = one.leaders(played), one.ask(played)
                value = np.zeros(len(rows))
            codes = (stack.queries[asked.pool] + block.first).astype(np.int32)
            kept = np.ones(codes.size, dtype=bool) if settled is None else ~settled[codes]
            query.append(codes[kept])
            first.append(rows[asked.pool, asked.x][kept])
            second.append(rows[asked.pool, asked.y][kept])
            votes.append(asked.votes[kept])
            values.append(value[asked.pool][kept])
    if aim is not None and isinstance(strategy, Sure):
        most = in_turn(votes, values, most, math.ceil(strategy.share * len(judgments)))
    asked_for = _round(pools, query, first, second, within(most, votes, values), leaders)
    return replace(asked_for, chance=chance, orders=() if aim is None else aim.orders)


def _aim(
    strategy: Strategy, pools: Pools, gains: RunGains | None, chance: Floats | None
) -> Neighbours | None:
    """Return the runs to be told apart, where the strategy is to do that."""
    if not isinstance(strategy, Sure) or strategy.runs is None or gains is None or chance is None:
        return None
    return find_neighbours(gains, pools.query, chance, between=strategy.runs)


def in_turn(votes: list[Counts], values: list[Floats], most: int | None, share: int) -> int:
    """Return how many votes to hand out where runs are told apart: first all on queries without any."""
    fresh = sum(int(one[np.isinf(value)].sum()) for one, value in zip(votes, values, strict=True))
    wanted = fresh or share
    return wanted if most is None else min(wanted, most)


def _confidence(judgments: Judgments, pools: Pools, strategy: Strategy) -> Confidence | None:
    """Return how probably each candidate is the best, where the strategy asks by it."""
    sizes = np.unique(np.bincount(pools.query, minlength=len(pools.queries)))
    sure = [one for size in sizes.tolist() if size and isinstance(one := of_size(strategy, size), Sure)]
    if not sure:
        return None
    return assess_confidence(judgments, pools=pools, rng=np.random.default_rng(_SEED), scales=sure[0].crowd)


def _by_row(found: Confidence, pools: Pools) -> Floats:
    """Return each pool row's probability of being the best."""
    chance = np.empty(pools.query.size)
    # Its rows are sorted by document within each query, as those of a tournament are.
    chance[np.lexsort((pools.doc, pools.query))] = found.chance
    return chance


def within(most: int | None, votes: list[Counts], values: list[Floats]) -> list[Counts]:
    """Return how many of the votes to hand out now: at most so many, where they are worth most."""
    if most is None or not votes:
        return votes
    wanted, value = np.concatenate(votes), np.concatenate(values)
    order = np.argsort(-value, kind="stable")
    given = np.empty_like(wanted)
    before = np.cumsum(wanted[order]) - wanted[order]
    given[order] = np.clip(most - before, 0, wanted[order])
    return [given]


def votes_are_even(judgments: Judgments, pools: Pools) -> bool:
    """Return whether the pairs of a pool have as many votes each, in every pool.

    Where they have not, the number of votes won says how often a candidate was shown.
    """
    for block in tournaments(judgments, pools=pools):
        for stack in vote_matrices(block, ties=0.5):
            votes = stack.votes + stack.votes.transpose(0, 2, 1)
            pairs = votes[:, *np.triu_indices(votes.shape[1], 1)]
            if (pairs != pairs[:, :1]).any():
                return False
    return True


def _pool_rows(block: Tournaments, pools: Pools, offset: int) -> Index:
    """Return the pools' row of each candidate of a block: the same documents, in another order."""
    span = slice(offset, offset + block.doc.size)
    rows: Index = np.lexsort((pools.doc[span], pools.query[span])) + offset
    return rows


def _stacks(block: Tournaments, trust: Trust | None) -> Iterator[tuple[VoteMatrices, Floats]]:
    """Yield the votes, and the same as each worker is trusted: so much they tell, but all are counted."""
    stacks = vote_matrices(block, ties=0.5)
    if trust is None:
        yield from ((stack, stack.votes) for stack in stacks)
    else:
        weighed = vote_matrices(block, ties=0.5, trusting=trust)
        yield from ((stack, one.votes) for stack, one in zip(stacks, weighed, strict=True))


def _ordered(stack: VoteMatrices, row_of: Index, rank: Counts) -> tuple[Index, Index]:
    """Return the candidates of each query in the order in which they are to be tried, and that order."""
    rows = row_of[stack.rows]
    # By rank, then by the row in the pools.
    order = np.lexsort((rows, rank[rows]), axis=1)
    return np.take_along_axis(rows, order, axis=1), order


def _permuted(votes: Floats, order: Index) -> Floats:
    """Return each matrix with its rows and its columns in this order."""
    played = np.take_along_axis(votes, order[:, :, None], axis=1)
    return np.take_along_axis(played, order[:, None, :], axis=2)


def _ranks(pools: Pools, best_known: Qrels | None) -> Counts:
    """Return 0 for the best known answers, 1 for the others, shape (n_rows,)."""
    rank = np.ones(pools.query.size, dtype=np.int64)
    if best_known is not None:
        query = encode(best_known.queries, pools.queries)[best_known.query]
        doc = encode(best_known.docs, pools.docs)[best_known.doc]
        known = (query >= 0) & (doc >= 0) & (best_known.grade > 0)
        keys = query[known].astype(np.int64) * len(pools.docs) + doc[known]
        rank[np.isin(pools.query.astype(np.int64) * len(pools.docs) + pools.doc, keys)] = 0
    return rank


def _round(
    pools: Pools,
    query: list[Codes],
    first: list[Index],
    second: list[Index],
    votes: list[Counts],
    leaders: Flags,
) -> Round:
    queries = np.concatenate(query) if query else np.empty(0, np.int32)
    x = np.concatenate(first) if first else np.empty(0, np.int64)
    y = np.concatenate(second) if second else np.empty(0, np.int64)
    counts = np.concatenate(votes) if votes else np.empty(0, np.int64)
    # Rows of a pool are sorted by doc_id, so the smaller row is the document that comes first.
    a, b = np.minimum(x, y), np.maximum(x, y)
    order = np.lexsort((b, a))
    order = order[counts[order] > 0]
    is_open = np.zeros(len(pools.queries), dtype=bool)
    is_open[queries] = True
    return Round(
        pairs=Pairs(
            queries=pools.queries,
            docs=pools.docs,
            query=queries[order],
            doc_a=pools.doc[a[order]],
            doc_b=pools.doc[b[order]],
        ),
        votes=counts[order],
        open=is_open,
        leaders=leaders,
    )

"""Votes as the paper's crowd would cast them: a truth for each passage, and choices that err at its rates.

Arabzadeh et al., "Shallow pooling for sparse labels" (2021), Table 2: 1,228 of 1,868 qrels were preferred
where the run agreed with them, and 2,996 of 5,112 rivals where it did not. The first leaves an error of about
a third.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.pooling.pairs import pair_rows
from prefjudge.core.pooling.pools import Contributions, Pools, group_contributions
from prefjudge.core.pooling.runs import encode
from prefjudge.core.pooling.top_pairs import TopPairs

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the paper's workers chose which passage.

    Attributes
    ----------
    error : float
        The share of wrong votes on a random pair.
    qrel_agreed : float
        How often a qrel that is the run's first passage beats the second one (category A).
    rival_differs : float
        How often the run's first passage beats a qrel that it is not (category B).
    """

    error: float = 0.33
    qrel_agreed: float = 1228 / 1868
    rival_differs: float = 2996 / 5112


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


def rows_of(
    candidates: Pools,
    queries: Sequence[str],
    docs: Sequence[str],
    query: NDArray[np.integer],
    doc: NDArray[np.integer],
) -> NDArray[np.int64]:
    """Return which candidates these are, given by codes of other vocabularies; -1 for none."""
    # A document that is not a candidate has the code -1: the place before a query's first one is nobody's.
    width = len(candidates.docs) + 1
    keys = candidates.query.astype(np.int64) * width + candidates.doc
    wanted_query = encode(queries, candidates.queries).astype(np.int64)[query]
    wanted_doc = encode(docs, candidates.docs).astype(np.int64)[doc]
    wanted = wanted_query * width + wanted_doc
    found: NDArray[np.int64] = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where((keys[found] == wanted) & (wanted_query >= 0), found, -1)


def pairs_asked(candidates: Pools, pools: Pools, top: TopPairs) -> tuple[Rows, Rows]:
    """Return the pairs of both experiments: of one run's top with the qrel, and of all in each pool.

    Returns
    -------
    two of ndarray of int64, shape (n, 2)
        Rows of the candidates, the smaller one first.
    """
    real = top.rival >= 0
    duels = [
        rows_of(candidates, top.queries, top.docs, top.query[real], side[real])
        for side in (top.qrel, top.rival)
    ]
    own = rows_of(candidates, pools.queries, pools.docs, pools.query, pools.doc)
    first, second = pair_rows(pools.sizes)
    return np.sort(np.stack(duels, axis=1), axis=1), np.sort(
        np.stack([own[first], own[second]], axis=1), axis=1
    )


def draw_strengths(candidates: Pools, top: TopPairs, rates: Rates, rng: np.random.Generator) -> Floats:
    """Draw how good each candidate is, as a Bradley-Terry strength on the logit scale.

    A qrel is better than other passages where the run has it on top, and worse where the run prefers another
    one, by as much as the paper's rates say.

    Returns
    -------
    ndarray of float64, shape (candidates,)
    """
    scale = scale_of_error(rates.error)
    strength = rng.normal(0.0, scale, candidates.query.size)
    shown = top.retrieved
    qrel = rows_of(candidates, top.queries, top.docs, top.query[shown], top.qrel[shown])
    better, worse = mean_shift(rates.qrel_agreed, scale), mean_shift(1.0 - rates.rival_differs, scale)
    strength[qrel] += np.where(top.agreed[shown], better, worse)
    return strength


def draw_votes(
    candidates: Pools, pairs: NDArray[np.int64], strength: Floats, rng: np.random.Generator
) -> Judgments:
    """Let one simulated worker choose from each pair.

    Parameters
    ----------
    candidates : Pools
    pairs : ndarray of int64, shape (n, 2)
        Rows of the candidates.
    strength : ndarray of float64, shape (candidates,)
    """
    first, second = pairs.T
    # Bradley-Terry: the logistic function of the difference, as a tanh, which cannot overflow.
    chosen = rng.random(len(pairs)) < 0.5 * (1.0 + np.tanh(0.5 * (strength[first] - strength[second])))
    return Judgments(
        queries=candidates.queries,
        docs=candidates.docs,
        workers=(),
        query=candidates.query[first],
        left=candidates.doc[first],
        right=candidates.doc[second],
        choice=np.where(chosen, 1, -1).astype(np.int8),
        strength=np.ones(len(pairs), dtype=np.int8),
        worker=np.full(len(pairs), -1, dtype=np.int32),
        sides=False,
    )

"""Preference-graph compatibility: the ideal ranking of contradictory votes that suits a run best."""

import numpy as np
from numpy.typing import NDArray

from prefjudge.evaluation.scoring.compatibility import DEPTH, overlap_weights
from prefjudge.evaluation.scoring.judged_pairs import ComparedPairs
from prefjudge.evaluation.scoring.placings import Floats, Integers


def greedy_order(votes: Integers, place: Integers) -> Integers:
    """Order documents so that few votes are contradicted, siding with a run where there is a choice.

    The greedy algorithm of Eades, Lin & Smyth (1993) on the graph with an edge for each vote: documents that
    beat nobody left go to the end (the run's lowest first, those it did not retrieve before all), documents
    that nobody left beats go to the front (the run's highest first); where there is neither, the one with the
    most wins less losses goes to the front.

    Parameters
    ----------
    votes : ndarray of int64, shape (n, n)
        ``votes[x, y]`` is how often x was preferred to y.
    place : ndarray of int64, shape (n,)
        Where the run placed each document.

    Returns
    -------
    ndarray of int64, shape (n,)
        The documents, best first.
    """
    wins, losses = votes.sum(axis=1), votes.sum(axis=0)
    left = np.ones(place.size, dtype=bool)
    front: list[int] = []
    back: list[int] = []

    def take(candidates: NDArray[np.bool_], *, lowest: bool) -> int:
        rows = np.flatnonzero(candidates)
        chosen = int(rows[np.argmax(place[rows])] if lowest else rows[np.argmin(place[rows])])
        left[chosen] = False
        # Edges to and from what is taken leave the graph:
        # whoever beat it loses a win, whoever it beat a loss.
        wins[:] -= votes[:, chosen]
        losses[:] -= votes[chosen]
        return chosen

    while left.any():
        while (sinks := left & (wins == 0)).any():
            back.append(take(sinks, lowest=True))
        while (sources := left & (losses == 0)).any():
            front.append(take(sources, lowest=False))
        if left.any():
            lead = np.where(left, wins - losses, np.iinfo(np.int64).min)
            front.append(take(lead == lead.max(), lowest=False))
    return np.array(front + back[::-1], dtype=np.int64)


def graph_compatibility(place: Integers, pairs: ComparedPairs, *, persistence: float = 0.8) -> Floats:
    """Return the rank-biased overlap of a run with the ideal order of the preference graph, per query.

    Parameters
    ----------
    place : ndarray of int64, shape (rows of ``pairs.documents``,)
        Where the run placed each compared document.
    pairs : ComparedPairs
        The votes; contradicting ones are edges both ways.
    persistence : float
        RBO's p: 0.8 in the paper for conversational search.

    Returns
    -------
    ndarray of float64, shape (queries,)
        Not normalised, as published: a run of the ideal ranking alone scores less than 1.

    Notes
    -----
    Clarke, Luo & Smucker, "Evaluation measures based on preference graphs" (SIGIR 2021).
    """
    weights = overlap_weights(persistence)
    norm = float(np.sum(persistence ** np.arange(DEPTH, dtype=np.float64)))
    scores = np.zeros(len(pairs.documents.queries))
    bounds = np.searchsorted(pairs.query, np.arange(len(scores) + 1))
    for query in range(len(scores)):
        span = slice(bounds[query], bounds[query + 1])
        preferred, other = pairs.preferred[span], pairs.other[span]
        documents, codes = np.unique(np.concatenate([preferred, other]), return_inverse=True)
        if not documents.size:
            continue
        winner, loser = codes[: preferred.size], codes[preferred.size :]
        votes = np.zeros((documents.size, documents.size), dtype=np.int64)
        votes[winner, loser] = pairs.votes_for[span]
        votes[loser, winner] = pairs.votes_against[span]
        order = greedy_order(votes, place[documents])
        # A document is in both rankings from the deeper of its places on: that place alone gives its weight.
        deepest = np.maximum(place[documents][order], np.arange(1, documents.size + 1))
        scores[query] = weights[np.minimum(deepest, DEPTH + 1)].sum() / norm
    return scores

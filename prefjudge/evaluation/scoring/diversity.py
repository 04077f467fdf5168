"""Measures of diversity: alpha-nDCG, from judgments of each subtopic of a query."""

from collections.abc import Mapping
from math import e

import numpy as np

from prefjudge.core.pooling.qrels import MOST_SUBTOPICS
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.parameters import Parameter
from prefjudge.evaluation.scoring.placings import Floats, Integers, Placings, ratio

GREEDY = e / (e - 1)
"""How much a ranking can gain beside the greedy one: the gain of the first k documents is submodular for each
k (Nemhauser, Wolsey and Fisher 1978), and the discounts fall. More than 1 is rare."""


def alpha_ndcg(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """alpha-nDCG: gain for each subtopic, less each time that it comes again (Clarke et al., SIGIR 2008).

    The k-th document that is relevant to a subtopic gains ``(1 - alpha)**(k - 1)`` for it, discounted by
    ``log2(position + 1)``. The ideal ranking is the greedy one, as in ndeval: the best is NP-hard to find.
    Where two documents gain the same there, the greater doc_id comes first, as in ndeval.

    Raises
    ------
    InputError
        The qrels have no subtopics.
    """
    alpha = float(parameters["alpha"])
    found, best = run.up_to(cutoff), _greedy(ideal, cutoff, alpha)
    scores = [one.total(_gains(one, alpha) / np.log2(one.position + 1.0)) for one in (found, best)]
    return ratio(scores[0], scores[1])


def _subtopics(ranking: Placings) -> Integers:
    """Return a column for each subtopic that any document is relevant to: 1 where it is, shape (n, k)."""
    if ranking.subtopics is None:
        raise InputError(
            "alpha_nDCG is scored by judgments of subtopics, and the qrels have one grade for each document",
            "Give qrels with the number of the subtopic in the second column: query subtopic doc grade.",
        )
    used = int(np.bitwise_or.reduce(ranking.subtopics, initial=np.uint64(0))).bit_length()
    bits = np.arange(min(used, MOST_SUBTOPICS), dtype=np.uint64)
    return (ranking.subtopics[:, None] >> bits & np.uint64(1)).astype(np.int64)


def _gains(ranking: Placings, alpha: float) -> Floats:
    """Return the gain of each document where it stands."""
    gain = np.zeros(ranking.query.size)
    for relevant in _subtopics(ranking).T:
        gain += relevant * (1 - alpha) ** ranking.before(relevant.astype(np.float64))
    return gain


def _greedy(ideal: Placings, cutoff: int | None, alpha: float) -> Placings:
    """Return the ranking that takes, at each position, the document with the greatest gain."""
    ideal = ideal.where(_subtopics(ideal).max(axis=1, initial=0) > 0)
    assert ideal.by_id is not None
    relevant = _subtopics(ideal)
    size = np.bincount(ideal.query, minlength=ideal.queries)
    longest = int(size.max(initial=0)) if cutoff is None else min(cutoff, int(size.max(initial=0)))
    worth = np.ones((ideal.queries, relevant.shape[1]))  # of each subtopic, to the next document
    position = np.zeros(ideal.query.size, dtype=np.int64)
    for place in range(1, longest + 1):
        # Added up one by one: two sums that tie in ndeval must tie here, to the last bit.
        gain = np.cumsum(relevant * worth[ideal.query], axis=1)[:, -1:].sum(axis=1)
        gain[position > 0] = -1.0
        order = np.lexsort((-ideal.by_id, -gain, ideal.query))
        first = order[np.flatnonzero(np.r_[True, np.diff(ideal.query[order]) > 0])] if order.size else order
        first = first[gain[first] > 0]
        position[first] = place
        worth[ideal.query[first]] *= np.where(relevant[first], 1 - alpha, 1.0)
    return ideal.ranked(position)

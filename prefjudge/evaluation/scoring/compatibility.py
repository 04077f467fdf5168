"""Compatibility: how close a run comes to an ideal ranking made from preferences."""

import numpy as np

from prefjudge.evaluation.scoring.placings import Floats, Placings, number_in_group, ratio

DEPTH = 1000
"""How deep two rankings are compared, as in the published script."""


def overlap_weights(persistence: float) -> Floats:
    """Return what a document adds to rank-biased overlap that both rankings hold from each depth on.

    A document that stands at ``a`` in one ranking and ``b`` in the other is in the overlap from depth
    ``m = max(a, b)`` on, and adds ``sum(p^(i-1) / i for i in m..DEPTH)``, up to a constant factor.

    Returns
    -------
    ndarray of float64, shape (DEPTH + 2,)
        Indexed by ``m``; 0 beyond the depth.
    """
    places = np.arange(1, DEPTH + 1)
    terms = persistence ** (places - 1.0) / places
    weights = np.zeros(DEPTH + 2)
    # Suffix sums, added up from the small end: the terms fall by many powers of ten.
    weights[1 : DEPTH + 1] = np.cumsum(terms[::-1])[::-1]
    weights[0] = weights[1]
    return weights


def compatibility(run: Placings, ideal: Placings, *, persistence: float = 0.95) -> Floats:
    """Return the normalised rank-biased overlap of a run with the ideal ranking, per query.

    The ideal ranking holds the documents with a positive value, the greatest first, and equal values as the
    run orders them: documents that the run did not retrieve come last, also where its scores are negative. A
    query that the run misses scores 0.

    Parameters
    ----------
    run, ideal : Placings
        The judged documents as the run places them, and the qrels in their best order.
    persistence : float
        RBO's p, strictly between 0 and 1; 0.95 looks about as deep as nDCG@20.

    Returns
    -------
    ndarray of float64, shape (queries,)
        0 (nothing of the ideal ranking found) to 1 (the ideal ranking).

    Notes
    -----
    Clarke, Vtyurina & Smucker, "Assessing top-k preferences" (TOIS 2021), section 5.
    """
    weights = overlap_weights(persistence)
    wanted = ideal.where(ideal.grade > 0)
    # Against itself each document of the ideal ranking is in the overlap from its own place on.
    best = wanted.total(weights[np.minimum(wanted.number(), DEPTH + 1)])
    found = run.where(run.grade > 0)
    place = _ideal_places(found, wanted)
    deepest = np.minimum(np.maximum(place, found.position), DEPTH + 1)
    return ratio(found.total(weights[deepest]), best)


def _ideal_places(found: Placings, wanted: Placings) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return where each retrieved document stands in the ideal ranking.

    Before it stand all documents of a greater value, retrieved or not, and of its own value those that the
    run places higher.
    """
    order = np.lexsort((found.position, -found.grade, found.query))
    query, grade = found.query[order], found.grade[order]
    changes = (
        np.r_[True, (query[1:] != query[:-1]) | (grade[1:] != grade[:-1])]
        if query.size
        else np.zeros(0, bool)
    )
    among_equals = number_in_group(np.cumsum(changes))
    # wanted is sorted by query and descending grade: the greater ones
    # are those between the query's start and the first of this grade
    levels, codes = np.unique(np.concatenate([wanted.grade, grade]), return_inverse=True)
    # Ascending by query, and by grade descending within it:
    # levels.size - code counts from the greatest grade.
    keys = wanted.query * (levels.size + 1) + (levels.size - codes[: wanted.grade.size])
    own = query * (levels.size + 1) + (levels.size - codes[wanted.grade.size :])
    greater = np.searchsorted(keys, own) - np.searchsorted(wanted.query, query)
    places = np.empty(query.size, dtype=np.int64)
    places[order] = greater + among_equals
    return places

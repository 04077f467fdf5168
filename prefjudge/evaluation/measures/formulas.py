"""The formulas of measures, from the positions of judged documents to a score for each query."""

from math import e, isinf

import numpy as np

from prefjudge.core.runs import MOST_SUBTOPICS
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.placings import (
    Floats,
    Integers,
    Parameters,
    Placings,
    number_in_group,
    ratio,
)


def threshold(parameters: Parameters) -> float:
    """Return the grade from which on a document is relevant."""
    return float(parameters["rel"])


def relevant(run: Placings, parameters: Parameters) -> Placings:
    """Return the relevant documents of a run."""
    return run.where(run.grade >= threshold(parameters))


def relevant_total(ideal: Placings, parameters: Parameters) -> Floats:
    """Return how many relevant documents each query has."""
    return ideal.total((ideal.grade >= threshold(parameters)).astype(np.float64))


def _first_relevant(run: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """Return the position of the first relevant document, infinity where there is none."""
    found = relevant(run.up_to(cutoff), parameters)
    first = np.full(run.queries, np.inf)
    np.minimum.at(first, found.query, found.position)
    return first


def reciprocal_rank(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """1 / the position of the first relevant document."""
    return 1.0 / _first_relevant(run, cutoff, parameters)


def search_length(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """How many documents are read up to the first relevant one (Cooper 1968; Lin et al. 2021, section 4).

    Lower is better. Where the first ``cutoff`` documents hold no relevant one the value is ``cutoff + 1``:
    worse than finding it last. Lin et al. leave such queries out, as does the outcome breakdown.
    """
    assert cutoff is not None
    return np.minimum(_first_relevant(run, cutoff, parameters), cutoff + 1.0)


def success(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """1 where a relevant document was found, otherwise 0."""
    return np.isfinite(_first_relevant(run, cutoff, parameters)).astype(np.float64)


def precision(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """The share of the first ``cutoff`` documents that is relevant."""
    assert cutoff is not None
    found = relevant(run.up_to(cutoff), parameters)
    return found.total(np.ones(found.query.size)) / cutoff


def recall(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """The share of the relevant documents that was found."""
    found = relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(np.ones(found.query.size)), relevant_total(ideal, parameters))


def r_precision(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """Precision at R, the number of relevant documents of the query."""
    total = relevant_total(ideal, parameters)
    found = relevant(run, parameters)
    return ratio(found.total((found.position <= total[found.query]).astype(np.float64)), total)


def average_precision(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """The mean, over all relevant documents, of the precision at each one that was found."""
    found = relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(found.number() / found.position), relevant_total(ideal, parameters))


def binary_preference(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """How seldom judged non-relevant documents stand above relevant ones (Buckley & Voorhees 2004)."""
    level = threshold(parameters)
    total = relevant_total(ideal, parameters)
    # trec_eval takes a negative grade for "not judged".
    refused = ideal.total(((ideal.grade < level) & (ideal.grade >= 0)).astype(np.float64))
    above = run.before(((run.grade < level) & (run.grade >= 0)).astype(np.float64))
    is_found = run.grade >= level
    found = run.where(is_found)
    # min(R, N) as in trec_eval, where the paper divides by R: with few
    # judged non-relevant documents no run could otherwise reach 0.
    bound = np.minimum(total, refused)[found.query]
    penalty = ratio(np.minimum(above[is_found], total[found.query]), bound)
    return ratio(found.total(1.0 - penalty), total)


def _gains(grades: Floats, parameters: Parameters) -> Floats:
    gains = np.maximum(grades, 0.0)
    return np.exp2(gains) - 1.0 if parameters.get("dcg") == "exp-log2" else gains


def _discounted(run: Placings, parameters: Parameters) -> Floats:
    return run.total(_gains(run.grade, parameters) / np.log2(run.position + 1.0))


def discounted_gain(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """nDCG: gain discounted by log2(position + 1), divided by that of the ideal ranking.

    ``dcg='log2'`` takes the grade as the gain (trec_eval), ``dcg='exp-log2'`` takes 2^grade - 1.
    """
    return ratio(_discounted(run.up_to(cutoff), parameters), _discounted(ideal.up_to(cutoff), parameters))


def cumulative_gain(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """NCG: the sum of grades found, divided by the greatest that ``cutoff`` documents could hold."""
    found, best = run.up_to(cutoff), ideal.up_to(cutoff)
    return ratio(found.total(_gains(found.grade, parameters)), best.total(_gains(best.grade, parameters)))


def judged_share(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """The share of the documents returned, to the cut-off, that has a label of any grade."""
    seen = run.retrieved if cutoff is None else np.minimum(run.retrieved, cutoff)
    return ratio(run.up_to(cutoff).total(np.ones(run.up_to(cutoff).query.size)), seen)


LEAST_AP = 1e-5
"""What a query counts in the geometric mean where nothing relevant is found: trec_eval's MIN_GEO_MEAN."""


def log_average_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """The logarithm of AP, of which a leaderboard shows the geometric mean: trec_eval's gm_map.

    An AP below 0.00001 counts as that (Robertson, "On GMAP", CIKM 2006).
    """
    logarithms: Floats = np.log(np.maximum(average_precision(run, ideal, cutoff, parameters), LEAST_AP))
    return logarithms


def interpolated_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """The greatest precision at any place from which on a share ``recall`` of the relevant was found.

    The share is a whole number of documents: rounded up from 0.1 on, as in trec_eval 9 and ir_measures.
    trec_eval 10 rounds to the nearest, so that a tenth of three documents is none there, and one here.
    """
    total = relevant_total(ideal, parameters)
    needed = np.floor(float(parameters["recall"]) * total + 0.9)
    found = relevant(run, parameters)
    number = found.number()
    reached = number >= needed[found.query]
    best = np.zeros(run.queries)
    np.maximum.at(best, found.query[reached], (number / found.position)[reached])
    return best


_SMOOTH = 1e-5
"""trec_eval's INFAP_EPSILON, which stands for the judged documents that are not there."""


def inferred_average_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """infAP: AP where a random part of the pool is judged, and the rest of it has a negative grade.

    Precision above a relevant document at rank ``k`` is expected from what is judged there: ``1/k + (k-1)/k
    * pooled/(k-1) * (relevant + e) / (relevant + not relevant + 2e)`` (Yilmaz & Aslam, CIKM 2006).
    """
    level = threshold(parameters)
    is_relevant = run.grade >= level
    relevant_above, pooled_above = run.before(is_relevant.astype(np.float64)), run.number() - 1.0
    judged_above = run.before(((run.grade >= 0) | is_relevant).astype(np.float64))
    share = (relevant_above + _SMOOTH) / (judged_above + 2 * _SMOOTH)
    expected = (1.0 + pooled_above * share) / run.position
    found = run.where(is_relevant)
    return ratio(found.total(expected[is_relevant]), relevant_total(ideal, parameters))


# Compatibility: how close a run comes to an ideal ranking made from preferences.

DEPTH = 1000
"""How deep two rankings are compared, as in the published script."""


def overlap_weights(persistence: float) -> Floats:
    """Return what a document adds to rank-biased overlap that both rankings hold from each depth on.

    A document that stands at ``a`` in one ranking and ``b`` in the other is in the overlap from depth ``m =
    max(a, b)`` on, and adds ``sum(p^(i-1) / i for i in m..DEPTH)``, up to a constant factor: the weight at
    ``m``, shape (DEPTH + 2,), 0 beyond the depth.
    """
    places = np.arange(1, DEPTH + 1)
    terms = persistence ** (places - 1.0) / places
    weights = np.zeros(DEPTH + 2)
    # Suffix sums, added up from the small end: the terms fall by many powers of ten.
    weights[1 : DEPTH + 1] = np.cumsum(terms[::-1])[::-1]
    weights[0] = weights[1]
    return weights


def compatibility(run: Placings, ideal: Placings, *, persistence: float = 0.95) -> Floats:
    """Return the normalised rank-biased overlap of a run with the ideal ranking, per query, from 0 to 1.

    The ideal ranking holds the documents with a positive value, the greatest first, and equal values as the
    run orders them: documents that the run did not retrieve come last, also where its scores are negative. A
    query that the run misses scores 0. RBO's p is between 0 and 1; 0.95 looks about as deep as nDCG@20.

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


# Measures of diversity: alpha-nDCG, from judgments of each subtopic of a query.

GREEDY = e / (e - 1)
"""How much a ranking can gain beside the greedy one: the gain of the first k documents is submodular for each
k (Nemhauser, Wolsey and Fisher 1978), and the discounts fall. More than 1 is rare."""


def alpha_ndcg(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """alpha-nDCG: gain for each subtopic, less each time that it comes again (Clarke et al., SIGIR 2008).

    The k-th document that is relevant to a subtopic gains ``(1 - alpha)**(k - 1)`` for it, discounted by
    ``log2(position + 1)``. The ideal ranking is the greedy one, as in ndeval: the best is NP-hard to find.
    Where two documents gain the same there, the greater doc_id comes first, as in ndeval.
    """
    alpha = float(parameters["alpha"])
    found, best = run.up_to(cutoff), _greedy(ideal, cutoff, alpha)
    scores = [one.total(_new_gains(one, alpha) / np.log2(one.position + 1.0)) for one in (found, best)]
    return ratio(scores[0], scores[1])


def _subtopics(ranking: Placings) -> Integers:
    """Return a column for each subtopic that any document is relevant to: 1 where it is, shape (n, k)."""
    if ranking.subtopics is None:
        raise InputError(
            "alpha_nDCG needs judgments of subtopics, but the qrels have one grade for each document",
            "Give qrels with the number of the subtopic in the second column: query subtopic doc grade.",
        )
    used = int(np.bitwise_or.reduce(ranking.subtopics, initial=np.uint64(0))).bit_length()
    bits = np.arange(min(used, MOST_SUBTOPICS), dtype=np.uint64)
    return (ranking.subtopics[:, None] >> bits & np.uint64(1)).astype(np.int64)


def _new_gains(ranking: Placings, alpha: float) -> Floats:
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


# Measures of sets: how much was returned, and how much of it is relevant, whatever its order.
#
# As in trec_eval and ir_measures. ir_measures and trec_eval add counts up over the queries; a leaderboard
# here shows their mean.


def _relevant_found(run: Placings, parameters: Parameters) -> Floats:
    found = relevant(run, parameters)
    return found.total(np.ones(found.query.size))


def number_retrieved(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """NumRet: how many documents were returned; with ``rel``, how many of that grade or more."""
    if isinf(float(parameters["rel"])):
        return run.retrieved.astype(np.float64)
    return _relevant_found(run, parameters)


def number_relevant(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """NumRel: how many relevant documents the query has, whatever was returned."""
    return relevant_total(ideal, parameters)


def set_precision(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """SetP: the share of the returned documents that is relevant.

    With ``relative``, divided by the greatest share that as many documents can have.
    """
    returned = run.retrieved.astype(np.float64)
    if parameters["relative"]:
        returned = np.minimum(returned, relevant_total(ideal, parameters))
    return ratio(_relevant_found(run, parameters), returned)


def set_recall(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """SetR: the share of the relevant documents that was returned."""
    return ratio(_relevant_found(run, parameters), relevant_total(ideal, parameters))


def set_f(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """SetF: the harmonic mean of SetP and SetR, with ``beta`` as the weight of the second.

    ``(beta + 1) P R / (R + beta P)`` as trec_eval's set_F has it, whose weight is not squared as in van
    Rijsbergen's F (1979).
    """
    found, beta = _relevant_found(run, parameters), float(parameters["beta"])
    precision = ratio(found, run.retrieved)
    recall = ratio(found, relevant_total(ideal, parameters))
    return ratio((beta + 1.0) * precision * recall, recall + beta * precision)


# Measures of a user who reads on with some probability: ERR, RBP, INST.


def expected_reciprocal_rank(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """ERR: the expected 1/position where a user stops (Chapelle et al. 2009).

    A document satisfies with probability (2^grade - 1) / 2^max, where ``max`` is the highest grade of
    the scale: by default 4, as in gdeval and ir_measures, whichever grades the qrels hold.
    """
    top, highest = float(parameters["max"]), float(np.max(ideal.grade, initial=0.0))
    if highest > top:
        raise InputError(
            f"a grade is {highest:g}, above ERR's scale of 0 to {top:g}",
            f"Name the highest grade of the scale: ERR(max={np.ceil(highest):g}), with the cut-off behind.",
        )
    found = run.up_to(cutoff)
    satisfied = (np.exp2(np.maximum(found.grade, 0.0)) - 1.0) / np.exp2(top)
    # A product of (1 - satisfied) over the documents before, as
    # a sum of logarithms. satisfied is below 1 by definition.
    unsatisfied_before = np.exp(found.before(np.log1p(-satisfied)))
    return found.total(satisfied * unsatisfied_before / found.position)


def rank_biased_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """RBP: the gain per document of a user who reads on with probability ``p`` (Moffat & Zobel 2008)."""
    persistence = float(parameters["p"])
    found = relevant(run.up_to(cutoff), parameters)
    return (1.0 - persistence) * found.total(np.power(persistence, found.position - 1.0, dtype=np.float64))


def graded_rank_biased_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters
) -> Floats:
    """RBP, with a relevant document worth 1; or with ``max_rel``, a document worth its grade's share of that.

    The graded form is Moffat & Zobel's own (2008, section 3.4): a gain is anything from 0 to 1.
    """
    highest = float(parameters["max_rel"])
    if not highest:
        return rank_biased_precision(run, ideal, cutoff, parameters)
    persistence, found = float(parameters["p"]), run.up_to(cutoff)
    worth = np.clip(found.grade, 0.0, highest) / highest
    return (1.0 - persistence) * found.total(worth * np.power(persistence, found.position - 1.0))


_READ = 1000
"""How deep INST's user may read, as cwl_eval has it; the weights of further ranks are as good as nothing."""

_AT_ONCE = 256
"""Queries whose 1,000 weights are held at once."""


def inst(run: Placings, ideal: Placings, cutoff: int | None, parameters: Parameters) -> Floats:
    """INST: the gain per document of a user who expects a gain of ``T`` (Moffat, Bailey et al. 2015).

    The user reads on after place ``i`` with probability ``((i + T + T_i - 1) / (i + T + T_i))^2``, where
    ``T_i`` is what is left of ``T`` there. A document gains its grade's share of ``min_rel`` to ``max_rel``,
    as in ir_measures and cwl_eval.
    """
    wanted, least, most = (float(parameters[name]) for name in ("T", "min_rel", "max_rel"))
    if least >= most:
        raise InputError(f"INST's grades reach from {least:g} to {most:g}", "Give a max_rel above min_rel.")
    found = run.up_to(_READ)
    worth = (np.clip(np.maximum(found.grade, 0.0), least, most) - least) / (most - least)
    place = np.arange(1.0, _READ + 1.0)
    scores = np.zeros(run.queries)
    for first in range(0, run.queries, _AT_ONCE):
        rows = np.flatnonzero((found.query >= first) & (found.query < first + _AT_ONCE))
        gains = np.zeros((min(_AT_ONCE, run.queries - first), _READ))
        gains[found.query[rows] - first, found.position[rows] - 1] = worth[rows]
        reached = place + 2.0 * wanted - np.cumsum(gains, axis=1)  # i + T + T_i
        reads = np.cumprod(((reached - 1.0) / reached) ** 2, axis=1)
        weights = np.concatenate([np.ones((len(gains), 1)), reads[:, :-1]], axis=1)
        scores[first : first + len(gains)] = (weights * gains).sum(axis=1) / weights.sum(axis=1)
    return scores

"""Measures of ranks and gains: from positions of judged documents to a score for each query.

Each function takes the run's placings, the ideal placings (the qrels in their best order), a cut-off and the
family's parameters, and returns an array of shape (queries,). All of them follow trec_eval where it has the
measure: an unjudged document is not relevant, a query without relevant documents scores 0, and P@k divides by
k however few documents were retrieved.
"""

from collections.abc import Mapping

import numpy as np

from prefjudge.evaluation.scoring.parameters import Parameter
from prefjudge.evaluation.scoring.placings import Floats, Placings, ratio


def threshold(parameters: Mapping[str, Parameter]) -> float:
    """Return the grade from which on a document is relevant."""
    return float(parameters["rel"])


def relevant(run: Placings, parameters: Mapping[str, Parameter]) -> Placings:
    """Return the relevant documents of a run."""
    return run.where(run.grade >= threshold(parameters))


def relevant_total(ideal: Placings, parameters: Mapping[str, Parameter]) -> Floats:
    """Return how many relevant documents each query has."""
    return ideal.total((ideal.grade >= threshold(parameters)).astype(np.float64))


def _first_relevant(run: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
    """Return the position of the first relevant document, infinity where there is none."""
    found = relevant(run.up_to(cutoff), parameters)
    first = np.full(run.queries, np.inf)
    np.minimum.at(first, found.query, found.position)
    return first


def reciprocal_rank(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """1 / the position of the first relevant document."""
    return 1.0 / _first_relevant(run, cutoff, parameters)


def search_length(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """How many documents are read up to the first relevant one (Cooper 1968; Lin et al. 2021, section 4).

    Lower is better. Where the first ``cutoff`` documents hold no relevant one the value is ``cutoff + 1``:
    worse than finding it last. Lin et al. leave such queries out, as does the outcome breakdown.
    """
    assert cutoff is not None
    return np.minimum(_first_relevant(run, cutoff, parameters), cutoff + 1.0)


def success(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """1 where a relevant document was found, otherwise 0."""
    return np.isfinite(_first_relevant(run, cutoff, parameters)).astype(np.float64)


def precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The share of the first ``cutoff`` documents that is relevant."""
    assert cutoff is not None
    found = relevant(run.up_to(cutoff), parameters)
    return found.total(np.ones(found.query.size)) / cutoff


def recall(run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
    """The share of the relevant documents that was found."""
    found = relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(np.ones(found.query.size)), relevant_total(ideal, parameters))


def r_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """Precision at R, the number of relevant documents of the query."""
    total = relevant_total(ideal, parameters)
    found = relevant(run, parameters)
    return ratio(found.total((found.position <= total[found.query]).astype(np.float64)), total)


def average_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The mean, over all relevant documents, of the precision at each one that was found."""
    found = relevant(run.up_to(cutoff), parameters)
    return ratio(found.total(found.number() / found.position), relevant_total(ideal, parameters))


def binary_preference(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
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


def _gains(grades: Floats, parameters: Mapping[str, Parameter]) -> Floats:
    gains = np.maximum(grades, 0.0)
    return np.exp2(gains) - 1.0 if parameters.get("dcg") == "exp-log2" else gains


def _discounted(run: Placings, parameters: Mapping[str, Parameter]) -> Floats:
    return run.total(_gains(run.grade, parameters) / np.log2(run.position + 1.0))


def discounted_gain(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """nDCG: gain discounted by log2(position + 1), divided by that of the ideal ranking.

    ``dcg='log2'`` takes the grade as the gain (trec_eval), ``dcg='exp-log2'`` takes 2^grade - 1.
    """
    return ratio(_discounted(run.up_to(cutoff), parameters), _discounted(ideal.up_to(cutoff), parameters))


def cumulative_gain(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """NCG: the sum of grades found, divided by the greatest that ``cutoff`` documents could hold."""
    found, best = run.up_to(cutoff), ideal.up_to(cutoff)
    return ratio(found.total(_gains(found.grade, parameters)), best.total(_gains(best.grade, parameters)))


def judged_share(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The share of the documents returned, to the cut-off, that has a label of any grade."""
    seen = run.retrieved if cutoff is None else np.minimum(run.retrieved, cutoff)
    return ratio(run.up_to(cutoff).total(np.ones(run.up_to(cutoff).query.size)), seen)


LEAST_AP = 1e-5
"""What a query counts in the geometric mean where nothing relevant is found: trec_eval's MIN_GEO_MEAN."""


def log_average_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """The logarithm of AP, of which a leaderboard shows the geometric mean: trec_eval's gm_map.

    An AP below 0.00001 counts as that (Robertson, "On GMAP", CIKM 2006).
    """
    logarithms: Floats = np.log(np.maximum(average_precision(run, ideal, cutoff, parameters), LEAST_AP))
    return logarithms


def interpolated_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
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
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
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

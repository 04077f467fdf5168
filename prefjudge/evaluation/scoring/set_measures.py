"""Measures of sets: how much was returned, and how much of it is relevant, whatever its order.

As in trec_eval and ir_measures. ir_measures and trec_eval add counts up over the queries; a leaderboard here
shows their mean.
"""

from collections.abc import Mapping
from math import isinf

import numpy as np

from prefjudge.evaluation.scoring.parameters import Parameter
from prefjudge.evaluation.scoring.placings import Floats, Placings, ratio
from prefjudge.evaluation.scoring.rank_measures import relevant, relevant_total


def _relevant_found(run: Placings, parameters: Mapping[str, Parameter]) -> Floats:
    found = relevant(run, parameters)
    return found.total(np.ones(found.query.size))


def number_retrieved(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """NumRet: how many documents were returned; with ``rel``, how many of that grade or more."""
    if isinf(float(parameters["rel"])):
        return run.retrieved.astype(np.float64)
    return _relevant_found(run, parameters)


def number_relevant(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """NumRel: how many relevant documents the query has, whatever was returned."""
    return relevant_total(ideal, parameters)


def set_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """SetP: the share of the returned documents that is relevant.

    With ``relative``, divided by the greatest share that as many documents can have.
    """
    returned = run.retrieved.astype(np.float64)
    if parameters["relative"]:
        returned = np.minimum(returned, relevant_total(ideal, parameters))
    return ratio(_relevant_found(run, parameters), returned)


def set_recall(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """SetR: the share of the relevant documents that was returned."""
    return ratio(_relevant_found(run, parameters), relevant_total(ideal, parameters))


def set_f(run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
    """SetF: the harmonic mean of SetP and SetR, with ``beta`` as the weight of the second.

    ``(beta + 1) P R / (R + beta P)`` as trec_eval's set_F has it, whose weight is not squared as in van
    Rijsbergen's F (1979).
    """
    found, beta = _relevant_found(run, parameters), float(parameters["beta"])
    precision = ratio(found, run.retrieved)
    recall = ratio(found, relevant_total(ideal, parameters))
    return ratio((beta + 1.0) * precision * recall, recall + beta * precision)

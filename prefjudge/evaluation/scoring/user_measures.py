"""Measures of a user who reads on with some probability: ERR, RBP, INST."""

from collections.abc import Mapping

import numpy as np

from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.parameters import Parameter
from prefjudge.evaluation.scoring.placings import Floats, Placings
from prefjudge.evaluation.scoring.rank_measures import relevant


def expected_reciprocal_rank(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """ERR: the expected 1/position where a user stops (Chapelle et al. 2009).

    A document satisfies with probability (2^grade - 1) / 2^max, where ``max`` is the highest grade of
    the scale: by default 4, as in gdeval and ir_measures, whichever grades the qrels hold.

    Raises
    ------
    InputError
        A grade is above the scale.
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
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
) -> Floats:
    """RBP: the gain per document of a user who reads on with probability ``p`` (Moffat & Zobel 2008)."""
    persistence = float(parameters["p"])
    found = relevant(run.up_to(cutoff), parameters)
    return (1.0 - persistence) * found.total(np.power(persistence, found.position - 1.0, dtype=np.float64))


def graded_rank_biased_precision(
    run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]
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


def inst(run: Placings, ideal: Placings, cutoff: int | None, parameters: Mapping[str, Parameter]) -> Floats:
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

"""Tie sensitivity: how much of a score rests on the order of documents that the run scored alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.evaluation.scoring.placings import ideal_placings, number_in_group
from prefjudge.evaluation.testing.intervals import Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class TieSensitivity:
    """The mean (or median) score of a run as ranked, and at both ends of what its ties allow.

    Attributes
    ----------
    run, measure : str
        What was scored.
    lowest, score, highest : float
        The least value that an order of the tied documents gives, that under the declared order, and the
        greatest.
    queries : int
        On how many queries the order of ties matters.
    """

    run: str
    measure: str
    lowest: float
    score: float
    highest: float
    queries: int


def with_ties_at(ranks: JudgedRanks, *, best: bool) -> JudgedRanks:
    """Return the ranks with tied documents in their best order, or in their worst.

    The best order puts the highest grades first in each span of equal scores, and unjudged documents last;
    the worst does the opposite. For every measure that rises when a better document moves up these two bound
    what any order gives.
    """
    rows = np.lexsort((-ranks.grade, ranks.best, ranks.query))
    # Documents that tie share the best place of their span, so query and best place name it.
    spans = np.cumsum(
        np.r_[True, (np.diff(ranks.query[rows]) != 0) | (np.diff(ranks.best[rows]) != 0)][: rows.size]
    )
    place = (number_in_group(spans) - 1).astype(np.int32)
    position = np.empty_like(ranks.position)
    position[rows] = ranks.best[rows] + place if best else ranks.worst[rows] - place
    return replace(ranks, position=position)


def tie_sensitivity(
    ranks: Sequence[JudgedRanks], qrels: Qrels, measure: Measure, *, statistic: Statistic = "mean"
) -> tuple[TieSensitivity, ...]:
    """Bound the score of each run over all orders of its tied documents.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        One per run.
    qrels : Qrels
        The labels.
    measure : Measure
        Any measure that rises when a better document moves up, or falls with it.
    statistic : {'mean', 'median'}
        What sums up the queries.

    Returns
    -------
    tuple of TieSensitivity
        One per run, in the order given.
    """
    centre = np.mean if statistic == "mean" else np.median
    rows, ideal = [], ideal_placings(qrels)
    for placed in ranks:
        scores = measure.score_against(ideal, placed, qrels)
        if np.array_equal(placed.best, placed.worst):  # no judged document is tied with another one
            ends = np.stack([scores, scores])
        else:
            orders = (with_ties_at(placed, best=best) for best in (False, True))
            ends = np.stack([measure.score_against(ideal, order, qrels) for order in orders])
        # For measures that fall as a better document rises, the best order gives the lower end.
        low, high = ends.min(axis=0), ends.max(axis=0)
        rows.append(
            TieSensitivity(
                run=placed.run,
                measure=str(measure),
                lowest=float(centre(low)),
                score=float(centre(scores)),
                highest=float(centre(high)),
                queries=int((high > low).sum()),
            )
        )
    return tuple(rows)

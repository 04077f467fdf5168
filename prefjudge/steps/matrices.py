"""The query x run matrices that the statistics work on, from the inputs of a step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prefjudge.core.qrels import Scores
    from prefjudge.steps.readers import Reader
    from prefjudge.steps.sources import Sources


def score_matrices(found: "Sources", measures: str | Sequence[str], reader: "Reader") -> "tuple[Scores, ...]":
    """Score all runs under each label set with each measure, in that order.

    Raises
    ------
    InputError
        A run cannot be read, a measure is unknown or two runs have one name.
    """
    from prefjudge.evaluation.measures import Measure, score_matrix

    parsed = list(dict.fromkeys(map(Measure.parse, found.measures(measures))))
    matrices = []
    for labels, ranks in zip(found.qrels, reader.judged_all(found.qrels), strict=True):
        matrices += [score_matrix(ranks, labels, measure) for measure in parsed]
    return tuple(matrices)

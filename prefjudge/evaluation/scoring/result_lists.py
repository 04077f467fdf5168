"""Result lists: every list of a few relevant and non-relevant documents, and what a measure gives it.

Craswell et al. (SIGIR 2021, section 4.2, Table 3) list them to show why reciprocal rank is not an interval
scale over result lists: its values are not equally far apart, so some differences exist at one place only.
"""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Order
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.measures import Measure

_MOST = 12
"""Documents in a list: there are 4,096 such lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLists:
    """All result lists of one length, and their scores.

    Attributes
    ----------
    measure : str
    lists : tuple of tuple of int
        1 for a relevant document, 0 for another, from the first place on; those that begin best come first.
    scores : tuple of float
        The score of each.
    """

    measure: str
    lists: tuple[tuple[int, ...], ...]
    scores: tuple[float, ...]

    @property
    def steps(self) -> tuple[float, ...]:
        """How far neighbouring values are apart, from the highest down."""
        values = sorted(set(self.scores), reverse=True)
        return tuple(high - low for high, low in pairwise(values))

    @property
    def equally_spaced(self) -> bool:
        """Whether all steps are the same: over these lists the measure is an interval scale."""
        return not self.steps or bool(np.allclose(self.steps, self.steps[0], rtol=0, atol=1e-12))


def score_lists(measure: str = "RR@10", *, depth: int = 3) -> ResultLists:
    """Score every result list of ``depth`` documents, each relevant or not.

    Raises
    ------
    InputError
        The measure is not known, or the lists are too long to have all of them.
    """
    if not 1 <= depth <= _MOST:
        raise InputError(
            f"lists of {many(depth, 'document')}", f"Ask for 1 to {_MOST}: there are 2 to that power."
        )
    parsed = Measure.parse(measure)
    lists = tuple(product((1, 0), repeat=depth))
    rows = len(lists) * depth
    query = np.repeat(np.arange(len(lists), dtype=np.int32), depth)
    position = np.tile(np.arange(1, depth + 1, dtype=np.int32), len(lists))
    grade = np.array(lists, dtype=np.float64).ravel()
    qrels = Qrels(
        name="every list",
        queries=tuple(map(str, range(len(lists)))),
        docs=tuple(map(str, range(depth))),
        query=query,
        doc=position - 1,
        grade=grade,
    )
    ranks = JudgedRanks(
        run="every list",
        query=query,
        judged=np.arange(rows, dtype=np.int32),
        position=position,
        best=position,
        worst=position,
        grade=grade,
        retrieved=np.full(len(lists), depth, dtype=np.int32),
        order=Order.RANK,
    )
    scores = parsed.score(ranks, qrels)
    return ResultLists(measure=str(parsed), lists=lists, scores=tuple(scores.tolist()))

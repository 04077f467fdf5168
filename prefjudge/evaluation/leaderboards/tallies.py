"""Tallies: how many queries have each score, which is all that a leaderboard needs of a matrix."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Qrels, Scores
from prefjudge.core.pooling.runs import Order
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard, leaderboard
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.evaluation.scoring.placings import Floats
from prefjudge.evaluation.testing.intervals import Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The scores of one run under one measure, without the queries that they belong to.

    Attributes
    ----------
    run : str
        The run tag.
    values : ndarray of float64, shape (n,)
        The scores that some query has.
    counts : ndarray of int64, shape (n,)
        How many queries have each. Judged queries beyond their sum score 0.
    """

    run: str
    values: Floats
    counts: NDArray[np.int64]

    def spread(self, queries: int) -> Floats:
        """Return the score of each of this many queries, in ascending order."""
        missed = np.zeros(queries - int(self.counts.sum()))
        return np.sort(np.concatenate([missed, np.repeat(self.values, self.counts)]))


def tally_leaderboard(
    tallies: Sequence[Tally],
    qrels: Qrels,
    measure: Measure,
    *,
    order: Order,
    statistic: Statistic = "mean",
) -> Leaderboard:
    """Return the leaderboard of runs whose scores are tallied; one run at a time is spread out.

    The sums run over the scores in ascending order: means are those of the matrix but for rounding.

    Parameters
    ----------
    tallies : sequence of Tally
        One per run.
    qrels : Qrels
        The labels; the means are over their queries.
    measure : Measure
        What was tallied; greater is better.
    order : Order
        The ordering that ranked the documents.
    statistic : {'mean', 'median'}
        What orders the runs.

    Raises
    ------
    InputError
        There is no run.
    """
    if not tallies:
        raise InputError("there is no run to score", "Give at least one run file.")
    boards = [
        leaderboard(
            Scores(
                measure=str(measure),
                qrels=qrels.name,
                queries=qrels.queries,
                runs=(tally.run,),
                values=tally.spread(len(qrels.queries))[:, np.newaxis],
                order=order,
            ),
            statistic=statistic,
        )
        for tally in tallies
    ]
    rows = sorted((board.rows[0] for board in boards), key=lambda row: (-row.score, row.run))
    # Rows are in this order already; equal scores share the place of the first of them.
    badness = np.array([-row.score for row in rows])
    ranks = (np.searchsorted(badness, badness) + 1).tolist()
    return replace(
        boards[0], rows=tuple(replace(row, rank=rank) for row, rank in zip(rows, ranks, strict=True))
    )

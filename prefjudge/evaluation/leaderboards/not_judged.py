"""How much of what runs put on top people have compared: of runs that wait for it, and of those ranked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """How much of a run's top is judged.

    Attributes
    ----------
    run : str
        The run tag.
    judged, queries : int
        Of the queries that it has a passage for, those whose top passage is judged; and all of them.
    """

    run: str
    judged: int
    queries: int

    @property
    def share(self) -> float:
        """The share of its top passages that is judged; NaN where it has none."""
        return self.judged / self.queries if self.queries else float("nan")


def count_judged(heads: Heads, judged: Collection[tuple[str, str]]) -> tuple[NotJudged, ...]:
    """Count the judged among the top passages of each run.

    Parameters
    ----------
    heads : Heads
        The top document of each query of each run.
    judged : collection of (str, str)
        The query ids and doc ids of the passages that are judged.
    """
    tops, hits = [0] * len(heads.runs), [0] * len(heads.runs)
    for run, query, doc in zip(heads.run.tolist(), heads.query.tolist(), heads.doc.tolist(), strict=True):
        tops[run] += 1
        hits[run] += (heads.queries[query], heads.docs[doc]) in judged
    return tuple(
        NotJudged(run=run, judged=hits[place], queries=tops[place]) for place, run in enumerate(heads.runs)
    )


def judged_tops(
    ranks: Sequence[JudgedRanks], documents: Qrels, queries: Collection[str]
) -> tuple[NotJudged, ...]:
    """Count the judged among the top passages of each run, on some queries.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        Where the runs placed the ``documents``.
    documents : Qrels
        The passages that are judged.
    queries : collection of str
    """
    wanted = np.isin(np.array(documents.queries, dtype=object), list(queries))
    return tuple(
        NotJudged(
            run=one.run,
            judged=int(np.count_nonzero(wanted[one.query[one.position == 1]])),
            queries=int(np.count_nonzero(wanted & (one.retrieved > 0))),
        )
        for one in ranks
    )

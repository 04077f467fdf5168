"""Runs that wait to be judged: how much of what they put on top people have compared already."""

from collections.abc import Collection
from dataclasses import dataclass

from prefjudge.core.pooling.runs import Heads


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """A run that is not ranked yet.

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

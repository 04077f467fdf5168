"""The deviation that a pilot shows: of the paired differences of its runs, over its queries."""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.runs import Scores
from prefjudge.errors import InputError
from prefjudge.findings.inputs import gather, score_matrices
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import LabelSets, Runs, paths_of
from prefjudge.reading.opened import reading
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import Study
from prefjudge.words import many

_MIDDLE = (0.1, 0.9)
_FEW = 50
"""Scores of a query are mostly 0 and 1: with fewer queries the deviation itself is hardly known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """The standard deviations over queries of the differences between each two runs.

    Attributes
    ----------
    deviation : float
        The median of the pairs of runs that differ on any query.
    low, high : float
        Four pairs of five are between these.
    pairs, queries : int
        How many pairs and queries it rests on.
    under : str
        The measure and the label set.
    """

    deviation: float
    low: float
    high: float
    pairs: int
    queries: int
    under: str

    def __str__(self) -> str:
        spread = f"; {self.low:.3g} to {self.high:.3g} for four pairs of five" if self.pairs > 1 else ""
        few = ", too few to know it well" if self.queries < _FEW else ""
        middle = "the median of " * (self.pairs > 1)
        return (
            f"deviation {self.deviation:.3g}: {middle}{many(self.pairs, 'pair')} of runs on "
            f"{many(self.queries, 'query')}{few}, by {self.under}{spread}"
        )


def read_pilot(
    study: Study | None, runs: Runs, qrels: LabelSets, notices: list[Notice], *, judged: bool
) -> Pilot:
    """Score the runs of a study, or those given, by its first measure under its last label set.

    A study that is not ``judged`` yet has its original qrels only.

    Raises
    ------
    InputError
        A file cannot be read, or no two runs differ on any of two queries.
    """
    if study is not None and not judged:
        with study.transaction(write=False) as db:
            inputs = load_inputs(db)
        runs, qrels = (paths_of(inputs, kind, study.folder) for kind in ("run", "qrels"))
        study = None
    found = gather(study, runs=runs, qrels=qrels, preference=False, notices=notices)
    with reading(found.runs, found.order(None), notices) as reader:
        matrices = score_matrices(found, (), reader)
    if not matrices:
        raise InputError("a pilot needs qrels", "Add --qrels FILE, or give --deviation.")
    last = [one for one in matrices if one.measure == matrices[0].measure][-1]
    return pilot_of(last)


def pilot_of(scores: Scores) -> Pilot:
    """Return what these scores show of the deviation of a difference.

    Raises
    ------
    InputError
        No two runs differ on any of two queries.
    """
    queries, count = scores.values.shape
    a, b = np.triu_indices(count, 1)
    if queries > 1:
        covered = np.atleast_2d(np.cov(scores.values.T))
        own = np.diag(covered)
        # Rounding leaves a copy of a run a variance of 1e-17.
        variance = own[a] + own[b] - 2 * covered[a, b]
        found = np.sqrt(variance[variance > 1e-12])
    else:
        found = np.empty(0)
    if not found.size:
        raise InputError(
            "the runs of the pilot do not differ on any of two queries",
            "Give runs and qrels that tell them apart, or --deviation.",
        )
    low, high = np.quantile(found, _MIDDLE)
    return Pilot(
        deviation=float(np.median(found)),
        low=float(low),
        high=float(high),
        pairs=found.size,
        queries=queries,
        under=f"{scores.measure} under {scores.qrels}",
    )

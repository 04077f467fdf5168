"""Contenders: the runs that may still be the best, as far as the queries tell that are judged so far."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.scoring.placings import Floats
from prefjudge.evaluation.testing.sequential import sequential_p, sequential_test
from prefjudge.evaluation.testing.significance import reach_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Contenders:
    """The first run of a leaderboard beside all others, for anybody who looks at any time.

    Attributes
    ----------
    measure : str
        What orders the runs.
    queries, runs : int
        The queries judged so far, and the runs.
    run, next : str
        The first run, and the one behind it.
    difference, low, high : float
        The first run's mean score less that of the next, and its confidence sequence: its low end is above 0
        once the next is no contender.
    p : float
        The greatest p-value of the first run against another, times the number of the others.
    contenders : tuple of str
        The runs that may still be the best, in the order of their scores; the first run is one of them.
    alpha : float
        The truly best run is missing from them at any look, in as many studies at the most.
    """

    measure: str
    queries: int
    runs: int
    run: str
    next: str
    difference: float
    low: float
    high: float
    p: float
    contenders: tuple[str, ...]
    alpha: float

    @property
    def told(self) -> bool:
        """Whether the first run is told from every other."""
        return len(self.contenders) == 1

    @property
    def words(self) -> tuple[str, ...]:
        """Who is first by how much, and whether another run may be the best."""
        first = (
            f"{self.run} is first by {self.measure} over {many(self.queries, 'query')}: "
            f"{self.difference:.3f} more than {self.next} ({self.low:.3f} to {self.high:.3f})"
        )
        may = len(self.contenders)
        rest = (
            f"it is the best of the {self.runs:,} runs"
            if self.told
            else f"which run is the best cannot be told yet: {may:,} of {self.runs:,} may be"
        )
        return first, f"{rest} (level {self.alpha:.0%}, however often one looks)"


def find_contenders(scores: Scores, *, alpha: float = 0.05) -> Contenders | None:
    """Say which runs may still be the best; None with fewer than two runs or queries.

    Parameters
    ----------
    scores : Scores
        The queries judged so far. A later look has all rows of the earlier ones.
    alpha : float
        The level, over all looks together.

    Raises
    ------
    InputError
        The measure has no greatest score.

    Notes
    -----
    The first run is chosen by its score, so that the pairs tested were not named before. But the truly best
    run, whoever it is, is ruled out only where one of the ``k - 1`` others beats it while being first: each
    ever does so in a share of ``alpha / (k - 1)`` of studies at the most. So p-values times ``k - 1`` are
    enough, whoever is first on the way.
    """
    n, k = scores.values.shape
    if n < 2 or k < 2:
        return None
    order, p = against_first(scores)
    behind = direction(scores.measure) * (scores.values[:, order[:1]] - scores.values[:, order[1:2]])
    _, low, high = sequential_test(behind, reach_of(scores), alpha / (k - 1))
    return Contenders(
        measure=scores.measure,
        queries=n,
        runs=k,
        run=scores.runs[order[0]],
        next=scores.runs[order[1]],
        difference=float(behind.mean()),
        low=float(low[0]),
        high=float(high[0]),
        p=float(p.max()),
        contenders=(
            scores.runs[order[0]],
            *(scores.runs[run] for run, one in zip(order[1:], p, strict=True) if one > alpha),
        ),
        alpha=alpha,
    )


def against_first(scores: Scores) -> tuple[NDArray[np.intp], Floats]:
    """Return the runs from the first on, and the p-value of each of the others times their number.

    Without the interval of `find_contenders`, which takes most of its time.

    Parameters
    ----------
    scores : Scores
        Of two runs or more.

    Returns
    -------
    order : ndarray of int, shape (runs,)
    p : ndarray of float64, shape (runs - 1,)
        Of the runs behind the first, in their order.
    """
    values = direction(scores.measure) * scores.values
    order = np.argsort(-values.mean(axis=0), kind="stable")
    differences = values[:, order[:1]] - values[:, order[1:]]
    return order, np.minimum(1.0, (len(order) - 1) * sequential_p(differences, reach_of(scores)))

"""Neighbours: runs whose order the votes are to tell, and what it hangs on in each query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.asking.strategies import Flags, Floats

Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGains:
    """What each run scores on a query, for each candidate that may be its best answer.

    Attributes
    ----------
    runs : tuple of str
        The run tags.
    gain : ndarray of float64, shape (n_rows, n_runs)
        For each row of the pools, the score of its query if this candidate is the only best answer.
    """

    runs: tuple[str, ...]
    gain: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderChance:
    """How sure the order of two runs is, by the votes on these queries.

    Attributes
    ----------
    better, other : str
        The run tags; the first is the better one by the votes so far.
    difference : float
        Of their mean scores, as the votes have it: over all queries and all candidates that may be the best.
    deviation : float
        Its posterior standard deviation.
    chance : float
        The probability that the first has the greater mean on these queries, were all their best answers
        known; 1 where the two score the same whatever the answers are.
    """

    better: str
    other: str
    difference: float
    deviation: float
    chance: float

    @property
    def words(self) -> str:
        """Which run is above the other, by how much, and how probable that is; or that neither can be."""
        if self.chance == 1.0 and not self.difference:
            return f"runs {self.better} and {self.other} score the same, whatever the best answers are"
        nearly = self.deviation > 0 and self.chance >= 0.995  # what is not certain does not look so
        chance = "a probability above 0.99" if nearly else f"the probability {self.chance:.2f}"
        return (
            f"run {self.better} is above {self.other} by {self.difference:.3f}; "
            f"this order on these queries has {chance}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The runs to be told apart, two by two.

    Attributes
    ----------
    orders : tuple of OrderChance
        Each two runs.
    spread : ndarray of float64, shape (n_rows, n_pairs)
        For each row of the pools, the difference of each two runs where this candidate is the best, times the
        root of what the variance of their mean difference costs.
    counts : ndarray of bool, shape (n_rows,)
        The rows of queries on which any two of them may score differently.
    """

    orders: tuple[OrderChance, ...]
    spread: Floats
    counts: Flags

    @property
    def chance(self) -> float:
        """The expected share of the orders that are right; 1 where there is none."""
        return float(np.mean([one.chance for one in self.orders])) if self.orders else 1.0

    def stakes(self, rows: Codes, level: float) -> "Stakes":
        """Return what hangs on the best answers of some queries.

        Parameters
        ----------
        rows : ndarray of int64, shape (n, k)
            The rows of the candidates of ``n`` queries.
        level : float
            The share of right orders that is wanted.
        """
        spread = self.spread[rows]
        square = np.einsum("nkp,nkp->nk", spread, spread)
        apart = square[:, :, None] + square[:, None, :] - 2.0 * (spread @ spread.transpose(0, 2, 1))
        # The product leaves rounding where candidates are alike: nothing hangs on them.
        none = 1e-12 * np.maximum(square[:, :, None], square[:, None, :])
        return Stakes(
            cost=np.where(apart > none, apart, 0.0),
            counts=np.asarray(self.counts[rows].any(axis=1)),
            told=self.chance >= level,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """What hangs on the best answers of ``n`` queries of ``k`` candidates.

    Attributes
    ----------
    cost : ndarray of float64, shape (n, k, k)
        What it costs that ``x`` is taken for the best where ``y`` is.
    counts : ndarray of bool, shape (n,)
        Whether the runs may score differently at all.
    told : bool
        Whether their order is sure enough.
    """

    cost: Floats
    counts: Flags
    told: bool


def find_neighbours(
    gains: RunGains, query: Codes, chance: Floats, *, between: Sequence[str] = ()
) -> Neighbours:
    """Return the runs to be told apart: two that are named, or each two that are next to each other.

    Parameters
    ----------
    gains : RunGains
        What the runs score.
    query : ndarray of int32, shape (n_rows,)
        The query of each row, ascending.
    chance : ndarray of float64, shape (n_rows,)
        The probability that each candidate is the best.
    between : sequence of str
        The tags of two runs. By default each run of the board that the votes make so far is compared with
        the next one.

    Notes
    -----
    Queries have votes of their own, so the variance of the mean difference is the sum of the queries'
    variances, and the mean of many queries is as good as normal. Within a query the variance is the sum, over
    each two candidates, of the product of their probabilities and of the square of what the difference
    between the runs would change. The order of two runs that is wrong with probability ``p`` counts ``p`` for
    each share of the variance that is taken away: what is sure already needs no votes.
    """
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    count, place = max(starts.size, 1), np.cumsum(np.diff(query, prepend=-1) > 0) - 1
    board = chance @ gains.gain
    if between:
        a, b = (np.array([gains.runs.index(name)]) for name in between)
    else:
        ranked = np.array(sorted(range(len(gains.runs)), key=lambda run: (-board[run], gains.runs[run])))
        a, b = ranked[:-1], ranked[1:]
    apart = gains.gain[:, a] - gains.gain[:, b]
    total = board[a] - board[b]
    mean = np.add.reduceat(chance[:, None] * apart, starts)
    variance = (chance[:, None] * (apart - mean[place]) ** 2).sum(axis=0)
    known = variance <= 1e-18 * count
    variance[known] = 0.0
    sure = np.where(known, 1.0, scipy.special.ndtr(np.abs(total) / np.sqrt(np.where(known, 1.0, variance))))
    cost = np.where(known, 0.0, (1.0 - sure) / np.where(known, 1.0, variance))
    orders = zip(
        a.tolist(), b.tolist(), total.tolist(), np.sqrt(variance).tolist(), sure.tolist(), strict=True
    )
    return Neighbours(
        orders=tuple(
            OrderChance(
                better=gains.runs[one if lead >= 0 else other],
                other=gains.runs[other if lead >= 0 else one],
                difference=abs(lead) / count,
                deviation=deviation / count,
                chance=right,
            )
            for one, other, lead, deviation, right in orders
        ),
        spread=apart * np.sqrt(cost),
        counts=np.logical_or.reduceat((apart != 0).any(axis=1), starts)[place],
    )

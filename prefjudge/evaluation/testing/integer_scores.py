"""Scores as whole numbers, so that every sum of them is exact."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.errors import InputError

Matrix = NDArray[np.float64]
Column = NDArray[np.float64]

_DENOMINATORS = (1, 100, 2520, 232_792_560)
"""Counts, percentages, RR@10 and below, RR@20 and below (the least common multiples of 1..10 and 1..20)."""
_HEADROOM = 2.0**52


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A query x run matrix of scores on a grid of whole numbers.

    Floating-point sums depend on the order of their terms, and so on block sizes and threads; sums of whole
    numbers below 2**53 do not. And 1/2 - 1/3 equals 1/3 - 1/6 on a grid, which it does not in float64, so a
    rank test sees the ties that are there.

    Attributes
    ----------
    values : ndarray of float64, shape (queries, runs)
        Whole numbers: a score is ``values * unit``.
    unit : float
        The step of the grid.
    exact : bool
        Whether the scores lie on the grid (RR@10, P@5, counts); otherwise they were rounded to a step that is
        some 1e-11 of the largest score.
    """

    values: Matrix
    unit: float
    exact: bool

    @property
    def slack(self) -> float:
        """How far apart, in steps, two equal scores can have landed."""
        return 0.0 if self.exact else 1.0


def to_grid(values: Matrix) -> Grid:
    """Put a query x run matrix of scores on a grid of whole numbers.

    Parameters
    ----------
    values : ndarray of float64, shape (queries, runs)

    Returns
    -------
    Grid

    Raises
    ------
    InputError
        Where a score is not a finite number.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if not np.isfinite(matrix).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(matrix)))
        raise InputError(
            f"row {row}, column {column} of the query x run matrix is not a finite number",
            "Statistics need a finite score for every query and run; a query that a run missed scores 0.",
        )
    largest = float(np.abs(matrix).max(initial=0.0))
    # What n differences of two scores can sum to. The least
    # largest score keeps the unit from underflowing to 0.
    bulk = 2.0 * max(1, matrix.shape[0]) * max(largest, 2.0**-500)
    for denominator in _DENOMINATORS:
        if bulk * denominator > _HEADROOM:
            break
        scaled = matrix * denominator
        whole = np.rint(scaled)
        # The float64 next to m / 232792560 comes back within 3e-8
        # of m. This leaves room for that, and for little else.
        if np.all(np.abs(scaled - whole) <= 1e-6):
            # + 0.0 makes 0.0 of -0.0.
            return Grid(values=whole + 0.0, unit=1.0 / denominator, exact=True)
    # A power of two: dividing by it is exact, so only rint rounds.
    unit = float(2.0 ** np.ceil(np.log2(bulk / _HEADROOM)))
    return Grid(values=np.rint(matrix / unit) + 0.0, unit=unit, exact=False)

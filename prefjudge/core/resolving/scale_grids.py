"""Scale grids: where the probable scales are, found in few steps.

A step weighs all votes, and so is dear. The log of a posterior is smooth: a spline through the scales of one
step tells where to look in the next.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from prefjudge.core.resolving.vote_matrices import Floats

LogDensity = Callable[[float, float], float]
"""Of the log of a scale, given the scale and a share of lapses, up to a constant."""
Grid = tuple[Floats, Floats]
"""The logs of scales, ascending and equally far apart, and the log of the density of each."""

POINTS = 9
"""Of each grid."""
_NEGLIGIBLE = 10.0
"""A scale that is less probable than the likeliest one by so many logs does not count."""
_FINE = 2001
_MARGIN = 0.1
"""How far a spline may err, in steps of its grid."""


def find_grids(
    log_density: LogDensity,
    *,
    lapses: Sequence[float],
    within: tuple[float, float],
    rough: Sequence[Grid] | None = None,
) -> list[Grid]:
    """Return, for each share of lapses, a grid of the scales that are probable.

    Parameters
    ----------
    log_density : callable
        How probable each scale is.
    lapses : sequence of float
        The shares of lapses.
    within : tuple of float
        The logs of the least and of the greatest scale.
    rough : sequence of Grid, optional
        The grids by some of the votes, to begin with; by default it is looked about the scales that are
        probable at another share of lapses.
    """
    found: list[Grid] = []
    for place, share in enumerate(lapses):
        low, high = within
        if rough is not None:
            low, high = rough[place][0][[0, -1]].tolist()
        elif found:
            near = found[-1][0]
            wide = 0.5 * float(near[-1] - near[0])  # of the widths tried, the one that takes the fewest steps
            low, high = max(low, float(near[0]) - wide), min(high, float(near[-1]) + wide)
        found.append(_narrowed(log_density, share, (low, high), within))
    return found


def _narrowed(
    log_density: LogDensity, lapses: float, span: tuple[float, float], within: tuple[float, float]
) -> Grid:
    """Return the grid of the probable scales, which are looked for in a span first."""
    (low, high), (least, most) = span, within
    by_spline, narrower = True, False
    while True:
        grid = np.linspace(low, high, POINTS)
        logs = np.array([log_density(scale, lapses) for scale in np.exp(grid).tolist()])
        probable = np.flatnonzero(logs > logs.max() - _NEGLIGIBLE)
        first, last = int(probable[0]), int(probable[-1])
        if (first == 0 and low > least) or (last == POINTS - 1 and high < most):
            # Some that are probable are beyond the span. A spline that misled may do so again.
            low, high = least if first == 0 else low, most if last == POINTS - 1 else high
            by_spline = by_spline and not narrower
            continue
        # Of a normal density 4.5 standard deviations to each side are within 10 logs: seven points there are
        # 1.5 apart.
        if last - first >= POINTS - 3 or high - low < 1e-3:
            return grid, logs
        narrower = True
        if by_spline:
            low, high = _probable_span(grid, logs)
        else:
            low, high = float(grid[max(0, first - 1)]), float(grid[min(POINTS - 1, last + 1)])


def _probable_span(grid: Floats, logs: Floats) -> tuple[float, float]:
    fine = np.linspace(grid[0], grid[-1], _FINE)
    smooth = scipy.interpolate.CubicSpline(grid, logs)(fine)
    probable = fine[smooth > smooth.max() - _NEGLIGIBLE]
    aside = _MARGIN * float(grid[1] - grid[0])
    return max(float(grid[0]), float(probable[0]) - aside), min(float(grid[-1]), float(probable[-1]) + aside)

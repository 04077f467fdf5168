"""Scale grids: where the probable scales are, found in few steps.

A step weighs all votes, and so is dear. The log of a posterior is smooth: a spline through the scales of one
step tells where to look in the next.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import scipy

from prefjudge.core.resolving.vote_matrices import Floats

LogDensity = Callable[[float, float], float]
"""Of the log of a scale, given the scale and a share of lapses, up to a constant."""
Grid = tuple[Floats, Floats]
"""The logs of scales, ascending and equally far apart, and the log of the density of each."""

Span = tuple[float, float]
"""The logs of the least and of the greatest scale."""

POINTS = 9
"""Of each grid."""
_NEGLIGIBLE = 10.0
"""A scale that is less probable than the likeliest one by so many logs does not count."""
_HOPELESS = 12.0
"""A share of lapses that is less probable than the likeliest one by so many logs gets no narrower grid."""
_FINE = 2001
_MARGIN = 0.1
"""How far a spline may err, in steps of its grid."""


def find_grids(
    log_density: LogDensity,
    *,
    lapses: Sequence[float],
    within: Span,
    rough: Sequence[Grid] | None = None,
) -> list[Grid]:
    """Return, for each share of lapses, a grid of the scales that are probable.

    Parameters
    ----------
    log_density : callable
        How probable each scale is.
    lapses : sequence of float
        The shares of lapses.
    within : Span
        The logs of the least and of the greatest scale.
    rough : sequence of Grid, optional
        The grids by some of the votes, to begin with; by default it is looked about the scales that are
        probable at another share of lapses.
    """
    log_density, counts = cache(log_density), -np.inf
    spans = [] if rough is None else [(float(grid[0]), float(grid[-1])) for grid, _ in rough]
    if spans:
        likeliest = [
            _weighed(log_density, share, span)[1].max() for share, span in zip(lapses, spans, strict=True)
        ]
        counts = float(max(likeliest)) - _HOPELESS
    found: list[Grid] = []
    for place, share in enumerate(lapses):
        span = spans[place] if spans else _about(found[-1][0], within) if found else within
        found.append(_narrowed(log_density, share, span, within, counts))
    return found


def _about(grid: Floats, within: Span) -> Span:
    wide = 0.5 * float(grid[-1] - grid[0])  # of the widths tried, the one that takes the fewest steps
    return max(within[0], float(grid[0]) - wide), min(within[1], float(grid[-1]) + wide)


def _weighed(log_density: LogDensity, lapses: float, span: Span) -> Grid:
    grid = np.linspace(*span, POINTS)
    return grid, np.array([log_density(scale, lapses) for scale in np.exp(grid).tolist()])


def _narrowed(log_density: LogDensity, lapses: float, span: Span, within: Span, counts: float) -> Grid:
    """Return the grid of the probable scales, which are looked for in a span first.

    A grid on which no density reaches what ``counts`` is not narrowed.
    """
    (low, high), (least, most) = span, within
    by_spline, narrower, ends_seen = True, False, False
    while True:
        grid, logs = _weighed(log_density, lapses, (low, high))
        probable = np.flatnonzero(logs > logs.max() - _NEGLIGIBLE)
        first, last = int(probable[0]), int(probable[-1])
        if not ends_seen and ((first == 0 and low > least) or (last == POINTS - 1 and high < most)):
            # Some that are probable are beyond the span. A spline that misled may do so again.
            low, high = least if first == 0 else low, most if last == POINTS - 1 else high
            by_spline = by_spline and not narrower
            continue
        # Of a normal density 4.5 standard deviations to each side are within 10 logs: seven points there are
        # 1.5 apart.
        if last - first >= POINTS - 3 or high - low < 1e-3 or logs.max() < counts:
            return grid, logs
        narrower = True
        if by_spline:
            low, high = _probable_span(grid, logs)
        else:
            # These ends are improbable beside the peak. The next grid may miss it: to widen that again would
            # never end.
            low, high = float(grid[max(0, first - 1)]), float(grid[min(POINTS - 1, last + 1)])
            ends_seen = True


def _probable_span(grid: Floats, logs: Floats) -> Span:
    fine = np.linspace(grid[0], grid[-1], _FINE)
    smooth = scipy.interpolate.CubicSpline(grid, logs)(fine)
    probable = fine[smooth > smooth.max() - _NEGLIGIBLE]
    aside = _MARGIN * float(grid[1] - grid[0])
    return max(float(grid[0]), float(probable[0]) - aside), min(float(grid[-1]), float(probable[-1]) + aside)

"""The reliability diagram: how often answers are the best, by the probability that was stated of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from cells import Answers, join
from rows import LEAST, WORST, Row

from prefjudge.show.figures import BLUE, GRID, MUTED, ORANGE, RED, drawing_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = (BLUE, ORANGE, RED)
_TITLES = {
    "bradley-terry": "Bradley-Terry",
    "constant": "the same error on every pair",
    "spam": "3 of 10 workers by chance",
    "usual": "crowds as they usually are",
}


def diagram(rows: Sequence[Row]) -> "Figure":
    """Draw a plot for each noise: the rows that have to meet the goals, a colour for each error.

    A point is a tenth of the scale, over all designs; its area grows with the answers in it, and its line is
    two standard errors to each side. Points of few answers are left out. The band is the goal.
    """
    judged = [row for row in rows if row.judged]
    noises = [noise for noise in _TITLES if any(row.design.noise == noise for row in judged)]
    errors = sorted({row.error for row in judged if row.error is not None})
    with drawing_grid(1.2 + 3.3 * len(noises), 4.2, 1, len(noises)) as (figure, grid):
        for axes, noise in zip(grid[0], noises, strict=True):
            axes.fill_between([0, 1], [-WORST, 1 - WORST], [WORST, 1 + WORST], color=GRID, alpha=0.6, lw=0)
            axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1)
            for color, error in zip(_COLORS, errors, strict=False):
                _points(axes, _answers(judged, noise, error), f"{error:.0%} wrong", color)
            _points(axes, _answers(judged, noise, None), "votes do not tell:\nall errors", MUTED)
            axes.set_title(_TITLES[noise])
            axes.set_xlabel("P(best) stated")
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            axes.set_aspect("equal")
        grid[0][0].set_ylabel("share that are the best")
        grid[0][0].legend(loc="upper left", fontsize=8)
    return figure


def _answers(rows: Sequence[Row], noise: str, error: float | None) -> Answers | None:
    found = [row.answers for row in rows if (row.design.noise, row.error) == (noise, error)]
    return join(found) if found else None


def _points(axes: "Axes", answers: Answers | None, label: str, color: str) -> None:
    if answers is None:
        return
    bins = answers.bins()
    many = bins.count >= LEAST
    count = bins.count[many]
    stated, right = bins.stated[many] / count, bins.known[many] / count
    axes.errorbar(stated, right, yerr=2 * np.sqrt(bins.variance[many]) / count, fmt="none", color=color, lw=1)
    axes.scatter(stated, right, s=12 + 60 * count / bins.count.sum(), color=color, label=label, zorder=3)

"""Names beside the points of a scatter plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from prefjudge.render.plots.figures import MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, float, float, float]

_SIDES: tuple[tuple[float, float, Literal["left", "center", "right"]], ...] = (
    (5, -3, "left"),
    (-5, -3, "right"),
    (0, 5, "center"),
    (0, -12, "center"),
    (4, 4, "left"),
    (4, -11, "left"),
)
"""Where a name may stand: how far across and up from its point, and which end of it is there."""


def label_points(
    axes: "Axes", points: Sequence[tuple[float, float, str]], bars: tuple[Sequence[float], Sequence[float]]
) -> None:
    """Write names beside their points where they hide no other name, point or line; leave out the others.

    Parameters
    ----------
    axes : Axes
        With the points drawn.
    points : sequence of (float, float, str)
        Where each name belongs.
    bars : (sequence of float, sequence of float)
        Where vertical and horizontal lines cross the plot.
    """
    axes.autoscale_view()
    scale = 72.0 / axes.figure.dpi

    def to_points(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y))
        return float(across * scale), float(up * scale)

    frame = axes.get_window_extent()
    left, right = frame.x0 * scale, frame.x1 * scale
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in (to_points(x, y) for x, y, _ in points)]
    taken += [(x - 1, -1e9, x + 1, 1e9) for x, _ in (to_points(bar, 0) for bar in bars[0])]
    taken += [(-1e9, y - 1, 1e9, y + 1) for _, y in (to_points(0, bar) for bar in bars[1])]
    for x, y, name in points:
        width, height = 4.2 * len(name), 7.0
        at, up = to_points(x, y)
        for dx, dy, side in _SIDES:
            start = at + dx - width * {"left": 0.0, "center": 0.5, "right": 1.0}[side]
            box = (start, up + dy, start + width, up + dy + height)
            if left <= box[0] and box[2] <= right and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                axes.annotate(
                    name,
                    (x, y),
                    xytext=(dx, dy),
                    textcoords="offset points",
                    ha=side,
                    fontsize=7,
                    color=MUTED,
                )
                break


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

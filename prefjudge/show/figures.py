"""Figures: how every plot is drawn, and where its labels go."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import ceil, cos, pi, sin
from typing import TYPE_CHECKING, Any, Literal

from prefjudge.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


INK, MUTED, GRID = "#1f2430", "#6b7280", "#e5e7eb"
BLUE, ORANGE, RED, PALE = "#2563a8", "#d97706", "#b4232c", "#dbe7f5"
FORMS = ("svg", "png")

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.parse_math": False,  # a run may be called $x$
    "legend.frameon": False,
    "figure.facecolor": "white",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "svg.hashsalt": "prefjudge",
    "svg.fonttype": "path",
}


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
    """Open a figure with one plot in the common style."""
    with drawing_grid(width, height) as (figure, grid):
        yield figure, grid[0][0]


@contextmanager
def drawing_grid(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> Iterator[tuple["Figure", list[list["Axes"]]]]:
    """Open a figure with rows and columns of plots on common axes, in the common style: see `drawing`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        yield figure, grid.tolist()
        _make_room(figure, width, height)
        layout = ConstrainedLayoutEngine()
        figure.set_layout_engine(layout)
        for _ in range(8):  # where a plot keeps its proportions, half of what a figure grows by is margin
            layout.execute(figure)
            if not _grow(figure):
                break
        # Laid out once: drawing it must not move it. With any engine, also "none", each file is drawn twice.
        figure.set_layout_engine(None)


def _make_room(figure: "Figure", width: float, height: float) -> None:
    """Widen a figure by what the names beside the plots take, where it is more than names usually do."""
    names = [0.0, 0.0]
    for axes in figure.axes:
        outer, inner = axes.get_tightbbox(for_layout_only=True), axes.get_window_extent()
        if outer is not None:
            names[0] = max(names[0], (outer.width - inner.width) / figure.dpi)
            names[1] = max(names[1], (outer.height - inner.height) / figure.dpi)
    figure.set_size_inches(max(width, _PLOT * width + names[0]), max(height, _PLOT * height + names[1]))


_PLOT = 0.6
"""The share of the width and height that is left to the plot."""


def _grow(figure: "Figure") -> bool:
    """Enlarge a figure by what sticks out of it: a long title or legend."""
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    wide = max(0.0, box.x1 - width, -box.x0)
    high = max(0.0, box.y1 - height, -box.y0)
    if wide < 0.01 and high < 0.01:
        return False
    figure.set_size_inches(width + 2 * wide, height + 2 * high)
    return True


def count_by_whole_numbers(axis: "Axis", *, most: int = 8) -> None:
    """Number an axis that counts by whole numbers, at most so many: there is no half query."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=most, min_n_ticks=1))


def shades(name: str, *colors: str) -> "Colormap":
    """Return the colours that pass through the given ones."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, list(colors))


def render_figure(figure: "Figure", form: str, stamp: str = "") -> bytes:
    """Return a figure as an SVG or PNG file, the same bytes for the same figure and stamp."""
    from matplotlib import rc_context

    kind = form.lower().removeprefix(".")
    if kind not in FORMS:
        raise InputError(f"no plot can be written as {form!r}", f"Choose one of: {', '.join(FORMS)}.")
    silent = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    # Without hinting a text is as wide in the file, of whatever resolution, as where it is measured.
    style = {**_STYLE, "text.hinting": "none"}
    with rc_context(style), BytesIO() as file, _stamped(figure, stamp) as box:
        figure.savefig(file, format=kind, dpi=200, metadata=silent, bbox_inches=box)
        return file.getvalue()


@contextmanager
def _stamped(figure: "Figure", stamp: str) -> "Iterator[Bbox]":
    """Print a stamp below a figure, once in each file, and yield the space, in inches, that both take."""
    box, (width, height) = figure.get_tightbbox().padded(0.08), figure.get_size_inches()
    if not stamp:
        yield box
        return
    words = figure.text(
        (box.x0 + 0.08) / width, (box.y0 - 0.04) / height, stamp, va="top", color=RED, fontweight="bold",
        fontsize=min(9.0, 110 * box.width / len(stamp)),
    )  # fmt: skip
    box.y0 -= 0.26
    yield box
    words.remove()  # the figure is written again in another form


# Names beside the points of a scatter plot.

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


_FAR = tuple(
    (reach * cos(angle), reach * sin(angle) - 3, "left" if cos(angle) > 0 else "right")
    for reach in range(16, 130, 8)
    for angle in (turn * pi / 12 + pi / 24 for turn in (0, 11, 23, 12, 2, 9, 21, 14, *range(24)))
)
"""The same farther off, at the end of a line from the point."""
MOST_NAMED = 30
"""Up to so many points all have names. Of more these have: those asked for, or `_CHOSEN`, first to last."""
_CHOSEN = 16


def label_points(
    axes: "Axes",
    points: Sequence[tuple[float, float, str]],
    bars: tuple[Sequence[float], Sequence[float]],
    shown: Collection[str] = (),
) -> None:
    """Write names beside their points where they hide no other name, point or line.

    A name without room there stands farther off, or is left out: see `MOST_NAMED`. It takes the title and
    the axes' words as they are then.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    axes.autoscale_view()
    ConstrainedLayoutEngine().execute(axes.figure)  # type: ignore[arg-type] # it is no part of a figure
    scale = 72.0 / axes.figure.dpi

    def to_points(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y))
        return float(across * scale), float(up * scale)

    frame = axes.get_window_extent()
    left, low, right, high = (end * scale for end in frame.extents)
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in (to_points(x, y) for x, y, _ in points)]
    taken += [(x - 1, -1e9, x + 1, 1e9) for x, _ in (to_points(bar, 0) for bar in bars[0])]
    taken += [(-1e9, y - 1, 1e9, y + 1) for _, y in (to_points(0, bar) for bar in bars[1])]
    step = 1 if len(points) <= MOST_NAMED else (len(points) - 1) / (_CHOSEN - 1)
    spread = {points[round(place * step)][2] for place in range(ceil(len(points) / step))}
    firm = spread if step == 1 else {*shown} & {name for _, _, name in points} or spread
    marks = len(taken)
    for x, y, name in sorted(points, key=lambda point: point[2] not in firm):
        at, up = to_points(x, y)
        rooms = []
        for dx, dy, side in (*_SIDES, *(_FAR if name in firm else ())):
            start = at + dx - 4.2 * len(name) * {"left": 0.0, "center": 0.5, "right": 1.0}[side]
            box = (start, up + dy, start + 4.2 * len(name), up + dy + 7.0)
            inside = left <= box[0] and box[2] <= right and (dx**2 < 99 or (low <= box[1] and box[3] <= high))
            if inside and not any(_overlap(box, other) for other in taken):
                steps = [(at + dx * part / 24, up + (dy + 3) * part / 24) for part in range(8, 24)]
                line = [(a - 1, b - 1, a + 1, b + 1) for a, b in steps if abs(dx) + abs(dy) > 16]
                rooms.append(((dx, dy), side, [box, *line]))
        names = [*taken[: len(points)], *taken[marks:]]
        crossing = [any(_overlap(a, b) for a in boxes[1:] for b in names) for _, _, boxes in rooms]
        for offset, side, boxes in [rooms[crossing.index(min(crossing))]] if rooms else ():
            taken += boxes
            axes.annotate(
                name, (x, y), xytext=offset, textcoords="offset points", ha=side, fontsize=7, color=MUTED,
                arrowprops={**_LINE, "relpos": (side == "right", 0.4)} if boxes[1:] else None,
            )  # fmt: skip


_LINE = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 3}


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

"""Figures as bytes: one style for all plots, and files that do not change when nothing else does."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from prefjudge.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    "svg.hashsalt": "prefjudge",
    "svg.fonttype": "path",
}


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
    """Open a figure of this size in inches, in the common style.

    Raises
    ------
    InputError
        matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib", "Install it: pip install 'prefjudge[plot]'") from None
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once: drawing it again must not move anything


def render_figure(figure: "Figure", form: str) -> bytes:
    """Return a figure as an SVG or PNG file, the same bytes for the same figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    form : str
        ``svg`` or ``png``, or a file's suffix with its dot.
    """
    from matplotlib import rc_context

    kind = form.lower().removeprefix(".")
    if kind not in FORMS:
        raise InputError(f"no plot can be written as {form!r}", f"Choose one of: {', '.join(FORMS)}.")
    silent = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with rc_context(_STYLE), BytesIO() as file:
        figure.savefig(file, format=kind, dpi=200, metadata=silent)
        return file.getvalue()

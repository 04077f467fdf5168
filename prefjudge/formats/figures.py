"""Figure files: a plot as SVG or PNG."""

from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.render.plots.figures import render_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figure(path: str | Path, figure: "Figure", stamp: str = "") -> None:
    """Write a figure in the form that the file's suffix names, with a stamp below it where there is one.

    Raises
    ------
    InputError
        The suffix is neither ``.svg`` nor ``.png``, or the file cannot be written.
    """
    content = render_figure(figure, Path(path).suffix, stamp)
    with atomic_write(path) as file:
        file.write(content)

"""Tables as text for a terminal."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prefjudge.render.text.cells import Table
from prefjudge.render.text.fit import GAP, NARROWEST, Fitted, FittedColumn, fit
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.shortening import LONGEST, shorten_words

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table as RichTable
    from rich.text import Text


def render_terminal(table: Table, *, width: int | None = None, color: bool = False) -> str:
    """Return the table as text for a terminal; as wide as it takes unless ``width`` is given.

    A cell that stands out is bold in colour, and has a star without; the ring of an unsure one stays.

    Parameters
    ----------
    table : Table
    width : int, optional
        The places of a line, which no line exceeds, down to `prefjudge.render.text.fit.NARROWEST`.
    color : bool
        Write escape codes for bold and dim text.
    """
    from rich.console import Console, Group
    from rich.text import Text

    fitted = fit(table, width, stars=not color)
    longest = LONGEST if width is None else min(LONGEST, max(width, NARROWEST))
    words = [(note, "") for note in (*table.notes, fitted.note) if note]
    if table.provenance:
        words.append((" · ".join(f"{key} {value}" for key, value in table.provenance.items()), "dim"))
    out = io.StringIO()
    console = Console(
        file=out,
        width=10_000 if width is None else max(width, NARROWEST, *map(_places, fitted.blocks)),
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    title = [Text(shorten_words(printable(table.title), longest), style="bold")] if table.title else []
    notes = [Text(shorten_words(printable(text), longest), style=style) for text, style in words]
    console.print(Group(*title, *_bodies(fitted), *notes))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _places(block: tuple[FittedColumn, ...]) -> int:
    return sum(one.width for one in block) + GAP * (len(block) - 1)


def _bodies(fitted: Fitted) -> "Iterator[RichTable | Text]":
    """Return each block of columns, and a blank line below it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    for block in fitted.blocks:
        body = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        for one in block:
            justify: JustifyMethod = "right" if one.column.right_aligned else "left"
            body.add_column(Text(one.heading), justify=justify, width=one.width, overflow="fold")
        for row in zip(*(_styled(one) for one in block), strict=True):
            body.add_row(*row)
        yield body
        yield Text()


def _styled(one: FittedColumn) -> "Iterator[Text]":
    from rich.text import Text

    for place, text in enumerate(one.cells):
        yield Text(text, style="bold" if place in one.bold else "")

"""Tables: one record, rendered for the terminal, CSV, JSON, Markdown and LaTeX."""

import csv
import io
import math
from decimal import Decimal

from prefjudge.errors import InputError
from prefjudge.render.cells import MISSING, Bold, Cell, Column, Kind, Table, Unsure, Value, bare, write_cell
from prefjudge.render.plain_text import json_text, printable

__all__ = [
    "MISSING",
    "Bold",
    "Cell",
    "Column",
    "Kind",
    "Table",
    "Unsure",
    "Value",
    "bare",
    "render_table",
    "render_terminal",
    "to_csv",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_records",
    "write_cell",
]


def render_terminal(table: Table, *, width: int | None = None, color: bool = False) -> str:
    """Return the table as text for a terminal; at its natural width unless ``width`` is given.

    A cell that stands out is bold in colour, and has a star without; the ring of an unsure one stays.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console, Group
    from rich.table import Table as RichTable
    from rich.text import Text

    body = RichTable(
        title=Text(printable(table.title)),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in table.columns:
        body.add_column(
            Text(printable(column.heading)),
            justify="right" if column.right_aligned else "left",
            overflow="fold",
        )
    # without colour a star stands for bold; the other cells of a column with marks keep the place free
    marks = (Unsure,) if color else (Unsure, Bold)
    padded = {number for row in table.rows for number, cell in enumerate(row) if isinstance(cell, marks)}
    for row in table.rows:
        cells = []
        for number, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            is_full = number not in padded or isinstance(cell, Unsure)
            mark = "" if is_full else "*" if isinstance(cell, Bold) and not color else " "
            style = "bold" if isinstance(cell, Bold) else ""
            cells.append(Text(printable(write_cell(cell, column)) + mark, style=style))
        body.add_row(*cells)
    words = [Text(printable(note)) for note in table.notes]
    if table.provenance:
        words.append(
            Text(
                printable(" · ".join(f"{key} {value}" for key, value in table.provenance.items())),
                style="dim",
            )
        )
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 10_000,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    console.print(Group(body, *words))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def to_records(table: Table) -> list[dict[str, object]]:
    """Return the rows as dictionaries for JSON: full precision, None for NaN and infinity, money as text."""
    return [
        {column.name: _plain(bare(cell)) for cell, column in zip(row, table.columns, strict=True)}
        for row in table.rows
    ]


def _plain(value: Value) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def to_json(table: Table) -> str:
    """Return the table as a JSON object with ``title``, ``rows``, ``notes`` and ``provenance``."""
    return json_text(
        {
            "title": table.title,
            "rows": to_records(table),
            "notes": list(table.notes),
            "provenance": dict(table.provenance),
        }
    )


def to_csv(table: Table) -> str:
    """Return the table as CSV: one header line, full precision, an empty field for what is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([list(record.values()) for record in to_records(table)])
    return out.getvalue()


def to_markdown(table: Table) -> str:
    """Return the table as a Markdown pipe table with its notes and provenance below."""
    lines = [f"**{_escape_markdown(table.title)}**", ""] if table.title else []
    lines.append("| " + " | ".join(_escape_markdown(column.heading) for column in table.columns) + " |")
    lines.append(
        "|" + "|".join(" ---: " if column.right_aligned else " --- " for column in table.columns) + "|"
    )
    for row in table.rows:
        cells = []
        for cell, column in zip(row, table.columns, strict=True):
            words = _escape_markdown(write_cell(cell, column))
            cells.append(f"**{words}**" if isinstance(cell, Bold) else words)
        lines.append("| " + " | ".join(cells) + " |")
    for note in table.notes:
        lines += ["", _escape_markdown(note)]
    if table.provenance:
        lines += [
            "",
            "; ".join(
                f"{_escape_markdown(key)}: {_escape_markdown(text)}" for key, text in table.provenance.items()
            ),
        ]
    return "\n".join(lines) + "\n"


def _escape_markdown(text: str) -> str:
    text = printable(text)
    for character in "\\`*_[]|<>#~":
        text = text.replace(character, "\\" + character)
    return text


def to_latex(table: Table) -> str:
    """Return the table as a LaTeX ``table`` in booktabs style; see :mod:`prefjudge.render.latex`."""
    from prefjudge.render.latex import render_latex

    return render_latex(table)


def render_table(table: Table, form: str) -> str:
    """Return the table in the form named: ``terminal``, ``csv``, ``json``, ``md`` or ``tex``.

    A file's suffix with its dot is a name too.
    """
    writers = {
        "terminal": render_terminal,
        "csv": to_csv,
        "json": to_json,
        "md": to_markdown,
        "tex": to_latex,
    }
    writer = writers.get(form.lower().removeprefix("."))
    if writer is None:
        raise InputError(f"no table can be written as {form!r}", f"Choose one of: {', '.join(writers)}.")
    return writer(table)

"""Tables: one record, rendered for the terminal, CSV, JSON, Markdown and LaTeX."""

import csv
import io
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import PurePath

from prefjudge.errors import InputError
from prefjudge.registers import Register
from prefjudge.render.text.cells import (
    MISSING,
    Bold,
    Cell,
    Column,
    Kind,
    Table,
    Unsure,
    Value,
    bare,
    write_cell,
)
from prefjudge.render.text.fit import cells_for_people
from prefjudge.render.text.latex import render_latex
from prefjudge.render.text.plain_text import json_text, printable
from prefjudge.render.text.shortening import shorten_words
from prefjudge.render.text.terminal import render_terminal

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
    for row, words in zip(table.rows, cells_for_people(table), strict=True):
        cells = []
        for cell, text in zip(row, map(_escape_markdown, words), strict=True):
            cells.append(f"**{text}**" if isinstance(cell, Bold) else text)
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
    text = shorten_words(printable(text))
    for character in "\\`*_[]|<>#~":
        text = text.replace(character, "\\" + character)
    return text


def to_latex(table: Table) -> str:
    """Return the table as a LaTeX ``table`` in booktabs style; see :mod:`prefjudge.render.text.latex`."""
    return render_latex(table)


EXPORTERS: Register[Callable[[Table], str]] = Register(
    "exporter", Callable, {"csv": to_csv, "json": to_json, "md": to_markdown, "tex": to_latex}
)
"""What tables are written as, by the suffix of the file."""


def check_table_form(path: str | PurePath) -> None:
    """Refuse a file whose name does not say the form of a table.

    Raises
    ------
    InputError
        No table is written as files of its suffix.
    """
    if PurePath(path).suffix.lower().removeprefix(".") not in (*EXPORTERS, "parquet"):
        raise InputError(
            f"{path}: the name does not say the form of the table",
            f"End it in .{', .'.join(EXPORTERS)} or .parquet.",
        )


def render_table(table: Table, form: str, *, width: int | None = None) -> str:
    """Return the table in the form named: ``terminal``, ``csv``, ``json``, ``md`` or ``tex``.

    A file's suffix with its dot is a name too. Only a terminal has a ``width``.
    """
    name = form.lower().removeprefix(".")
    if name == "terminal":
        return render_terminal(table, width=width)
    if name not in EXPORTERS:
        known = ", ".join(("terminal", *EXPORTERS))
        raise InputError(f"no table can be written as {form!r}", f"Choose one of: {known}.")
    with EXPORTERS.using(name):
        text = EXPORTERS[name](table)
        if not isinstance(text, str):
            raise TypeError(f"a {type(text).__name__}, not a text")
    return text

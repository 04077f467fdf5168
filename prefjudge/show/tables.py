"""Tables: one record, rendered for the terminal, CSV, JSON, Markdown, LaTeX and HTML."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING

from prefjudge.errors import InputError
from prefjudge.registers import Register
from prefjudge.show.cells import (
    GAP,
    LONGEST,
    MISSING,
    NARROWEST,
    Bold,
    Cell,
    Column,
    Fitted,
    FittedColumn,
    Kind,
    Table,
    Unsure,
    Value,
    bare,
    cells_for_people,
    fit,
    shorten_words,
    write_cell,
)
from prefjudge.words import json_text, printable

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import JustifyMethod
    from rich.table import Table as RichTable
    from rich.text import Text


LONG = 40
"""A table of more rows does not fit a page."""

_WIDE = 8
"""A table of more columns is set small and close, so that a matrix of a dozen runs fits a page."""

_LETTERS = frozenset(
    "ßæÆøØœŒłŁı"
    "ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜ"
    "ĝĞğĠġĢģĤĥĨĩĪīĬĭİĴĵĶķĹĺĻļĽľŃńŅņŇňŌōŎŏŐőŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽž"
)
"""Those that are not ASCII: letters with an accent that pdfLaTeX puts on them, which an ogonek is not."""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\texttt{\char34}",  # the first fonts have it as a typewriter's only
    "[": "{[}",  # after the end of a row this and the star would be arguments of it
    "*": "{*}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    MISSING: "--",
    "°": r"\(^\circ\)",
    "±": r"\(\pm\)",
    "τ": r"\(\tau\)",
    "≥": r"\(\geq\)",
    "≤": r"\(\leq\)",
    "×": r"\(\times\)",
    "−": r"\(-\)",
    "…": r"\ldots{}",
    "·": r"\(\cdot\)",
    "Δ": r"\(\Delta\)",
}


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints literally, whatever a run tag contains."""
    # What pdfLaTeX has no letter for in its first fonts is written as its code, such as U+691C: it would end
    # the compilation otherwise.
    return re.sub(r"[-–]{2,}|(?s:.)", _typeset, shorten_words(printable(text)))


def _typeset(found: re.Match[str]) -> str:
    character = found[0]
    if len(character) > 1:  # two hyphens in a run tag must not become a dash
        return "".join("{" + _ESCAPES.get(dash, dash) + "}" for dash in character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isascii() or character in _LETTERS else f"U+{ord(character):04X}"


def to_latex(table: Table) -> str:
    """Return a ``table`` environment: caption, booktabs rules, notes; the provenance as comments."""
    # More than `LONG` rows are a ``longtable``, which continues over pages. The first comment names the
    # packages that a document needs for it.
    long = len(table.rows) > LONG
    comments = [
        rf"% needs \usepackage{{booktabs,{'longtable,' * long}textcomp}}",
        *(f"% {_one_line(key)}: {_one_line(text)}" for key, text in table.provenance.items()),
    ]
    shape = "".join("r" if column.right_aligned else "l" for column in table.columns)
    caption = rf"\caption{{{escape_latex(table.title)}}}"
    head = [r"\toprule", _row([escape_latex(column.heading) for column in table.columns]), r"\midrule"]
    rows = [_row(cells) for cells in _cells(table)]
    small = r"\scriptsize\setlength{\tabcolsep}{2.5pt}" if len(shape) > _WIDE else ""
    sentences = " ".join(note if note.endswith(".") else f"{note}." for note in table.notes)
    notes = rf"{{\footnotesize {escape_latex(sentences)}}}" if sentences else ""
    body = _long if long else _short
    return "\n".join([*comments, *body(shape, caption, head, rows, small, notes)]) + "\n"


def _short(shape: str, caption: str, head: list[str], rows: list[str], small: str, notes: str) -> list[str]:
    return [
        r"\begin{table}",
        r"\centering",
        caption,
        *([small] if small else []),
        rf"\begin{{tabular}}{{{shape}}}",
        *head,
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *(["", r"\smallskip", rf"\parbox{{\linewidth}}{notes}"] if notes else []),
        r"\end{table}",
    ]


def _long(shape: str, caption: str, head: list[str], rows: list[str], small: str, notes: str) -> list[str]:
    over = rf"\multicolumn{{{len(shape)}}}{{r}}{{\footnotesize to be continued}} \\"
    return [
        *(["{" + small] if small else []),
        rf"\begin{{longtable}}{{{shape}}}",
        rf"{caption} \\",
        *head,
        r"\endfirsthead",
        *head,
        r"\endhead",
        r"\midrule",
        over,
        r"\endfoot",
        r"\bottomrule",
        r"\endlastfoot",
        *rows,
        r"\end{longtable}",
        *(["}"] if small else []),
        *([rf"\noindent{notes}"] if notes else []),
    ]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cells(table: Table) -> Iterator[list[str]]:
    """Return the escaped words of each row, bold where they stand out."""
    for row, texts in zip(table.rows, cells_for_people(table), strict=True):
        cells = []
        for cell, column, text in zip(row, table.columns, texts, strict=True):
            words = escape_latex(text)
            if text.startswith("-") and words.startswith("-") and column.right_aligned:
                words = r"\(-\)" + words[1:]
            cells.append(rf"\textbf{{{words}}}" if isinstance(cell, Bold) else words)
        yield cells


def _one_line(text: str) -> str:
    return " ".join(text.split())


# Tables as text for a terminal.


def render_terminal(
    table: Table, *, width: int | None = None, color: bool = False, aside: bool = True
) -> str:
    """Return the table as text for a terminal; as wide as it takes unless ``width`` is given."""
    # A cell that stands out is bold in colour, and has a star without; the ring of an unsure one stays.
    # ``aside`` says below it what gave way where it is too wide.
    from rich.console import Console, Group
    from rich.text import Text

    fitted = fit(table, width, stars=not color)
    longest = LONGEST if width is None else min(LONGEST, max(width, NARROWEST))
    words = [(note, "") for note in (*table.notes, fitted.note * aside) if note]
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


# Tables: one record, rendered for the terminal, CSV, JSON, Markdown and LaTeX.

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
    "to_frame",
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


def to_frame(table: Table) -> "DataFrame":
    """Return the rows of any table, one column for each of its columns, values at full precision."""
    # What the table was made from is in ``frame.attrs["provenance"]``.
    from pandas import DataFrame

    frame = DataFrame(to_records(table), columns=[column.name for column in table.columns])
    frame.attrs["title"] = table.title
    frame.attrs["provenance"] = dict(table.provenance)
    return frame


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


EXPORTERS: Register[Callable[[Table], str]] = Register(
    "exporter", Callable, {"csv": to_csv, "json": to_json, "md": to_markdown, "tex": to_latex}
)
"""What tables are written as, by the suffix of the file."""


def check_table_form(path: str | PurePath) -> None:
    """Refuse a file whose name does not say the form of a table."""
    if PurePath(path).suffix.lower().removeprefix(".") not in (*EXPORTERS, "parquet"):
        raise InputError(
            f"{path}: the name does not say the form of the table",
            f"End it in .{', .'.join(EXPORTERS)} or .parquet.",
        )


def render_table(table: Table, form: str, *, width: int | None = None) -> str:
    """Return the table in the form named: ``terminal``, ``csv``, ``json``, ``md`` or ``tex``."""
    # A file's suffix with its dot is a name too. Only a terminal has a ``width``.
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


# Annotations: findings in the form that GitHub Actions shows beside a changed file.


def annotation(level: str, path: str, text: str) -> str:
    """Return one workflow command; a leading ``path:line:column:`` of the text becomes its place."""
    place = f"file={_property(path)}"
    match = re.match(r"(?::(\d+))(?::(\d+))?:\s*", text.removeprefix(path))
    if text.startswith(path) and match:
        place += f",line={match[1]}" + (f",col={match[2]}" if match[2] else "")
        text = text.removeprefix(path)[match.end() :]
    return f"::{level} {place}::{_message(text.removeprefix(f'{path}: '))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# Histograms for the terminal.


def render_histogram(counts: Mapping[int, int], value: str, unit: str, width: int = 40) -> str:
    """Return a bar for each value, the longest ``width`` characters; a value that is missing has no bar."""
    if not counts:
        return f"{value}: none"
    most = max(counts.values())
    label = max(len(value), len(str(max(counts))))
    digits = len(f"{most:,}")
    lines = [f"{value:>{label}}  {unit}"]
    for size in range(min(counts), max(counts) + 1):
        count = counts.get(size, 0)
        eighths = round(8 * width * count / most) if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        lines.append(f"{size:>{label}}  {count:>{digits},}  {bar}".rstrip())
    return "\n".join(lines)


# HTML tables for notebooks: the words of the terminal's, without scripts and styles of their own.


def to_html(table: Table) -> str:
    """Return a table with its title above and its notes below; every word is escaped."""
    heads = "".join(f"<th>{_text(column.heading)}</th>" for column in table.columns)
    rows = []
    for row, words in zip(table.rows, cells_for_people(table), strict=True):
        cells = []
        for cell, text, column in zip(row, words, table.columns, strict=True):
            side = "right" if column.right_aligned else "left"
            shown = f"<b>{_text(text)}</b>" if isinstance(cell, Bold) else _text(text)
            cells.append(f'<td style="text-align: {side}">{shown}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<p>{_text(note)}</p>" for note in table.notes)
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{notes}"


def _text(text: str) -> str:
    return escape(printable(text))

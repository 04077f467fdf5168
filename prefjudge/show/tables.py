"""Tables: one record, rendered for the terminal, CSV, JSON, Markdown, LaTeX and HTML."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    Table,
    Value,
    bare,
    cells_for_people,
    fit,
    shorten_words,
)
from prefjudge.words import json_text, printable

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import JustifyMethod
    from rich.table import Table as RichTable
    from rich.text import Text


LONG = 40
"""A table of more rows does not fit a page."""

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


COLUMN, TEXT = 241.1, 506.3
"""How wide a column and the text of a page of a proceedings volume are, in points."""
_SIZES = (("", 1.0, 6.0), (r"\small", 0.93, 5.0), (r"\footnotesize", 0.86, 4.0), (r"\scriptsize", 0.8, 2.5))
"""Sizes of type, how wide they are of the normal one, and the space on each side of a column, in points."""
_NARROW, _WIDE = frozenset(" ijltfrI.,;:!|'()[]-"), frozenset("mwMWNOQGDHKU%@&+=<>−×≤≥±…")
_BROKEN = 90.0
"""Points that a column of sentences takes at least; its cells are broken into lines."""


def to_latex(table: Table, column: float = COLUMN, text: float = TEXT) -> str:
    """Return a ``table`` that fits a column, or a ``table*`` that fits the text, in large type.

    What does not fit gives way, the least important columns first, and is named below.
    """
    # More than `LONG` rows are a ``longtable``, which continues over pages of one column. The first comment
    # names the packages that a document needs.
    long, kept, left_out = len(table.rows) > LONG, _without_constants(table), list[str]()
    while (fits := _fitting(measured := _measured(kept), column, text, long=long)) is None:
        last = max(kept.columns, key=lambda one: one.priority)
        if last.priority > 1:
            left_out.append(last.heading)
            kept = kept.only({one.name for one in kept.columns} - {last.name})
        elif any(one.kind == "percent" for one in kept.columns):
            kept = _in_whole_percent(kept)
        else:
            fits = len(_SIZES) - 1, text
            break
    size, room = fits
    name, scale, space = _SIZES[size]
    free = (
        room - 2 * space * len(measured) - sum(scale * width for _, width, broken in measured if not broken)
    )
    sentences = sum(width for _, width, broken in measured if broken)
    shape = "".join(
        rf"p{{{max(0.6 * _BROKEN, free * width / sentences):.0f}pt}}" if broken else "lr"[one.right_aligned]
        for one, (_, width, broken) in zip(kept.columns, measured, strict=True)
    )
    notes = [*kept.notes, *([f"Left out: {', '.join(left_out)}"] if left_out else [])]
    said = escape_latex(" ".join(note if note.endswith(".") else f"{note}." for note in notes))
    below = rf"{{\footnotesize {said}}}" if said else ""
    scaled = not long and _width(measured, size) > 0.8 * room  # the fonts of the document may be wider
    small = [rf"{name}\setlength{{\tabcolsep}}{{{space:g}pt}}"] if name else []
    caption, star = rf"\caption{{{escape_latex(table.title)}}}", "*" * (room > column)
    head = [
        r"\toprule",
        _row([_heading(*one) for one in zip(kept.columns, measured, strict=True)]),
        r"\midrule",
    ]
    rows = [*map(_row, _cells(kept)), r"\bottomrule"]
    packages = ",".join(["booktabs", *["graphicx"] * scaled, *["longtable"] * long, "textcomp"])
    lines = [
        rf"% needs \usepackage{{{packages}}}",
        *[r"% goes over pages, so it needs one column: \onecolumn before it, \twocolumn after"] * long,
        *(f"% {_one_line(key)}: {_one_line(words)}" for key, words in table.provenance.items()),
    ]
    if long:
        over = rf"\multicolumn{{{len(measured)}}}{{r}}{{\footnotesize to be continued}} \\"
        lines += ["{" + one for one in small]
        lines += [rf"\begin{{longtable}}{{{shape}}}", rf"{caption} \\", *head, r"\endfirsthead", *head]
        lines += [r"\endhead", r"\midrule", over, r"\endfoot", r"\bottomrule", r"\endlastfoot", *rows[:-1]]
        lines += [r"\end{longtable}", *("}" for _ in small), *([rf"\noindent{below}"] if below else [])]
    else:
        fitted = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
        lines += [rf"\begin{{table{star}}}", r"\centering", caption, *small, *([fitted] if scaled else [])]
        lines += [rf"\begin{{tabular}}{{{shape}}}", *head, *rows, r"\end{tabular}" + "}" * scaled]
        lines += ["", r"\smallskip", rf"\parbox{{\linewidth}}{below}"] if below else []
        lines.append(rf"\end{{table{star}}}")
    return "\n".join(lines) + "\n"


Measured = Sequence[tuple[list[str], float, bool]]


def _without_constants(table: Table) -> Table:
    """Return a table whose columns of one text are told in a note."""
    same = {
        column.name: f"{column.heading}: {bare(values[0])}"
        for column, *values in zip(table.columns, *table.rows, strict=True)
        if column.kind == "text" and column.priority > 1 and len({*map(bare, values)}) == 1 < len(values)
    }
    kept = {column.name for column in table.columns} - same.keys()
    return replace(table.only(kept), notes=(*table.notes, *(["; ".join(same.values())] if same else [])))


def _in_whole_percent(table: Table) -> Table:
    """Return a table whose percentages are whole numbers without a sign."""

    def whole(cell: Cell, column: Column) -> Cell:
        value = bare(cell)
        if column.kind != "percent" or not isinstance(value, float) or math.isnan(value):
            return cell
        return Bold(round(100 * value)) if isinstance(cell, Bold) else round(100 * value)

    rows = tuple(tuple(map(whole, row, table.columns)) for row in table.rows)
    columns = (replace(one, kind="integer") if one.kind == "percent" else one for one in table.columns)
    return replace(table, columns=tuple(columns), rows=rows, notes=(*table.notes, "Shares are in percent."))


def _fitting(columns: Measured, column: float, text: float, *, long: bool) -> tuple[int, float] | None:
    """Return the size of type in which a table fits, and the width that it fits."""
    places = [(size, column) for size in range(3) if not long]
    places += [(size, text) for size in range(len(_SIZES))]
    return next((one for one in places if _width(columns, one[0]) <= one[1]), None)


def _width(columns: Measured, size: int) -> float:
    """Return about how wide a table is, in points."""
    _, scale, space = _SIZES[size]
    return sum(2 * space + (_BROKEN if broken else scale * width) for _, width, broken in columns)


def _measured(table: Table) -> Measured:
    """Return each column's heading in lines, its width in normal type, and whether it holds sentences."""
    found = []
    cells = [*zip(*cells_for_people(table), strict=True)] or [()] * len(table.columns)
    for column, words in zip(table.columns, cells, strict=True):
        width = max(map(_points, words), default=0.0)
        lines = column.heading.split() if _points(column.heading) > width else []
        lines = lines or [column.heading]
        broken = any(said.count(" ") > 6 and len(said) > 40 for said in words)
        found.append((lines, max(width, *map(_points, lines)), broken))
    return found


def _heading(column: Column, measured: tuple[list[str], float, bool]) -> str:
    lines = [*map(escape_latex, measured[0])]
    stack = r" \\ ".join(lines)
    return rf"\shortstack[{'lr'[column.right_aligned]}]{{{stack}}}" if len(lines) > 1 else stack


def _points(text: str) -> float:
    """Return about how wide a text is in normal type, in points."""
    return sum(
        3.4 if one in _NARROW else 8.4 if one in _WIDE else 6.9 if one.isupper() else 5.2 for one in text
    )


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


def render_terminal(table: Table, *, width: int | None = None, aside: bool = True) -> str:
    """Return the table as text for a terminal; as wide as it takes unless ``width`` is given."""
    # ``aside`` says below it what gave way where it is too wide.
    from rich.console import Console, Group
    from rich.text import Text

    fitted = fit(table, width)
    longest = LONGEST if width is None else min(LONGEST, max(width, NARROWEST))
    made = " · ".join(f"{key} {value}" for key, value in table.provenance.items())
    words = filter(None, (*table.notes, fitted.note * aside, made))
    out = io.StringIO()
    console = Console(
        file=out,
        width=10_000 if width is None else max(width, NARROWEST, *map(_places, fitted.blocks)),
        force_terminal=False,
        color_system=None,
        legacy_windows=False,
    )
    title, *notes = (Text(shorten_words(printable(text), longest)) for text in (table.title, *words))
    console.print(Group(*([title] if table.title else []), *_bodies(fitted), *notes))
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
        for row in zip(*(one.cells for one in block), strict=True):
            body.add_row(*map(Text, row))
        yield body
        yield Text()


# Tables: one record, rendered for the terminal, CSV, JSON, Markdown and LaTeX.


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


def render_histogram(counts: Mapping[int, int], value: str, unit: str) -> str:
    """Return a bar for each value, the longest 40 characters; a value that is missing has no bar."""
    if not counts:
        return f"{value}: none"
    most = max(counts.values())
    label = max(len(value), len(str(max(counts))))
    digits = len(f"{most:,}")
    lines = [f"{value:>{label}}  {unit}"]
    for size in range(min(counts), max(counts) + 1):
        count = counts.get(size, 0)
        eighths = round(8 * 40 * count / most) if count else 0
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

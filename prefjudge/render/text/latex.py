"""Tables as LaTeX in booktabs style."""

import re
from collections.abc import Iterator

from prefjudge.render.text.cells import MISSING, Bold, Table
from prefjudge.render.text.fit import cells_for_people
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.shortening import shorten_words

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
    """Return text that LaTeX prints literally, whatever a run tag contains.

    What pdfLaTeX has no letter for in its first fonts is written as its code, such as U+691C: it would end
    the compilation otherwise.
    """
    return re.sub(r"[-–]{2,}|(?s:.)", _typeset, shorten_words(printable(text)))


def _typeset(found: re.Match[str]) -> str:
    character = found[0]
    if len(character) > 1:  # two hyphens in a run tag must not become a dash
        return "".join("{" + _ESCAPES.get(dash, dash) + "}" for dash in character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isascii() or character in _LETTERS else f"U+{ord(character):04X}"


def render_latex(table: Table) -> str:
    r"""Return a ``table`` environment: caption, booktabs rules, notes; the provenance as comments.

    More than `LONG` rows are a ``longtable``, which continues over pages. The first comment names the
    packages that a document needs for it.
    """
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

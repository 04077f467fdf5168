"""Tables as LaTeX in booktabs style."""

from prefjudge.render.cells import MISSING, Bold, Table, write_cell
from prefjudge.render.plain_text import printable

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
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": "{-}",  # two hyphens in a run tag must not become a dash
    MISSING: "--",
    "°": r"\(^\circ\)",
    "±": r"\(\pm\)",
    "τ": r"\(\tau\)",
    "≥": r"\(\geq\)",
    "≤": r"\(\leq\)",
    "×": r"\(\times\)",
    "−": r"\(-\)",
}


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it stands, whatever a run tag contains."""
    return "".join(_ESCAPES.get(character, character) for character in printable(text))


def render_latex(table: Table) -> str:
    r"""Return a ``table`` environment: caption, booktabs rules, notes; the provenance as comments.

    It needs ``\usepackage{booktabs,textcomp}``.
    """
    comments = [f"% {_one_line(key)}: {_one_line(text)}" for key, text in table.provenance.items()]
    shape = "".join("r" if column.right_aligned else "l" for column in table.columns)
    lines = [
        *comments,
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        " & ".join(escape_latex(column.heading) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = []
        for cell, column in zip(row, table.columns, strict=True):
            words = escape_latex(write_cell(cell, column))
            if words.startswith("{-}") and column.right_aligned:
                words = r"\(-\)" + words[3:]
            cells.append(rf"\textbf{{{words}}}" if isinstance(cell, Bold) else words)
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if table.notes:
        lines += [
            "",
            r"\smallskip",
            rf"\parbox{{\linewidth}}{{\footnotesize {escape_latex(' '.join(table.notes))}}}",
        ]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())

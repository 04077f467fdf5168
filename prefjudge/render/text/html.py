"""HTML tables for notebooks: the words of the terminal's, without scripts and styles of their own."""

from html import escape

from prefjudge.render.text.cells import Bold, Table
from prefjudge.render.text.fit import cells_for_people
from prefjudge.render.text.plain_text import printable


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

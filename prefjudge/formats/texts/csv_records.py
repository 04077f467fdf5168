"""Queries and collections in CSV: a header that names an id and a text, and rows that may span lines.

Columns are separated by commas, or by tabs where the first line holds one.
"""

import csv
from collections.abc import Iterator
from itertools import chain

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import LONGEST, Block
from prefjudge.formats.texts.text_formats import Reading, Record, as_text, columns_of


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file, a title before the text where there is one."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # the module's own is 128 KB
    lines = _lines(blocks, reading)
    first = next(lines)
    rows = csv.reader(chain([first], lines), delimiter="\t" if "\t" in first else ",", strict=True)
    path = reading.path
    try:
        header = [name.strip() for name in next(rows)]
        name, texts = _columns(header, reading)
        line = rows.line_num + 1
        for row in rows:
            if row and len(row) != len(header):
                what = f"{len(row)} cells where the header has {len(header)}"
                reading.problems.add(line, 1, what, ",".join(row).encode(), "Quote cells that hold a comma.")
            elif row:
                said = [row[place].strip() for place in texts]
                if not row[name].strip() or not said[-1]:
                    what = "no id" if said[-1] else "no text"
                    reading.problems.add(line, 1, what, ",".join(row).encode(), "Fill in the cell.")
                else:
                    yield Record(line, row[name].strip().encode(), "\n".join(filter(None, said)).encode())
            line = rows.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{rows.line_num}: not CSV: {error}",
            "Close each quotation mark, and double those in cells.",
        ) from None


def _lines(blocks: Iterator[Block], reading: Reading) -> Iterator[str]:
    for block in blocks:
        # splitlines would also split at the line separators of Unicode, which are text
        yield from (line + "\n" for line in as_text(block.data, reading).split("\n")[:-1])


def _columns(header: list[str], reading: Reading) -> tuple[int, list[int]]:
    """Return where the id stands, and where the title and the text do."""
    name, text, title = columns_of(header, reading)
    return header.index(name), [header.index(column) for column in (title, text) if column is not None]

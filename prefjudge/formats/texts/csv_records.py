"""Queries and collections in CSV: a header that names an id and a text, and rows that may span lines."""

import csv
from collections.abc import Iterator

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import CSV_IDS, CSV_TEXTS, Reading, Record, as_text
from prefjudge.formats.texts.topic_fields import FIELDS, Field


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the rows of a file, a title before the text where there is one."""
    rows = csv.reader(_lines(blocks, reading), strict=True)
    path = reading.problems.path
    try:
        header = [name.strip().lower() for name in next(rows)]
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
    name = next(place for place, column in enumerate(header) if column in CSV_IDS)
    known = CSV_TEXTS if reading.field == Field.TITLE else FIELDS[reading.field]
    text = next((header.index(column) for column in known if column in header), None)
    if text is None:
        raise InputError(
            f"{reading.problems.path}:1: no column {reading.field} in the header",
            f"Call it one of: {', '.join(known)}.",
        )
    title = [header.index("title")] if "title" in header and header[text] != "title" else []
    return name, [*(title if reading.field == Field.TITLE else []), text]

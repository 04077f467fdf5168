"""Topics of a line each, ``1:words``, as the Million Query and Terabyte efficiency tracks have them."""

import re
from collections.abc import Iterator

from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record

_PRIORITY = re.compile(rb"\d:")
"""What the Million Query track of 2009 writes before the words: ``20001:1:words``."""


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file; a priority is dropped where every line has one."""
    records, prioritised = [], True
    for block in blocks:
        for line, raw in enumerate(block.data.split(b"\n")[:-1], block.line):
            if not raw.strip():
                continue
            name, colon, text = raw.partition(b":")
            if not colon or not name.strip().isdigit() or not text.strip():
                hint = "Write each line as: number, a colon, the words; or as: id, a tab, the text."
                reading.problems.add(line, 1, "not a number, a colon and words", raw, hint)
                continue
            prioritised = prioritised and _PRIORITY.match(text) is not None
            records.append(Record(line, name.strip(), text.strip()))
    for record in records:
        yield Record(record.line, record.name, record.text[2:].strip()) if prioritised else record

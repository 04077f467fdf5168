"""NPL's documents and queries, as Vaswani's collection is given away."""

from collections.abc import Iterator

from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.lines.npl import npl_entries
from prefjudge.formats.texts.text_formats import Reading, Record, as_text

_HINT = "Write each as a number on a line, lines of text, and a slash on a line."


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the entries of a file."""
    lines = (
        numbered
        for block in blocks
        for numbered in enumerate(as_text(block.data, reading).split("\n")[:-1], block.line)
    )
    for line, name, held in npl_entries(lines):
        text = " ".join(" ".join(held).split())
        if len(name.split()) == 1 and text:
            yield Record(line, name.encode(), text.encode())
        else:
            what = "the id holds a blank" if text else "no text"
            reading.problems.add(line, 1, what, name.encode(), _HINT)

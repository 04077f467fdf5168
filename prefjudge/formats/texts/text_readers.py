"""Text formats: what holds queries or a collection besides lines of id, tab, text, and one reader for each.

A reader turns the blocks of a file into records, and everything else follows: checks, look-up, notices. The
first bytes of a file say which of ours it is, and its suffix which of another package's.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block, Holds, blocks, opened
from prefjudge.formats.lines.readers import suffix_of
from prefjudge.formats.lines.signatures import comparisons
from prefjudge.formats.texts.text_formats import CSV_IDS, CSV_TEXTS, Reading, Record, RecordReader
from prefjudge.formats.texts.topic_fields import FIELDS, IDS, PLAIN, TextFields
from prefjudge.registers import Register

TEXT_FORMATS: Register[RecordReader] = Register(
    "text format",
    Callable,
    {
        "topics": "prefjudge.formats.texts.trec_topics:read_records",
        "XML topics": "prefjudge.formats.texts.xml_topics:read_records",
        "JSON topics": "prefjudge.formats.texts.json_topics:read_records",
        "questions with answers": "prefjudge.formats.texts.questions:read_answered",
        "titles": "prefjudge.formats.texts.questions:read_titles",
        "documents": "prefjudge.formats.texts.trec_documents:read_records",
        "CSV": "prefjudge.formats.texts.csv_records:read_records",
        "Parquet": "prefjudge.formats.texts.parquet_records:read_records",
    },
)
"""The reader of each format; tabs and JSON lines are read in bulk, elsewhere."""
OF_QUERIES = {
    **dict.fromkeys(("topics", "XML topics", "JSON topics"), "topics"),
    **{kind: kind for kind in ("questions with answers", "titles")},
}
"""The formats that no collection has, in words."""
LINES, JSON_LINES = "lines of an id, a tab and a text", "JSON lines"
_WITH_NAMES = ("XML topics", "JSON topics", "CSV", "Parquet")
"""Those of ours in which the fields have names of their own."""

_XML = re.compile(rb"\s*<(\?xml\b|!DOCTYPE(?!\s+html)\b|!--|topics?\b|quer(y|ies)\b)", re.IGNORECASE)
_DOC = re.compile(rb"(<\?xml[^<>]*>|<!--[^<>]*>|\s|<root>)*+<DOC>", re.IGNORECASE)
_TOP = re.compile(rb"<top\b", re.IGNORECASE)
_ANSWERED = re.compile(rb"[^\t\n]* [^\t\n]*\t\"?\[(['\"][^\n]*)?\]\"?\s*")
_ANSWERED_JSON = re.compile(rb'\{\s*"question"\s*:\s*"[^\n]*"answers?"\s*:\s*\[')
_TITLES = re.compile(rb"(enwiki:\S+|\S*%20\S*)\s*")


def open_texts(reading: Reading) -> tuple[str, Iterator[Block]]:
    """Return the format of a file, and its blocks: none where nothing stands in it."""
    every = blocks(reading.path, Holds.TEXTS, notices=reading.notices)
    if kind := _file_format(reading.path):
        return kind, every
    first = next((block for block in every if block.data.strip()), None)
    if first is None:
        return LINES, iter(())
    if other := comparisons(first.data):
        raise InputError(*other.words(reading.path))
    lines = JSON_LINES if first.data.lstrip().startswith(b"{") else LINES
    kind = format_of(first.data, reading.fields) or lines
    if kind not in _WITH_NAMES and reading.fields.given and kind is not JSON_LINES:
        raise InputError(
            f"{reading.path} holds {kind}, in which no field has a name of its own",
            f"Leave out --dataset {reading.fields.given}.",
        )
    return kind, chain([first], every)


def _file_format(path: str) -> str:
    """Return the format of a file that is another package's, or that is not text; else nothing."""
    if (suffix := suffix_of(path)) in TEXT_FORMATS.theirs:
        return suffix
    if not Path(path).is_file():
        return ""
    with opened(path) as file:
        return "Parquet" if file.read(4) == b"PAR1" else ""


def format_of(head: bytes, fields: TextFields = PLAIN) -> str:
    """Return the format of a text that has a reader here, from its first lines; else nothing."""
    text = head[: 1 << 16].lstrip()
    if text.startswith(b"<"):
        if _DOC.match(text):
            return "documents"
        # FIRE wraps its SGML topics in <topics>, so the inner tag decides.
        return "topics" if _TOP.search(text) else "XML topics" if _XML.match(text) else ""
    if text.startswith(b"["):
        return "JSON topics"
    if text.startswith(b"{"):
        if _ANSWERED_JSON.match(text) and not _has_id(text.partition(b"\n")[0]):
            return "questions with answers"
        return "JSON topics" if _is_one_object(head.lstrip(), fields) else ""
    if _is_csv(text.partition(b"\n")[0], fields):
        return "CSV"
    lines = [line for line in text.split(b"\n")[:20] if line.strip()]
    lines = lines[:-1] or lines
    if lines and all(map(_ANSWERED.match, lines)):
        return "questions with answers"
    return "titles" if _are_titles(lines) else ""


def _are_titles(lines: list[bytes]) -> bool:
    """Tell TREC CAR's topics: single words, of which some have blanks as addresses write them."""
    return any(map(_TITLES.fullmatch, lines)) and all(len(line.split()) == 1 for line in lines)


def _has_id(line: bytes) -> bool:
    """Tell whether an object of a line has an id; one that is cut off is left to its reader."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return True
    return isinstance(first, dict) and any(name in first for name in (*CSV_IDS, "document_id", "passage_id"))


def _is_csv(line: bytes, fields: TextFields) -> bool:
    """Tell a header of CSV: it names an id and a text, by commas, or by tabs where it has the names given."""
    mark = b"\t" if b"\t" in line else b","
    if mark == b"\t" and not fields.given:
        return False
    names = {name.strip().strip(b'"').lower().decode("utf-8", "replace") for name in line.split(mark)}
    ids, texts = (map(str.lower, known) for known in (fields.ids(CSV_IDS), fields.texts(CSV_TEXTS)))
    return not names.isdisjoint(ids) and not names.isdisjoint(texts)


def read_as(kind: str, every: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the records of a file whose format has a reader."""
    with TEXT_FORMATS.using(kind):
        yield from TEXT_FORMATS[kind](every, reading)


def _is_one_object(text: bytes, fields: TextFields) -> bool:
    """Tell one JSON object of topics from a line for each."""
    line, _, rest = text.partition(b"\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        # cut off in the middle of a line, or pretty-printed, which a line that ends early shows
        return line.rstrip().endswith((b"{", b",", b"["))
    if rest.strip() or not isinstance(first, dict) or not first:
        return False
    usual = (*IDS, *(name for names in FIELDS.values() for name in names))
    return not any(name in first for name in (*usual, *fields.ids(), *fields.texts()))

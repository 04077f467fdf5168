"""Text formats: what holds queries or a collection besides lines of id, tab, text, and one reader for each.

A reader turns the blocks of a file into records, and everything else follows: checks, look-up, notices. The
first bytes of a file say which it is. So a new format is one file, one line of the table and one signature.
"""

import json
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from importlib import import_module

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.lines.problems import Notice, Problems
from prefjudge.formats.texts.topic_fields import FIELDS, IDS, Field

_MOST = 256 << 20
"""Bytes of a file that is read whole: the largest topics file of TREC has 0.4 MB."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,31});")


@dataclass(frozen=True, slots=True)
class Record:
    """One query or document: the number of its line, its id and its text."""

    line: int
    name: bytes
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a file is read: which ``field`` of topics, which ids are ``wanted`` (None: all), what to report."""

    problems: Problems
    notices: list[Notice]
    field: Field = Field.TITLE
    wanted: Container[bytes] | None = None

    def notice(self, what: str) -> None:
        """Notice something odd about the file."""
        self.notices.append(Notice(where=self.problems.path, what=what))


RecordReader = Callable[[Iterator[Block], Reading], Iterator[Record]]

CSV_IDS = ("_id", "id", "pid", "docid", "doc_id", "docno", *IDS)
CSV_TEXTS = ("text", "passage", "contents", "body", "query", "question", "title")

_READERS = {
    "topics": "prefjudge.formats.texts.trec_topics",
    "XML topics": "prefjudge.formats.texts.xml_topics",
    "JSON topics": "prefjudge.formats.texts.json_topics",
    "numbered lines": "prefjudge.formats.texts.numbered_lines",
    "documents": "prefjudge.formats.texts.trec_documents",
    "CSV": "prefjudge.formats.texts.csv_records",
}
"""The module that reads each format (``read_records``); tabs and JSON lines are read in bulk, elsewhere."""

_XML = re.compile(rb"\s*<(\?xml\b|!DOCTYPE(?!\s+html)\b|!--|topics?\b|quer(y|ies)\b)", re.IGNORECASE)
_DOC = re.compile(rb"(<\?xml[^<>]*>|<!--[^<>]*>|\s|<root>)*+<DOC>", re.IGNORECASE)
_TOP = re.compile(rb"<top\b", re.IGNORECASE)
_NUMBERED = re.compile(rb"\d{1,18}:[^\t\n]*\S")


def format_of(head: bytes) -> str:
    """Return the format of a file that has a reader here, from its first lines; else nothing."""
    text = head[: 1 << 16].lstrip()
    if text.startswith(b"<"):
        if _DOC.match(text):
            return "documents"
        # FIRE wraps its SGML topics in <topics>, so the inner tag decides.
        return "topics" if _TOP.search(text) else "XML topics" if _XML.match(text) else ""
    if text.startswith(b"["):
        return "JSON topics"
    if text.startswith(b"{"):
        return "JSON topics" if _is_one_object(head.lstrip()) else ""
    if _is_csv(text.partition(b"\n")[0]):
        return "CSV"
    lines = [line for line in text.split(b"\n")[:20] if line.strip()]
    return "numbered lines" if lines and all(map(_NUMBERED.match, lines[:-1] or lines)) else ""


def _is_csv(line: bytes) -> bool:
    """Tell a header of CSV: it names an id and a text, and nothing in it is a tab."""
    names = {name.strip().strip(b'"').lower().decode("utf-8", "replace") for name in line.split(b",")}
    return b"\t" not in line and not names.isdisjoint(CSV_IDS) and not names.isdisjoint(CSV_TEXTS)


def record_reader(kind: str) -> RecordReader:
    """Return the reader of a format."""
    read: RecordReader = import_module(_READERS[kind]).read_records
    return read


def whole(blocks: Iterator[Block], path: str) -> bytes:
    """Return a file that can only be read as a whole.

    Raises
    ------
    InputError
        It is too large for that.
    """
    found, size = [], 0
    for block in blocks:
        found.append(block.data)
        if (size := size + len(block.data)) > _MOST:
            raise InputError(
                f"{path} is larger than {_MOST >> 20} MB, too large for a file of topics",
                "If it is a collection, give it with --collection, a document a line.",
            )
    return b"".join(found)


def as_text(data: bytes, reading: Reading) -> str:
    """Return the text of bytes; what is not UTF-8 is taken for Latin-1, as TREC's older files are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        what = "the text is not UTF-8; it is read as Latin-1"
        if not any(notice.what == what for notice in reading.notices):
            reading.notice(what)
        return data.decode("latin-1")


def unescaped(text: str) -> str:
    """Return text with the characters that HTML's entities stand for; ``AT&T`` stays as it is."""
    if "&" not in text:
        return text
    from html import unescape  # its table of entities is large

    return _ENTITY.sub(lambda found: unescape(found[0]), text)


def _is_one_object(text: bytes) -> bool:
    """Tell one JSON object of topics from a line for each."""
    line, _, rest = text.partition(b"\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        # cut off in the middle of a line, or pretty-printed, which a line that ends early shows
        return line.rstrip().endswith((b"{", b",", b"["))
    if rest.strip() or not isinstance(first, dict) or not first:
        return False
    return not any(name in first for name in (*IDS, *(name for names in FIELDS.values() for name in names)))

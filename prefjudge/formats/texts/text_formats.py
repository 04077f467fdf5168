"""What the readers of text formats take and give, and what they share."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import LONGEST, Block
from prefjudge.formats.lines.problems import Notice, Problems
from prefjudge.formats.texts.topic_fields import IDS, PLAIN, TextFields

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,31});")


@dataclass(frozen=True, slots=True)
class Record:
    """One query or document: the number of its line, its id and its text."""

    line: int
    name: bytes
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a file is read: which ``fields``, which ids are ``wanted`` (None: all), where to report."""

    problems: Problems
    notices: list[Notice]
    fields: TextFields = PLAIN
    wanted: Collection[bytes] | None = None

    @property
    def path(self) -> str:
        """The file."""
        return self.problems.path

    def notice(self, what: str) -> None:
        """Notice something odd about the file."""
        self.notices.append(Notice(where=self.problems.path, what=what))


RecordReader = Callable[[Iterator[Block], Reading], Iterator[Record]]

CSV_IDS = ("_id", "id", "pid", "docid", "doc_id", "docno", *IDS)
CSV_TEXTS = ("text", "passage", "contents", "body", "query", "question", "title")


def columns_of(header: list[str], reading: Reading) -> tuple[str, str, str | None]:
    """Return which columns of a table hold the id, the text, and the title that is put before it.

    Raises
    ------
    InputError
        One is not there.
    """
    fields, place = reading.fields, {column.lower(): column for column in reversed(header)}
    found = []
    for what, known in (("id", fields.ids(CSV_IDS)), ("text", fields.texts(CSV_TEXTS))):
        column = next((place[name.lower()] for name in known if name.lower() in place), None)
        if column is None:
            raise InputError(
                f"{reading.path} has no column that holds the {what}: it has {', '.join(header)}",
                f"Call it one of: {', '.join(known)}. Or say which it is: --dataset {what}=NAME.",
            )
        found.append(column)
    name, text = found
    title = place.get("title") if fields.with_title else None
    return name, text, title if title != text else None


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
        if (size := size + len(block.data)) > LONGEST:
            raise InputError(
                f"{path} is larger than {LONGEST >> 20} MB, too large for a file of topics",
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

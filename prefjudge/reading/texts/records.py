"""What the readers of text formats take and give, and what they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from math import isfinite
from textwrap import shorten

from prefjudge.core.hits import Shown
from prefjudge.errors import InputError
from prefjudge.reading.files import LONGEST, Notice, Problems
from prefjudge.reading.lines import Block


class Field(StrEnum):
    """The parts of a TREC topic: a few words, a sentence, and what makes a document relevant."""

    TITLE = "title"
    DESC = "desc"
    NARR = "narr"


IDS = ("number", "num", "qid", "id", "_id", "query_id", "question_id", "topic_id", "query-id")
FIELDS = {
    Field.TITLE: ("title", "query", "content", "text", "query_txt", "question", "contents"),
    Field.DESC: ("desc", "description", "question"),
    Field.NARR: ("narr", "narrative", "background"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFields:
    """Where the ids and the texts stand in files that name their fields."""

    field: Field = Field.TITLE
    """The part of TREC topics that is the query's text."""
    id_field: str | None = None
    text_field: str | None = None
    """The names of the fields, where they are not among those that are known. A text that is named is taken
    alone, without a title."""
    shown: tuple[str, ...] = ()
    """The names of the fields that people see below a passage."""

    def ids(self, known: tuple[str, ...] = IDS) -> tuple[str, ...]:
        """Return the names of what may hold the id."""
        return known if self.id_field is None else (self.id_field,)

    def texts(self, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the names of what may hold the text: of a topic, unless others are ``known``."""
        if self.text_field is not None:
            return (self.text_field,)
        return FIELDS[self.field] if known is None or self.field != Field.TITLE else known

    @property
    def with_title(self) -> bool:
        """Whether a title is put before the text."""
        return self.text_field is None and self.field == Field.TITLE

    @property
    def given(self) -> str:
        """The words of ``--dataset`` that name a field, as they are typed."""
        named = [("id", self.id_field), ("text", self.text_field), *(("show", name) for name in self.shown)]
        return ",".join(f"{word}={name}" for word, name in named if name is not None)


PLAIN = TextFields()
"""The title, under the usual names."""


_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,31});")


@dataclass(frozen=True, slots=True)
class Record:
    """One query or document: the number of its line, its id, its text, and the fields to show below."""

    line: int
    name: bytes
    text: bytes
    shown: Shown = ()


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

CSV_IDS = tuple(dict.fromkeys(("_id", "id", "pid", "docid", "doc_id", "docno", *IDS)))
CSV_TEXTS = ("text", "passage", "contents", "body", "query", "question", "title")


_SHOWN = 200
"""Characters of a header that are shown: what lacks one begins with a text."""


def to_name(lacking: Mapping[str, Sequence[str]]) -> str:
    """Return what to do where no field has one of the names under which an id or a text is looked for."""
    known = "; ".join(f"the {what} under {', '.join(names)}" for what, names in lacking.items())
    words = ",".join(f"{what}=NAME" for what in lacking)
    return f"Looked for: {known}. Use these names, or, if the verb has it, --dataset {words}."


def below(fields: TextFields, row: Mapping[str, object]) -> Shown:
    """Return what a row has of the fields to show below its text, each on one line."""
    said = {name: row.get(name) for name in fields.shown}
    plain = {name: _plain(value) for name, value in said.items()}
    return tuple((name, value) for name, value in plain.items() if value)


def _plain(value: object) -> str:
    """Return a text, a number or a date in one line; nothing of what is none of them."""
    if isinstance(value, float) and isfinite(value):  # pandas makes floats of whole numbers beside a null
        value = int(value) if value.is_integer() else value
    elif not isinstance(value, str | int | date):
        return ""
    return " ".join(str(value).split())


def columns_of(header: list[str], reading: Reading) -> tuple[str, str, str | None]:
    """Return which columns of a table hold the id, the text, and the title that is put before it."""
    fields, place = reading.fields, {column.lower(): column for column in reversed(header)}
    known = {"id": fields.ids(CSV_IDS), "text": fields.texts(CSV_TEXTS)}
    found = {
        what: next((place[name.lower()] for name in names if name.lower() in place), "")
        for what, names in known.items()
    }
    if lacking := {what: known[what] for what, column in found.items() if not column}:
        columns = shorten(", ".join(header), _SHOWN, placeholder=" …")
        what = f"has no column that holds the {' or the '.join(lacking)}: its header has {columns}"
        raise InputError(f"{reading.path} {what}", to_name(lacking))
    name, text = found.values()
    title = place.get("title") if fields.with_title else None
    return name, text, title if title != text else None


def whole(blocks: Iterator[Block], path: str) -> bytes:
    """Return a file that can only be read as a whole."""
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

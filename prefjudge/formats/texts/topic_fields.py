"""The names that topics in XML and JSON have for their ids and fields, and those that a user gives."""

from dataclasses import dataclass
from enum import StrEnum


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
    """Where the ids and the texts stand in files that name their fields.

    Attributes
    ----------
    field : Field
        The part of TREC topics that is the query's text.
    id_field, text_field : str, optional
        The names of the fields, where they are not among those that are known. A text that is named is taken
        alone, without a title.
    """

    field: Field = Field.TITLE
    id_field: str | None = None
    text_field: str | None = None

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
        named = {"id": self.id_field, "text": self.text_field}
        return ",".join(f"{word}={name}" for word, name in named.items() if name is not None)


PLAIN = TextFields()
"""The title, under the usual names."""


def no_field(number: str, fields: TextFields, there: dict[str, str]) -> tuple[str, str]:
    """Return what is wrong with a topic that lacks a field, and what to do."""
    ways = [str(one) for one, names in FIELDS.items() if any(there.get(name) for name in names)]
    names = ", ".join(name for name in there if there[name]) or "nothing else"
    what = f"topic {number} has no {fields.text_field or fields.field}: it has {names}"
    if fields.text_field is not None:
        return what, "Name the field that holds the text: --dataset text=NAME."
    if ways:
        return what, f"Choose another field: --dataset field={' or field='.join(ways)}."
    return what, "Write queries as lines of id, tab, text."

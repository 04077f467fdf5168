"""The names that topics in XML and JSON have for their ids and fields."""

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


def no_field(number: str, field: Field, there: dict[str, str]) -> tuple[str, str]:
    """Return what is wrong with a topic that lacks a field, and what to do."""
    ways = [str(one) for one, names in FIELDS.items() if any(there.get(name) for name in names)]
    names = ", ".join(name for name in there if there[name]) or "nothing else"
    what = f"topic {number} has no {field}: it has {names}"
    if ways:
        return what, f"Choose another field: --field {' or '.join(ways)}."
    return what, "Write queries as lines of id, tab, text."

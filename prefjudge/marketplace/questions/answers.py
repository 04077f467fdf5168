"""A worker's answers, as QuestionFormAnswers XML."""

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

_SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
)
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

RESERVED = frozenset({"assignmentId", "hitId", "workerId", "turkSubmitTo"})
"""Parameters of the frame's address, which never count as answers."""

Fields = Iterable[tuple[str, str]]
Part = tuple[str, str]
"""An element of an Answer, by its name: FreeText, SelectionIdentifier or OtherSelectionText."""


def write_answers(fields: Fields) -> str:
    """Write form fields as QuestionFormAnswers, one Answer a field, in the order of the form.

    Fields of one name, as check boxes send them, become one Answer whose texts are joined by ``|``.
    """
    merged: dict[str, list[str]] = {}
    for name, value in fields:
        if name not in RESERVED:
            merged.setdefault(name, []).append(value)
    return write_document((name, [("FreeText", "|".join(values))]) for name, values in merged.items())


def write_document(answers: Iterable[tuple[str, Iterable[Part]]]) -> str:
    """Write QuestionFormAnswers, each Answer by the identifier of its question and its parts.

    Characters that XML cannot hold are left out.
    """
    written = "".join(
        f"<Answer><QuestionIdentifier>{_text(identifier)}</QuestionIdentifier>"
        + "".join(f"<{name}>{_text(value)}</{name}>" for name, value in parts)
        + "</Answer>"
        for identifier, parts in answers
    )
    head = '<?xml version="1.0" encoding="ASCII"?>'
    return f'{head}<QuestionFormAnswers xmlns="{_SCHEMA}">{written}</QuestionFormAnswers>'


def _text(text: str) -> str:
    escaped = escape(_ILLEGAL.sub("", text), {"\r": "&#13;"})
    return escaped.encode("ascii", "xmlcharrefreplace").decode("ascii")


def expected_pay(fields: Fields) -> int | None:
    """Return the cents that a page told a worker who stopped early, in a field ``pay`` such as ``0.16``."""
    known = dict(fields)
    said = re.fullmatch(r"\$?(\d{1,6})\.(\d\d)", known.get("pay", ""))
    return int(said[1]) * 100 + int(said[2]) if said and known.get("stopped") == "1" else None


def visible_time(fields: Fields) -> tuple[int, int]:
    """Return the milliseconds that pages measured (fields named ``….ms``), and of how many such fields."""
    times = [int(value) for name, value in fields if name.endswith(".ms") and re.fullmatch(r"\d{1,9}", value)]
    return sum(times), len(times)

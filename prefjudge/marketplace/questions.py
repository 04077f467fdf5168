"""Questions and answers in Mechanical Turk's XML: read, checked, written and scored."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypedDict
from xml.sax.saxutils import escape

from prefjudge.marketplace.errors import Refusal, refused
from prefjudge.resources import UnreadableXmlError, read_xml

# Untrusted XML: parsed without document types, its elements named without namespaces.

MAX_BYTES = 65_535


class _Wrong(Exception):  # noqa: N818 - the reader of a parameter says which one
    """What is wrong with the XML of a parameter, and the TurkErrorCode of it."""

    def __init__(self, problem: str, code: str = "XMLParseError") -> None:
        super().__init__(problem)
        self.code = code


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Refuse what is wrong in the block, as the parameter of this name."""
    try:
        yield
    except _Wrong as wrong:
        raise refused(wrong.code, f"{where}: {wrong}") from wrong.__cause__


def _parse(xml: str) -> Any:
    """Parse XML of at most 65,535 bytes, refusing document types and entities."""
    size = len(xml.encode())
    if size > MAX_BYTES:
        problem = f"{size} bytes are more than the maximum of {MAX_BYTES}."
        raise _Wrong(problem, "InvalidParameterValue")
    try:
        return read_xml(xml)
    except UnreadableXmlError as error:
        raise _Wrong(f"not well-formed XML: {error}") from error


def local(tag: str) -> str:
    """Return an element's name without its namespace."""
    return tag.rpartition("}")[2]


def _texts(element: Any) -> dict[str, str]:
    """Return the text of each child by its name."""
    return {local(child.tag): (child.text or "").strip() for child in element}


# The three kinds of Question: HTMLQuestion, ExternalQuestion and QuestionForm.

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
KINDS = {"HTMLQuestion": "html", "ExternalQuestion": "external", "QuestionForm": "form"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A HIT's question: its kind, and its HTML or address (empty for a form, which its own reader takes)."""

    kind: str
    content: str
    height: int


def read_question(xml: str, where: str = "Question") -> Question:
    """Read and check a Question, which a parameter of the name ``where`` holds."""
    with _named(where):
        root = _parse(xml)
        kind = KINDS.get(local(root.tag))
        if kind is None or not root.tag.startswith("{" + SCHEMAS):
            raise _Wrong(f"expected one of {', '.join(KINDS)} in its namespace.")
        if kind == "form":
            _form(root)
            return Question(kind=kind, content="", height=0)
        texts = _texts(root)
        content = texts.get("HTMLContent" if kind == "html" else "ExternalURL", "")
        height = texts.get("FrameHeight", "")
        if not content:
            raise _Wrong(f"the {local(root.tag)} has no content.")
        if not re.fullmatch(r"[0-9]{1,5}", height):
            raise _Wrong("FrameHeight must be a whole number of pixels.")
        if kind == "external" and not _secure(content):
            raise _Wrong("ExternalURL must be an https address.", "InvalidParameterValue")
        return Question(kind=kind, content=content, height=int(height))


def _secure(url: str) -> bool:
    return bool(re.match(r"https://[^\s/]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|\?|$)", url))


# FormattedContent: untrusted markup, reduced to what is harmless.

_HARMLESS = """a b big blockquote br center cite code col colgroup dd del dl dt em font h1 h2 h3 h4 h5 h6 hr i
    img ins li ol p pre q small strong sub sup table tbody td tfoot th thead tr u ul"""
_KEPT_TAGS = frozenset(_HARMLESS.split())
_KEPT_ATTRIBUTES = frozenset({"href", "src", "alt", "title", "colspan", "rowspan"})


def sanitised(markup: str) -> str:
    """Return the markup with only harmless elements and attributes."""
    try:
        root = read_xml(f"<div>{markup}</div>")
    except UnreadableXmlError as error:
        raise _Wrong(f"FormattedContent is not well-formed: {error}", "XHTMLParseError") from error
    return _inside(root)


def _inside(root: Any) -> str:
    """Return what an element holds; not recursive, because a stranger chooses its depth."""
    pieces = [html.escape(root.text or "", quote=False)]
    waiting: list[tuple[Any, str] | str] = _children(root)
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            pieces.append(one)
            continue
        child, tail = one
        tag = local(child.tag).lower() if isinstance(child.tag, str) else ""
        waiting.append(tail)
        if tag in ("br", "hr", "img"):
            pieces.append(f"<{tag}{_attributes(child)}>")
        elif tag not in ("script", "style"):
            if tag in _KEPT_TAGS:
                pieces.append(f"<{tag}{_attributes(child)}>")
                waiting.append(f"</{tag}>")
            pieces.append(html.escape(child.text or "", quote=False))
            waiting += _children(child)
    return "".join(pieces)


def _children(element: Any) -> list[tuple[Any, str] | str]:
    """Return the elements inside, the last first, each with the text after it."""
    return [(child, html.escape(child.tail or "", quote=False)) for child in reversed(element)]


def _attributes(element: Any) -> str:
    return "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in element.attrib.items()
        if name in _KEPT_ATTRIBUTES and (name not in ("href", "src") or re.match(r"https?://", value))
    )


# QuestionForm: questions in XML, for pages and qualification tests that bring no HTML of their own.

STYLES = ("radiobutton", "checkbox", "list", "dropdown", "combobox", "multichooser")
OTHER = ".other"
"""The end of the name of a form field that holds another answer than those offered."""


Content = dict[str, Any]
"""A piece of text, markup, list or media, as a page shows it; its keys depend on its ``kind``."""


class Pattern(TypedDict):
    """What a text must match; the page checks it."""

    regex: str
    flags: str
    error: str


class Option(TypedDict):
    """One of the selections on offer."""

    identifier: str
    content: Content


class TextAnswer(TypedDict):
    """An answer that is typed, and its limits."""

    kind: Literal["text"]
    default: str
    lines: int
    numeric: bool
    min: int | None
    max: int | None
    min_length: int | None
    max_length: int | None
    patterns: list[Pattern]


class SelectionAnswer(TypedDict):
    """An answer that is chosen, and how many may be."""

    kind: Literal["selection"]
    style: str
    min: int
    max: int
    options: list[Option]
    other: bool


class FormQuestion(TypedDict):
    """One question: what it shows, and how it is answered."""

    identifier: str
    display_name: str
    required: bool
    content: list[Content]
    answer: TextAnswer | SelectionAnswer


class Form(TypedDict):
    """A QuestionForm, as a page shows it."""

    overview: list[Content]
    questions: list[FormQuestion]


def parse_form(xml: str, where: str) -> Form:
    """Read a QuestionForm, which a parameter of the name ``where`` holds."""
    with _named(where):
        return _form(_parse(xml))


def _form(root: Any) -> Form:
    form: Form = {"overview": [], "questions": []}
    for child in root:
        name = local(child.tag)
        if name == "Overview":
            form["overview"] += _contents(child)
        elif name == "Question":
            form["questions"].append(_question(child))
        else:
            raise _Wrong(f"{name} is not allowed in a QuestionForm.")
    questions = form["questions"]
    if not questions:
        raise _Wrong("a QuestionForm needs a Question.")
    fields = [one["identifier"] for one in questions]
    fields += [one["identifier"] + OTHER for one in questions if one["answer"].get("other")]
    if len(set(fields)) < len(fields):
        raise _Wrong("two questions have the same QuestionIdentifier.")
    return form


def _parts(element: Any) -> Mapping[str, Any]:
    return {local(child.tag): child for child in element}


def _text(element: Any, default: str = "") -> str:
    return default if element is None else (element.text or "").strip()


def _question(element: Any) -> FormQuestion:
    parts = _parts(element)
    identifier = _text(parts.get("QuestionIdentifier"))
    if not identifier:
        raise _Wrong("a Question needs a QuestionIdentifier.")
    if "AnswerSpecification" not in parts or "QuestionContent" not in parts:
        raise _Wrong(f"the question {identifier!r} needs a QuestionContent and an AnswerSpecification.")
    answer = _answer(parts["AnswerSpecification"], identifier)
    return {
        "identifier": identifier,
        "display_name": _text(parts.get("DisplayName")),
        # by the API's documentation, a minimum length also makes an answer required
        "required": _text(parts.get("IsRequired")) == "true" or bool(answer.get("min_length")),
        "content": _contents(parts["QuestionContent"]),
        "answer": answer,
    }


def _answer(specification: Any, identifier: str) -> TextAnswer | SelectionAnswer:
    parts = _parts(specification)
    if "FreeTextAnswer" in parts:
        return _free_text(parts["FreeTextAnswer"])
    if "SelectionAnswer" in parts:
        return _selection(parts["SelectionAnswer"], identifier)
    if "FileUploadAnswer" in parts:
        raise _Wrong(f"the question {identifier!r} asks for a file, which this marketplace does not accept.")
    raise _Wrong(f"the question {identifier!r} needs a FreeTextAnswer or a SelectionAnswer.")


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else None


def _free_text(element: Any) -> TextAnswer:
    parts = _parts(element)
    constraints = _parts(parts["Constraints"]) if "Constraints" in parts else {}
    numeric, length = constraints.get("IsNumeric"), constraints.get("Length")
    patterns = [one for one in parts.get("Constraints", ()) if local(one.tag) == "AnswerFormatRegex"]
    return {
        "kind": "text",
        "default": _text(parts.get("DefaultText")),
        "lines": _number(_text(parts.get("NumberOfLinesSuggestion"))) or 1,
        "numeric": numeric is not None,
        "min": _number(numeric.get("minValue")) if numeric is not None else None,
        "max": _number(numeric.get("maxValue")) if numeric is not None else None,
        "min_length": _number(length.get("minLength")) if length is not None else None,
        "max_length": _number(length.get("maxLength")) if length is not None else None,
        "patterns": [
            {
                "regex": one.get("regex", ""),
                "flags": "i" if one.get("flags") == "i" else "",
                "error": one.get("errorText") or "Invalid input supplied.",
            }
            for one in patterns
        ],
    }


def _selection(element: Any, identifier: str) -> SelectionAnswer:
    parts = _parts(element)
    options: list[Option] = [
        {
            "identifier": _text(_parts(option).get("SelectionIdentifier")),
            "content": next(iter(_contents(option)), {"kind": "text", "text": ""}),
        }
        for option in parts.get("Selections", ())
        if local(option.tag) == "Selection"
    ]
    if not options or not all(option["identifier"] for option in options):
        raise _Wrong(f"the question {identifier!r} needs Selections, each with a SelectionIdentifier.")
    style = _text(parts.get("StyleSuggestion")) or "radiobutton"
    if style not in STYLES:
        raise _Wrong(f"the question {identifier!r} has an unknown StyleSuggestion {style!r}.")
    least = _number(_text(parts.get("MinSelectionCount")))
    return {
        "kind": "selection",
        "style": style,
        "min": 1 if least is None else least,
        "max": _number(_text(parts.get("MaxSelectionCount"))) or 1,
        "options": options,
        "other": any(local(child.tag) == "OtherSelection" for child in parts.get("Selections", ())),
    }


def _contents(element: Any) -> list[Content]:
    """Read the pieces of an Overview, a QuestionContent or a Selection, in order."""
    found: list[Content] = []
    for child in element:
        name = local(child.tag)
        if name in ("Title", "Text"):
            found.append({"kind": name.lower(), "text": _text(child)})
        elif name == "FormattedContent":
            found.append({"kind": "html", "html": sanitised(_text(child))})
        elif name == "List":
            found.append({"kind": "list", "items": [_text(item) for item in child]})
        elif name in ("Binary", "EmbeddedBinary"):
            found.append(_binary(child))
        elif name in ("Application", "JavaApplet", "Flash"):
            found.append({"kind": "text", "text": "(This part needs a program that browsers no longer run.)"})
    return found


def _binary(element: Any) -> Content:
    parts = _parts(element)
    kind = _parts(parts["MimeType"]) if "MimeType" in parts else {}
    url = _text(parts.get("DataURL"))
    return {
        "kind": "binary",
        "url": url if re.match(r"https?://", url) else "",
        "type": _text(kind.get("Type")),
        "alt": _text(parts.get("AltText")),
    }


# A worker's answers, as QuestionFormAnswers XML.

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
        f"<Answer><QuestionIdentifier>{_escaped(identifier)}</QuestionIdentifier>"
        + "".join(f"<{name}>{_escaped(value)}</{name}>" for name, value in parts)
        + "</Answer>"
        for identifier, parts in answers
    )
    head = '<?xml version="1.0" encoding="ASCII"?>'
    return f'{head}<QuestionFormAnswers xmlns="{_SCHEMA}">{written}</QuestionFormAnswers>'


def _escaped(text: str) -> str:
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


# A worker's answers to a QuestionForm: checked against its questions, and written in the API's XML.

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_form_answers(form: Form, fields: Fields) -> str:
    """Write the answers as QuestionFormAnswers: selections by their identifiers, text as text.

    Patterns (AnswerFormatRegex) are left to the page: they are JavaScript's, and a requester's pattern could
    keep this server busy.
    """
    given: dict[str, list[str]] = {}
    for name, text in fields:
        given.setdefault(name, []).append(text)
    answers: list[tuple[str, list[Part]]] = []
    problems: list[str] = []
    for number, question in enumerate(form["questions"], 1):
        texts, answer = given.get(question["identifier"], []), question["answer"]
        if answer["kind"] == "text":
            problem = _text_problem(answer, texts[-1] if texts else "", required=question["required"])
            parts = [("FreeText", text) for text in texts[-1:]]
        else:
            chosen = [text for text in texts if text]
            written_in = given.get(question["identifier"] + OTHER, []) if answer["other"] else []
            other = [text for text in written_in[-1:] if text.strip()]
            count = len(chosen) + len(other)
            problem = _selection_problem(answer, chosen, count, required=question["required"])
            parts = [("SelectionIdentifier", one) for one in chosen]
            parts += [("OtherSelectionText", text) for text in other]
        if problem:
            problems.append(f"{question['display_name'] or f'Question {number}'}: {problem}.")
        elif parts:
            answers.append((question["identifier"], parts))
    if problems:
        raise Refusal("incomplete", " ".join(problems), 422)
    return write_document(answers)


def _text_problem(limits: TextAnswer, text: str, *, required: bool) -> str:
    """Say what is wrong with a text, or nothing."""
    if not text.strip() and (required or not text):
        return "an answer is required" if required else ""
    length = len(text.replace("\r\n", "\n"))
    if length < (limits["min_length"] or 0):
        return f"at least {limits['min_length']} characters are required"
    if limits["max_length"] is not None and length > limits["max_length"]:
        return f"at most {limits['max_length']} characters are allowed"
    if limits["numeric"]:
        if not _NUMBER.fullmatch(text.strip()):
            return "a number is required"
        if limits["min"] is not None and float(text) < limits["min"]:
            return f"the number must be at least {limits['min']}"
        if limits["max"] is not None and float(text) > limits["max"]:
            return f"the number must be at most {limits['max']}"
    return ""


def _selection_problem(limits: SelectionAnswer, chosen: list[str], count: int, *, required: bool) -> str:
    """Say what is wrong with a selection, or nothing."""
    least, most = limits["min"], limits["max"]
    known = {option["identifier"] for option in limits["options"]}
    if not known.issuperset(chosen) or len(set(chosen)) < len(chosen):
        return "choose only from the options"
    if least <= count <= most or (not count and not required):
        return ""
    if most == 1:
        return "choose one"
    return f"choose {least}" if least == most else f"choose {least} to {most}"


# AnswerKey: how a qualification test is scored.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuestion:
    """The scores of one question: of each set of selections, and of any other answer."""

    identifier: str
    scores: tuple[tuple[frozenset[str], int], ...]
    default: int

    def score(self, chosen: frozenset[str]) -> int:
        """Return the score of what a worker selected."""
        return next((score for wanted, score in self.scores if wanted == chosen), self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKey:
    """How the answers to a test become a qualification's value."""

    questions: tuple[KeyQuestion, ...]
    mapping: str = ""
    factor: float = 1.0
    ranges: tuple[tuple[int, int, int], ...] = ()
    otherwise: int = 0

    def score(self, fields: Fields) -> int:
        """Return the value that a worker's answers earn.

        Without a mapping it is the sum of the questions' scores; a percentage mapping divides by the largest
        sum, a scale mapping multiplies, a range mapping looks the sum up.
        """
        given: dict[str, set[str]] = {}
        for name, text in fields:
            given.setdefault(name, set()).add(text)
        total = sum(one.score(frozenset(given.get(one.identifier, ()))) for one in self.questions)
        if self.mapping == "PercentageMapping":
            return round(100 * total / self.factor)
        if self.mapping == "ScaleMapping":
            return round(total * self.factor)
        if self.mapping == "RangeMapping":
            return next((value for low, high, value in self.ranges if low <= total <= high), self.otherwise)
        return total


def read_answer_key(xml: str) -> AnswerKey:
    """Read an AnswerKey."""
    with _named("AnswerKey"):
        root = _parse(xml)
        if local(root.tag) != "AnswerKey":
            raise _Wrong("expected an AnswerKey.")
        try:
            questions = tuple(_key_question(child) for child in root if local(child.tag) == "Question")
            key = _mapped(root, questions)
        except (ValueError, KeyError) as error:
            raise _Wrong(f"a part is missing or is not a number: {error}") from error
        if not questions:
            raise _Wrong("it has no Question.")
        return key


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) >= 2**31:
        raise ValueError(f"{number} does not fit in 32 bits")
    return number


def _key_question(element: Any) -> KeyQuestion:
    texts = _texts(element)
    scores = []
    for option in element:
        if local(option.tag) == "AnswerOption":
            wanted = frozenset(
                (child.text or "").strip() for child in option if local(child.tag) == "SelectionIdentifier"
            )
            scores.append((wanted, _whole(_texts(option)["AnswerScore"])))
    return KeyQuestion(
        identifier=texts["QuestionIdentifier"],
        scores=tuple(scores),
        default=_whole(texts.get("DefaultScore", "0")),
    )


def _mapped(root: Any, questions: tuple[KeyQuestion, ...]) -> AnswerKey:
    for child in root:
        if local(child.tag) != "QualificationValueMapping":
            continue
        for mapping in child:
            name, texts = local(mapping.tag), _texts(mapping)
            if name == "RangeMapping":
                ranges = [_texts(one) for one in mapping if local(one.tag) == "SummedScoreRange"]
                bounds = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
                return AnswerKey(
                    questions=questions,
                    mapping=name,
                    ranges=tuple(
                        (_whole(one[bounds[0]]), _whole(one[bounds[1]]), _whole(one[bounds[2]]))
                        for one in ranges
                    ),
                    otherwise=_whole(texts["OutOfRangeQualificationValue"]),
                )
            number = "MaximumSummedScore" if name == "PercentageMapping" else "SummedScoreMultiplier"
            factor = float(texts[number])
            if not 1e-6 <= factor <= 1e6:  # this form also refuses nan
                raise ValueError(f"{number} must be positive, and at most a million")
            return AnswerKey(questions=questions, mapping=name, factor=factor)
    return AnswerKey(questions=questions)

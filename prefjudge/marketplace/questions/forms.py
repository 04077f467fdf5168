"""QuestionForm: questions in XML, for pages and qualification tests that bring no HTML of their own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from prefjudge.marketplace.errors import refused
from prefjudge.marketplace.questions.elements import local, parse_xml
from prefjudge.marketplace.questions.markup import sanitised

STYLES = ("radiobutton", "checkbox", "list", "dropdown", "combobox", "multichooser")
OTHER = ".other"
"""The end of the name of a form field that holds another answer than those offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One piece of text, markup, list or media; ``value`` depends on ``kind``."""

    kind: str
    value: Any
    media_type: str = ""
    alt: str = ""


class Pattern(TypedDict):
    """What a text must match; the page checks it."""

    regex: str
    flags: str
    error: str


class Option(TypedDict):
    """One of the selections on offer."""

    identifier: str
    content: "ContentView"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuestion:
    """One question: what it shows, and how it is answered."""

    identifier: str
    display_name: str
    required: bool
    content: tuple[Content, ...]
    answer: TextAnswer | SelectionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A QuestionForm."""

    overview: tuple[Content, ...] = ()
    questions: tuple[FormQuestion, ...] = field(default=())


def parse_form(xml: str, where: str) -> Form:
    """Read a QuestionForm from its text; see :func:`read_form`."""
    return read_form(parse_xml(xml, where), where)


def read_form(root: Any, where: str) -> Form:
    """Read a QuestionForm.

    Raises
    ------
    RequestError
        ``XMLParseError``: it has no question, or a part of one is missing.
    """
    overview: list[Content] = []
    questions: list[FormQuestion] = []
    for child in root:
        name = local(child.tag)
        if name == "Overview":
            overview += _contents(child, where)
        elif name == "Question":
            questions.append(_question(child, where))
        else:
            raise _wrong(where, f"{name} is not allowed in a QuestionForm")
    if not questions:
        raise _wrong(where, "a QuestionForm needs a Question")
    fields = [question.identifier for question in questions]
    fields += [question.identifier + OTHER for question in questions if question.answer.get("other")]
    if len(set(fields)) < len(fields):
        raise _wrong(where, "two questions have the same QuestionIdentifier")
    return Form(overview=tuple(overview), questions=tuple(questions))


ContentView = dict[str, Any]
"""A piece of content; its keys depend on its kind."""


class QuestionView(TypedDict):
    """A question, as a page shows it."""

    identifier: str
    display_name: str
    required: bool
    content: list[ContentView]
    answer: TextAnswer | SelectionAnswer


class FormView(TypedDict):
    """A form, as a page shows it."""

    overview: list[ContentView]
    questions: list[QuestionView]


def form_view(form: Form) -> FormView:
    """Show a form as plain values, for a page to render."""
    return {
        "overview": [_view(content) for content in form.overview],
        "questions": [
            {
                "identifier": question.identifier,
                "display_name": question.display_name,
                "required": question.required,
                "content": [_view(content) for content in question.content],
                "answer": question.answer,
            }
            for question in form.questions
        ],
    }


def _view(content: Content) -> ContentView:
    named = {"html": "html", "list": "items", "binary": "url"}.get(content.kind, "text")
    shown: ContentView = {"kind": content.kind, named: content.value}
    if content.kind == "binary":
        shown |= {"type": content.media_type, "alt": content.alt}
    return shown


def _wrong(where: str, problem: str) -> Exception:
    return refused("XMLParseError", f"{where}: {problem}.")


def _parts(element: Any) -> Mapping[str, Any]:
    return {local(child.tag): child for child in element}


def _text(element: Any, default: str = "") -> str:
    return default if element is None else (element.text or "").strip()


def _question(element: Any, where: str) -> FormQuestion:
    parts = _parts(element)
    identifier = _text(parts.get("QuestionIdentifier"))
    if not identifier:
        raise _wrong(where, "a Question needs a QuestionIdentifier")
    if "AnswerSpecification" not in parts or "QuestionContent" not in parts:
        raise _wrong(where, f"the question {identifier!r} needs a QuestionContent and an AnswerSpecification")
    answer = _answer(parts["AnswerSpecification"], identifier, where)
    return FormQuestion(
        identifier=identifier,
        display_name=_text(parts.get("DisplayName")),
        # by the API's documentation, a minimum length also makes an answer required
        required=_text(parts.get("IsRequired")) == "true" or bool(answer.get("min_length")),
        content=tuple(_contents(parts["QuestionContent"], where)),
        answer=answer,
    )


def _answer(specification: Any, identifier: str, where: str) -> TextAnswer | SelectionAnswer:
    parts = _parts(specification)
    if "FreeTextAnswer" in parts:
        return _free_text(parts["FreeTextAnswer"])
    if "SelectionAnswer" in parts:
        return _selection(parts["SelectionAnswer"], identifier, where)
    if "FileUploadAnswer" in parts:
        raise _wrong(
            where, f"the question {identifier!r} asks for a file, which this marketplace does not accept"
        )
    raise _wrong(where, f"the question {identifier!r} needs a FreeTextAnswer or a SelectionAnswer")


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


def _selection(element: Any, identifier: str, where: str) -> SelectionAnswer:
    parts = _parts(element)
    options: list[Option] = [
        {
            "identifier": _text(_parts(option).get("SelectionIdentifier")),
            "content": _view(next(iter(_contents(option, where)), Content(kind="text", value=""))),
        }
        for option in parts.get("Selections", ())
        if local(option.tag) == "Selection"
    ]
    if not options or not all(option["identifier"] for option in options):
        raise _wrong(where, f"the question {identifier!r} needs Selections, each with a SelectionIdentifier")
    style = _text(parts.get("StyleSuggestion")) or "radiobutton"
    if style not in STYLES:
        raise _wrong(where, f"the question {identifier!r} has an unknown StyleSuggestion {style!r}")
    least = _number(_text(parts.get("MinSelectionCount")))
    return {
        "kind": "selection",
        "style": style,
        "min": 1 if least is None else least,
        "max": _number(_text(parts.get("MaxSelectionCount"))) or 1,
        "options": options,
        "other": any(local(child.tag) == "OtherSelection" for child in parts.get("Selections", ())),
    }


def _contents(element: Any, where: str) -> list[Content]:
    """Read the pieces of an Overview, a QuestionContent or a Selection, in order."""
    found = []
    for child in element:
        name = local(child.tag)
        if name in ("Title", "Text"):
            found.append(Content(kind=name.lower(), value=_text(child)))
        elif name == "FormattedContent":
            found.append(Content(kind="html", value=sanitised(_text(child), where)))
        elif name == "List":
            found.append(Content(kind="list", value=[_text(item) for item in child]))
        elif name in ("Binary", "EmbeddedBinary"):
            found.append(_binary(child))
        elif name in ("Application", "JavaApplet", "Flash"):
            found.append(
                Content(kind="text", value="(This part needs a program that browsers no longer run.)")
            )
    return found


def _binary(element: Any) -> Content:
    parts = _parts(element)
    kind = _parts(parts["MimeType"]) if "MimeType" in parts else {}
    url = _text(parts.get("DataURL"))
    return Content(
        kind="binary",
        value=url if re.match(r"https?://", url) else "",
        media_type=_text(kind.get("Type")),
        alt=_text(parts.get("AltText")),
    )

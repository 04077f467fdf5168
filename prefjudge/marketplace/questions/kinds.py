"""The three kinds of Question: HTMLQuestion, ExternalQuestion and QuestionForm."""

import re
from dataclasses import dataclass

from prefjudge.marketplace.errors import refused
from prefjudge.marketplace.questions.elements import children, local
from prefjudge.marketplace.questions.elements import parse_xml as parse_xml

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
KINDS = {"HTMLQuestion": "html", "ExternalQuestion": "external", "QuestionForm": "form"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A HIT's question: its kind, and its HTML or address (empty for a form, which its own reader takes)."""

    kind: str
    content: str
    height: int


def read_question(xml: str, where: str = "Question") -> Question:
    """Read and check a Question.

    Raises
    ------
    RequestError
        It is not XML, of no known kind, or breaks a rule of its kind.
    """
    root = parse_xml(xml, where)
    kind = KINDS.get(local(root.tag))
    if kind is None or not root.tag.startswith("{" + SCHEMAS):
        raise refused("XMLParseError", f"{where}: expected one of {', '.join(KINDS)} in its namespace.")
    if kind == "form":
        from prefjudge.marketplace.questions.forms import read_form

        read_form(root, where)
        return Question(kind=kind, content="", height=0)
    parts = children(root)
    content = parts.get("HTMLContent" if kind == "html" else "ExternalURL", "").strip()
    height = parts.get("FrameHeight", "").strip()
    if not content:
        raise refused("XMLParseError", f"{where}: the {local(root.tag)} has no content.")
    if not re.fullmatch(r"[0-9]{1,5}", height):
        raise refused("XMLParseError", f"{where}: FrameHeight must be a whole number of pixels.")
    if kind == "external" and not _secure(content):
        raise refused("InvalidParameterValue", f"{where}: ExternalURL must be an https address.")
    return Question(kind=kind, content=content, height=int(height))


def _secure(url: str) -> bool:
    return bool(re.match(r"https://[^\s/]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|\?|$)", url))

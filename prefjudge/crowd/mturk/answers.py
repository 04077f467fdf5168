"""Reads QuestionFormAnswers, the XML of what a worker submitted.

A hostile worker may have written it: document types are refused, and the size is capped before parsing.
"""

from prefjudge.errors import CrowdError
from prefjudge.untrusted_xml import UnreadableXmlError, read_xml

MAX_BYTES = 200_000
_NAMESPACE = (
    "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd}"
)


def read_answers(xml: str) -> dict[str, str]:
    """Return the submitted fields by name.

    Raises
    ------
    CrowdError
        The answer is too large, is not QuestionFormAnswers XML, or names a field twice.
    """
    size = len(xml.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise CrowdError(f"the answer has {size:,} bytes; at most {MAX_BYTES:,} are read")
    try:
        root = read_xml(xml)
    except UnreadableXmlError as error:
        raise CrowdError("the answer is not readable XML") from error
    if root.tag != f"{_NAMESPACE}QuestionFormAnswers":
        raise CrowdError("the answer is not QuestionFormAnswers XML")
    fields: dict[str, str] = {}
    for answer in root.iter(f"{_NAMESPACE}Answer"):
        name = answer.findtext(f"{_NAMESPACE}QuestionIdentifier", "").strip()
        if name in fields:
            raise CrowdError(f"the answer names the field {name[:40]!r} twice")
        fields[name] = answer.findtext(f"{_NAMESPACE}FreeText") or ""
    return fields

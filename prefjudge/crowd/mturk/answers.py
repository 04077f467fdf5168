"""Reads QuestionFormAnswers, the XML of what a worker submitted.

A hostile worker may have written it: document types are refused, and the size is capped before parsing.
"""

from prefjudge.errors import CrowdError

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
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    size = len(xml.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise CrowdError(f"the answer has {size:,} bytes; at most {MAX_BYTES:,} are read")
    try:
        root = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise CrowdError(f"the answer is not readable XML: {type(error).__name__}") from error
    if root.tag != f"{_NAMESPACE}QuestionFormAnswers":
        raise CrowdError("the answer is not QuestionFormAnswers XML")
    fields: dict[str, str] = {}
    for answer in root.iter(f"{_NAMESPACE}Answer"):
        name = answer.findtext(f"{_NAMESPACE}QuestionIdentifier", "").strip()
        if name in fields:
            raise CrowdError(f"the answer names the field {name[:40]!r} twice")
        fields[name] = answer.findtext(f"{_NAMESPACE}FreeText") or ""
    return fields

"""Reads the Question XML that a HIT was published with."""

from prefjudge.errors import CrowdError

_HTML = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd}"
_EXTERNAL = (
    "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd}"
)


def read_question(xml: str) -> tuple[str | None, str | None]:
    """Return the page of a question, or else the address of its page.

    Raises
    ------
    CrowdError
        It is neither an HTMLQuestion nor an ExternalQuestion.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise CrowdError(f"the question is not readable XML: {type(error).__name__}") from error
    page, address = root.findtext(f"{_HTML}HTMLContent"), root.findtext(f"{_EXTERNAL}ExternalURL")
    if page is None and address is None:
        raise CrowdError("the question is neither a page nor the address of one")
    return page, address

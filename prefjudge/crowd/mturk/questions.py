"""Converts pages to the API's Question XML and back: an HTMLQuestion, or the address of a page."""

from html import escape

from prefjudge.crowd.tasks import Page
from prefjudge.errors import CrowdError, InputError
from prefjudge.render.pages.hit import printable
from prefjudge.untrusted_xml import UnreadableXmlError, read_xml

QUESTION_LIMIT = 65_535
"""The most bytes of Question XML that the API accepts."""

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_HTML = f"{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
_EXTERNAL = f"{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd"


def write_question(page: Page) -> str:
    """Return a page's Question XML.

    Raises
    ------
    InputError
        The XML is larger than the API accepts.
    """
    if page.address:
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<ExternalQuestion xmlns="{_EXTERNAL}">'
            f"<ExternalURL>{escape(page.address)}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
        )
    xml = _html_question(page.html)
    if fault := _fault_of(xml):
        raise InputError(fault)
    return xml


def fault_of_page(html: str) -> str:
    """Return why a page does not fit into an HTMLQuestion; empty where it does."""
    return _fault_of(_html_question(html))


def _fault_of(xml: str) -> str:
    size = len(xml.encode())
    if size <= QUESTION_LIMIT:
        return ""
    return f"the HIT's Question has {size:,} bytes; the API accepts at most {QUESTION_LIMIT:,}"


def _html_question(html: str) -> str:
    # Mechanical Turk refused characters of four bytes in UTF-8; `printable` writes them as HTML references.
    content = printable(html).replace("]]>", "]]]]><![CDATA[>")
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<HTMLQuestion xmlns="{_HTML}">'
        f"<HTMLContent><![CDATA[{content}]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"
    )


def read_question(xml: str) -> Page:
    """Return the page of a question, or the address of its page.

    Raises
    ------
    CrowdError
        It is not an HTMLQuestion or an ExternalQuestion.
    """
    try:
        root = read_xml(xml)
    except UnreadableXmlError as error:
        raise CrowdError("the question is not readable XML") from error
    html, address = root.findtext(f"{{{_HTML}}}HTMLContent"), root.findtext(f"{{{_EXTERNAL}}}ExternalURL")
    if html is None and address is None:
        raise CrowdError("the question is not a page or the address of one")
    return Page(html=html or "", address=address or "")

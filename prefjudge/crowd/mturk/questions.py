"""Pages and tests as the API's XML, and the answers to them."""

from html import escape

from prefjudge.crowd.tasks import Choice, EntryTest, Page
from prefjudge.errors import CrowdError, InputError
from prefjudge.pages.hit import printable
from prefjudge.resources import UnreadableXmlError, read_xml

QUESTION_LIMIT = 65_535
"""The most bytes of Question XML that the API accepts."""

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_HTML = f"{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
_EXTERNAL = f"{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd"


def write_question(page: Page) -> str:
    """Return a page's Question XML."""
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
    """Return the page of a question, or the address of its page."""
    try:
        root = read_xml(xml)
    except UnreadableXmlError as error:
        raise CrowdError("the question is not readable XML") from error
    html, address = root.findtext(f"{{{_HTML}}}HTMLContent"), root.findtext(f"{{{_EXTERNAL}}}ExternalURL")
    if html is None and address is None:
        raise CrowdError("the question is not a page or the address of one")
    return Page(html=html or "", address=address or "")


# A test as the API's qualification test: a QuestionForm, and the AnswerKey by which it is scored.

_FORM = f"{_SCHEMAS}/2017-11-06/QuestionForm.xsd"
_KEY = f"{_SCHEMAS}/2005-10-01/AnswerKey.xsd"


def write_test(test: EntryTest) -> dict[str, object]:
    """Return a test as the parameters of a qualification type; a score is the percentage of right answers."""
    return {
        "Description": test.group.notice,
        "QualificationTypeStatus": "Active",
        "Test": _form(test),
        "AnswerKey": _answer_key(test),
        "TestDurationInSeconds": test.work_seconds,
        "RetryDelayInSeconds": test.retry_seconds,
    }


def fault_of_test(test: EntryTest) -> str:
    """Return why a test does not fit into a QuestionForm; empty where it does."""
    size = max(len(_form(test).encode()), len(_answer_key(test).encode()))
    if size <= QUESTION_LIMIT:
        return ""
    return f"the test of the practice pairs has {size:,} bytes; the API accepts at most {QUESTION_LIMIT:,}"


def _form(test: EntryTest) -> str:
    questions = "".join(_question(choice) for choice in test.choices)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<QuestionForm xmlns="{_FORM}">'
        f"<Overview><Text>{_text(test.intro)}</Text></Overview>{questions}</QuestionForm>"
    )


def _question(choice: Choice) -> str:
    options = "".join(
        f"<Selection><SelectionIdentifier>{number}</SelectionIdentifier><Text>{_text(text)}</Text></Selection>"
        for number, text in enumerate(choice.options, start=1)
    )
    return (
        f"<Question><QuestionIdentifier>{choice.key}</QuestionIdentifier><IsRequired>true</IsRequired>"
        f"<QuestionContent><Text>{_text(choice.text)}</Text></QuestionContent>"
        "<AnswerSpecification><SelectionAnswer><StyleSuggestion>radiobutton</StyleSuggestion>"
        f"<Selections>{options}</Selections></SelectionAnswer></AnswerSpecification></Question>"
    )


def _answer_key(test: EntryTest) -> str:
    questions = "".join(
        f"<Question><QuestionIdentifier>{choice.key}</QuestionIdentifier><AnswerOption>"
        f"<SelectionIdentifier>{choice.right + 1}</SelectionIdentifier><AnswerScore>1</AnswerScore>"
        "</AnswerOption></Question>"
        for choice in test.choices
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<AnswerKey xmlns="{_KEY}">{questions}'
        "<QualificationValueMapping><PercentageMapping>"
        f"<MaximumSummedScore>{len(test.choices)}</MaximumSummedScore>"
        "</PercentageMapping></QualificationValueMapping></AnswerKey>"
    )


def _text(text: str) -> str:
    # Escaped before `printable`, whose numeric references for four-byte characters XML knows, too.
    return printable(escape(text, quote=False))


# Reads QuestionFormAnswers, the XML of what a worker submitted.
#
# A hostile worker may have written it: document types are refused, and the size is capped before parsing.

MAX_BYTES = 200_000
_NAMESPACE = (
    "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd}"
)


def read_answers(xml: str) -> dict[str, str]:
    """Return the submitted fields by name."""
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

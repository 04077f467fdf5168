"""A test as the API's qualification test: a QuestionForm, and the AnswerKey by which it is scored."""

from html import escape

from prefjudge.crowd.mturk.questions import QUESTION_LIMIT
from prefjudge.crowd.tasks import Choice, EntryTest
from prefjudge.render.pages.hit import printable

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
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

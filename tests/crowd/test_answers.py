import pytest

from prefjudge.crowd.mturk.questions import MAX_BYTES, read_answers
from prefjudge.errors import CrowdError

SPACE = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"


def answers(*fields: tuple[str, str]) -> str:
    body = "".join(
        f"<Answer><QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{text}</FreeText></Answer>"
        for name, text in fields
    )
    return f'<?xml version="1.0"?><QuestionFormAnswers xmlns="{SPACE}">{body}</QuestionFormAnswers>'


def test_fields_are_read_by_name() -> None:
    assert read_answers(answers(("consent", "yes"), ("abc", "&lt;b&gt; é"), ("empty", ""))) == {
        "consent": "yes",
        "abc": "<b> é",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        ("", "not readable XML"),
        ("<a>", "not readable XML"),
        ("<a/>", "not QuestionFormAnswers"),
        ("\x00", "not readable XML"),
        (answers(("a", "1"), ("a", "2")), "names the field 'a' twice"),
        (answers(("a", "x" * MAX_BYTES)), "at most 200,000 are read"),
        (
            answers(("a", "&e;")).replace("<Question", '<!DOCTYPE x [<!ENTITY e "b">]><Question', 1),
            "readable XML",
        ),
        (answers(("a", "\ud800")), "not readable XML"),
    ],
)
def test_hostile_answers_are_refused_with_a_reason(xml: str, reason: str) -> None:
    with pytest.raises(CrowdError, match=reason):
        read_answers(xml)

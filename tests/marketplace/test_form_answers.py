"""Answers to a QuestionForm: what is taken, and in which form the requester reads it."""

import pytest
from defusedxml.ElementTree import fromstring

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.questions import parse_form, write_form_answers
from tests.marketplace.people import offer, question_form


def question(name: str, answer: str, required: bool = False) -> str:
    return (
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier>"
        f"<IsRequired>{str(required).lower()}</IsRequired><QuestionContent><Text>{name}?</Text>"
        f"</QuestionContent><AnswerSpecification>{answer}</AnswerSpecification></Question>"
    )


def choice(*options: str, least: int | None = None, most: int | None = None, other: bool = False) -> str:
    counts = "" if least is None else f"<MinSelectionCount>{least}</MinSelectionCount>"
    counts += "" if most is None else f"<MaxSelectionCount>{most}</MaxSelectionCount>"
    offered = "".join(
        f"<Selection><SelectionIdentifier>{one}</SelectionIdentifier><Text>{one}</Text></Selection>"
        for one in options
    )
    offered += "<OtherSelection/>" if other else ""
    return f"<SelectionAnswer>{counts}<Selections>{offered}</Selections></SelectionAnswer>"


def text(constraints: str = "") -> str:
    return f"<FreeTextAnswer><Constraints>{constraints}</Constraints></FreeTextAnswer>"


def written(form: str, *fields: tuple[str, str]) -> list[list[tuple[str, str]]]:
    root = fromstring(write_form_answers(parse_form(form, "Question"), fields))
    return [[(part.tag.rpartition("}")[2], part.text or "") for part in answer] for answer in root]


def test_each_kind_of_answer_is_written_as_the_api_has_it():
    form = question_form(
        question("one", choice("a", "b"))
        + question("many", choice("a|b", "c", "d", most=3, other=True))
        + question("why", text())
        + question("left out", choice("a"))
        + question("emptied", text())
    )
    fields = [
        ("assignmentId", "3X"), ("one", "b"), ("many", "a|b"), ("many", "c"), ("many.other", "e & f"),
        ("why", "because"), ("left out.other", ""), ("emptied", ""), ("stray", "x"),
    ]  # fmt: skip
    assert written(form, *fields) == [
        [("QuestionIdentifier", "one"), ("SelectionIdentifier", "b")],
        [
            ("QuestionIdentifier", "many"),
            ("SelectionIdentifier", "a|b"),
            ("SelectionIdentifier", "c"),
            ("OtherSelectionText", "e & f"),
        ],
        [("QuestionIdentifier", "why"), ("FreeText", "because")],
        [("QuestionIdentifier", "emptied"), ("FreeText", "")],
    ]


@pytest.mark.parametrize(
    ("asked", "given", "problem"),
    [
        (question("q", choice("a", "b"), True), [], "choose one"),
        (question("q", choice("a", "b"), True), [("q", "")], "choose one"),
        (question("q", choice("a", "b", least=0), True), [], ""),
        (question("q", choice("a", "b")), [], ""),
        (question("q", choice("a", "b", other=True), True), [("q.other", " ")], "choose one"),
        (question("q", choice("a", "b", other=True), True), [("q.other", "c")], ""),
        (question("q", choice("a", "b", other=True)), [("q", "a"), ("q.other", "c")], "choose one"),
        (question("q", choice("a", "b", "c", least=2, most=3), True), [("q", "a")], "choose 2 to 3"),
        (question("q", choice("a", "b", "c", least=2, most=2)), [("q", "a")], "choose 2."),
        (question("q", choice("a", "b", most=2)), [("q", "a"), ("q", "a")], "choose only from the options"),
        (question("q", choice("a")), [("q", "z")], "choose only from the options"),
        (question("q", choice("a")), [("q.other", "z")], ""),
        (question("q", text(), True), [("q", " ")], "an answer is required"),
        (question("q", text('<Length minLength="2"/>')), [], "an answer is required"),
        (question("q", text('<Length minLength="3"/>')), [("q", "ab")], "at least 3 characters"),
        (question("q", text('<Length maxLength="3"/>')), [("q", "a\r\nb")], ""),
        (question("q", text('<Length maxLength="3"/>')), [("q", "abcd")], "at most 3 characters"),
        (question("q", text("<IsNumeric/>")), [("q", "nan")], "a number"),
        (question("q", text('<IsNumeric minValue="1" maxValue="5"/>')), [("q", "0.5")], "at least 1"),
        (question("q", text('<IsNumeric minValue="1" maxValue="5"/>')), [("q", "6")], "at most 5"),
        (question("q", text('<IsNumeric minValue="1" maxValue="5"/>')), [("q", "4.5")], ""),
        (question("q", text('<AnswerFormatRegex regex="(a+)+$"/>')), [("q", "a" * 40 + "!")], ""),
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused(asked, given, problem):
    if not problem:
        written(question_form(asked), *given)
        return
    with pytest.raises(Refusal, match=problem) as refused:
        written(question_form(asked), *given)
    assert refused.value.message.startswith("Question 1: ")


def test_patterns_are_handed_to_the_page_with_what_they_say():
    constraints = (
        '<AnswerFormatRegex regex="\\S" errorText="Blank."/><AnswerFormatRegex regex="x" flags="i"/>'
    )
    (read,) = parse_form(question_form(question("q", text(constraints))), "Question")["questions"]
    assert read["answer"]["patterns"] == [
        {"regex": "\\S", "flags": "", "error": "Blank."},
        {"regex": "x", "flags": "i", "error": "Invalid input supplied."},
    ]


def test_a_hit_takes_answers_that_fit_and_keeps_the_others_out(requester, worker):
    form = question_form(question("many", choice("a", "b", "c", least=2, most=3), True))
    hit = offer(requester, Question=form)
    ident = worker.accept(hit)["assignment_id"]
    assert worker.submit(ident, {"many": "a"}, status=422)["code"] == "incomplete"
    assert worker.get(f"/assignments/{ident}")["assignment"]["status"] == "Accepted"
    fields = f"assignmentId={ident}&many=a&many=c"
    worker.http.request(
        "POST", f"{worker.endpoint}/mturk/externalSubmit", body=fields,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    answer = requester.get_assignment(AssignmentId=ident)["Assignment"]["Answer"]
    assert (
        "<SelectionIdentifier>a</SelectionIdentifier><SelectionIdentifier>c</SelectionIdentifier>" in answer
    )

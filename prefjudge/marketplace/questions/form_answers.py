"""A worker's answers to a QuestionForm: checked against its questions, and written in the API's XML."""

import re

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.questions.answers import Fields, Part, write_document
from prefjudge.marketplace.questions.forms import OTHER, Form, SelectionAnswer, TextAnswer, parse_form

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write_answers_to(form_xml: str, where: str, fields: Fields) -> str:
    """Write the answers to a form that is given as XML, ``where`` a parameter of that name says it is."""
    return write_form_answers(parse_form(form_xml, where), fields)


def write_form_answers(form: Form, fields: Fields) -> str:
    """Write the answers as QuestionFormAnswers: selections by their identifiers, text as text.

    Raises
    ------
    Refusal
        ``incomplete``: an answer is missing, or does not fit its question. Patterns (AnswerFormatRegex) are
        left to the page: they are JavaScript's, and a requester's pattern could keep this server busy.
    """
    given: dict[str, list[str]] = {}
    for name, text in fields:
        given.setdefault(name, []).append(text)
    answers: list[tuple[str, list[Part]]] = []
    problems: list[str] = []
    for number, question in enumerate(form.questions, 1):
        texts, answer = given.get(question.identifier, []), question.answer
        if answer["kind"] == "text":
            problem = _text_problem(answer, texts[-1] if texts else "", required=question.required)
            parts = [("FreeText", text) for text in texts[-1:]]
        else:
            chosen = [text for text in texts if text]
            written_in = given.get(question.identifier + OTHER, []) if answer["other"] else []
            other = [text for text in written_in[-1:] if text.strip()]
            count = len(chosen) + len(other)
            problem = _selection_problem(answer, chosen, count, required=question.required)
            parts = [("SelectionIdentifier", one) for one in chosen]
            parts += [("OtherSelectionText", text) for text in other]
        if problem:
            problems.append(f"{question.display_name or f'Question {number}'}: {problem}.")
        elif parts:
            answers.append((question.identifier, parts))
    if problems:
        raise Refusal("incomplete", " ".join(problems), 422)
    return write_document(answers)


def _text_problem(limits: TextAnswer, text: str, *, required: bool) -> str:
    """Say what is wrong with a text, or nothing."""
    if not text.strip() and (required or not text):
        return "an answer is required" if required else ""
    length = len(text.replace("\r\n", "\n"))
    if length < (limits["min_length"] or 0):
        return f"at least {limits['min_length']} characters are required"
    if limits["max_length"] is not None and length > limits["max_length"]:
        return f"at most {limits['max_length']} characters are allowed"
    if limits["numeric"]:
        if not _NUMBER.fullmatch(text.strip()):
            return "a number is required"
        if limits["min"] is not None and float(text) < limits["min"]:
            return f"the number must be at least {limits['min']}"
        if limits["max"] is not None and float(text) > limits["max"]:
            return f"the number must be at most {limits['max']}"
    return ""


def _selection_problem(limits: SelectionAnswer, chosen: list[str], count: int, *, required: bool) -> str:
    """Say what is wrong with a selection, or nothing."""
    least, most = limits["min"], limits["max"]
    known = {option["identifier"] for option in limits["options"]}
    if not known.issuperset(chosen) or len(set(chosen)) < len(chosen):
        return "choose only from the options"
    if least <= count <= most or (not count and not required):
        return ""
    if most == 1:
        return "choose one"
    return f"choose {least}" if least == most else f"choose {least} to {most}"

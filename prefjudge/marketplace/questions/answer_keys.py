"""AnswerKey: how a qualification test is scored."""

from dataclasses import dataclass
from typing import Any

from prefjudge.marketplace.errors import refused
from prefjudge.marketplace.questions.answers import Fields
from prefjudge.marketplace.questions.elements import local, parse_xml


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuestion:
    """The scores of one question: of each set of selections, and of any other answer."""

    identifier: str
    scores: tuple[tuple[frozenset[str], int], ...]
    default: int

    def score(self, chosen: frozenset[str]) -> int:
        """Return the score of what a worker selected."""
        return next((score for wanted, score in self.scores if wanted == chosen), self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKey:
    """How the answers to a test become a qualification's value."""

    questions: tuple[KeyQuestion, ...]
    mapping: str = ""
    factor: float = 1.0
    ranges: tuple[tuple[int, int, int], ...] = ()
    otherwise: int = 0

    def score(self, fields: Fields) -> int:
        """Return the value that a worker's answers earn.

        Without a mapping it is the sum of the questions' scores; a percentage mapping divides by the largest
        sum, a scale mapping multiplies, a range mapping looks the sum up.
        """
        given: dict[str, set[str]] = {}
        for name, text in fields:
            given.setdefault(name, set()).add(text)
        total = sum(one.score(frozenset(given.get(one.identifier, ()))) for one in self.questions)
        if self.mapping == "PercentageMapping":
            return round(100 * total / self.factor)
        if self.mapping == "ScaleMapping":
            return round(total * self.factor)
        if self.mapping == "RangeMapping":
            return next((value for low, high, value in self.ranges if low <= total <= high), self.otherwise)
        return total


def read_answer_key(xml: str) -> AnswerKey:
    """Read an AnswerKey.

    Raises
    ------
    RequestError
        ``XMLParseError``: it is malformed, or has no question.
    """
    root = parse_xml(xml, "AnswerKey")
    if local(root.tag) != "AnswerKey":
        raise refused("XMLParseError", "AnswerKey: expected an AnswerKey.")
    try:
        questions = tuple(_question(child) for child in root if local(child.tag) == "Question")
        key = _mapped(root, questions)
    except (ValueError, KeyError) as error:
        raise refused("XMLParseError", f"AnswerKey: a part is missing or is not a number: {error}") from error
    if not questions:
        raise refused("XMLParseError", "AnswerKey: it has no Question.")
    return key


def _texts(element: Any) -> dict[str, str]:
    return {local(child.tag): (child.text or "").strip() for child in element}


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) >= 2**31:
        raise ValueError(f"{number} does not fit in 32 bits")
    return number


def _question(element: Any) -> KeyQuestion:
    texts = _texts(element)
    scores = []
    for option in element:
        if local(option.tag) == "AnswerOption":
            wanted = frozenset(
                (child.text or "").strip() for child in option if local(child.tag) == "SelectionIdentifier"
            )
            scores.append((wanted, _whole(_texts(option)["AnswerScore"])))
    return KeyQuestion(
        identifier=texts["QuestionIdentifier"],
        scores=tuple(scores),
        default=_whole(texts.get("DefaultScore", "0")),
    )


def _mapped(root: Any, questions: tuple[KeyQuestion, ...]) -> AnswerKey:
    for child in root:
        if local(child.tag) != "QualificationValueMapping":
            continue
        for mapping in child:
            name, texts = local(mapping.tag), _texts(mapping)
            if name == "RangeMapping":
                ranges = [_texts(one) for one in mapping if local(one.tag) == "SummedScoreRange"]
                bounds = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
                return AnswerKey(
                    questions=questions,
                    mapping=name,
                    ranges=tuple(
                        (_whole(one[bounds[0]]), _whole(one[bounds[1]]), _whole(one[bounds[2]]))
                        for one in ranges
                    ),
                    otherwise=_whole(texts["OutOfRangeQualificationValue"]),
                )
            number = "MaximumSummedScore" if name == "PercentageMapping" else "SummedScoreMultiplier"
            factor = float(texts[number])
            if not 1e-6 <= factor <= 1e6:  # this form also refuses nan
                raise ValueError(f"{number} must be positive, and at most a million")
            return AnswerKey(questions=questions, mapping=name, factor=factor)
    return AnswerKey(questions=questions)

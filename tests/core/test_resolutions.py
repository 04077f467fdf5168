"""Resolutions whose winners are replaced by answers that were found elsewhere."""

import pytest

from prefjudge.core.resolving.resolutions import Resolution, Status, resolve, to_qrels, with_answers
from tests.core.tables import judgments_of
from tests.evaluation.samples import make_qrels

VOTES = judgments_of(
    "one a b a", "one a c a", "one b c b",
    "ring a b a", "ring b c b", "ring c a c",
    "thin a b a", "thin c d c", "part a b a", "part b c b",
)  # fmt: skip


def test_the_answers_that_the_rule_found_change_nothing() -> None:
    found = resolve(VOTES)
    again = with_answers(found, to_qrels(found), found.rule)
    assert list(again) == list(found)


def test_queries_are_counted_under_every_status() -> None:
    none = dict.fromkeys(Status, 0)
    assert resolve(VOTES).counts() == none | {"single": 1, "cycle": 1, "partial": 1, "sparse": 1}
    assert resolve(judgments_of("q a b a")).counts() == none | {"single": 1}


@pytest.mark.parametrize(
    ("query", "answers", "status", "margin"),
    [
        ("one", ("b",), Status.SINGLE, -1.0),
        ("one", ("a", "c"), Status.TIE, 0.0),
        ("one", (), Status.SPARSE, 0.0),
        ("ring", ("a",), Status.SINGLE, 0.0),
        ("ring", ("a", "b"), Status.TIE, 0.0),
        ("thin", ("a",), Status.SINGLE, 0.0),
        ("part", ("b",), Status.PARTIAL, 0.0),
        ("part", (), Status.SPARSE, 0.0),
        ("one", ("a", "elsewhere"), Status.SINGLE, 1.0),
    ],
)
def test_other_answers_have_a_status_of_their_own(
    query: str, answers: tuple[str, ...], status: Status, margin: float
) -> None:
    labels = make_qrels({query: dict.fromkeys(answers, 1), "unknown": {"a": 1}}, "preference")
    one: Resolution = with_answers(resolve(VOTES), labels, "lead:2").of(query)
    inside = tuple(doc for doc in answers if doc != "elsewhere")
    assert (one.winners, one.status, one.margin) == (inside, status, margin)
    assert one.cycle == ()

"""Resolutions whose winners are replaced by answers that were found elsewhere."""

import pytest

from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.core.resolving.resolutions import Resolution, Status, with_answers
from tests.core.tables import judgments_of
from tests.evaluation.samples import make_qrels

VOTES = judgments_of(
    "one a b a", "one a c a", "one b c b",
    "ring a b a", "ring b c b", "ring c a c",
    "thin a b a", "thin b c b",
)  # fmt: skip


def test_the_answers_that_the_rule_found_change_nothing() -> None:
    found = resolve(VOTES)
    again = with_answers(found, to_qrels(found), found.rule)
    assert list(again) == list(found)


def test_queries_are_counted_under_every_status() -> None:
    assert resolve(VOTES).counts() == {"single": 1, "tie": 0, "cycle": 1, "partial": 1, "sparse": 0}
    strict = resolve(VOTES, sparse_rule="none").counts()
    assert strict == {"single": 1, "tie": 0, "cycle": 1, "partial": 0, "sparse": 1}


@pytest.mark.parametrize(
    ("query", "answers", "status", "margin"),
    [
        ("one", ("b",), Status.SINGLE, -1.0),
        ("one", ("a", "c"), Status.TIE, 0.0),
        ("one", (), Status.SPARSE, 0.0),
        ("ring", ("a",), Status.SINGLE, 0.0),
        ("ring", ("a", "b"), Status.TIE, 0.0),
        ("thin", ("a",), Status.PARTIAL, 0.0),
        ("thin", ("c",), Status.SINGLE, -1.0),
        ("one", ("a", "elsewhere"), Status.SINGLE, 1.0),
    ],
)
def test_other_answers_have_a_status_of_their_own(
    query: str, answers: tuple[str, ...], status: Status, margin: float
) -> None:
    labels = make_qrels({query: dict.fromkeys(answers, 1), "unknown": {"a": 1}}, "preference")
    one: Resolution = with_answers(resolve(VOTES), labels, "lead:2").of(query)
    inside = tuple(doc for doc in answers if doc != "elsewhere")
    assert (one.rule, one.winners, one.status, one.margin) == ("lead:2", inside, status, margin)
    assert one.cycle == ()

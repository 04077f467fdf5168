import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.hits import BadAnswerError, Layout, check_answer, layout_index, plan_hit

NAMES = ("aaa", "bbb")
TOKENS = (("a1", "a2"), ("b1", "b2"))
LAYOUTS = (Layout(order=(1, 0), swapped=(False, True)),)
FULL = {"consent": "yes", "aaa": "a1", "aaa.ms": "1500", "bbb": "b1", "bbb.ms": "900", "layout": "7"}


def test_a_choice_is_read_as_a_side_by_the_layout_of_the_assignment() -> None:
    answer = check_answer(FULL, NAMES, TOKENS, LAYOUTS, "3ABC")
    first, second = answer.choices
    assert (first.choice, first.first_on_left, first.chose_first) == (1, True, True)
    assert (second.choice, second.first_on_left, second.chose_first) == (-1, False, True)
    assert answer.layout == 0
    assert answer.seconds == pytest.approx(2.4)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"consent": "no"}, "consent was not given"),
        ({"consent": None}, "consent was not given"),
        ({"consent": ""}, "consent was not given"),
        ({"consent": "Yes"}, "consent was not given"),
        ({"aaa": "a3"}, "'a3' is not one of the choices"),
        ({"aaa": "b1"}, "'b1' is not one of the choices"),
        ({"aaa": "tie"}, "'tie' is not one of the choices"),
        ({"aaa": "x" * 99}, "is not one of the choices"),
        ({"aaa": None}, "1 of 2 comparisons are not answered"),
        ({"aaa": None, "bbb": None, "stopped": "1"}, "nothing is answered"),
    ],
)
def test_what_the_page_cannot_have_sent_is_refused(change: dict[str, str | None], reason: str) -> None:
    fields = {key: value for key, value in {**FULL, **change}.items() if value is not None}
    with pytest.raises(BadAnswerError, match=reason):
        check_answer(fields, NAMES, TOKENS, LAYOUTS, "3ABC")


def test_stopping_early_keeps_what_was_answered() -> None:
    fields = {"consent": "yes", "bbb": "b2", "stopped": "1"}
    answer = check_answer(fields, NAMES, TOKENS, LAYOUTS, "3ABC")
    assert answer.stopped
    assert [(c.slot, c.choice) for c in answer.choices] == [(1, 1)]


@pytest.mark.parametrize("time", ["", "-5", "1e9", "9" * 30, "٣", "abc"])
def test_an_impossible_time_counts_as_none_and_condemns_nobody(time: str) -> None:
    answer = check_answer({**FULL, "aaa.ms": time}, NAMES, TOKENS, LAYOUTS, "3ABC")
    assert answer.choices[0].milliseconds == 0


DAY = 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("time", "counted"), [(DAY - 1, DAY - 1), (DAY, DAY), (DAY + 1, DAY), (99_999_999_999, DAY)]
)
def test_no_pair_is_looked_at_for_more_than_a_day(time: int, counted: int) -> None:
    answer = check_answer({**FULL, "aaa.ms": str(time), "bbb.ms": "0"}, NAMES, TOKENS, LAYOUTS, "3ABC")
    assert answer.choices[0].milliseconds == counted
    assert answer.seconds == counted / 1000


def test_ties_and_strengths_are_read_where_they_are_asked_for() -> None:
    fields = {**FULL, "aaa": "tie", "aaa.strength": "1", "bbb.strength": "3"}
    answer = check_answer(fields, NAMES, TOKENS, LAYOUTS, "3ABC", allow_ties=True, strengths=3)
    assert [(c.choice, c.strength) for c in answer.choices] == [(0, 1), (-1, 3)]
    with pytest.raises(BadAnswerError, match="'4' is not a strength"):
        check_answer(
            {**fields, "bbb.strength": "4"}, NAMES, TOKENS, LAYOUTS, "3ABC", allow_ties=True, strengths=3
        )


@given(st.integers(0, 2**32 - 1), st.text("ABCDEF0123456789", min_size=5, max_size=30), st.data())
def test_choosing_the_first_passage_is_read_so_whatever_the_layout(
    seed: int, assignment_id: str, data: st.DataObject
) -> None:
    plan = plan_hit(range(10), range(3), layouts=4, rng=np.random.default_rng(seed))
    names = [f"n{i}" for i in range(13)]
    tokens = [(f"f{i}", f"s{i}") for i in range(13)]
    firsts = data.draw(st.lists(st.booleans(), min_size=13, max_size=13))
    fields = {"consent": "yes"} | {n: t[not f] for n, t, f in zip(names, tokens, firsts, strict=True)}
    answer = check_answer(fields, names, tokens, plan.layouts, assignment_id)
    assert [c.chose_first for c in answer.choices] == firsts
    shown = plan.layouts[layout_index(assignment_id, 4)]
    assert [c.first_on_left for c in answer.choices] == [not s for s in shown.swapped]

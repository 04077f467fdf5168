from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.gold import rotate_gold
from prefjudge.core.hits import (
    BadAnswerError,
    Estimate,
    Layout,
    check_answer,
    estimate,
    hourly_pay,
    layout_index,
    pack_questions,
    plan_hit,
    prorated,
)

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(st.integers(1, 120), st.integers(1, 12), seeds)
def test_every_pair_is_in_exactly_one_hit(count: int, per_hit: int, rng: np.random.Generator) -> None:
    packed = pack_questions([(pair,) for pair in range(count)], per_hit, rng=rng)
    assert sorted(pair for hit in packed for (pair,) in hit) == list(range(count))
    assert all(1 <= len(hit) <= per_hit for hit in packed)


@given(st.integers(1, 10), st.integers(0, 4), st.integers(1, 6), seeds)
def test_a_layout_shows_each_slot_once_and_gold_is_right_on_both_sides(
    pairs: int, gold: int, layouts: int, rng: np.random.Generator
) -> None:
    plan = plan_hit(range(pairs), range(gold), layouts=layouts, rng=rng)
    assert sorted(plan.slots) == list(range(pairs + gold))
    assert len(plan.layouts) == layouts
    for layout in plan.layouts:
        assert sorted(layout.order) == list(range(pairs + gold))
        sides = {layout.swapped[i] for i, k in enumerate(plan.slots) if k >= pairs}
        assert len(sides) == min(gold, 2) or gold < 2
    # From one layout to another all sides turn or none: sides that turn one by one would tell gold apart.
    first = plan.layouts[0].swapped
    mirrored = tuple(not side for side in first)
    assert {layout.swapped for layout in plan.layouts} == {first, mirrored} if layouts > 1 else {first}


def test_gold_is_equally_likely_in_each_place() -> None:
    rng = np.random.default_rng(5)
    places = np.zeros(13)
    for _ in range(4000):
        plan = plan_hit(range(10), range(3), rng=rng)
        places += [plan.slots[i] >= 10 for i in plan.layouts[0].order]
    expected = 4000 * 3 / 13
    assert np.all(np.abs(places - expected) < 5 * np.sqrt(expected))


@given(st.integers(3, 15), st.integers(1, 3), st.integers(1, 40), seeds)
def test_gold_is_dealt_evenly_and_neighbours_share_none(
    count: int, per_hit: int, hits: int, rng: np.random.Generator
) -> None:
    dealt = rotate_gold(count, per_hit, hits, rng=rng)
    used = np.bincount([g for hit in dealt for g in hit], minlength=count)
    assert used.max() - used.min() <= 1
    assert all(len(set(hit)) == per_hit for hit in dealt)
    apart = count // per_hit
    for start in range(len(dealt) - apart + 1):
        met = [g for hit in dealt[start : start + apart] for g in hit]
        assert len(set(met)) == len(met)


def test_gold_that_fewest_hits_hide_is_dealt_first() -> None:
    dealt = rotate_gold(6, 2, 2, rng=np.random.default_rng(6), used=[1, 0, 1, 0, 1, 0])
    hidden = [gold for hit in dealt for gold in hit]
    assert set(hidden[:3]) == {1, 3, 5}
    assert len(set(hidden)) == 4


def test_a_hit_cannot_hide_more_gold_than_there_is() -> None:
    with pytest.raises(ValueError, match="hides 3 gold pairs, and there are only 2"):
        rotate_gold(2, 3, 1, rng=np.random.default_rng(1))


def test_the_layout_of_an_assignment_is_its_fnv_hash() -> None:
    # FNV-1a, 32 bits, of "", "a" and "foobar": the reference values of the algorithm's authors.
    big = 2**32
    assert [layout_index(text, big) for text in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
    counts = np.bincount([layout_index(f"3{i:029X}", 4) for i in range(4000)], minlength=4)
    assert counts.min() > 900


def test_each_slot_is_swapped_half_the_time_whatever_the_others_are() -> None:
    rng = np.random.default_rng(7)
    for gold in (0, 1, 3):
        shown = np.zeros((2000, 10 + gold))  # pairs first, then gold
        for hit in shown:
            plan = plan_hit(range(10), range(gold), rng=rng)
            hit[list(plan.slots)] = plan.layouts[0].swapped
        assert np.all(np.abs(shown.sum(axis=0) - 1000) < 5 * np.sqrt(500))
        alike = (shown[:, :10, None] == shown[:, None, :]).sum(axis=0)[~np.eye(10, 10 + gold, dtype=bool)]
        assert np.all(np.abs(alike - 1000) < 5 * np.sqrt(500)), "a pair's side tells another's"


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


def cost_of(
    pairs: int, hits: int, price: str, assignments: int = 1, seconds: float | None = None
) -> Estimate:
    return estimate(
        pairs=pairs, hits=hits, assignments_per_hit=assignments, slots_per_hit=13, reward=Decimal("2.00"),
        price=Decimal(price), seconds_per_pair=seconds,
    )  # fmt: skip


def test_an_estimate_bears_the_price_of_each_assignment() -> None:
    # Section 4.1: 141,887 comparisons "cost over $34,000", ten to a HIT.
    paper = cost_of(141_887, 14_189, "2.40")
    assert (paper.rewards, paper.fees, paper.total) == (
        Decimal("28378.00"), Decimal("5675.60"), Decimal("34053.60"),
    )  # fmt: skip
    cost = cost_of(30, 3, "2.80", assignments=12)
    assert (cost.assignments, cost.rewards, cost.fees) == (36, Decimal("72.00"), Decimal("28.80"))
    assert cost.total == Decimal("100.80")
    assert (cost.pairs, cost.hits, cost.hourly) == (30, 3, None)


def test_an_estimate_tells_what_an_hour_pays() -> None:
    assert cost_of(30, 3, "2.40", seconds=30.0).hourly == Decimal("18.46")
    assert hourly_pay(Decimal("0.01"), 1, 3.2) == Decimal("11.25")
    assert hourly_pay(Decimal("0.05"), 1, 32.0) == Decimal("5.63"), "5.625 goes up"


@given(st.integers(1, 5000), st.integers(1, 30), st.data())
def test_a_prorated_reward_never_pays_less_than_the_share(
    cents: int, slots: int, data: st.DataObject
) -> None:
    done = data.draw(st.integers(0, slots))
    reward = Decimal(cents) / 100
    paid = prorated(reward, done, slots)
    assert reward * done / slots <= paid < reward * done / slots + Decimal("0.01")

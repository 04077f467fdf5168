import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.gold import rotate_gold
from prefjudge.core.hits import layout_index, pack_pairs, plan_hit

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(st.integers(1, 120), st.integers(1, 12), seeds)
def test_every_pair_is_in_exactly_one_hit(count: int, per_hit: int, rng: np.random.Generator) -> None:
    packed = pack_pairs(count, per_hit, rng=rng)
    assert sorted(pair for hit in packed for pair in hit) == list(range(count))
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

"""Neighbours: how sure the order of two runs is, and which votes tell it."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.planning.rounds import next_round
from prefjudge.core.planning.sure import RunGains, Sure, find_neighbours, worth
from prefjudge.core.resolving.scales import one_scale
from tests.core.tables import judgments_of, pools_of

TWO = ("one", "other")


def gains_of(*rows: tuple[float, ...], runs: tuple[str, ...] = TWO) -> RunGains:
    return RunGains(runs=runs, gain=np.array(rows, dtype=np.float64))


def test_the_chance_of_an_order_is_that_of_drawn_best_answers() -> None:
    rng = np.random.default_rng(7)
    query = np.repeat(np.arange(60), 4)
    chance = rng.dirichlet([0.5] * 4, size=60)
    gain = 1.0 / rng.integers(1, 6, size=(240, 2))
    (found,) = find_neighbours(RunGains(runs=TWO, gain=gain), query, chance.ravel()).orders
    apart = (gain[:, 0] - gain[:, 1]).reshape(60, 4)
    best = (rng.random((20_000, 60, 1)) > np.cumsum(chance, axis=1)[None, :, :3]).sum(axis=2)
    drawn = np.take_along_axis(apart[None], best[:, :, None], axis=2)[:, :, 0].mean(axis=1)
    lead = drawn if found.better == "one" else -drawn
    assert found.difference == pytest.approx(lead.mean(), abs=0.002)
    assert found.deviation == pytest.approx(drawn.std(), rel=0.03)
    assert 0.55 < found.chance < 0.999
    assert found.chance == pytest.approx((lead > 0).mean(), abs=0.02)


def test_neighbours_are_next_to_each_other_on_the_board_and_two_may_be_named() -> None:
    runs = ("a", "b", "c")
    gains = gains_of((0.2, 1.0, 0.5), (0.2, 0.0, 0.5), runs=runs)
    query, chance = np.zeros(2, dtype=np.int32), np.array([0.7, 0.3])
    orders = find_neighbours(gains, query, chance).orders
    assert [(one.better, one.other) for one in orders] == [("b", "c"), ("c", "a")]
    assert orders[1].chance == 1.0, "whatever the answer is"
    (named,) = find_neighbours(gains, query, chance, between=("a", "b")).orders
    assert (named.better, named.other) == ("b", "a")
    assert named.difference == pytest.approx(0.5)
    assert named.deviation == pytest.approx(np.sqrt(0.7 * 0.3))


def test_nothing_hangs_on_candidates_that_make_no_difference() -> None:
    gains = gains_of((1.0, 0.5), (1.0, 0.5), (0.2, 1.0), (0.3, 0.3), (1.0, 1.0))
    query, chance = np.array([0, 0, 0, 1, 1]), np.array([0.4, 0.3, 0.3, 0.5, 0.5])
    found = find_neighbours(gains, query, chance)
    assert found.counts.tolist() == [True, True, True, False, False]
    stakes = found.stakes(np.array([[0, 1, 2]]), 0.9)
    assert (stakes.cost[0] > 0).tolist() == [[False, False, True], [False, False, True], [True, True, False]]
    assert (stakes.counts.tolist(), stakes.told) == ([True], False)
    assert not find_neighbours(gains, query, chance).stakes(np.array([[3, 4]]), 0.9).counts.any()
    same = find_neighbours(gains_of(*[(0.5, 0.5)] * 5), query, chance)
    assert (same.chance, same.counts.any()) == (1.0, False)


def test_a_vote_is_worth_most_where_the_runs_are_furthest_apart() -> None:
    votes = np.zeros((2, 2, 2))
    votes[:, 0, 1] = votes[:, 1, 0] = 1.0
    gains = gains_of((1.0, 0.0), (0.0, 1.0), (0.5, 0.4), (0.4, 0.5))
    chance = np.full((2, 2), 0.5)
    found = find_neighbours(gains, np.array([0, 0, 1, 1]), chance.ravel())
    far, near = worth(votes, chance, found.stakes(np.arange(4).reshape(2, 2), 0.9))
    assert far == pytest.approx(100 * near)
    assert near > 0


POOLS = pools_of({"q1": "abc", "q2": "abc", "q3": "ab", "q4": "a"})
# q1: all differ; q2: a and b make no difference; q3: the runs are the same; q4: nothing to ask.
GAINS = gains_of(
    (1.0, 0.0), (0.0, 1.0), (0.5, 0.2),
    (0.5, 0.5), (0.3, 0.3), (1.0, 0.2),
    (1.0, 1.0), (0.5, 0.5),
    (1.0, 0.5),
)  # fmt: skip
ROUND = Sure(0.999, runs=(), crowd=one_scale(0.7))


def test_each_query_that_counts_is_judged_once_before_any_is_judged_again() -> None:
    judged = judgments_of("q1 a b a", "q1 b c b", "q1 a c a")
    first = next_round(judged, POOLS, ROUND, gains=GAINS)
    assert (first.pairs.query.tolist(), first.votes.tolist()) == ([1, 1], [1, 1])
    assert first.open.tolist() == [True, True, False, False]
    (order,) = first.orders
    assert 0.5 < order.chance < 0.999
    # Without the runs' scores the same judgments leave the best answers open, those of q3 among them.
    assert next_round(judged, POOLS, replace(ROUND, runs=None)).open.tolist() == [True, True, True, False]


def test_further_votes_go_where_they_tell_the_runs_apart_and_end_when_the_order_is_sure() -> None:
    lines = [f"{q} {pair[0]} {pair[1]} {pair[n % 2]}" for q in ("q1", "q2") for n in range(6)
             for pair in ("ab", "bc", "ac")]  # fmt: skip
    judged = judgments_of(*lines)
    asked = next_round(judged, POOLS, replace(ROUND, rounds=2), gains=GAINS)
    assert 0 < asked.votes.sum() <= len(judged)
    names = {
        (POOLS.queries[q], POOLS.docs[a] + POOLS.docs[b])
        for q, a, b in zip(asked.pairs.query, asked.pairs.doc_a, asked.pairs.doc_b, strict=True)
    }
    assert ("q1", "ab") in names
    assert ("q2", "ab") not in names
    few = next_round(judged, POOLS, ROUND, gains=GAINS, most=2)
    assert (few.votes.sum(), few.pairs.query.tolist()) == (2, [0])
    told = replace(ROUND, level=asked.orders[0].chance - 1e-6)
    done = next_round(judged, POOLS, told, gains=GAINS)
    assert (len(done.pairs), done.open.any()) == (0, False)
    assert done.leaders.any(), "who is the best so far is known all the same"


def test_without_a_vote_every_query_that_counts_is_asked_and_a_small_budget_asks_for_some() -> None:
    for level in (0.01, 0.999):
        found = next_round(judgments_of(), POOLS, replace(ROUND, level=level), gains=GAINS)
        assert set(found.pairs.query.tolist()) == {0, 1}
        assert not found.leaders[POOLS.query == 0].any()
    few = next_round(judgments_of(), POOLS, ROUND, gains=GAINS, most=4)
    assert few.votes.sum() == 4
    assert few.open.tolist() == [True, True, False, False]


def test_runs_that_score_alike_are_not_said_to_be_in_an_order_nor_a_likely_order_to_be_certain() -> None:
    query, chance = np.array([0, 0]), np.array([0.999, 0.001])
    (same,) = find_neighbours(gains_of((0.5, 0.5), (1.0, 1.0)), query, chance).orders
    assert same.words == "runs one and other score the same, whatever the best answers are"
    (likely,) = find_neighbours(gains_of((1.0, 0.5), (0.5, 1.0)), query, chance).orders
    assert likely.words.endswith(
        "by 0.499; this order is right on these queries with a probability above 0.99"
    )
    (even,) = find_neighbours(gains_of((1.0, 0.5), (0.5, 1.0)), query, np.array([0.5, 0.5])).orders
    assert even.words.endswith("with a probability of 0.50"), "a coin is not an order that is the same"
    (certain,) = find_neighbours(gains_of((1.0, 0.5), (0.7, 0.2)), query, np.array([0.5, 0.5])).orders
    assert certain.words.endswith("with a probability of 1.00")

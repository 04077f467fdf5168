"""Plan: what it expects against published simulations and studies that are really played."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest

from prefjudge.core.judgments import dropped_share
from prefjudge.core.planning.plans import LikelyStudy, Packing, Plan, choose_plan, compare_plans, studies_of
from prefjudge.core.planning.rounds import next_round
from prefjudge.core.planning.sure import Sure
from prefjudge.core.strategies import (
    LapseNoise,
    Noise,
    RoundRobin,
    Strategy,
    error_of_scale,
    scale_of_error,
)
from tests.core.tables import log_of

PACKING = Packing(price=lambda assignments: Decimal("2.40"))
CROWD = LapseNoise(error=0.33)


def alike(noise: Noise, count: int = 20, *, reissued: float = 0.0) -> list[LikelyStudy]:
    return [LikelyStudy(noise=noise, error=0.33, reissued=reissued)] * count


def planned(
    sizes: dict[int, int],
    noise: Noise,
    strategies: Sequence[Strategy] = (RoundRobin(1),),
    *,
    reissued: float = 0.0,
    trials: int = 1000,
    seed: int = 1,
    packing: Packing = PACKING,
) -> tuple[Plan, ...]:
    return compare_plans(
        sizes,
        alike(noise, reissued=reissued),
        packing=packing,
        strategies=strategies,
        trials=trials,
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize(
    ("error", "votes", "size", "constant", "bradley_terry"),
    [
        (0.10, 1, 4, 83, 82), (0.10, 3, 12, 87, 85), (0.10, 5, 2, 99, 95),
        (0.20, 1, 6, 62, 64), (0.20, 3, 8, 74, 75), (0.20, 5, 4, 90, 83),
        (0.33, 1, 6, 39, 43), (0.33, 3, 6, 53, 60), (0.33, 5, 12, 50, 66),
    ],
)  # fmt: skip
def test_round_robin_finds_the_best_as_often_as_tabled(
    error: float, votes: int, size: int, constant: int, bradley_terry: int
) -> None:
    for noise, expected in (
        (LapseNoise(error=error, lapses=1.0), constant),
        (LapseNoise(error=error), bradley_terry),
    ):
        (plan,) = planned({size: 75}, noise, [RoundRobin(votes)], trials=1500)
        assert 100 * abs(plan.chance - expected / 100) < 1.5 + 300 * plan.error
        assert plan.judgments == 75 * votes * size * (size - 1) / 2


def test_error_and_scale_are_inverse() -> None:
    for error in (0.05, 0.2, 0.33, 0.45):
        assert error_of_scale(scale_of_error(error)) == pytest.approx(error, abs=1e-6)
    assert 0.33 < error_of_scale(0.6) < 0.37
    with pytest.raises(ValueError, match="between 0 and"):
        scale_of_error(0.5)


def test_hardly_any_error_has_a_finite_scale() -> None:
    with np.errstate(all="raise", under="ignore"):
        assert 0 < error_of_scale(scale_of_error(1e-9)) < 0.001


def really_played(strategy: Strategy, noise: Noise, sizes: dict[int, int], seed: int) -> float:
    """Play a study by what `run` asks for, round after round, and pack each round into HITs of ten pairs."""
    (size, count), *_ = sizes.items()
    rng, cost = np.random.default_rng(seed), 0.0
    chances, _ = noise.draw_chances(count, size, rng)
    votes = np.zeros_like(chances)
    while True:
        judgments, pools = log_of(votes)
        asked = next_round(judgments, pools, strategy)
        if not len(asked.pairs):
            return cost
        # The documents of a pool are numbered in a row.
        q, x, y = asked.pairs.query, asked.pairs.doc_a % size, asked.pairs.doc_b % size
        won = rng.binomial(asked.votes, chances[q, x, y])
        votes[q, x, y] += won
        votes[q, y, x] += asked.votes - won
        wanted = asked.votes.tolist()
        cost += 2.4 * sum(many * -(-wanted.count(many) // 10) for many in set(wanted))


def test_independent_studies_seldom_cost_more_than_the_bound() -> None:
    """A plan that drew its studies from the pools of one of them was passed by half of these."""
    sizes, strategy = {4: 15}, Sure(0.7)
    costs = [really_played(strategy, CROWD, sizes, seed) for seed in range(5)]
    bounds = [float(planned(sizes, CROWD, [strategy], trials=300, seed=seed)[0].most) for seed in (1, 2, 3)]
    # One study in twenty is expected to pass it, and one of five by chance.
    assert all(sum(cost > bound for cost in costs) <= 1 for bound in bounds)
    assert max(bounds) < 1.3 * min(bounds)
    assert max(bounds) < 1.6 * max(costs)


def test_the_bound_holds_though_work_is_dropped_and_issued_again() -> None:
    """Each HIT of a round robin is known beforehand; how many are dropped is not."""
    (plan,) = planned({4: 100}, CROWD, reissued=dropped_share(0.2, 3))
    rng, over = np.random.default_rng(5), 0
    for _ in range(300):
        issued = open_hits = 60
        while open_hits:
            missed = (rng.random((open_hits, 3)) < 0.05).any(axis=1)
            open_hits = int(missed.sum())
            issued += open_hits
        over += 2.4 * issued > float(plan.most)
    assert over / 300 < 0.12
    assert plan.least < plan.money < plan.most
    assert float(plan.money) == pytest.approx(60 * 2.4 / 0.95**3, rel=0.05)
    (whole,) = planned({4: 100}, CROWD)
    assert whole.least == whole.money == whole.most == 60 * PACKING.price(1)


def test_a_plan_packs_each_round_into_hits() -> None:
    packing = Packing(price=lambda votes: Decimal(1) + Decimal(votes) / 10)
    (plan,) = planned(
        {1: 50, 3: 7}, LapseNoise(error=0.2, lapses=1.0), [RoundRobin(2)], packing=packing, trials=140
    )
    # 7 pools of 3 pairs, two votes each: 21 pairs in 3 HITs of 2 assignments.
    assert (plan.pairs, plan.judgments, plan.hits, plan.assignments, plan.rounds) == (21, 42, 3, 6, 1)
    assert plan.money == Decimal("1.2") * 6
    assert plan.hours == pytest.approx(6 * 13 * 30 / 3600)
    assert plan.chance > 50 / 57


@pytest.mark.parametrize("queries", [1, 7, 10, 33])
def test_a_study_may_have_more_pools_than_are_simulated(queries: int) -> None:
    (plan,) = planned({4: queries}, LapseNoise(error=0.2, lapses=1.0), [RoundRobin(2)], trials=10)
    hits = -(-6 * queries // 10)
    assert (plan.pairs, plan.judgments, plan.hits, plan.assignments) == (
        6 * queries, 12 * queries, hits, 2 * hits,
    )  # fmt: skip
    assert plan.money == plan.least == plan.most == 2 * hits * PACKING.price(2)
    assert plan.rounds == 1


def test_large_studies_of_which_a_part_is_simulated_are_not_spread_by_its_luck() -> None:
    strategy = Sure(0.7)
    part, whole = (planned({2: 200}, CROWD, [strategy], trials=trials)[0] for trials in (1200, 4000))
    # Twenty studies tell a mean to a tenth.
    assert float(part.money) == pytest.approx(float(whole.money), rel=0.25)
    spread = [float(one.most - one.least) / float(one.money) for one in (part, whole)]
    assert spread[0] < 2.5 * spread[1]


def test_the_chances_at_both_ends_are_those_of_such_crowds() -> None:
    ends = (0.2, 0.4)
    studies = [
        LikelyStudy(noise=LapseNoise(error=error), error=error) for error in np.linspace(*ends, 20).tolist()
    ]
    (plan,) = compare_plans(
        {4: 100}, studies, packing=PACKING, strategies=[RoundRobin(3)], trials=2000, ends=ends,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert plan.ends is not None
    many, few = plan.ends
    for error, found in ((0.2, few), (0.4, many)):
        (known,) = planned({4: 100}, LapseNoise(error=error), [RoundRobin(3)], trials=2000)
        assert known.ends is None
        assert found == pytest.approx(known.chance, abs=0.07)
    assert many < plan.chance < few


def test_the_budget_chooses_the_best_that_it_pays_in_nineteen_studies_of_twenty() -> None:
    plans = planned({3: 40}, CROWD, (RoundRobin(1), RoundRobin(3)), reissued=0.1)
    cheap, dear = plans
    assert cheap.most < dear.money < dear.most
    assert cheap.chance < dear.chance
    assert choose_plan(plans, dear.most) is dear
    assert choose_plan(plans, dear.money) is cheap
    assert choose_plan(plans, cheap.money) is None


def test_the_same_strategy_is_compared_once_and_all_meet_the_same_pools() -> None:
    plans = planned({2: 5}, CROWD, (RoundRobin(1), RoundRobin(2), RoundRobin(1)))
    assert [plan.name for plan in plans] == ["round-robin:1", "round-robin:2"]
    again = planned({2: 5}, CROWD, (RoundRobin(1),))
    assert again == plans[:1]


def test_a_pool_of_one_has_its_best_for_sure_and_costs_nothing() -> None:
    sizes, noise = {1: 30, 3: 10}, LapseNoise(error=0.2, lapses=1.0)
    (mixed,) = planned(sizes, noise, [RoundRobin(3)])
    alone, judged = mixed.by_size
    assert (alone.size, alone.chance, alone.error, alone.pairs, alone.judgments) == (1, 1.0, 0.0, 0.0, 0.0)
    assert mixed.chance == pytest.approx((30 + 10 * judged.chance) / 40)
    assert mixed.error == pytest.approx(judged.error * 10 / 40)
    assert (mixed.pairs, mixed.judgments) == (30, 90)
    (nothing,) = planned({1: 4}, noise)
    assert (nothing.chance, nothing.money, nothing.most, nothing.rounds) == (1.0, 0, 0, 0)


def test_small_studies_are_simulated_more_often() -> None:
    assert [studies_of({1: 900, 4: count}, 1000) for count in (10, 30, 50, 5000)] == [40, 33, 20, 20]
    assert studies_of({1: 5}, 1000) == 40

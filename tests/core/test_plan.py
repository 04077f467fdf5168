"""Plan: strategies against the published simulations, and the sums that become HITs and money."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from prefjudge.core.asking.strategies import Halving, Knockout, LeadStop, RoundRobin, Strategy
from prefjudge.core.judges.noise import BradleyTerryNoise, ConstantNoise, error_of_scale, scale_of_error
from prefjudge.core.planning.plan import Packing, as_good, compare_plans, overall_chance
from prefjudge.core.planning.plan_choice import choose_plan, look_again
from prefjudge.core.planning.simulation import Outlook, simulate
from prefjudge.core.planning.strategy_names import parse_strategy

PACKING = Packing(price=lambda assignments: Decimal("2.40"))


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
    rng = np.random.default_rng(1)
    for noise, expected in (
        (ConstantNoise(error=error), constant),
        (BradleyTerryNoise(scale=scale_of_error(error)), bradley_terry),
    ):
        outlook = simulate(RoundRobin(votes), size, noise, trials=1500, rng=rng)
        assert 100 * abs(outlook.chance - expected / 100) < 1.5 + 300 * outlook.error
        assert outlook.judgments == votes * size * (size - 1) / 2


@pytest.mark.parametrize(
    ("strategy", "size", "judgments", "constant", "bradley_terry"),
    [
        ("halving", 6, 25, 53, 58), ("halving", 10, 85, 66, 62), ("halving", 20, 360, 82, 66),
        ("halving:1x3", 6, 33, 63, 60), ("halving:1x3", 10, 129, 76, 70), ("halving:2x2", 10, 170, 85, 72),
        ("knockout:5", 6, 25, 53, 54), ("knockout:5", 10, 45, 46, 46), ("knockout:5", 20, 95, 36, 43),
    ],
)  # fmt: skip
def test_strategies_cost_and_find_as_much_as_tabled(
    strategy: str, size: int, judgments: int, constant: int, bradley_terry: int
) -> None:
    rng = np.random.default_rng(2)
    for noise, expected in (
        (ConstantNoise(error=0.33), constant),
        (BradleyTerryNoise(scale=scale_of_error(0.33)), bradley_terry),
    ):
        outlook = simulate(parse_strategy(strategy), size, noise, trials=800, rng=rng)
        assert outlook.judgments == judgments
        # The table itself carries up to 2.5 points of error.
        assert 100 * abs(outlook.chance - expected / 100) < 2.5 + 300 * outlook.error


@pytest.mark.parametrize(("lead", "wrong", "votes"), [(2, 0.195, 3.6), (3, 0.107, 6.9), (4, 0.056, 10.5)])
def test_a_lead_decides_a_duel_as_computed(lead: int, wrong: float, votes: float) -> None:
    rng = np.random.default_rng(3)
    outlook = simulate(LeadStop(lead, 999), 2, ConstantNoise(error=0.33), trials=8000, rng=rng)
    assert 1 - outlook.chance == pytest.approx(wrong, abs=0.015)
    assert outlook.judgments == pytest.approx(votes, rel=0.05)


def test_a_single_winner_says_nothing_about_its_being_the_best() -> None:
    noise = ConstantNoise(error=0.33)
    outlook = simulate(RoundRobin(1), 6, noise, trials=1500, rng=np.random.default_rng(4))
    assert outlook.single > 0.93
    assert outlook.chance < 0.45


def test_error_and_scale_are_inverse() -> None:
    for error in (0.05, 0.2, 0.33, 0.45):
        assert error_of_scale(scale_of_error(error)) == pytest.approx(error, abs=1e-6)
    assert 0.33 < error_of_scale(0.6) < 0.37
    with pytest.raises(ValueError, match="between 0 and"):
        scale_of_error(0.5)


def test_a_plan_packs_each_round_into_hits() -> None:
    (plan,) = compare_plans(
        {1: 50, 3: 7},
        ConstantNoise(error=0.2),
        packing=Packing(price=lambda votes: Decimal(1) + Decimal(votes) / 10, reissued=0.5),
        strategies=(RoundRobin(2),),
        trials=50,
        rng=np.random.default_rng(5),
    )
    # 7 pools of 3 pairs, two votes each: 21 pairs in 3 HITs of 2 assignments. Half of the assignments fail,
    # those issued again too, so that twice as many are needed.
    assert (plan.pairs, plan.judgments, plan.hits, plan.assignments, plan.rounds) == (21, 42, 3, 12, 1)
    assert plan.money == Decimal("1.2") * 12
    assert plan.hours == pytest.approx(12 * 13 * 30 / 3600)
    assert plan.chance > 50 / 57


def packed_study(strategy: Strategy, noise: ConstantNoise, sizes: dict[int, int], seed: int) -> int:
    """Judge a whole study and pack each round into HITs of ten pairs; return the assignments."""
    rng, assignments = np.random.default_rng(seed), 0
    drawn = [noise.draw_chances(count, size, rng)[0] for size, count in sizes.items()]
    votes = [np.zeros_like(chances) for chances in drawn]
    while any(len(strategy.ask(so_far)) for so_far in votes):
        wanted: list[int] = []
        for chances, so_far in zip(drawn, votes, strict=True):
            asked = strategy.ask(so_far)
            wanted += asked.votes.tolist()
            won = rng.binomial(asked.votes, chances[asked.pool, asked.x, asked.y])
            so_far[asked.pool, asked.x, asked.y] += won
            so_far[asked.pool, asked.y, asked.x] += asked.votes - won
        assignments += sum(many * -(-wanted.count(many) // 10) for many in set(wanted))
    return assignments


@pytest.mark.parametrize("strategy", [LeadStop(2), LeadStop(3), Knockout(3), Halving(1, 2)])
def test_a_plan_costs_what_studies_cost_whose_last_rounds_are_nearly_empty(strategy: Strategy) -> None:
    sizes, noise = {2: 9, 4: 11, 5: 5}, ConstantNoise(error=0.2)
    (plan,) = compare_plans(
        sizes, noise, packing=PACKING, strategies=[strategy], trials=1000, rng=np.random.default_rng(11)
    )
    costs = sorted(float(PACKING.price(1)) * packed_study(strategy, noise, sizes, seed) for seed in range(60))
    assert float(plan.money) == pytest.approx(np.mean(costs), rel=0.05)
    assert costs[50] <= float(plan.most) <= costs[-1] * 1.05
    assert plan.money <= plan.most


def test_the_budget_chooses_the_best_that_it_pays() -> None:
    sizes = {2: 120, 4: 200, 6: 180}
    noise = BradleyTerryNoise(scale=scale_of_error(0.33))
    plans = compare_plans(sizes, noise, packing=PACKING, trials=200, rng=np.random.default_rng(6))
    chances = []
    for budget in (Decimal(1000), Decimal(1500), Decimal(3000), Decimal(6000)):
        chosen = choose_plan(plans, sizes, budget, PACKING)
        assert chosen is not None
        assert chosen.money <= chosen.most <= budget
        assert chosen.rounds <= 10
        assert parse_strategy(chosen.strategy).name == chosen.strategy
        chances.append(chosen.chance)
        assert chosen.chance >= max(
            plan.chance for plan in plans if plan.most <= budget and plan.rounds <= 10
        )
    assert chances == sorted(chances)
    assert choose_plan(plans, sizes, Decimal(100), PACKING) is None


def test_strategies_that_ask_for_the_same_find_the_same() -> None:
    noise = BradleyTerryNoise(scale=0.6)
    # One vote on the only pair of a pool of two.
    alike = (RoundRobin(1), Halving(1, 2), Halving(1, 3), Knockout(1), LeadStop(1))
    outlooks = [simulate(one, 2, noise, trials=300, rng=np.random.default_rng(7)) for one in alike]
    assert len({(one.chance, one.judgments, one.pairs) for one in outlooks}) == 1


def test_hardly_any_error_has_a_finite_scale() -> None:
    with np.errstate(all="raise", under="ignore"):
        assert 0 < error_of_scale(scale_of_error(1e-9)) < 0.001


def test_alike_designs_have_alike_plans_and_the_same_one_has_one() -> None:
    plans = compare_plans(
        {2: 5},
        BradleyTerryNoise(scale=0.6),
        packing=PACKING,
        strategies=(Halving(1, 3), RoundRobin(1), Halving(1, 2), LeadStop(3), LeadStop(3)),
        trials=300,
        rng=np.random.default_rng(8),
    )
    assert [plan.name for plan in plans] == ["halving:1x3", "round-robin:1", "halving:1x2", "lead:3"]
    assert len({(plan.chance, plan.money) for plan in plans[:3]}) == 1


def test_a_size_may_take_a_strategy_that_has_too_many_rounds_for_another() -> None:
    sizes, noise = {2: 40, 6: 20}, ConstantNoise(error=0.33)
    plans = compare_plans(
        sizes, noise, packing=PACKING, strategies=(RoundRobin(1), LeadStop(3)), trials=200,
        rng=np.random.default_rng(9),
    )  # fmt: skip
    rounds = [len(outlook.rounds) for outlook in plans[1].by_size]
    assert rounds[0] < rounds[1]
    chosen = choose_plan(plans, sizes, Decimal(9999), PACKING, most_rounds=rounds[0])
    assert chosen is not None
    assert chosen.strategy == "2=lead:3,6=round-robin:1"


def test_the_chance_reported_is_not_the_luck_of_the_choice() -> None:
    # All find the best of two equally often: which of them looks best is luck.
    sizes, noise = {2: 50}, ConstantNoise(error=0.33)
    rng, excess, fresh = np.random.default_rng(10), [], []
    for _ in range(60):
        plans = [
            compare_plans(sizes, noise, packing=PACKING, strategies=(RoundRobin(1),), trials=40, rng=rng)[0]
            for _ in range(10)
        ]
        chosen = choose_plan(plans, sizes, Decimal(9999), PACKING)
        assert chosen is not None
        again = look_again(chosen, sizes, noise, trials=40, rng=rng)
        assert (again.money, again.strategy) == (chosen.money, chosen.strategy)
        excess.append(chosen.chance - 0.67)
        fresh.append(again.chance - 0.67)
    assert np.mean(excess) > 0.08
    assert abs(np.mean(fresh)) < 0.04


def outlook(size: int, chance: float, error: float) -> Outlook:
    return Outlook(
        strategy="round-robin:1", size=size, chance=chance, error=error, single=1.0, pairs=1.0, judgments=1.0,
        rounds=(),
    )  # fmt: skip


def test_the_chance_of_a_study_weighs_the_sizes_by_their_queries() -> None:
    outlooks = [outlook(2, 0.9, 0.03), outlook(5, 0.5, 0.04)]
    chance, error = overall_chance(outlooks, {2: 3, 5: 1, 9: 100})
    assert chance == pytest.approx((3 * 0.9 + 0.5) / 4)
    assert error == pytest.approx(math.hypot(3 * 0.03, 0.04) / 4)
    assert overall_chance(outlooks[1:], {5: 1}) == (0.5, 0.04)
    assert overall_chance([], {}) == (0.0, 0.0)


@pytest.mark.parametrize("queries", [1, 7, 10, 33])
def test_a_study_may_have_fewer_or_more_pools_than_were_simulated(queries: int) -> None:
    (plan,) = compare_plans(
        {4: queries}, ConstantNoise(error=0.2), packing=PACKING, strategies=[RoundRobin(2)], trials=10,
        rng=np.random.default_rng(5),
    )  # fmt: skip
    hits = -(-6 * queries // 10)
    assert (plan.pairs, plan.judgments, plan.hits, plan.assignments) == (
        6 * queries, 12 * queries, hits, 2 * hits,
    )  # fmt: skip
    assert plan.money == plan.most == 2 * hits * PACKING.price(2)
    assert plan.rounds == 1


def test_rounds_are_those_that_nineteen_of_twenty_studies_need() -> None:
    # One pair, decided by a lead of two: every two votes decide with the chance 0.64 + 0.04.
    (plan,) = compare_plans(
        {2: 1}, ConstantNoise(error=0.2), packing=PACKING, strategies=[LeadStop(2)], trials=4000,
        rng=np.random.default_rng(5),
    )  # fmt: skip
    needed = next(rounds for rounds in range(1, 20) if 1 - 0.32**rounds >= 0.95)
    assert plan.rounds == needed == 3
    assert plan.by_size[0].judgments == pytest.approx(2 / 0.68, rel=0.05)


def test_a_plan_looked_at_again_has_the_chances_of_the_new_simulations() -> None:
    sizes, noise = {2: 9, 4: 3}, BradleyTerryNoise(scale=0.6)
    plans = compare_plans(sizes, noise, packing=PACKING, trials=200, rng=np.random.default_rng(6))
    chosen = choose_plan(plans, sizes, Decimal(60), PACKING)
    assert chosen is not None
    assert (chosen.name == "by size") == ("=" in chosen.strategy)
    again = look_again(chosen, sizes, noise, trials=100, rng=np.random.default_rng(7))
    rng = np.random.default_rng(7)
    for old, new in zip(chosen.by_size, again.by_size, strict=True):
        fresh = simulate(parse_strategy(old.strategy), old.size, noise, trials=100, rng=rng)
        assert (new.chance, new.error, new.single) == (fresh.chance, fresh.error, fresh.single)
        assert (new.judgments, new.pairs, new.size) == (old.judgments, old.pairs, old.size)
    assert (again.chance, again.error) == overall_chance(again.by_size, sizes)
    assert again.error > chosen.error, "half as many trials"


def test_a_plan_has_its_strategys_name_where_all_sizes_take_the_same() -> None:
    sizes, noise = {1: 4, 2: 9, 4: 3}, ConstantNoise(error=0.3)
    plans = compare_plans(
        sizes, noise, packing=PACKING, strategies=(RoundRobin(1), RoundRobin(7)), trials=200,
        rng=np.random.default_rng(6),
    )  # fmt: skip
    best = choose_plan(plans, sizes, Decimal(9999), PACKING)
    assert best is not None
    assert (best.name, best.strategy) == ("round-robin:7", "round-robin:7")
    middle = choose_plan(plans, sizes, (plans[0].most + plans[1].most) / 2, PACKING)
    assert middle is not None
    assert (middle.name, "=" in middle.strategy) == ("by size", True)


def test_a_pool_of_one_has_its_best_for_sure_and_costs_nothing() -> None:
    sizes, noise = {1: 30, 3: 10}, ConstantNoise(error=0.2)
    alone = simulate(RoundRobin(3), 1, noise, rng=np.random.default_rng(1))
    assert (alone.chance, alone.error, alone.single) == (1.0, 0.0, 1.0)
    assert (alone.pairs, alone.judgments, alone.rounds) == (0.0, 0.0, ())
    (mixed,) = compare_plans(
        sizes, noise, packing=PACKING, strategies=[RoundRobin(3)], rng=np.random.default_rng(1)
    )
    judged = mixed.by_size[1]
    assert mixed.chance == pytest.approx((30 + 10 * judged.chance) / 40)
    assert mixed.error == pytest.approx(judged.error * 10 / 40)
    assert (mixed.pairs, mixed.judgments) == (30, 90)


def test_no_plan_is_chosen_where_every_strategy_takes_too_many_rounds() -> None:
    sizes, noise = {2: 5, 6: 5}, ConstantNoise(error=0.2)
    plans = compare_plans(
        sizes, noise, packing=PACKING, strategies=[Halving(), Knockout(3)], trials=50,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    rounds = [[len(outlook.rounds) for outlook in plan.by_size] for plan in plans]
    assert all(two == 1 < six for two, six in rounds)
    assert choose_plan(plans, sizes, Decimal(9999), PACKING, most_rounds=1) is None
    assert choose_plan(plans, sizes, Decimal(9999), PACKING, most_rounds=0) is None


def test_plans_that_chance_may_have_ordered_are_called_equal() -> None:
    sizes, noise = {4: 10}, ConstantNoise(error=0.33)
    plans = compare_plans(
        sizes, noise, packing=PACKING, strategies=(RoundRobin(1), RoundRobin(7), Halving(3, 2)), trials=300,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    least, *others = plans
    near = replace(others[0], name="near", chance=max(plan.chance for plan in plans) - others[0].error)
    found = [plan.name for plan in as_good([*plans, near])]
    assert "near" in found
    assert least.name not in found
    assert [plan.name for plan in as_good(plans[:1])] == [least.name]

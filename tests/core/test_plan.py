"""Plan: what it expects against published simulations and studies that are really played."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import comb

import numpy as np
import pytest
import scipy

from prefjudge.core.judgments import Judgments, dropped_share
from prefjudge.core.planning.plans import (
    LikelyStudy,
    Packing,
    Plan,
    Replay,
    choose_plan,
    compare_plans,
    draw_studies,
    play,
    play_studies,
    power,
    powers,
    prepare_replay,
    queries_needed,
    shown_share,
    studies_of,
    wins_needed,
)
from prefjudge.core.planning.rounds import next_round, of_size, parse_strategy
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import DrawnPools, Stack
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.strategies import (
    Floats,
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
    return [LikelyStudy(noise=noise, reissued=reissued)] * count


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
        assert (
            100 * abs(plan.chance - expected / 100)
            < 1.5 + 300 * (plan.chance * (1.0 - plan.chance) / 1500) ** 0.5
        )
        assert plan.judgments == 75 * votes * size * (size - 1) / 2


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
    plans = [planned(sizes, CROWD, [strategy], trials=300, seed=seed)[0] for seed in (1, 2, 3)]
    drawn = draw_studies(sizes, [CROWD] * 60, pools=900, rng=np.random.default_rng(9))
    (played,) = play_studies(strategy, drawn, np.random.default_rng(10))
    costs = np.zeros(60)
    for (_, votes), asked in played.work.items():
        costs += 2.4 * votes * np.ceil(np.bincount(drawn[0].study, weights=asked) / 10)
    for plan in plans:
        assert (costs > float(plan.most)).sum() <= 6
        assert (costs < float(plan.least)).sum() <= 6
    # What `run` asks for costs as much: it learns the crowd in another way.
    real = [really_played(strategy, CROWD, sizes, seed) for seed in range(3)]
    assert np.mean(real) == pytest.approx(costs.mean(), abs=3.0 * costs.std() / 3**0.5)
    assert max(real) < float(min(plan.most for plan in plans)) * 1.1


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


@pytest.mark.parametrize("errors", [np.linspace(0.2, 0.4, 20), np.full(20, 0.33)])
def test_independent_studies_find_a_share_between_the_ends(errors: Floats) -> None:
    """Whether the share of wrong votes is known or not, and where a pool stands for several."""
    crowds = [LapseNoise(error=error) for error in errors.tolist()]
    studies = [LikelyStudy(noise=crowd) for crowd in crowds]
    for queries in (40, 400):
        drawn = draw_studies({4: queries}, crowds * 5, pools=queries, rng=np.random.default_rng(2))
        (played,) = play_studies(RoundRobin(3), drawn, np.random.default_rng(3))
        found = played.right.reshape(100, -1).mean(axis=1)
        held = []
        for seed in range(5):
            (plan,) = compare_plans(
                {4: queries}, studies, packing=PACKING, strategies=[RoundRobin(3)], trials=800,
                rng=np.random.default_rng(seed),
            )  # fmt: skip
            few, many = plan.ends
            assert few < plan.chance < many
            held.append(float(((few <= found) & (found <= many)).mean()))
        assert 0.86 < np.mean(held) < 0.97


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
    assert (alone.size, alone.chance, alone.pairs, alone.judgments) == (1, 1.0, 0.0, 0.0)
    assert mixed.chance == pytest.approx((30 + 10 * judged.chance) / 40)
    assert (mixed.pairs, mixed.judgments) == (30, 90)
    (nothing,) = planned({1: 4}, noise)
    assert (nothing.chance, nothing.money, nothing.most, nothing.rounds) == (1.0, 0, 0, 0)


def test_small_studies_are_simulated_more_often() -> None:
    assert [studies_of({1: 900, 4: count}, 1000) for count in (10, 30, 50, 5000)] == [40, 33, 20, 20]
    assert studies_of({1: 5}, 1000) == 40


# What a strategy would have found, had other people been asked.


SIZES = (4, 2, 4, 1, 3)
NOBODY_GIVES_UP = np.full(len(SIZES), 1000)


def all_pools() -> Pools:
    query = np.repeat(np.arange(len(SIZES), dtype=np.int32), SIZES)
    return Pools(
        queries=tuple(f"q{number}" for number in range(len(SIZES))),
        docs=tuple(f"d{number:02}" for number in range(query.size)),
        query=query,
        doc=np.arange(query.size, dtype=np.int32),
    )


def neighbours(times: int) -> Judgments:
    """Return votes on neighbours of each pool: the later document is better."""
    one = [row for row in range(sum(SIZES) - 1) if all_pools().query[row] == all_pools().query[row + 1]]
    left = np.repeat(np.array(one, dtype=np.int32), times)
    return Judgments.of_nobody(
        queries=all_pools().queries,
        docs=all_pools().docs,
        query=all_pools().query[left],
        left=left + 1,
        right=left,
        choice=np.ones(left.size, dtype=np.int8),
    )


def drawn_pools(apart: float) -> DrawnPools:
    """Return pools in which the later document is the better, by so much."""
    stacks = []
    for size in np.unique(SIZES).tolist():
        queries = np.flatnonzero(np.array(SIZES) == size)
        rows = np.concatenate([[0], np.cumsum(SIZES)])[queries][:, None] + np.arange(size)
        gap = apart * (np.arange(size)[:, None] - np.arange(size))
        chances = np.repeat((1 / (1 + np.exp(-gap)))[None], queries.size, axis=0)
        stacks.append(Stack(queries=queries, rows=rows, chances=chances))
    return DrawnPools(crowd=one_scale(1.0), stacks=tuple(stacks))


def answers_of(replay: Replay, truth: DrawnPools, seed: int) -> dict[str, set[str]]:
    found = replay.play(truth, np.random.default_rng(seed), name="again")
    every: dict[str, set[str]] = {query: set() for query in found.queries}
    for query, doc in zip(found.query.tolist(), found.doc.tolist(), strict=True):
        every[found.queries[query]].add(found.docs[doc])
    return every


@pytest.mark.parametrize(
    "name", ["round-robin:1", "sure:60", "sure:90/40", "3=round-robin:3,9=sure:80", "default"]
)
def test_a_strategy_is_asked_again_on_pools_of_all_sizes(name: str) -> None:
    replay = Replay(pools=all_pools(), strategy=parse_strategy(name), most=NOBODY_GIVES_UP)
    clear = answers_of(replay, drawn_pools(20.0), 1)
    assert clear == {"q0": {"d03"}, "q1": {"d05"}, "q2": {"d09"}, "q3": {"d10"}, "q4": {"d13"}}
    doubtful = drawn_pools(0.0)
    found = [answers_of(replay, doubtful, seed) for seed in (0, 1, 2, 3, 4, 5, 3)]
    assert len({str(sorted(map(sorted, one.values()))) for one in found}) > 2
    assert found[3] == found[6]


def test_pools_that_are_not_drawn_get_no_answer() -> None:
    replay = Replay(pools=all_pools(), strategy=parse_strategy("round-robin:1"), most=NOBODY_GIVES_UP)
    truth = drawn_pools(20.0)
    threes = [stack for stack in truth.stacks if stack.rows.shape[1] == 3]
    found = answers_of(replay, DrawnPools(crowd=truth.crowd, stacks=tuple(threes)), 1)
    assert [query for query, best in found.items() if best] == ["q4"]


def test_queries_that_were_given_up_get_no_more_votes_than_they_had() -> None:
    """The most probable best of few votes is the answer, and so it is of other few."""
    replay = prepare_replay(neighbours(1), all_pools(), parse_strategy("sure:99"))
    assert replay.most.tolist()[:3] == [3, 1, 3]
    assert replay.most[3] > 1000, "the best of one candidate needs no votes"
    chances = np.full((6, 4, 4), 0.5)
    cast, _ = play(of_size(replay.strategy, 4), chances, np.random.default_rng(2), most=np.full(6, 3))
    # A round is asked as a whole, and the first one is enough here.
    assert (cast.sum(axis=(1, 2)) >= 3).all()
    assert (cast.sum(axis=(1, 2)) < 8).all()


def test_a_strategy_that_names_no_best_before_its_end_is_played_to_it() -> None:
    replay = prepare_replay(neighbours(1), all_pools(), parse_strategy("round-robin:1"))
    assert replay.most.min() > 1000


# What a number of judged pairs can show, held against sums of binomial coefficients.


def chance_of(pairs: int, wins: int, ratio: float) -> float:
    """Add up the outcomes in which so many pairs, or more, are won, and those in which they are lost."""
    return sum(
        comb(pairs, won) * ratio**won * (1 - ratio) ** (pairs - won)
        for won in range(pairs + 1)
        if won >= wins or pairs - won >= wins
    )


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.2])
def test_the_fewest_wins_are_those_of_the_exact_test(alpha: float) -> None:
    for pairs in range(1, 80):
        tails = [
            2 * sum(comb(pairs, k) for k in range(wins, pairs + 1)) / 2**pairs for wins in range(pairs + 2)
        ]
        fewest = next(wins for wins, tail in enumerate(tails) if tail <= alpha)
        assert wins_needed(pairs, alpha) == (fewest if fewest <= pairs else None), pairs
    assert wins_needed(50) == wins_needed(50, 0.05) == 33


@pytest.mark.parametrize(
    ("pairs", "wins", "ratio"), [(6, 6, 0.5), (10, 9, 0.8), (50, 33, 0.3), (51, 34, 0.61)]
)
def test_power_counts_wins_and_losses(pairs: int, wins: int, ratio: float) -> None:
    assert power(pairs, wins, ratio) == pytest.approx(chance_of(pairs, wins, ratio), rel=1e-12)


def test_round_numbers_of_pairs_up_to_all_are_looked_at() -> None:
    assert powers(0, 0) == ()
    assert [one.pairs for one in powers(50, 80)] == [50]
    found = powers(260, 403)
    assert [(one.pairs, one.sample) for one in found] == [(50, 78), (100, 155), (200, 310), (260, 403)]
    for one in found:
        assert one.wins == wins_needed(one.pairs)
        assert one.wins is not None
        assert one.ratio == one.wins / one.pairs
        assert one.detectable is not None
        assert power(one.pairs, one.wins, one.detectable) == pytest.approx(0.8, abs=1e-9)
    usual = powers(100, 100)[1]
    assert (usual.wins, usual.ratio) == (61, 0.61)


def test_five_pairs_show_nothing_even_if_all_are_won() -> None:
    (few,) = powers(5, 9)
    assert (few.pairs, few.sample, few.wins, few.ratio, few.detectable) == (5, 9, None, None, None)
    assert wins_needed(5) is None
    assert wins_needed(6) == 6


def test_queries_needed_are_those_of_the_tables_and_of_simulation() -> None:
    # Cohen's tables: a paired t test at an effect of .2, .5 and .8, 5 % and 80 %.
    assert [queries_needed(effect, 1.0).queries for effect in (0.2, 0.5, 0.8)] == [199, 34, 15]
    assert queries_needed(-0.1, 0.5) == replace(queries_needed(0.1, 0.5), difference=-0.1)
    rng = np.random.default_rng(1)
    found = queries_needed(0.15, 0.5).queries
    drawn = rng.normal(0.15, 0.5, (4000, found))
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(found))
    share = (np.abs(t) > scipy.stats.t.isf(0.025, found - 1)).mean()
    assert share == pytest.approx(0.8, abs=0.02)
    assert queries_needed(50.0, 1.0).queries == 2
    for difference, deviation in ((0.0, 1.0), (0.1, 0.0), (float("nan"), 1.0), (1e-9, 1.0)):
        with pytest.raises(ValueError, match="no number of queries"):
            queries_needed(difference, deviation)


@pytest.mark.parametrize(("size", "votes"), [(2, 1), (2, 5), (3, 1), (3, 3), (5, 1), (5, 3), (8, 1)])
def test_so_many_queries_show_a_difference_that_wrong_answers_hide_in_part(size: int, votes: int) -> None:
    """Runs that rank candidates by their strengths, one with less noise; answers by most of the votes."""
    rng = np.random.default_rng(9)
    strength = rng.normal(0, 0.9, (60_000, size))
    runs = [strength + rng.normal(0, 0.9 * noise, strength.shape) for noise in (1.0, 1.6)]

    def differences(best: np.ndarray) -> np.ndarray:
        ranks = [1 + (run > np.take_along_axis(run, best[:, None], 1)).sum(axis=1) for run in runs]
        return 1 / ranks[0] - 1 / ranks[1]

    preferred = 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))
    x, y = np.triu_indices(size, 1)
    won = rng.binomial(votes, preferred[:, x, y])
    wins = rng.random(strength.shape) / 10
    for pair, (one, other) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        wins[:, one] += won[:, pair]
        wins[:, other] += votes - won[:, pair]
    best, found = strength.argmax(axis=1), wins.argmax(axis=1)
    true, seen = differences(best), differences(found)
    shown = shown_share(size, float((found == best).mean()))

    def power_of(queries: int) -> float:
        return float(scipy.stats.norm.sf(1.96 - seen.mean() / seen.std() * np.sqrt(queries)))

    assert power_of(queries_needed(float(true.mean()), float(true.std())).queries) < 0.72
    assert 0.65 < power_of(queries_needed(float(true.mean() * shown), float(true.std())).queries) < 0.98

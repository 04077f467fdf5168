"""Sure: votes where they tell most, until one candidate is probably enough the best."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from prefjudge.core.planning.plans import draw_studies, play, play_studies
from prefjudge.core.planning.rounds import next_round
from prefjudge.core.planning.sure import RunGains, Sure, find_neighbours, likely_crowd, worth
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.posterior import fit_strengths, log_evidences
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
from tests.core.tables import chance_best, judgments_of, log_of, pools_of

CROWD = LapseNoise(error=0.33)


def found_and_votes(strategy: Strategy, size: int) -> tuple[float, float]:
    """Return how often it finds the best of 600 pools, and the votes of one."""
    (pools,) = draw_studies({size: 600}, [CROWD], pools=600, rng=np.random.default_rng(3))
    (played,) = play_studies(strategy, [pools], np.random.default_rng(4))
    named = played.leaders[np.arange(600), pools.best] / played.leaders.sum(axis=1)
    return float(named.mean()), float(played.votes.sum() / 600)


def test_it_finds_the_best_as_often_as_round_robin_with_half_of_the_votes() -> None:
    often, votes = found_and_votes(RoundRobin(3), 8)
    sure, fewer = found_and_votes(Sure(0.9, 5, crowd=one_scale(CROWD.scale), patience=400), 8)
    assert fewer <= 0.6 * votes
    assert sure >= often - 0.02


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_pool_is_finished_once_its_best_is_probable_enough_or_its_rounds_are_over(size: int) -> None:
    strategy = Sure(0.8, 6, crowd=one_scale(0.66))
    chances, _ = CROWD.draw_chances(60, size, np.random.default_rng(1))
    votes, work = play(strategy, chances, np.random.default_rng(2))
    # Of six rounds the last ones may need two: steps, and the most votes of a pair, cut what is asked.
    assert 1 + max(number for number, _ in work) <= 8
    believed = strategy.believe(votes)[0]
    finished = votes.sum(axis=(1, 2)) >= 0.9 * min(40 * size, (size - 1) * 2**5)
    # Draws do not depend on the pools beside a pool, so that what ended it is still to be seen.
    assert ((believed.max(axis=1) >= 0.8) | finished).all()
    assert (votes.sum(axis=(1, 2)) >= (size if size > 2 else 1)).all()


def test_no_pool_is_finished_by_the_luck_of_a_few_draws() -> None:
    strategy = Sure(0.95, crowd=one_scale(CROWD.scale))
    chances, _ = CROWD.draw_chances(150, 5, np.random.default_rng(1))
    votes, _ = play(strategy, chances, np.random.default_rng(2))
    fit = fit_strengths(votes, scale=CROWD.scale)
    rng = np.random.default_rng(3)
    true = chance_best(votes, fit, scale=CROWD.scale, draws=20_000, rng=rng).max(axis=1)
    given_up = votes.sum(axis=(1, 2)) >= 0.9 * 40 * 5
    assert (true[~given_up] > 0.92).all()


def test_in_the_first_round_each_candidate_meets_the_next_one_and_a_lone_one_nobody() -> None:
    for level in (1e-9, 0.5, 1.0):
        asked = Sure(level).ask(np.zeros((2, 5, 5)))
        assert asked.votes.tolist() == [1] * 8
        assert (asked.y - asked.x).tolist() == [1] * 8
        assert asked.x.tolist() == [0, 1, 2, 3] * 2
    assert len(Sure(0.9).ask(np.zeros((3, 1, 1)))) == 0
    two = Sure(0.9).ask(np.zeros((1, 2, 2)))
    assert (two.x.tolist(), two.y.tolist(), two.votes.tolist()) == ([0], [1], [1])


def test_who_joins_a_judged_pool_first_meets_its_most_probable_best_whatever_the_level() -> None:
    votes = np.zeros((2, 4, 4))
    votes[0, 1, 0] = votes[0, 1, 2] = 9.0  # nobody has met the last one
    votes[1, 1, 0] = votes[1, 1, 2] = votes[1, 1, 3] = 9.0
    chance = np.array([[0.01, 0.9, 0.04, 0.05]] * 2)
    for strategy in (Sure(0.5, crowd=one_scale(0.7)), Sure(0.5, crowd=one_scale(0.7), patience=1)):
        asked = strategy.ask_by(votes, chance)
        assert (asked.pool.tolist(), asked.x.tolist(), asked.y.tolist(), asked.votes.tolist()) == (
            [0], [1], [3], [2],
        )  # fmt: skip
        # Where he is the likeliest of all, he meets the likeliest of the others.
        asked = strategy.ask_by(votes, np.array([[0.01, 0.3, 0.04, 0.65]] * 2))
        assert (asked.x.tolist(), asked.y.tolist()) == ([1], [3])


def test_patience_ends_what_votes_tell_too_little_of_and_goes_in_small_rounds() -> None:
    votes = np.zeros((2, 2, 2))
    votes[0] = [[0, 3], [2, 0]]
    votes[1] = [[0, 60], [58, 0]]
    chance = np.array([[0.55, 0.45]] * 2)
    gains = worth(votes, chance)
    patience = int(1 / np.sqrt(gains[0] * gains[1]))
    assert Sure(0.9, patience=patience).open(votes, chance).tolist() == [True, False]
    assert Sure(0.9, patience=patience).ask_by(votes, chance).votes.tolist() == [1]
    for each, asked in ((1.0, 4), (2.0, 6), (4.0, 6)):
        votes = each * (1.0 - np.eye(5))[None]
        crowded = Sure(0.9, patience=10**6).ask_by(votes, np.full((1, 5), 0.2))
        assert crowded.votes.sum() == asked


def test_by_a_loss_no_votes_are_spent_on_near_ties_and_little_is_lost() -> None:
    chances, best = CROWD.draw_chances(100, 5, np.random.default_rng(5))
    spent, lost = [], []
    for strategy in (
        Sure(0.95, crowd=one_scale(CROWD.scale)),
        Sure(1.0, crowd=one_scale(CROWD.scale), loss=0.03),
    ):
        votes, _ = play(strategy, chances, np.random.default_rng(6))
        named = strategy.believe(votes)[0].argmax(axis=1)
        spent.append(votes.sum() / 100)
        lost.append(float((chances[np.arange(100), best, named] - 0.5).mean()))
    assert spent[1] < 0.7 * spent[0]
    assert lost[1] < 0.03


def test_coins_cost_no_more_than_the_most_votes_of_a_pool() -> None:
    votes, work = play(Sure(1.0), np.full((5, 4, 4), 0.5), np.random.default_rng(0))
    assert votes.sum(axis=(1, 2)).max() <= 1.1 * 40 * 4
    assert (votes + votes.transpose(0, 2, 1)).max() < 60 + 32
    assert 1 + max(number for number, _ in work) <= 40


def test_votes_go_to_the_pair_that_two_draws_would_name() -> None:
    votes = np.zeros((1, 3, 3))
    votes[0, 0, 2] = votes[0, 1, 2] = 8.0
    asked = Sure(0.9, crowd=one_scale(0.7)).ask_by(votes, np.array([[0.5, 0.49, 0.01]]))
    most = asked.votes.argmax()
    assert (asked.x[most], asked.y[most]) == (0, 1)
    assert asked.votes[most] > 0.9 * asked.votes.sum()


def test_a_vote_is_worth_most_where_little_decides() -> None:
    votes = np.zeros((4, 3, 3))
    votes[:, 0, 1] = votes[:, 1, 2] = votes[:, 0, 2] = 2.0
    chance = np.array([[0.5, 0.49, 0.01], [0.8, 0.19, 0.01], [0.98, 0.01, 0.01], [1.0, 0.0, 0.0]])
    found = worth(votes, chance)
    assert (np.diff(found) < 0).all()
    assert found[3] == pytest.approx(0.0, abs=1e-9)
    # The same doubt after many votes: candidates so close that further votes hardly tell them apart.
    assert worth(20 * votes, chance)[0] < 0.5 * found[0]
    assert worth(np.zeros((2, 1, 1)), np.ones((2, 1))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [0.37, 0.69, 1.64])
@pytest.mark.parametrize(("won", "lost"), [(1, 1), (1, 0), (2, 1), (2, 0), (5, 3), (10, 9)])
def test_the_worth_of_a_vote_on_two_is_what_it_brings(scale: float, won: int, lost: int) -> None:
    # 40, 33 and 20 % of votes wrong. The difference of the two strengths, given the votes so far:
    nodes, mass = np.polynomial.hermite_e.hermegauss(101)
    chance_of_vote = 1.0 / (1.0 + np.exp(-np.sqrt(2.0) * scale * nodes))
    mass = mass * chance_of_vote**won * (1.0 - chance_of_vote) ** lost
    mass /= mass.sum()
    above = np.where(nodes > 1e-9, 1.0, np.where(nodes < -1e-9, 0.0, 0.5))
    now, best = float(mass @ above), 0.0
    for more in (1, 2, 4, 8, 16, 32, 64):
        seen = binom.pmf(np.arange(more + 1)[:, None], more, chance_of_vote) * mass
        right = np.maximum(seen @ above, seen @ (1.0 - above)).sum()
        best = max(best, float(right - max(now, 1.0 - now)) / more)
    votes = np.array([[[0.0, won], [lost, 0.0]]])
    found = worth(votes, np.array([[now, 1.0 - now]]), crowd=one_scale(scale))[0]
    assert 0.7 < found / best < 1.6


def votes_on_all(noise: Noise, size: int, votes: int, seed: int) -> Floats:
    """Return so many votes on each pair of 60 pools."""
    rng = np.random.default_rng(seed)
    chances, _ = noise.draw_chances(60, size, rng)
    won = rng.binomial(votes * np.triu(np.ones((size, size), dtype=int), 1), chances)
    lost = np.triu(votes - won, 1).transpose(0, 2, 1)
    return np.asarray(won + lost, dtype=float)


@pytest.mark.parametrize("lapses", [0.0, 1.0])
def test_the_crowd_is_that_which_the_votes_tell(lapses: float) -> None:
    for error in (0.2, 0.33, 0.4):
        votes = votes_on_all(LapseNoise(error=error, lapses=lapses), 5, 8, seed=4)
        found = likely_crowd(votes)
        assert found.error == pytest.approx(error, abs=0.03)
        assert found.lapsing == pytest.approx(lapses, abs=0.35)
        # Where fewer votes told one not far from it; and where they told one that is far off, or at a bound.
        for factor in (0.8, 1.2, 0.1, 10.0):
            again = likely_crowd(votes, near=replace(found, scale=factor * found.scale))
            assert again.error == pytest.approx(found.error, abs=0.005)
            assert again.weight == pytest.approx(found.weight, abs=0.1)


@pytest.mark.parametrize("error", [0.2, 0.33, 0.4])
@pytest.mark.parametrize("lead", [0, 1, 2])
def test_the_worth_of_a_vote_is_exact_where_all_pairs_are_as_hard(error: float, lead: int) -> None:
    odds = ((1.0 - error) / error) ** lead
    now = odds / (1.0 + odds)
    crowd = replace(one_scale(scale_of_error(error)), lapses=np.ones(1))
    best = 0.0
    for more in (1, 2, 4, 8, 16, 32, 64):
        right = np.arange(more + 1)
        one, other = binom.pmf(right, more, 1.0 - error), binom.pmf(right, more, error)
        best = max(best, float(np.maximum(now * one, (1.0 - now) * other).sum() - now) / more)
    # Of three, of whom the last is the best in a hundredth of the cases whatever the first two get.
    chance = np.array([[0.99 * now, 0.99 * (1.0 - now), 0.01]])
    assert worth(np.zeros((1, 3, 3)), chance, crowd=crowd)[0] == pytest.approx(0.99 * best)


def test_votes_that_are_few_are_taken_for_those_of_all_crowds_that_are_usual() -> None:
    nothing, one = likely_crowd(np.zeros((3, 4, 4))), likely_crowd(np.eye(4)[None, ::-1] * [0, 0, 1, 1])
    for found in (nothing, one):
        assert found.weight == pytest.approx(np.full(3, 1 / 3), abs=0.03)
        assert found.error == pytest.approx(0.33, abs=0.03)


def test_the_crowd_costs_less_than_half_where_one_near_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = votes_on_all(LapseNoise(error=error_of_scale(1.64)), 4, 4, seed=4)
    looks: list[int] = []

    def counted(*of: Any, **options: Any) -> Floats:
        looks.append(1)
        return log_evidences(*of, **options)

    monkeypatch.setattr("prefjudge.core.planning.sure.log_evidences", counted)
    found = likely_crowd(votes)
    cold = len(looks)
    likely_crowd(votes, near=found)
    assert len(looks) - cold == 3 * 3 < cold / 2


@pytest.mark.parametrize(
    "noise", [CROWD, LapseNoise(error=0.33, lapses=1.0), LapseNoise(error=0.2, lapses=1.0)]
)
def test_a_simulation_believes_what_is_right_whichever_pairs_the_crowd_confuses(noise: Noise) -> None:
    chances, best = noise.draw_chances(1000, 5, np.random.default_rng(1))
    votes, _ = play(Sure(0.8), chances, np.random.default_rng(2))
    believed = Sure(0.8).believe(votes)[0]
    right = (believed.argmax(axis=1) == best).mean()
    assert believed.max(axis=1).mean() == pytest.approx(right, abs=0.04)


def test_a_round_of_a_study_asks_by_the_probabilities_that_resolve_states() -> None:
    chances, _ = LapseNoise(error=0.2, lapses=1.0).draw_chances(12, 4, np.random.default_rng(5))
    votes, _ = play(Sure(0.7), chances, np.random.default_rng(6))
    judgments, pools = log_of(votes)
    # That one of the likeliest is as good as the best: which of equals is named needs no votes.
    stated = assess_confidence(judgments, pools=pools, rng=np.random.default_rng(18)).good
    stated = stated.reshape(12, 4).max(axis=1)
    level = float(np.median(stated))
    found = next_round(judgments, pools, Sure(level))
    assert found.open.tolist() == (stated < level).tolist()
    assert 0 < found.open.sum() < 12
    assert found.leaders.reshape(12, 4).sum(axis=1).tolist() == [1] * 12
    again = next_round(judgments, pools, Sure(level))
    assert again.votes.tolist() == found.votes.tolist()
    assert again.pairs.doc_a.tolist() == found.pairs.doc_a.tolist()


def test_one_queue_over_all_queries_hands_out_the_votes_that_are_worth_most() -> None:
    votes = np.zeros((3, 2, 2))
    votes[0, 0, 1], votes[0, 1, 0] = 1, 1  # even, after two votes
    votes[1, 0, 1], votes[1, 1, 0] = 30, 29  # hardly to be told apart
    votes[2, 0, 1] = 3
    judgments, pools = log_of(votes)
    every = next_round(judgments, pools, Sure(0.999))
    assert every.open.all()
    wanted = dict(zip(every.pairs.query.tolist(), every.votes.tolist(), strict=True))
    few = next_round(judgments, pools, Sure(0.999), most=wanted[0])
    assert few.pairs.query.tolist() == [0]
    assert few.votes.sum() == wanted[0]
    assert few.open.all(), "what must wait is not finished"
    none = next_round(judgments, pools, Sure(0.999), most=0)
    assert (len(none.pairs), none.open.all()) == (0, True)


# Neighbours: how sure the order of two runs is, and which votes tell it.


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

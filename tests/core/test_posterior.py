"""The posterior of strengths at one scale, held against integrals over a grid."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from prefjudge.core.planning.plans import play
from prefjudge.core.planning.sure import Sure, likely_crowd
from prefjudge.core.resolving.posterior import (
    draw_chances,
    draw_one,
    draw_orders,
    fit_strengths,
    log_evidences,
    sum_orders,
)
from prefjudge.core.resolving.scales import Scales
from prefjudge.core.resolving.tournaments import CastVotes
from prefjudge.core.strategies import LapseNoise
from tests.core.tables import chance_best


def integrals(won: float, lost: float, scale: float) -> tuple[float, float]:
    """Return the chance that the first of two is the better, and the log of the votes' probability."""
    # The difference of two strengths is normal with the variance 2 scale^2, and nothing else counts.
    gap = (np.arange(-40_000, 40_000) + 0.5) / 40_000 * 12 * scale
    weight = np.exp(-(gap**2) / (4 * scale**2)) / np.sqrt(4 * np.pi * scale**2) * 12 * scale / 40_000
    log_votes = -won * np.logaddexp(0, -gap) - lost * np.logaddexp(0, gap)
    mass = weight * np.exp(log_votes - log_votes.max())
    return float(mass[gap > 0].sum() / mass.sum()), float(np.log(mass.sum()) + log_votes.max())


VOTES = [(0, 0), (1, 0), (2, 5), (600, 560), (90, 0)]


@pytest.mark.parametrize("scale", [0.4, 1.5])
def test_queries_with_few_and_with_many_votes_stand_side_by_side(scale: float) -> None:
    votes = np.array([[[0.0, won], [lost, 0.0]] for won, lost in VOTES])
    expected = [integrals(won, lost, scale) for won, lost in VOTES]
    fit = fit_strengths(votes, scale=scale)
    found = chance_best(votes, fit, scale=scale, draws=20_000, rng=np.random.default_rng(1))
    assert found[:, 0] == pytest.approx([chance for chance, _ in expected], abs=0.012)
    assert found.sum(axis=1) == pytest.approx(1.0)
    total = log_evidences(votes, fit, scale=scale, draws=20_000, rng=np.random.default_rng(1)).sum()
    assert total == pytest.approx(sum(log for _, log in expected), abs=0.05)


@pytest.mark.parametrize("draws", [50, 400])
def test_the_error_of_a_chance_is_less_than_that_of_so_many_random_draws(draws: int) -> None:
    # Draws come in mirrored pairs. Of four equals one is the best or the worst in half of the pairs, so its
    # share of random draws has the standard error 0.5 / sqrt(2 draws), and a little more for the weights.
    votes = np.zeros((1, 4, 4))
    fit = fit_strengths(votes, scale=1.0)
    found = np.concatenate(
        [
            chance_best(votes, fit, scale=1.0, draws=draws, rng=np.random.default_rng(seed))
            for seed in range(200)
        ]
    )
    assert found.mean(axis=0) == pytest.approx([0.25] * 4, abs=0.005)
    assert found.std() * np.sqrt(2 * draws) / 0.5 < 0.7


def test_what_stands_beside_a_query_changes_nothing_of_its_chances() -> None:
    rng = np.random.default_rng(4)
    votes = np.triu(rng.integers(0, 4, (30, 5, 5)), 1).astype(float)
    votes += np.triu(rng.integers(0, 4, (30, 5, 5)), 1).transpose(0, 2, 1)

    def chances(some: slice) -> np.ndarray:
        fit = fit_strengths(votes[some], scale=1.5)
        rng = np.random.default_rng(1)
        return chance_best(votes[some], fit, scale=1.5, draws=200, rng=rng, lapses=0.5)

    assert chances(slice(11, 19)) == pytest.approx(chances(slice(None))[11:19], abs=1e-5)


@pytest.mark.parametrize(("size", "lapses"), [(4, 0.0), (4, 0.5), (4, 1.0), (14, 1.0)])
def test_the_same_queries_meet_the_same_draws_in_every_block(size: int, lapses: float) -> None:
    votes = np.random.default_rng(2).integers(0, 3, (2, size, size)).astype(float)
    logs = [
        log_evidences(
            some, fit_strengths(some), scale=1.0, draws=40, rng=np.random.default_rng(1), lapses=lapses,
            blocks=blocks,
        )
        for some, blocks in ((votes, 1), (np.concatenate([votes, votes]), 2))
    ]  # fmt: skip
    assert logs[1] == pytest.approx(np.concatenate([logs[0], logs[0]]))
    assert logs[0][0] != pytest.approx(logs[0][1])


def test_draws_find_a_posterior_with_long_tails() -> None:
    # Candidate 0 won all of 40 votes but the two against 1: a lapse, or a sign that 1 is the better. With
    # half of the wrong votes lapses no curvature at the mode shows how far the other explanation reaches.
    votes = np.zeros((1, 3, 3))
    votes[0, 0, 1:] = 20.0
    votes[0, 1, 0] = 2.0
    votes[0, 2, 1] = 1.0
    fit = fit_strengths(votes, scale=4.0)
    few = [
        log_evidences(votes, fit, scale=4.0, draws=400, rng=np.random.default_rng(seed), lapses=0.5)[0]
        for seed in range(20)
    ]
    (many,) = log_evidences(votes, fit, scale=4.0, draws=200_000, rng=np.random.default_rng(1), lapses=0.5)
    assert np.mean(few) == pytest.approx(many, abs=0.02)
    assert np.std(few) < 0.05


@pytest.mark.parametrize(("size", "votes_each"), [(8, 3.0), (30, 1.0)])
def test_draws_of_large_pools_err_no_more_than_is_said(size: int, votes_each: float) -> None:
    rng = np.random.default_rng(2)
    strength = rng.normal(0.0, 0.6, size)
    prefer = rng.random((size, size)) < 1.0 / (1.0 + np.exp(strength - strength[:, None]))
    votes = votes_each * np.where(np.triu(np.ones((size, size)), 1) > 0, prefer, ~prefer.T)[None]
    votes[:, np.arange(size), np.arange(size)] = 0.0
    fit = fit_strengths(votes, scale=0.6)
    found = np.concatenate(
        [
            chance_best(votes, fit, scale=0.6, draws=1000, rng=np.random.default_rng(seed))
            for seed in range(20)
        ]
    )
    assert found.std(axis=0).max() < 0.5 / np.sqrt(1000)


def test_candidates_far_below_the_best_do_not_vanish_together() -> None:
    """Of those that nobody has voted on draws may be anything: their odds are 0 in 32 bits."""
    votes = np.zeros((1, 5, 5))
    votes[0, 0, 1] = 9
    votes[0, 2, 1] = 1
    fit = fit_strengths(votes, scale=60.0)
    with np.errstate(all="raise", under="ignore"):
        found = chance_best(votes, fit, scale=60.0, draws=2000, rng=np.random.default_rng(1))
        (total,) = log_evidences(votes, fit, scale=60.0, draws=2000, rng=np.random.default_rng(1))
    assert found.sum() == pytest.approx(1.0)
    assert found[0, 1] < 0.05 < found[0, 3]
    assert -10 < total < 0


@pytest.mark.parametrize(("lapses", "sure"), [(0.0, 0.999), (0.5, 0.9), (1.0, 0.83)])
def test_truths_are_drawn_as_often_as_they_are_probable(lapses: float, sure: float) -> None:
    votes = np.array([[[0.0, 3.0, 2.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]])
    scale = 2.0
    fit = fit_strengths(votes, scale=scale)
    rng = np.random.default_rng(3)
    chance = chance_best(votes, fit, scale=scale, draws=20_000, rng=rng, lapses=lapses)
    many = np.repeat(votes, 400, axis=0)
    drawn = draw_chances(many, scale=scale, lapses=lapses, rng=rng, many=10).reshape(4000, 3, 3)
    np.testing.assert_allclose(drawn + drawn.transpose(0, 2, 1), 1.0)
    best = (drawn > 0.5).sum(axis=2).argmax(axis=1)
    assert np.bincount(best) / 4000 == pytest.approx(chance[0], abs=0.03)
    # However far ahead one is: so many votes are lapses at least.
    assert drawn.max() == pytest.approx(sure, abs=0.02)


# The sum over orders, held against a loop over all of them.


def looped(votes: np.ndarray, error: float) -> tuple[np.ndarray, float]:
    k = len(votes)
    mass = np.zeros(k)
    for order in permutations(range(k)):
        right = sum(votes[x, y] for place, x in enumerate(order) for y in order[place:])
        mass[order[0]] += (1 - error) ** right * error ** (votes.sum() - right) / factorial(k)
    return mass / mass.sum(), float(np.log(mass.sum()))


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_orders_are_summed_as_a_loop_sums_them(k: int) -> None:
    votes = np.random.default_rng(k).integers(0, 4, (5, k, k)) / 2.0
    votes[:, np.arange(k), np.arange(k)] = 0
    votes[0] = 0
    for error in (0.1, 0.45):
        chance, evidence = sum_orders(votes, error)
        for query in range(5):
            expected, log = looped(votes[query], error)
            assert chance[query] == pytest.approx(expected)
            assert evidence[query] == pytest.approx(log)


def test_thousands_of_votes_in_a_circle_do_not_underflow() -> None:
    votes = np.zeros((1, 3, 3))
    votes[0, 0, 1] = votes[0, 1, 2] = votes[0, 2, 0] = 3000
    chance, evidence = sum_orders(votes, 0.1)
    assert chance[0] == pytest.approx([1 / 3] * 3)
    # Three of the six orders contradict one of the sides, the others two.
    assert evidence[0] == pytest.approx(6000 * np.log(0.9) + 3000 * np.log(0.1) + np.log(0.5))


def test_orders_are_drawn_as_often_as_they_are_probable() -> None:
    votes = np.array([[[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [0.0, 1.0, 0.0]]])
    places = draw_one(np.repeat(votes, 4000, axis=0), 0.3, draws=100, rng=np.random.default_rng(1))
    weight = {}
    for place in permutations(range(3)):
        right = sum(votes[0, x, y] for x in range(3) for y in range(3) if place[x] < place[y])
        weight[place] = 0.7**right * 0.3 ** (votes.sum() - right)
    for place, mass in weight.items():
        share = (places == place).all(axis=1).mean()
        assert share == pytest.approx(mass / sum(weight.values()), abs=0.03)


# Drawn orders, held against the sum over all of them.


def sparse(n: int, size: int, share: float) -> np.ndarray:
    """Return votes of a crowd of which a third errs, on some of the pairs: many on few, and some on none."""
    rng = np.random.default_rng(5)
    chances, _ = LapseNoise(error=0.33, lapses=1.0).draw_chances(n, size, rng)
    asked = np.triu(rng.geometric(0.4, (n, size, size)) * (rng.random((n, size, size)) < share), 1)
    votes = np.triu(rng.binomial(asked, chances), 1).astype(float)
    return votes + (asked - votes).transpose(0, 2, 1) * (asked.transpose(0, 2, 1) > 0)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_draws_tell_what_the_sum_over_all_orders_does(share: float) -> None:
    votes = sparse(20, 9, share)
    for error in (0.2, 0.4):
        chance, evidence = sum_orders(votes, error)
        found, told = draw_orders(votes, error, draws=4000, rng=np.random.default_rng(1))
        assert found == pytest.approx(chance, abs=0.06)
        assert np.sqrt(np.mean((found - chance) ** 2)) < 0.008
        assert told == pytest.approx(evidence, abs=0.15)
        apart, other = draw_orders(votes, error, draws=4000, rng=np.random.default_rng(1), apart=20)
        assert np.sqrt(np.mean((apart - chance) ** 2)) < 0.008
        assert other.sum() == pytest.approx(evidence.sum(), abs=0.3)


def test_one_whom_nobody_judged_is_the_best_as_often_as_any_place_is_the_first() -> None:
    votes = np.zeros((1, 15, 15))
    votes[0, 0, 1:14] = 40.0
    chance, _ = draw_orders(votes, 0.33, draws=4000, rng=np.random.default_rng(1))
    # The first beats all others but the one without votes, who may stand anywhere.
    assert chance[0, [0, 14]] == pytest.approx([14 / 15, 1 / 15], abs=0.01)


def test_what_stands_beside_a_query_changes_nothing_of_its_draws() -> None:
    votes = sparse(300, 14, 0.3)
    some = slice(250, 260)
    beside, _ = draw_orders(votes, 0.3, draws=200, rng=np.random.default_rng(1))
    alone, _ = draw_orders(votes[some], 0.3, draws=200, rng=np.random.default_rng(1))
    assert alone == pytest.approx(beside[some])


def test_thousands_of_votes_do_not_overflow() -> None:
    votes = np.zeros((1, 20, 20))
    votes[0][np.triu_indices(20, 1)] = 5000
    with np.errstate(all="raise", under="ignore"):
        chance, evidence = draw_orders(votes, 0.1, draws=50, rng=np.random.default_rng(1))
    assert chance[0, 0] == 1.0
    # One order of 20! has no vote against it.
    assert evidence[0] == pytest.approx(190 * 5000 * np.log(0.9) - np.log(np.arange(1.0, 21)).sum())


def test_trust_counts_in_drawn_orders_as_in_their_sum() -> None:
    cast = CastVotes(
        place=np.array([0, 0, 0]),
        x=np.array([0, 1, 0]),
        y=np.array([1, 2, 2]),
        trust=np.array([0.2, 1.0, 0.6]),
        won=np.array([3.0, 2.0, 1.0]),
        lost=np.array([0.0, 1.0, 1.0]),
    )
    votes = cast.matrices(1, 3)
    chance, evidence = sum_orders(votes, 0.3, cast)
    found, told = draw_orders(votes, 0.3, draws=20_000, rng=np.random.default_rng(1), cast=cast)
    assert found == pytest.approx(chance, abs=0.005)
    assert told == pytest.approx(evidence, abs=0.01)


def test_large_pools_tell_a_crowd_that_errs_alike_on_every_pair_and_its_best() -> None:
    chances, best = LapseNoise(error=0.25, lapses=1.0).draw_chances(40, 15, np.random.default_rng(2))
    known = Scales(scale=np.array([1.0]), weight=np.ones(1), lapses=np.full(1, 0.5))
    votes, _ = play(Sure(0.9, crowd=known), chances, np.random.default_rng(3))
    crowd = likely_crowd(votes)
    assert crowd.lapsing > 0.95
    chance, *_ = Sure(0.9, crowd=crowd).believe(votes)
    assert (chance.argmax(axis=1) == best).mean() == pytest.approx(chance.max(axis=1).mean(), abs=0.1)

"""Drawn orders, held against the sum over all of them."""

import numpy as np
import pytest

from prefjudge.core.planning.plans import play
from prefjudge.core.planning.sure import Sure, likely_crowd
from prefjudge.core.resolving.posterior import draw_orders, sum_orders
from prefjudge.core.resolving.scales import Scales
from prefjudge.core.resolving.tournaments import CastVotes
from prefjudge.core.strategies import LapseNoise


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
        apart, other = draw_orders(votes, error, draws=4000, rng=np.random.default_rng(1), alike=False)
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

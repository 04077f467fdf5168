"""Shares of wrong votes, held against sums and integrals that are worked out another way."""

import math

import numpy as np
import pytest

from prefjudge.core.strategies import (
    LapseNoise,
    error_of_scale,
    log_weight_of_golds,
    scale_of_error,
)


@pytest.mark.parametrize(("right", "missed"), [(0, 0), (9, 1), (30, 5)])
@pytest.mark.parametrize("error", [0.02, 0.2, 0.49])
def test_gold_says_that_it_is_missed_at_most_as_often_as_a_random_pair(
    right: int, missed: int, error: float
) -> None:
    # The mean of the binomial likelihood over all shares up to the error, as a sum of rectangles.
    share = (np.arange(20_000) + 0.5) / 20_000 * error
    scale = math.comb(right + missed, missed) * (right + missed + 1)
    gold = float(np.mean(share**missed * (1 - share) ** right)) * scale
    found = log_weight_of_golds(error, right=right, missed=missed)
    assert found == pytest.approx(math.log(gold), abs=1e-6)


def test_an_error_that_gold_rules_out_has_a_weight_that_is_still_a_number() -> None:
    assert math.isfinite(log_weight_of_golds(1e-6, right=0, missed=500))


@pytest.mark.parametrize("error", [0.01, 0.1, 0.33, 0.49])
def test_the_scale_of_an_error_has_that_error(error: float) -> None:
    scale = scale_of_error(error)
    assert error_of_scale(scale) == pytest.approx(error, abs=1e-9)
    assert LapseNoise(error=error).scale == scale
    chances, best = LapseNoise(error=error).draw_chances(100_000, 2, np.random.default_rng(3))
    wrong = np.where(best == 0, chances[:, 1, 0], chances[:, 0, 1])
    assert wrong.mean() == pytest.approx(error, abs=0.004)
    assert np.allclose(chances + chances.transpose(0, 2, 1), 1.0)


@pytest.mark.parametrize("error", [0.0, 0.5, -0.1])
def test_no_crowd_is_wrong_never_or_as_often_as_a_coin(error: float) -> None:
    with pytest.raises(ValueError, match=f"^a share of wrong votes must be between 0 and 0.5, not {error}$"):
        scale_of_error(error)


def test_constant_noise_orders_each_pool_at_random_and_errs_alike_on_every_pair() -> None:
    chances, best = LapseNoise(error=0.2, lapses=1.0).draw_chances(3000, 4, np.random.default_rng(4))
    pairs = chances[:, *np.triu_indices(4, 1)]
    assert set(np.unique(pairs)) == {0.2, 0.8}
    wins = (chances > 0.5).sum(axis=2)
    assert np.all(np.sort(wins, axis=1) == [0, 1, 2, 3]), "an order of merit"
    assert np.all(wins.argmax(axis=1) == best)
    assert np.all(np.abs(np.bincount(best, minlength=4) - 750) < 5 * np.sqrt(750))

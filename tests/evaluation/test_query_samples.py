import numpy as np
import pytest

from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import sample_agreement

from .test_leaderboard import scores_of

SCORES = scores_of(dict(zip("abcd", np.random.default_rng(2).random((4, 60)).tolist(), strict=True)))


def test_the_whole_is_a_sample_that_agrees() -> None:
    result = sample_agreement(SCORES, size=60, samples=5, rng=np.random.default_rng(1))
    assert result.identical == 1
    assert (result.tau == 1).all()
    assert (result.tau_ap == 1).all()


def test_small_samples_agree_less() -> None:
    small, large = (
        sample_agreement(SCORES, size=size, samples=200, rng=np.random.default_rng(1)) for size in (3, 50)
    )
    assert small.tau.mean() < large.tau.mean() < 1
    assert small.identical < large.identical


def test_the_same_seed_draws_the_same_samples() -> None:
    first, again = (
        sample_agreement(SCORES, size=9, samples=20, rng=np.random.default_rng(4)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.tau, again.tau)


def test_sizes_that_cannot_be_drawn() -> None:
    for size in (0, 61):
        with pytest.raises(InputError, match=f"sample of {size} queries"):
            sample_agreement(SCORES, size=size, rng=np.random.default_rng(1))

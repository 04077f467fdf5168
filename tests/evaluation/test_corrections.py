import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefjudge.errors import InputError
from prefjudge.evaluation.tests import Correction, adjust, check_resamples, resamples_needed

P = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


def test_a_worked_example() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(adjust(p, Correction.BONFERRONI), [0.04, 0.16, 0.12, 0.02])
    np.testing.assert_allclose(adjust(p, Correction.HOLM), [0.03, 0.06, 0.06, 0.02])
    assert np.array_equal(adjust(p, Correction.NONE), p)


@given(P)
def test_holm_lies_between_raw_and_bonferroni(p: np.ndarray) -> None:
    holm = adjust(p, Correction.HOLM)
    assert (holm >= p).all()
    assert (holm <= adjust(p, Correction.BONFERRONI)).all()
    assert np.all(np.diff(holm[np.argsort(p, kind="stable")]) >= 0)


@given(P, st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(p: np.ndarray, random: object) -> None:
    order = np.random.default_rng(random.randrange(1 << 30)).permutation(p.size)  # type: ignore[attr-defined]
    for correction in Correction:
        np.testing.assert_array_equal(adjust(p, correction)[order], adjust(p[order], correction))


def test_no_pairs_are_no_trouble() -> None:
    for correction in Correction:
        assert adjust(np.empty(0), correction).size == 0


@pytest.mark.parametrize("correction", [Correction.BONFERRONI, Correction.HOLM])
def test_the_number_needed_is_the_least_that_can_succeed(correction: Correction) -> None:
    needed = resamples_needed(1953, 0.05, correction)
    assert needed == 39_059
    p = np.ones(1953)
    p[0] = 1 / (needed + 1)
    assert adjust(p, correction)[0] <= 0.05
    p[0] = 1 / needed
    assert adjust(p, correction)[0] > 0.05
    check_resamples(needed, 1953, 0.05, correction)
    with pytest.raises(InputError, match="1,953 pairs"):
        check_resamples(10_000, 1953, 0.05, correction)


def test_no_correction_needs_few() -> None:
    assert resamples_needed(1953, 0.05, Correction.NONE) == 19


@given(P)
def test_no_adjusted_p_value_is_above_1_or_below_the_raw_one(p: np.ndarray) -> None:
    for correction in Correction:
        adjusted = adjust(p, correction)
        assert (adjusted <= 1).all()
        assert (adjusted >= p).all()
        assert adjusted is not p

"""Bradley-Terry and its posterior: against a plain optimiser, and against the truth of simulations."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.posterior import fit_strengths
from prefjudge.core.resolving.resolutions import resolve, resolve_all
from prefjudge.core.resolving.scales import one_scale
from tests.core.tables import highest, judgments_of, judgments_of_file, pools_of, simulated_judgments


def plain_fit(votes: np.ndarray, scale: float) -> np.ndarray:
    """Maximise the same posterior with a general optimiser."""

    def objective(strength: np.ndarray) -> float:
        difference = strength[:, None] - strength[None, :]
        return float((votes * np.logaddexp(0, -difference)).sum() + (strength**2).sum() / (2 * scale**2))

    return np.asarray(minimize(objective, np.zeros(len(votes)), method="BFGS", options={"gtol": 1e-9}).x)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 5), scale=st.sampled_from([0.3, 1.0, 4.0]))
def test_newton_finds_the_optimum(seed: int, size: int, scale: float) -> None:
    votes = np.random.default_rng(seed).integers(0, 4, (1, size, size)).astype(float)
    votes[:, np.arange(size), np.arange(size)] = 0
    np.testing.assert_allclose(
        fit_strengths(votes, scale=scale).mean[0], plain_fit(votes[0], scale), atol=1e-4
    )


def test_a_deviation_is_the_root_of_the_posterior_variance() -> None:
    judgments = judgments_of("q a b a", "q a b a", "q b c c", "p x y x")
    found = assess_confidence(judgments, rng=np.random.default_rng(1), scales=one_scale(0.8))
    # Of the pair x, y: a normal prior of variance 0.64 for each, and one vote between them.
    fit = fit_strengths(np.array([[[0.0, 1.0], [0.0, 0.0]]]), scale=0.8)
    expected = np.sqrt(np.diagonal(np.linalg.inv(fit.precision[0])))
    assert found.deviation[3:] == pytest.approx(expected)
    assert found.strength[3:] == pytest.approx(fit.mean[0])
    assert found.start.tolist() == [0, 3, 5]


def test_an_undefeated_candidate_has_a_finite_strength() -> None:
    votes = np.array([[[0.0, 9, 9], [0, 0, 9], [0, 0, 0]]])
    strength = fit_strengths(votes).mean[0]
    assert np.isfinite(strength).all()
    assert strength[0] > strength[1] > strength[2]


def test_on_complete_designs_the_order_is_that_of_votes_won() -> None:
    judgments, _ = simulated_judgments(200, 6, votes=1, scale=0.6, seed=3)
    both = resolve_all(judgments, rules=("most-wins", "bradley-terry"))
    assert both["most-wins"].winner.tolist() == both["bradley-terry"].winner.tolist()


def test_probabilities_of_being_best_are_calibrated() -> None:
    judgments, best = simulated_judgments(2500, 5, votes=2, scale=1.0, seed=7)
    confidence = assess_confidence(judgments, rng=np.random.default_rng(1), draws=400)
    assert 0.85 < confidence.scales.mean < 1.15
    for low, high in [(0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)]:
        inside = (confidence.chance >= low) & (confidence.chance < high)
        error = best[inside].mean() - confidence.chance[inside].mean()
        assert abs(error) < 0.01 + 3 * 0.5 / np.sqrt(inside.sum()), (low, high)


def test_probabilities_sum_to_one_and_cover_the_pool() -> None:
    pools = pools_of({"q": "abc", "alone": "a", "none": "ab"})
    judgments = judgments_of("q a b a", "q a c a", "q b c b", "q a b a")
    confidence = assess_confidence(judgments, pools=pools, rng=np.random.default_rng(0), draws=4000)
    of_query = confidence.of("q")
    assert sorted(of_query, key=of_query.__getitem__) == ["c", "b", "a"]
    assert confidence.of("alone") == {"a": 1.0}
    assert abs(confidence.of("none")["a"] - 0.5) < 0.05
    np.testing.assert_allclose(np.add.reduceat(confidence.chance, confidence.start[:-1]), 1.0)
    assert confidence.doc.tolist() == resolve(judgments, pools=pools).doc.tolist()


@pytest.mark.parametrize("each", [1, 40])
def test_whom_nobody_compared_keeps_its_share_and_only_lowers_those_of_others(each: int) -> None:
    """However sure the votes are: they tell nothing of a candidate that is in none of them."""
    judgments = judgments_of(*["q a b a", "q b c b", "q c a a"] * each, "p a b a")
    pools = pools_of({"p": "ab", "q": "abcxy"})
    alone, beside = (
        assess_confidence(
            judgments, pools=one, rng=np.random.default_rng(0), scales=one_scale(0.7), draws=400
        )
        for one in (None, pools)
    )
    assert beside.of("p") == alone.of("p"), "a query that is judged in full is as it was"
    expected = {doc: 3 / 5 * chance for doc, chance in alone.of("q").items()} | {"x": 1 / 5, "y": 1 / 5}
    assert beside.of("q") == pytest.approx(expected, abs=1e-12)


def test_real_finals_are_as_uncertain_as_published(data_dir: Path) -> None:
    folder = data_dir / "dl21" / "phases"
    rng = np.random.default_rng(5)
    once = assess_confidence(judgments_of_file(folder / "Set-I.txt"), rng=rng, scales=one_scale(0.5))
    thrice = assess_confidence(
        judgments_of_file(folder / "Combined-I+II+III.txt"), rng=rng, scales=one_scale(0.5)
    )
    assert abs(highest(once).mean() - 0.37) < 0.03
    assert abs(highest(thrice).mean() - 0.53) < 0.03

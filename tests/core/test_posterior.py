"""The posterior of strengths at one scale, held against integrals over a grid."""

import numpy as np
import pytest

from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.posterior import chance_best, log_evidence


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
    total = log_evidence(votes, fit, scale=scale, draws=20_000, rng=np.random.default_rng(1))
    assert total == pytest.approx(sum(log for _, log in expected), abs=0.05)


@pytest.mark.parametrize("draws", [50, 400])
def test_the_error_of_a_chance_is_that_of_so_many_draws(draws: int) -> None:
    # Draws come in mirrored pairs. Of four equals one is the best or the worst in half of the pairs, so its
    # share of the draws has the standard error 0.5 / sqrt(2 draws), and a little more for the weights.
    votes = np.zeros((3000, 4, 4))
    fit = fit_strengths(votes, scale=1.0)
    found = chance_best(votes, fit, scale=1.0, draws=draws, rng=np.random.default_rng(1))
    assert found.mean(axis=0) == pytest.approx([0.25] * 4, abs=0.005)
    assert found.std() * np.sqrt(2 * draws) / 0.5 == pytest.approx(1.05, abs=0.05)

"""The posterior of strengths, held against integrals over a grid, and the search for their scale."""

import numpy as np
import pytest

from prefjudge.core.resolving.bradley_terry import fit_strengths
from prefjudge.core.resolving.confidence import assess_confidence, estimate_scale
from prefjudge.core.resolving.posterior import chance_best, fit_scale, log_evidence
from tests.core.tables import judgments_of, pools_of


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


@pytest.mark.parametrize("peak", [0.1, 0.5, 1.0, 3.0])
def test_the_search_finds_the_scale_that_most_speaks_for(peak: float) -> None:
    def log_weight(scale: float) -> float:
        return -float(np.log(scale / peak) ** 2)

    assert fit_scale([], rng=np.random.default_rng(1), log_weight=log_weight) == pytest.approx(peak, rel=0.02)


def test_the_search_stays_within_its_bounds() -> None:
    rng = np.random.default_rng(1)
    for lowest, highest in ((0.05, 5.0), (0.3, 0.8)):
        bounds = {} if lowest == 0.05 else {"lowest": lowest, "highest": highest}
        up = fit_scale([], rng=rng, log_weight=lambda scale: scale, **bounds)
        down = fit_scale([], rng=rng, log_weight=lambda scale: -scale, **bounds)
        assert highest * 0.98 <= up <= highest
        assert lowest <= down <= lowest * 1.02


def scale_of(*lines: str, strong: int = 1, **options: object) -> float:
    judgments = judgments_of(*lines)
    judgments.strength[:] = strong
    return estimate_scale(judgments, rng=np.random.default_rng(1), **options)  # type: ignore[arg-type]


ONE_SIDED = [f"q{i} a b a" for i in range(9)] + [f"q{i} b c b" for i in range(6)]


def test_the_scale_is_that_of_the_votes_of_the_candidates() -> None:
    both_ways = [*ONE_SIDED, *(f"q{i} a b b" for i in range(4)), *(f"q{i} a b a" for i in range(4))]
    tied = [*ONE_SIDED, *(f"q{i} a b tie" for i in range(4) for _ in range(2))]
    assert scale_of(*tied) == scale_of(*both_ways), "two ties are a vote to each side"
    assert scale_of(*tied, strong=2, strengths=True) == scale_of(*ONE_SIDED, *tied), "a tie is not strong"
    assert scale_of(*ONE_SIDED, *tied) != scale_of(*tied)
    assert scale_of(*tied, strong=2) == scale_of(*tied)
    outside = [*tied, *(f"q{i} d a d" for i in range(9))]
    pools = pools_of({f"q{i}": "abc" if i < 6 else "ab" for i in range(9)})
    assert scale_of(*outside, pools=pools) == scale_of(*tied, pools=pools)
    assert scale_of("q a a tie") == scale_of() == 1.0, "nothing was compared"


def test_confidence_estimates_the_scale_of_the_same_votes() -> None:
    judgments = judgments_of(*ONE_SIDED, *(f"q{i} d a d" for i in range(9)))
    judgments.strength[:9] = 3
    pools = pools_of({f"q{i}": "abc" if i < 6 else "ab" for i in range(9)})
    for strengths in (False, True):
        expected = estimate_scale(judgments, rng=np.random.default_rng(4), pools=pools, strengths=strengths)
        found = assess_confidence(judgments, rng=np.random.default_rng(4), pools=pools, strengths=strengths)
        assert found.scale == expected
        assert (found.model, found.draws) == ("bradley-terry", 1000)
    fixed = assess_confidence(judgments, rng=np.random.default_rng(4), pools=pools, scale=0.7)
    assert fixed.scale == 0.7

"""What a number of judged pairs can show, held against sums of binomial coefficients."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
import scipy

from prefjudge.core.planning.plans import power, powers, queries_needed, shown_share, wins_needed


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
    found = powers(260, 403, alpha=0.01, chance=0.9)
    assert [(one.pairs, one.sample) for one in found] == [(50, 78), (100, 155), (200, 310), (260, 403)]
    for one in found:
        assert one.wins == wins_needed(one.pairs, 0.01)
        assert one.wins is not None
        assert one.ratio == one.wins / one.pairs
        assert one.detectable is not None
        assert power(one.pairs, one.wins, one.detectable) == pytest.approx(0.9, abs=1e-9)
    usual = powers(100, 100)[1]
    assert (usual.wins, usual.ratio) == (61, 0.61)
    assert usual.detectable is not None
    assert power(100, 61, usual.detectable) == pytest.approx(0.8, abs=1e-9)


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

"""What a number of judged pairs can show, held against sums of binomial coefficients."""

from math import comb

import pytest

from prefjudge.core.planning.power import power, powers, wins_needed


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

"""The test that one may look at every day."""

from itertools import product

import numpy as np
import pytest

from prefjudge.errors import InputError
from prefjudge.evaluation.tests import compare_runs, sequential_test
from prefjudge.show.statistics import pairs_table
from tests.evaluation.test_significance import reciprocal, run, scores_of


def p_of(differences: np.ndarray) -> float:
    return float(sequential_test(differences[:, None].astype(float), 1.0, 0.05)[0][0])


def test_of_all_ways_that_equal_runs_can_fall_out_at_most_one_in_twenty_is_ever_significant() -> None:
    # Every sequence of wins and losses with its probability: the error at daily looks is exact.
    looks = 12
    ends = [(won, n) for n in range(1, looks + 1) for won in range(n + 1)]
    tallies = {(won, n): p_of(np.repeat([1, -1], [won, n - won])) for won, n in ends}
    ever = np.mean(
        [
            any(tallies[sum(ways[:n]), n] <= 0.05 for n in range(1, looks + 1))
            for ways in product((0, 1), repeat=looks)
        ]
    )
    assert 0.0 < ever <= 0.05


def test_neither_the_order_of_the_queries_nor_the_side_of_the_runs_matters() -> None:
    differences = np.diff(reciprocal(1, 60, 2), axis=1)
    p, low, high = sequential_test(differences, 1.0, 0.05)
    other = sequential_test(np.random.default_rng(0).permutation(differences), 1.0, 0.05)
    assert [p, low, high] == [pytest.approx(found, rel=1e-9) for found in other]
    mirrored = sequential_test(-differences, 1.0, 0.05)
    assert [p, -high, -low] == [pytest.approx(found, rel=1e-6) for found in mirrored]
    # A scale of another length changes nothing but the unit of the interval.
    longer = sequential_test(4 * differences, 4.0, 0.05)
    assert [p, 4 * low, 4 * high] == [pytest.approx(found, rel=1e-6) for found in longer]


def test_the_interval_holds_what_is_not_refuted() -> None:
    rng = np.random.default_rng(3)
    for mean, queries in ((0.0, 50), (0.1, 400), (-0.3, 200)):
        values = np.clip(rng.normal(mean, 0.3, (queries, 1)), -1, 1)
        p, low, high = sequential_test(values, 1.0, 0.05)
        assert low[0] < mean < high[0]
        assert (p[0] <= 0.05) == (low[0] > 0 or high[0] < 0)
    surely = sequential_test(np.ones((300, 1)), 1.0, 0.05)
    assert surely[0][0] < 1e-9
    assert 0.9 < surely[1][0] < surely[2][0] == 1.0
    assert p_of(np.zeros(1000)) == 1.0


def test_runs_are_compared_by_it_and_measures_without_a_scale_are_refused() -> None:
    found = run(reciprocal(2, 300, 3), "sequential", correction="holm")
    assert "all looks together" in found.variant
    assert (found.p_adjusted >= found.p).all()
    assert (found.low < found.difference).all()
    assert (found.difference < found.high).all()
    plain = run(reciprocal(2, 300, 3), "t")
    assert (found.p >= plain.p).all(), "looking at any time has its price"
    with pytest.raises(InputError, match="no greatest score"):
        compare_runs(
            scores_of(reciprocal(2, 30, 2), "wpref@10"), test="sequential", rng=np.random.default_rng(0)
        )
    share = compare_runs(  # of preferences: between 0 and 1
        scores_of(reciprocal(2, 30, 2), "ppref@10"), test="sequential", rng=np.random.default_rng(0)
    )
    assert -1 <= share.low[0] < share.difference[0] < share.high[0] <= 1


@pytest.mark.parametrize("queries", [2, 12, 200])
def test_queries_that_all_differ_by_the_same_have_an_interval_too(queries: int) -> None:
    """Bets need no variance, and few queries do not make their interval too narrow."""
    scores = scores_of(np.tile([1.0, 0.5], (queries, 1)))
    found = compare_runs(scores, test="sequential", rng=np.random.default_rng(0))
    ((p, low, high),) = zip(*sequential_test(np.full((queries, 1), -0.5), 1.0, 0.05), strict=True)
    assert (found.p[0], found.low[0], found.high[0]) == (p, low, high)
    assert -1 <= low < -0.5 < high <= 1
    notes = " ".join(pairs_table([found]).notes)
    assert "too narrow" not in notes
    assert "there is no effect" in notes

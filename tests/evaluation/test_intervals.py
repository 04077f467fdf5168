import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.intervals import (
    T_NEEDS,
    gaffke_interval,
    mean_interval,
    score_intervals,
)

from .test_leaderboard import scores_of


def test_the_t_interval_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).random((30, 3))
    centre, low, high = mean_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    np.testing.assert_allclose([centre, low, high], [values.mean(axis=0), expected.low, expected.high])


def test_scores_of_0_and_1_have_the_interval_of_clopper_and_pearson() -> None:
    beta = pytest.importorskip("scipy.stats").beta
    for count in (1, 2, 5, 20, 200, 6980):
        for hits in {0, 1, count // 3, count - 1, count}:
            values = np.repeat([1.0, 0.0], [hits, count - hits])[:, np.newaxis]
            (low,), (high,) = gaffke_interval(values, (0, 1))
            exact = (
                beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0,
                beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0,
            )
            assert (low, high) == pytest.approx(exact, abs=0.005 * (exact[1] - exact[0]))


@pytest.mark.parametrize("scores", [[0, 0, 0, 0.2, 1], [0.3] * 5, list(np.linspace(0, 1, 30) ** 2)])
def test_the_ends_are_quantiles_of_random_weights(scores: list[float]) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(len(scores) + 1), 200_000)
    (low,), (high,) = gaffke_interval(np.array(scores)[:, np.newaxis], (0, 1))
    assert low == pytest.approx(np.quantile(weights @ [*scores, 0.0], 0.025), abs=4e-3)
    assert high == pytest.approx(np.quantile(weights @ [*scores, 1.0], 0.975), abs=4e-3)


@pytest.mark.parametrize("queries", [20, 50, 200])
@pytest.mark.parametrize("hit_rate", [0.05, 0.95])
@pytest.mark.parametrize("measure", ["RR@10", "nDCG@10"])
def test_the_mean_is_covered_where_few_queries_are_hit(queries: int, hit_rate: float, measure: str) -> None:
    rng = np.random.default_rng([queries, int(100 * hit_rate)])
    shape = (queries, 400)
    drawn = 1 / rng.integers(1, 11, shape) if measure == "RR@10" else rng.beta(0.5, 3, shape)
    mean = hit_rate * ((1 / np.arange(1, 11)).mean() if measure == "RR@10" else 0.5 / 3.5)
    values = np.where(rng.random(shape) < hit_rate, drawn, 0.0)
    found = score_intervals(values, confidence=0.95, ends=(0.0, 1.0))
    assert ((found.low <= mean) & (mean <= found.high)).mean() >= 0.92
    _, low, high = mean_interval(values)
    if hit_rate < 0.1:
        assert ((low <= mean) & (mean <= high)).mean() < 0.92
    elif measure == "RR@10" and queries > 20:
        assert np.mean(found.high - found.low) < 1.15 * np.mean(high - low)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.randoms())
def test_neither_the_order_of_the_queries_nor_the_scale_matters(scores: list[float], random: object) -> None:
    values = np.array(scores)
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    low, high = gaffke_interval(np.column_stack([values, shuffled]), (0, 1))
    assert low[0] == low[1] <= values.mean() + 1e-9
    assert high[0] == high[1] >= values.mean() - 1e-9
    below, above = gaffke_interval(1 + 10 * values[:, np.newaxis], (1, 11))
    np.testing.assert_allclose([below[0], above[0]], [1 + 10 * low[0], 1 + 10 * high[0]], atol=1e-5)


def test_student_takes_over_where_enough_queries_differ_from_the_most_frequent_score() -> None:
    rng = np.random.default_rng(0)

    def methods(differing: int, ends: tuple[float, float] = (0.0, 1.0)) -> tuple[str, ...]:
        values = np.where(np.arange(300) < differing, rng.random(300), 0.0)[:, np.newaxis]
        return score_intervals(values, confidence=0.95, ends=ends).methods

    assert methods(T_NEEDS) == ("t",)
    assert methods(T_NEEDS - 1) == ("Gaffke",)
    assert methods(2, (-np.inf, np.inf)) == ("t",)  # no scale, no greatest score to reckon with
    board = leaderboard(
        scores_of({"often": [0.5, 0.25] * 100 + [0, 1] * 10, "seldom": [0.0] * 215 + [1.0] * 5})
    )
    assert (board.interval, [row.hit for row in board.rows]) == ("t and Gaffke", [210, 5])


def test_an_interval_is_there_where_nothing_varies_if_the_scale_has_ends() -> None:
    nothing, same = leaderboard(scores_of({"same": [0.1] * 50, "nothing": [0.0] * 50})).rows[::-1]
    assert (nothing.low, nothing.hit) == (0.0, 0)
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 50), abs=1e-3)
    assert same.low < 0.1 < same.high
    (alone,) = leaderboard(scores_of({"a": [0.5]})).rows
    assert (alone.low, alone.high) == (pytest.approx(0.0125, abs=0.002), pytest.approx(0.9875, abs=0.002))
    (endless,) = leaderboard(scores_of({"a": [0.5, 0.5]}, "wpref@10")).rows
    assert np.isnan([endless.low, endless.high]).all()


def test_a_search_length_is_hit_where_it_is_not_the_greatest() -> None:
    (row,) = leaderboard(scores_of({"a": [1, 11, 11, 4]}, "ESL@10")).rows
    assert (row.hit, row.interval) == (2, "Gaffke")
    assert 1 <= row.low < 6.75 < row.high <= 11


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.99])
def test_the_level_asked_for_reaches_each_kind_of_interval(confidence: float) -> None:
    ends = (0.0, 1.0)
    values = np.random.default_rng(1).random((120, 2))
    few = np.where(np.arange(120)[:, np.newaxis] < 9, values, 0.0)
    for scores, expected, method in (
        (values, mean_interval(values, confidence), "t"),
        (few, (few.mean(axis=0), *gaffke_interval(few, ends, confidence)), "Gaffke"),
    ):
        found = score_intervals(scores, confidence=confidence, ends=ends)
        np.testing.assert_array_equal([found.centre, found.low, found.high], expected)
        assert found.methods == (method, method)
    usual = [mean_interval(values), gaffke_interval(few, ends)]
    at_95 = [mean_interval(values, 0.95), gaffke_interval(few, ends, 0.95)]
    for ours, theirs in zip(usual, at_95, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_each_run_has_the_interval_that_holds_for_it() -> None:
    varied = np.random.default_rng(1).random(120)
    values = np.column_stack([varied, np.where(np.arange(120) < 9, varied, 0.0), np.full(120, 0.5)])
    found = score_intervals(values, confidence=0.95, ends=(0.0, 1.0))
    assert found.methods == ("t", "Gaffke", "Gaffke")
    np.testing.assert_array_equal(
        [found.low[0], found.high[0]], [end[0] for end in mean_interval(values)[1:]]
    )
    few = gaffke_interval(values[:, 1:], (0.0, 1.0))
    np.testing.assert_array_equal([found.low[1:], found.high[1:]], few)
    assert np.isnan(mean_interval(values)[1]).tolist() == [False, False, True]


def test_no_interval_leaves_the_scale() -> None:
    values = np.random.default_rng(1).random((120, 1))
    found = score_intervals(values, confidence=0.999, ends=(0.45, 0.55))
    assert (found.methods, found.low[0], found.high[0]) == (("t",), 0.45, 0.55)

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefjudge.core.runs import Codes
from prefjudge.evaluation import agreement as halves
from prefjudge.evaluation.agreement import TABLE_4, draw_halves, split_half
from prefjudge.evaluation.intervals import Grid, PairSums, pair_sums, sort_sums, to_grid
from prefjudge.evaluation.tests import SignificanceTest, all_pairs
from tests.evaluation.samples import scores_of

SUMS = tuple(field.name for field in fields(PairSums) if field.name != "n")


def reciprocal(seed: int, queries: int, runs: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rank = rng.geometric(np.linspace(0.2, 0.5, runs), size=(queries, runs))
    return np.where(rank <= 10, 1.0 / rank, 0.0)


def plain(
    values: np.ndarray, masks: np.ndarray, p_value: Callable[..., float], centre: Callable[..., float]
) -> list[float]:
    """Table 4 with two loops and scipy."""
    counts = np.zeros(5)
    runs = values.shape[1]
    for mask in masks:
        for a in range(runs):
            for b in range(a + 1, runs):
                halves_ = [values[mask][:, [a, b]], values[~mask][:, [a, b]]]
                way = [np.sign(centre(half[:, 0]) - centre(half[:, 1])) for half in halves_]
                sure = [p_value(half[:, 0], half[:, 1]) <= 0.05 for half in halves_]
                same = way[0] == way[1]
                agree, disagree = same and sure[0] == sure[1], not same and any(sure)
                counts += [agree, not agree and not disagree, disagree, any(sure), way == [0, 0]]
    return list(counts / (len(masks) * runs * (runs - 1) / 2))


def p_sign(a: np.ndarray, b: np.ndarray) -> float:
    stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")
    return float(stats.binomtest(int((a > b).sum()), max(1, int((a != b).sum()))).pvalue)


def p_rank_sum(a: np.ndarray, b: np.ndarray) -> float:
    stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")
    return float(stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic").pvalue)


def p_wilcoxon(a: np.ndarray, b: np.ndarray) -> float:
    stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")
    difference = np.rint(a * 2520) - np.rint(b * 2520)
    assert np.count_nonzero(difference) > 50
    return float(stats.wilcoxon(difference, method="approx", correction=False).pvalue)


def p_t(a: np.ndarray, b: np.ndarray) -> float:
    stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")
    return float(stats.ttest_rel(a, b).pvalue)


def test_table_4_equals_two_loops_over_scipy() -> None:
    values = reciprocal(1, 201, 5)
    masks = draw_halves(201, 6, np.random.default_rng(7))
    result = split_half(scores_of(values), splits=6, rng=np.random.default_rng(7))
    oracle = {"sign": p_sign, "rank-sum": p_rank_sum, "wilcoxon": p_wilcoxon, "t": p_t}
    assert [(row.test, row.aggregate) for row in result.rows] == list(TABLE_4)
    for row in result.rows:
        centre = np.median if row.aggregate == "median" else lambda half: np.rint(half * 2520).sum()
        expected = plain(values, masks, oracle[row.test], centre)
        got = [row.agree, row.partly, row.disagree, row.significant, row.equal]
        np.testing.assert_allclose(got, expected, err_msg=f"{row.test} {row.aggregate}")


def test_agreement_that_two_runs_are_equal_shows_as_such() -> None:
    """By the median of reciprocal ranks nearly all halves agree, as nearly all find the runs equal."""
    values = np.zeros((40, 2))
    values[:12, 0], values[:6, 1] = 1.0, 1.0  # hardly a half has a median above 0
    rows = {
        row.aggregate: row for row in split_half(scores_of(values), rng=np.random.default_rng(2)).rows[2:5]
    }
    assert rows["median"].equal > 0.7 > 0.1 > rows["mean"].equal


MATRICES = st.one_of(
    arrays(np.int64, st.tuples(st.integers(4, 30), st.integers(2, 4)), elements=st.integers(1, 60)).map(
        lambda ranks: 1.0 / ranks
    ),
    arrays(
        np.float64,
        st.tuples(st.integers(4, 30), st.integers(2, 4)),
        elements=st.sampled_from([0.0, 0.1, 0.25, 0.63092975, 0.5, 1.0]),
    ),
    # Of equal steps off the grid, which are not quite equal any more when they are rounded to it.
    arrays(np.int64, st.tuples(st.integers(4, 30), st.integers(2, 4)), elements=st.integers(0, 5)).map(
        lambda steps: steps * (0.63092975 / 7)
    ),
)


def assert_sums_of_halves(
    grid: Grid, seed: int, way: str, alone: Callable[[Grid, Codes, Codes], PairSums]
) -> None:
    """Sum up both halves of five splits in one way, and hold each against what it sums up to alone."""
    masks = draw_halves(len(grid.values), 5, np.random.default_rng(seed))
    a, b = all_pairs(grid.values.shape[1])
    if way == "sorting":
        parts = halves._by_sorting(grid, masks, a, b)
    else:
        parts = halves._by_counting(grid, masks, a, b, np.unique(grid.values))
    seen = 0
    for splits, pairs, sums in parts:
        for at, (split, pair) in enumerate(zip(splits, pairs, strict=True)):
            for side, mask in enumerate((masks[split], ~masks[split])):
                half = replace(grid, values=grid.values[mask])
                expected = alone(half, a[pair : pair + 1], b[pair : pair + 1])
                seen += 1
                for name in SUMS:
                    ours, theirs = getattr(sums[side], name)[at], getattr(expected, name)[0]
                    if not name.endswith("_pattern"):
                        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), name
                    else:
                        assert ours == theirs, name
    assert seen == 2 * len(masks) * a.size


@settings(max_examples=40, deadline=None)
@given(MATRICES, st.integers(0, 1000), st.sampled_from(["sorting", "counting"]))
def test_the_sums_of_both_halves_are_those_of_the_halves_alone(
    values: np.ndarray, seed: int, way: str
) -> None:
    assert_sums_of_halves(to_grid(values), seed, way, pair_sums)


@settings(max_examples=20, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(4, 30), st.just(3)), elements=st.sampled_from([0, 2, 1000])),
    st.integers(0, 1000),
)
def test_what_rounding_can_put_apart_is_tied_in_a_half_as_in_the_whole(values: np.ndarray, seed: int) -> None:
    def alone(half: Grid, a: Codes, b: Codes) -> PairSums:
        return sort_sums(half.values.T, a, b, half.slack)

    assert_sums_of_halves(Grid(values=values, unit=1e-9, exact=False), seed, "sorting", alone)


def test_splits_done_in_turns_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random((60, 4))
    whole = split_half(scores_of(values), splits=30, rng=np.random.default_rng(2))
    monkeypatch.setattr(halves, "BUDGET", 1)
    assert split_half(scores_of(values), splits=30, rng=np.random.default_rng(2)) == whole
    assert whole.pairs == 6


def test_the_ranks_of_a_hundred_thousand_queries_fit_their_sums() -> None:
    queries = 100_000
    rng = np.random.default_rng(5)
    values = np.column_stack([rng.integers(31, 60, queries), rng.integers(0, 30, queries)]) / 100.0
    masks = draw_halves(queries, 2, rng)
    pair = np.array([0], np.int32), np.array([1], np.int32)  # the first run is better everywhere
    ((_, _, parts),) = halves._by_sorting(to_grid(values), masks, *pair)
    n = queries // 2
    for part in parts:
        assert list(part.u) == [n * n] * 2
        assert list(part.rank_sum) == [n * (n + 1) / 2] * 2


def test_other_columns_can_be_chosen() -> None:
    columns = ((SignificanceTest.T, "median"),)
    result = split_half(
        scores_of(reciprocal(6, 50, 3)), splits=3, columns=columns, rng=np.random.default_rng(0)
    )
    assert [(row.test, row.aggregate) for row in result.rows] == [("t", "median")]


def test_halves_are_halves() -> None:
    masks = draw_halves(7, 50, np.random.default_rng(0))
    assert set(masks.sum(axis=1)) == {3}
    assert len({mask.tobytes() for mask in masks}) > 20

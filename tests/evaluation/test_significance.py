import os
import subprocess
import sys
from dataclasses import fields
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefjudge.errors import InputError
from prefjudge.evaluation.intervals import sort_sums
from prefjudge.evaluation.outcomes import describe_pair
from prefjudge.evaluation.tests import Significance, SignificanceTest, classical_p, compare_runs
from tests.evaluation.samples import scores_of

stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")

CLASSICAL = ("t", "wilcoxon", "rank-sum", "sign")
ALL = (*CLASSICAL, "permutation")


def reciprocal(seed: int, queries: int, runs: int, deepest: int = 10) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rank = 1 + rng.geometric(np.linspace(0.25, 0.45, runs), size=(queries, runs))
    rank -= rng.random((queries, runs)) < 0.4
    return np.where(rank <= deepest, 1.0 / rank, 0.0)


def continuous(seed: int, queries: int, runs: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.beta(2, 3, size=(queries, 1)) + rng.normal(0, 0.15, size=(queries, runs)), 0, 1)


def run(values: np.ndarray, test: str, **options: object) -> Significance:
    options = {"rng": np.random.default_rng(5), "correction": "none", **options}
    return compare_runs(scores_of(values), test=test, **options)  # type: ignore[arg-type]


def exact_signed_rank(nonzero: np.ndarray) -> float:
    """The share of sign patterns as extreme: counted by dictionary, over twice the average ranks."""
    doubled = np.rint(2 * stats.rankdata(np.abs(np.round(nonzero, 9)))).astype(int)
    ways = {0: 1}
    for rank in doubled.tolist():
        grown = dict(ways)
        for total, count in ways.items():
            grown[total + rank] = grown.get(total + rank, 0) + count
        ways = grown
    centre, seen = doubled.sum() / 2, doubled[nonzero > 0].sum()
    extreme = sum(count for total, count in ways.items() if abs(total - centre) >= abs(seen - centre))
    return extreme / 2 ** len(nonzero)


def oracle(test: str, a: np.ndarray, b: np.ndarray, whole: int | None) -> float:
    """scipy, on whole numbers where the scores are fractions, so that it sees true ties."""
    if whole is not None:
        a, b = np.rint(a * whole), np.rint(b * whole)
    difference = a - b
    if test == "t":
        return stats.ttest_rel(a, b).pvalue
    if test == "sign":
        plus, minus = int(np.sum(difference > 0)), int(np.sum(difference < 0))
        return stats.binomtest(plus, plus + minus).pvalue
    if test == "wilcoxon":
        nonzero = difference[difference != 0]
        if len(nonzero) <= 50:
            return exact_signed_rank(nonzero)
        method = "approx"
        return stats.wilcoxon(difference, method=method, correction=False, zero_method="wilcox").pvalue
    return stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic").pvalue


@pytest.mark.parametrize("test", CLASSICAL)
@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (reciprocal(1, 200, 6), 2520),
        (reciprocal(2, 37, 5, deepest=18), 232_792_560),
        (continuous(3, 150, 5), None),
        (continuous(4, 41, 5), None),
    ],
    ids=["RR@10", "RR@20", "nDCG-150", "nDCG-41"],
)
def test_p_values_equal_scipys(test: str, values: np.ndarray, whole: int | None) -> None:
    result = run(values, test)
    expected = [
        oracle(test, values[:, a], values[:, b], whole) for a, b in zip(result.a, result.b, strict=True)
    ]
    np.testing.assert_allclose(result.p, expected, rtol=1e-7, atol=1e-300)


def test_signed_rank_sees_true_ties_of_deep_reciprocal_ranks() -> None:
    from fractions import Fraction

    values = reciprocal(6, 400, 2, deepest=100)
    rank = np.rint(1 / np.where(values > 0, values, 1.0)).astype(int)
    fractions = [
        [Fraction(1, int(rank[q, r])) if values[q, r] > 0 else Fraction(0) for r in range(2)]
        for q in range(400)
    ]
    exact = [a - b for a, b in fractions]
    place = {size: number for number, size in enumerate(sorted({abs(d) for d in exact}))}
    coded = np.array([np.sign(float(d)) * place[abs(d)] for d in exact])
    expected = stats.wilcoxon(coded, method="approx", correction=False).pvalue
    assert run(values, "wilcoxon").p[0] == pytest.approx(expected, rel=1e-9, abs=0)
    assert stats.wilcoxon(values[:, 0] - values[:, 1], method="approx").pvalue != pytest.approx(
        expected, rel=1e-6, abs=0
    )


def all_signs(n: int) -> np.ndarray:
    return np.array(np.meshgrid(*[[1, -1]] * n)).reshape(n, -1).T


@pytest.mark.parametrize("queries", [2, 5, 9, 14])
def test_few_queries_are_permuted_in_every_way(queries: int) -> None:
    values = reciprocal(7, queries, 3)
    result = run(values, "permutation", resamples=20)
    assert result.resamples == 2**queries
    for pair, (a, b) in enumerate(zip(result.a, result.b, strict=True)):
        difference = np.rint((values[:, b] - values[:, a]) * 2520)
        exact = np.mean(np.abs(all_signs(queries) @ difference) >= abs(difference.sum()))
        assert result.p[pair] == pytest.approx(exact, rel=1e-12)


def test_permutation_converges_to_the_exact_randomisation_test() -> None:
    values = reciprocal(7, 15, 2)
    difference = np.rint((values[:, 0] - values[:, 1]) * 2520)
    exact = np.mean(np.abs(all_signs(15) @ difference) >= abs(difference.sum()))
    assert run(values, "permutation", resamples=200_000).p[0] == pytest.approx(exact, abs=0.005)


TIED = arrays(np.int64, st.tuples(st.integers(2, 9), st.just(2)), elements=st.integers(0, 4))


@settings(max_examples=60, deadline=None)
@given(TIED)
def test_few_tied_differences_have_their_exact_p_values(ranks: np.ndarray) -> None:
    a, b = ranks.T
    difference = a - b
    nonzero = difference[difference != 0]
    sizes = stats.rankdata(np.abs(nonzero))
    sums = (all_signs(nonzero.size) > 0) @ sizes if nonzero.size else np.zeros(1)
    reach = np.abs(sums - sizes.sum() / 2) >= abs(sizes[nonzero > 0].sum() - sizes.sum() / 2) - 1e-9
    assert run(ranks / 4, "wilcoxon").p[0] == pytest.approx(np.mean(reach), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(TIED)
def test_few_tied_scores_have_their_exact_rank_sum_p_values(ranks: np.ndarray) -> None:
    n = len(ranks)
    values = ranks / 4
    if n > 8:
        expected = oracle("rank-sum", ranks[:, 0], ranks[:, 1], None)
    else:
        place = stats.rankdata(ranks.T.ravel())
        sums = np.array([place[list(chosen)].sum() for chosen in combinations(range(2 * n), n)])
        centre = place.sum() / 2
        expected = np.mean(np.abs(sums - centre) >= abs(place[:n].sum() - centre) - 1e-9)
    if np.any(ranks[:, 0] != ranks[:, 1]):
        assert run(values, "rank-sum").p[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ties", [3, 12, 1000])
def test_a_level_is_passed_where_the_exact_signed_ranks_pass_it(ties: int) -> None:
    rng = np.random.default_rng(ties)
    for queries in (4, 9, 20, 35, 50):
        # Runs as far apart as chance and further, so that there are p-values on both sides of each level.
        apart = np.linspace(0, 3 / np.sqrt(queries), 40)
        difference = np.rint(rng.normal(apart[:, None], 1.0, (40, queries)) * ties)
        columns = np.concatenate([difference, np.zeros_like(difference)])
        a = np.arange(40, dtype=np.int32)
        sums = sort_sums(columns, a, a + 40, 0.0)
        exact = classical_p(SignificanceTest.WILCOXON, sums)
        for level in (0.001, 0.01, 0.05, 0.2, 0.5, float(exact[20])):
            near = classical_p(SignificanceTest.WILCOXON, sums, level)
            assert list(near <= level) == list(exact <= level)
            if queries == 50:
                assert np.any(near != exact)  # most are not counted out


@pytest.mark.parametrize("test", ["permutation", "wilcoxon", "sign", "t"])
def test_no_test_calls_four_equal_differences_significant(test: str) -> None:
    low = np.array([0.5, 0.4, 0.3, 0.2])
    result = run(np.stack([low, low + 0.5], axis=1), test)
    assert result.p[0] == 0.125
    assert np.isnan([result.low[0], result.high[0], result.effect[0]]).all()
    assert describe_pair(result, 0) == (
        "r0 and r1 are not told apart: r1 is 0.5000 RR@10 above r0 (on each of 4 queries), p = 0.12."
    )


def test_an_interval_of_a_difference_ends_where_the_scale_does() -> None:
    result = run(np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.0]]), "t")
    assert (result.low[0], result.high[0]) == (-1, 1)


def test_interval_and_effect_are_students() -> None:
    values = continuous(10, 60, 3)
    result = run(values, "t", alpha=0.1)
    for pair, (a, b) in enumerate(zip(result.a, result.b, strict=True)):
        difference = values[:, b] - values[:, a]
        ends = stats.ttest_rel(values[:, b], values[:, a]).confidence_interval(0.9)
        np.testing.assert_allclose([result.low[pair], result.high[pair]], ends, atol=1e-9)
        assert result.effect[pair] == pytest.approx(difference.mean() / difference.std(ddof=1))


@pytest.mark.parametrize("test", ALL)
def test_identical_runs_are_identical_and_constant_shifts_are_not_nan(test: str) -> None:
    base = np.tile([0.5, 1.0, 0.0, 0.25, 0.2], 4)
    result = run(np.stack([base, base, base + 0.5], axis=1), test)
    assert result.identical.tolist() == [True, False, False]
    assert result.p[0] == 1.0
    assert not result.significant[0]
    assert np.isfinite(result.p).all()
    assert (result.p[1:] <= 0.05).all()
    assert "the same RR@10 on each of 20 queries" in describe_pair(result, 0)


@pytest.mark.parametrize("test", ALL)
@pytest.mark.parametrize("queries", [20, 60])
def test_runs_that_score_the_same_have_a_p_of_1(test: str, queries: int) -> None:
    same = continuous(21, queries, 1)[:, 0]
    values = np.stack([same, same, np.nextafter(same, 1.0), same[::-1]], axis=1)  # the third but for rounding
    scores = scores_of(values, "nDCG@10")
    result = compare_runs(scores, test=test, correction="none", rng=np.random.default_rng(1))
    pairs = zip(result.a.tolist(), result.b.tolist(), strict=True)
    assert result.identical.tolist() == [b < 3 for _, b in pairs]
    assert (result.p[result.identical] == 1.0).all()
    assert (result.p <= 1.0).all()


@pytest.mark.parametrize("test", ALL)
@pytest.mark.parametrize("values", [reciprocal(11, 130, 7), continuous(12, 130, 7)], ids=["RR@10", "nDCG"])
def test_blocks_change_nothing(test: str, values: np.ndarray) -> None:
    options = {"resamples": 700} if test == "permutation" else {}
    whole = run(values, test, **options)
    for block in (1, 97, 5_000):
        parts = run(values, test, block=block, **options)
        for name in ("p", "low", "high", "effect", "difference"):
            assert np.array_equal(getattr(whole, name), getattr(parts, name)), name


@pytest.mark.parametrize("test", ALL)
def test_a_seed_repeats_and_swapping_the_runs_mirrors(test: str) -> None:
    values = reciprocal(13, 60, 2)
    first, again, mirrored = run(values, test), run(values, test), run(values[:, ::-1], test)
    assert np.array_equal(first.p, again.p)
    assert np.array_equal(first.p, mirrored.p) or test == "rank-sum"
    np.testing.assert_allclose(first.p, mirrored.p, rtol=1e-12)
    np.testing.assert_allclose(first.difference, -mirrored.difference)
    np.testing.assert_allclose([first.low, first.high], [-mirrored.high, -mirrored.low], atol=1e-12)
    assert (first.wins_a, first.wins_b) == (mirrored.wins_b, mirrored.wins_a)


SMALL = arrays(np.int64, st.tuples(st.integers(2, 25), st.integers(2, 4)), elements=st.integers(0, 10))


@settings(max_examples=60, deadline=None)
@given(SMALL, st.sampled_from(CLASSICAL), st.randoms(use_true_random=False))
def test_the_order_of_queries_does_not_matter(ranks: np.ndarray, test: str, random: object) -> None:
    values = np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0)
    order = np.random.default_rng(random.randrange(1 << 30)).permutation(len(values))  # type: ignore[attr-defined]
    one, other = run(values, test), run(values[order], test)
    assert np.array_equal(one.p, other.p)
    assert ((one.p >= 0) & (one.p <= 1)).all()
    assert np.array_equal(one.identical, one.p_adjusted[:] == 1.0) or not one.identical.all()


@settings(max_examples=40, deadline=None)
@given(SMALL, st.sampled_from(CLASSICAL))
def test_counting_and_sorting_agree(ranks: np.ndarray, test: str) -> None:
    from prefjudge.evaluation import intervals as pairsums
    from prefjudge.evaluation.intervals import to_grid
    from prefjudge.evaluation.tests import SignificanceTest, all_pairs, classical_p

    values = np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0)
    grid = to_grid(values)
    assert grid.exact
    a, b = all_pairs(values.shape[1])
    counted, sorted_ = pairsums.pair_sums(grid, a, b), pairsums.sort_sums(grid.values.T.copy(), a, b, 0.0)
    for name in (field.name for field in fields(pairsums.PairSums) if field.name != "n"):
        assert np.array_equal(getattr(counted, name), getattr(sorted_, name)), name
    chosen = SignificanceTest(test)
    assert np.array_equal(classical_p(chosen, counted), classical_p(chosen, sorted_))


def test_a_baseline_is_compared_with_every_other_run() -> None:
    values = reciprocal(14, 80, 4)
    result = compare_runs(scores_of(values), baseline="r2", test="t", rng=np.random.default_rng(0))
    assert [result.runs[b] for b in result.b] == ["r0", "r1", "r3"]
    assert {result.runs[a] for a in result.a} == {"r2"}
    assert result.difference[0] == pytest.approx(values[:, 0].mean() - values[:, 2].mean())


def test_the_test_depends_on_the_number_of_queries_and_says_so() -> None:
    def choose(queries: int) -> Significance:
        return compare_runs(scores_of(reciprocal(15, queries, 2)), rng=np.random.default_rng(0))

    few, some, many = choose(12), choose(53), choose(1200)
    assert (few.test, some.test, many.test) == ("permutation", "t", "t")
    assert "12 queries" in few.reason
    assert "effect" in many.reason
    assert "effect" not in some.reason


def test_too_few_resamples_are_refused_with_the_number_needed() -> None:
    values = continuous(16, 20, 10)
    with pytest.raises(InputError, match="100 resamples") as refused:
        run(values, "permutation", correction="holm", resamples=100)
    assert "899 resamples" in refused.value.hint
    assert run(values, "permutation", correction="holm", resamples=899).resamples == 899
    assert run(values, "permutation", correction="holm").resamples == 10_000


DRAWN = """
import hashlib, numpy as np
from prefjudge.core.runs import Scores
from prefjudge.core.runs import Order
from prefjudge.evaluation.tests import compare_runs
from prefjudge.evaluation.stability import bootstrap_ranks
rng = np.random.default_rng(1)
values = rng.random((700, 12))
scores = Scores(measure="nDCG@10", qrels="x", queries=tuple(map(str, range(700))),
                runs=tuple(map(str, range(12))), values=values, order=Order.SCORE)
digest = hashlib.sha256()
for test in ("t", "wilcoxon", "permutation"):
    result = compare_runs(scores, test=test, resamples=2000, rng=np.random.default_rng(2))
    digest.update(result.p.tobytes() + result.low.tobytes())
digest.update(bootstrap_ranks(scores, trials=500, rng=np.random.default_rng(3)).share.tobytes())
print(digest.hexdigest())
"""


def test_the_number_of_threads_changes_nothing() -> None:
    def run_with(threads: str) -> str:
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        limits = {**os.environ, **dict.fromkeys(names, threads)}
        done = subprocess.run(
            [sys.executable, "-c", DRAWN], env=limits, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert run_with("1") == run_with("4")

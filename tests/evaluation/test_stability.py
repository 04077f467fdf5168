from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefjudge.evaluation.firmness import rank_intervals
from prefjudge.evaluation.intervals import bootstrap_counts
from prefjudge.evaluation.stability import (
    RankStability,
    bootstrap_ranks,
    split_queries,
)
from tests.evaluation.samples import scores_of


def noisy(seed: int, queries: int = 80, runs: int = 5, step: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((queries, 1)) * 0.2 + rng.random((queries, runs)) * 0.3 + step * np.arange(runs)


def told(ranks: RankStability) -> tuple[np.ndarray, np.ndarray]:
    """The shares and expected ranks, of as many queries as tell them."""
    assert ranks.share is not None
    assert ranks.expected is not None
    return ranks.share, ranks.expected


@pytest.mark.parametrize("queries", [3, 8, 40, 200])
def test_rank_intervals_are_those_of_the_leaderboard(queries: int) -> None:
    scores = scores_of(noisy(8, queries=queries))
    ranks = bootstrap_ranks(scores, trials=50, rng=np.random.default_rng(0))
    found = rank_intervals(scores)
    firm = {one.run: (one.highest, one.lowest) for one in found}
    assert [firm[run] for run in ranks.runs] == list(zip(ranks.low, ranks.high, strict=True))


def test_three_queries_leave_every_rank_open_and_tell_no_share() -> None:
    """By samples of them the first was at rank 1 in all trials, from 1 to 1: no sample says otherwise."""
    values = np.array([[0.5, 0.3, 0.2, 0.1], [1.0, 0.5, 0.3, 0.2], [0.3, 0.2, 0.1, 0.05]])
    ranks = bootstrap_ranks(scores_of(values), rng=np.random.default_rng(0))
    assert (ranks.low.tolist(), ranks.high.tolist()) == ([1] * 4, [4] * 4)
    assert (ranks.share, ranks.expected, ranks.trials) == (None, None, 0)
    assert bootstrap_ranks(scores_of(noisy(1, queries=29)), rng=np.random.default_rng(0)).share is None
    assert bootstrap_ranks(scores_of(noisy(1, queries=30)), rng=np.random.default_rng(0)).share is not None


@pytest.mark.parametrize(("queries", "runs"), [(3, 5), (3, 10), (5, 10), (10, 10), (30, 10)])
def test_rank_intervals_hold_the_true_ranks(queries: int, runs: int) -> None:
    """In as many studies as they say, all of them: a sample of few queries is no measure of their spread."""
    rng, held = np.random.default_rng(3), 0
    skill = np.linspace(0, 0.3, runs)
    for _ in range(100):
        values = rng.normal(0, 0.2, (queries, 1)) + skill + rng.normal(0, 0.3, (queries, runs))
        ranks = bootstrap_ranks(scores_of(values), trials=1, rng=rng)
        true = np.array([runs - int(run[1:]) for run in ranks.runs])
        held += bool(((ranks.low <= true) & (true <= ranks.high)).all())
    assert held >= 93


def test_ranks_equal_a_plain_loop_over_the_same_samples() -> None:
    scores = scores_of(noisy(1))
    result = bootstrap_ranks(scores, trials=300, rng=np.random.default_rng(9))
    counts = np.concatenate(list(bootstrap_counts(80, 300, np.random.default_rng(9))))
    table = np.zeros((5, 5))
    for weights in counts:
        means = weights @ scores.values / 80
        for place, run in enumerate(np.argsort(-means)):
            table[run, place] += 1 / 300
    order = [scores.runs.index(run) for run in result.runs]
    assert order == list(np.argsort(-scores.values.mean(axis=0)))
    np.testing.assert_allclose(result.share, table[order], atol=1e-12)
    np.testing.assert_allclose(told(result)[1], table[order] @ np.arange(1, 6))


def test_a_sample_has_as_many_queries_as_there_are() -> None:
    counts = np.concatenate(list(bootstrap_counts(50, 400, np.random.default_rng(0))))
    assert counts.shape == (400, 50)
    assert (counts.sum(axis=1) == 50).all()
    assert counts.mean(axis=0) == pytest.approx(1.0, abs=0.25)
    assert (counts == 0).mean() == pytest.approx(np.exp(-1), abs=0.02)


@pytest.mark.parametrize("values", [np.round(noisy(2), 1), noisy(3)], ids=["tied", "continuous"])
def test_blocks_change_nothing(values: np.ndarray) -> None:
    whole = bootstrap_ranks(scores_of(values), trials=150, rng=np.random.default_rng(1))
    for block in (1, 80 * 33, 80 * 64):
        part = bootstrap_ranks(scores_of(values), trials=150, rng=np.random.default_rng(1), block=block)
        for name in ("share", "expected", "low", "high", "mean"):
            assert np.array_equal(getattr(whole, name), getattr(part, name)), name


def test_identical_runs_share_their_ranks() -> None:
    values = noisy(4, step=1.0)
    values[:, 3] = values[:, 4]
    result = bootstrap_ranks(scores_of(values), trials=40, rng=np.random.default_rng(0))
    share, expected = told(result)
    np.testing.assert_allclose(share[:2, :2], 0.5)
    np.testing.assert_allclose(expected, [1.5, 1.5, 3, 4, 5])
    assert (result.low.tolist(), result.high.tolist()) == ([1, 1, 3, 4, 5], [2, 2, 3, 4, 5])


@settings(max_examples=50, deadline=None)
@given(
    arrays(np.int64, st.tuples(st.integers(30, 40), st.integers(1, 6)), elements=st.integers(0, 3)),
    st.integers(0, 99),
)
def test_rows_and_columns_are_shares(ranks: np.ndarray, seed: int) -> None:
    values = np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0)
    result = bootstrap_ranks(scores_of(values), trials=20, rng=np.random.default_rng(seed))
    runs = values.shape[1]
    share, expected = told(result)
    np.testing.assert_allclose(share.sum(axis=0), 1.0)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_allclose(expected, share @ np.arange(1, runs + 1))
    assert (result.low <= expected + 0.5).all()
    assert (result.low <= result.high).all()
    assert expected.sum() == pytest.approx(runs * (runs + 1) / 2)


def test_the_order_of_runs_does_not_matter() -> None:
    scores = scores_of(noisy(5))
    turned = replace(scores, runs=scores.runs[::-1], values=scores.values[:, ::-1])
    one = bootstrap_ranks(scores, trials=60, rng=np.random.default_rng(2))
    other = bootstrap_ranks(turned, trials=60, rng=np.random.default_rng(2))
    assert one.runs == other.runs
    assert np.array_equal(told(one)[0], told(other)[0])


def test_fewer_queries_spread_the_ranks() -> None:
    values = noisy(6, queries=2000, step=0.01)
    many, few = (
        bootstrap_ranks(scores_of(one), trials=300, rng=np.random.default_rng(0))
        for one in (values, values[:45])
    )
    assert (few.high - few.low).sum() > 2 * (many.high - many.low).sum()


def test_a_lower_search_length_ranks_first() -> None:
    values = np.tile([3.0, 1.0, 2.0], (30, 1))
    result = bootstrap_ranks(scores_of(values, "ESL@10"), trials=5, rng=np.random.default_rng(0))
    assert result.runs == ("r1", "r2", "r0")
    assert np.array_equal(told(result)[0], np.eye(3))
    assert result.low.tolist() == [1, 2, 3]


def test_public_and_held_out_queries_are_parted() -> None:
    scores = scores_of(noisy(9, queries=6))
    public, private = split_queries(scores, ["q1", "q4", "not judged"])
    assert private.queries == ("q1", "q4")
    assert public.queries == ("q0", "q2", "q3", "q5")
    assert np.array_equal(private.values, scores.values[[1, 4]])
    assert [len(part.queries) for part in split_queries(scores, scores.queries)] == [0, 6]
    assert [len(part.queries) for part in split_queries(scores, ["elsewhere"])] == [6, 0]


def test_runs_of_equal_means_stand_as_they_were_given() -> None:
    values = np.tile([[0.2, 0.5, 0.5, 0.2, 0.5]], (4, 5))
    result = bootstrap_ranks(scores_of(values), trials=3, rng=np.random.default_rng(0))
    runs = [f"r{run}" for run in range(25)]
    assert list(result.runs) == [run for place, run in enumerate(runs) if place % 5 in (1, 2, 4)] + [
        run for place, run in enumerate(runs) if place % 5 in (0, 3)
    ]


def test_every_query_of_more_than_two_bytes_number_can_be_drawn() -> None:
    (counts,) = bootstrap_counts(1 << 17, 1, np.random.default_rng(0))
    assert counts.sum() == 1 << 17
    assert (counts[0, 1 << 16 :] > 0).mean() == pytest.approx(1 - np.exp(-1), abs=0.01)

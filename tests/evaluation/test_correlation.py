from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.correlation import correlate, kendall_tau, tau_ap

from .test_leaderboard import scores_of

vectors = st.integers(2, 12).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 4), min_size=size, max_size=size) for _ in range(2)])
)


@given(vectors)
def test_tau_is_scipys(pair: tuple[list[int], list[int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, y = (np.array(values, dtype=np.float64) for values in pair)
    if len(set(pair[0])) < 2 or len(set(pair[1])) < 2:
        assert np.isnan(kendall_tau(x, y))
    else:
        assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)


def agreement(truly: int, estimated: int) -> float:
    """How right it is that one stands above another, by how far apart both orders put them."""
    if truly == 0:
        return 1.0 if estimated == 0 else 0.5
    return float(truly > 0)


def slow_tau_ap(truth: list[int], estimate: list[int]) -> float:
    """The mean over all orders that break the estimate's ties; true ties count 1/2, shared ones 1."""
    items = range(len(truth))
    values = []
    for order in permutations(items):
        if any(estimate[above] < estimate[below] for above, below in pairwise(order)):
            continue
        shares = [
            sum(
                agreement(truth[other] - truth[item], estimate[other] - estimate[item])
                for other in order[:place]
            )
            / place
            for place, item in enumerate(order)
            if place
        ]
        values.append(2 * sum(shares) / len(shares) - 1)
    return sum(values) / len(values)


@pytest.mark.parametrize("truth", list(product(range(3), repeat=4))[::3])
def test_tau_ap_is_its_definition(truth: tuple[int, ...]) -> None:
    for estimate in product(range(3), repeat=4):
        fast = tau_ap(np.array(truth, dtype=float), np.array(estimate, dtype=float))
        assert fast == pytest.approx(slow_tau_ap(list(truth), list(estimate)))


def test_tau_ap_weighs_the_top_more() -> None:
    truth = np.arange(6.0)[::-1]
    top, bottom = truth.copy(), truth.copy()
    top[[0, 1]] = top[[1, 0]]
    bottom[[4, 5]] = bottom[[5, 4]]
    assert tau_ap(truth, top) < tau_ap(truth, bottom) < tau_ap(truth, truth) == 1
    assert tau_ap(truth, -truth) == -1


@pytest.mark.parametrize("scores", [[3, 3, 2, 1], [3, 2, 2, 1, 1], [5, 4, 4, 4, 0, 0]])
def test_a_board_with_ties_agrees_wholly_with_itself(scores: list[int]) -> None:
    board = np.array(scores, dtype=np.float64)
    assert tau_ap(board, board) == pytest.approx(1)
    assert tau_ap(board, board + 0.5) == pytest.approx(1)
    separated = board + np.arange(board.size)[::-1] / 100
    assert tau_ap(separated, board) < 1
    assert tau_ap(board, separated) < 1


def test_ties_of_an_estimate_are_taken_as_published() -> None:
    """The example of Urbano and Marrero's package ircor: tauAP and tauAP_a."""
    truth = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
    estimate = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
    assert tau_ap(truth, estimate) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap(truth, np.round(estimate * 5) / 5) == pytest.approx(0.6074515, abs=5e-8)


def test_boards_are_compared_over_the_runs_that_both_hold() -> None:
    before = leaderboard(
        scores_of({"a": [3], "b": [2], "c": [1], "only": [9]}), perfect=scores_of({"bar": [5]})
    )
    after = leaderboard(
        scores_of({"c": [30], "a": [20], "b": [10]}, "nDCG@10"), perfect=scores_of({"bar": [1]}, "nDCG@10")
    )
    result = correlate(before, after)
    assert (result.reference, result.other, result.runs) == ("RR@10 q", "nDCG@10 q", 3)
    assert result.tau == pytest.approx(-1 / 3)
    assert [(shift.run, shift.reference, shift.other, shift.shift) for shift in result.shifts] == [
        ("a", 1, 2, -1),
        ("b", 2, 3, -1),
        ("c", 3, 1, 2),
    ]


def test_a_measure_where_less_is_better_agrees_with_one_where_more_is() -> None:
    more = leaderboard(scores_of({"a": [1], "b": [0.5]}))
    less = leaderboard(scores_of({"a": [1], "b": [2]}, "ESL@10"))
    assert correlate(more, less).tau == 1


def test_nested_boards_are_compared_as_they_stand_and_others_over_the_common_queries() -> None:
    every = scores_of({"a": [1, 0, 0], "b": [0, 1, 1]})
    some = every.where(np.array([True, True, False]))
    first, last = every.where(np.array([True, False, False])), every.where(np.array([False, True, True]))
    nested = correlate(
        leaderboard(every), leaderboard(first), common=(leaderboard(first), leaderboard(first))
    )
    assert (nested.over, nested.tau, nested.queries) == ("boards as printed", -1, 1)
    assert (nested.printed.queries, nested.common.queries) == ((3, 1), (1, 1))
    assert (nested.common.tau, nested.same_queries) == (1, False)
    assert [shift.shift for shift in nested.shifts] == [-1, 1]
    middle = every.where(np.array([False, True, False]))
    crossed = correlate(
        leaderboard(some), leaderboard(last), common=(leaderboard(middle), leaderboard(middle))
    )
    assert (crossed.over, crossed.tau, crossed.printed.queries) == ("common queries", 1, (2, 2))
    same = correlate(leaderboard(every), leaderboard(every))
    assert (same.tau, same.same_queries, same.common) == (1, True, same.printed)


def test_shifts_of_crossed_boards_are_over_the_common_queries() -> None:
    every = scores_of({"a": [0, 1, 0], "b": [1, 0.5, 1]})
    parts = [
        every.where(np.array(keep))
        for keep in ([True, True, False], [False, True, True], [False, True, False])
    ]
    one, other, both = (leaderboard(part) for part in parts)
    found = correlate(one, other, common=(both, both))
    assert found.over == "common queries"
    assert [(shift.run, shift.reference, shift.other) for shift in found.shifts] == [("a", 1, 1), ("b", 2, 2)]

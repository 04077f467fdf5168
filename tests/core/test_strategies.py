"""Strategies: what they ask for follows from the votes alone."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from prefjudge.core.planning.rounds import DEFAULT, BySize, parse_strategy, taken_out
from prefjudge.core.planning.sure import Sure
from prefjudge.core.strategies import (
    LapseNoise,
    RoundRobin,
    Strategy,
    error_of_scale,
    log_weight_of_golds,
    scale_of_error,
)


@pytest.mark.parametrize("strategy", [RoundRobin(1), RoundRobin(2), DEFAULT])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_strategy_goes_on_where_it_stopped(strategy: Strategy, size: int) -> None:
    # Votes that trickle in one at a time lead to the same asking: nothing is forgotten or asked twice.
    rng = np.random.default_rng(size)
    chances, _ = LapseNoise(error=0.3, lapses=1.0).draw_chances(20, size, rng)
    votes = np.zeros_like(chances)

    def ask() -> NDArray[np.int64]:
        asked, matrix = strategy.ask(votes), np.zeros(votes.shape, dtype=np.int64)
        assert (asked.x < asked.y).all()
        matrix[asked.pool, asked.x, asked.y] = asked.votes
        return matrix

    total, asked = 0, ask()
    while asked.any():
        before = asked
        some = rng.binomial(asked, 0.5)
        left = rng.binomial(some, chances)
        votes += left + (some - left).transpose(0, 2, 1)
        total += int(some.sum())
        asked = ask()
        # What was asked and not answered is asked still, unless the answers settled it.
        waiting = ((before - some) > 0).any(axis=(1, 2))
        assert (asked[waiting] >= (before - some)[waiting]).all()
    assert total == votes.sum()
    assert (strategy.leaders(votes).sum(axis=1) >= 1).all()


def asked_of(strategy: Strategy, votes: NDArray[np.float64]) -> list[tuple[int, int, int, int]]:
    asked = strategy.ask(votes)
    return sorted(
        zip(*(column.tolist() for column in (asked.pool, asked.x, asked.y, asked.votes)), strict=True)
    )


@pytest.mark.parametrize("strategy", [RoundRobin(1), RoundRobin(2), DEFAULT])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_each_pool_is_judged_by_itself(strategy: Strategy, size: int) -> None:
    rng = np.random.default_rng(size)
    votes = np.zeros((30, size, size))
    for _ in range(12):
        alone = [(strategy.leaders(one[None])[0], asked_of(strategy, one[None])) for one in votes]
        assert strategy.leaders(votes).tolist() == [leaders.tolist() for leaders, _ in alone]
        assert asked_of(strategy, votes) == [
            (pool, *rest) for pool, (_, asked) in enumerate(alone) for _, *rest in asked
        ]
        for pool, x, y, most in asked_of(strategy, votes):
            won, made = rng.binomial(most, 0.5), int(rng.integers(most + 1))
            votes[pool, x, y] += min(won, made)
            votes[pool, y, x] += made - min(won, made)


# Strategies by name, and one for each size of pool.


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "round-robin:3",
        "2=round-robin:5,4=round-robin:3",
        "round-robin:99",
        "sure:80",
        "sure:99.5x10",
        "3=round-robin:3,9=sure:70x8",
        "sure:90/500",
        "sure:60x10/400",
        "loss:2.5x10/400",
        "3=round-robin:3,9=loss:3",
    ],
)
def test_names_are_read_back(name: str) -> None:
    assert parse_strategy(name).name == name


@pytest.mark.parametrize(
    "wrong",
    ["", "best", "round-robin:0", "round-robin:x", "round-robin:1x2", "round-robin:-1", "round-robin:100",
     "sure", "sure:0", "sure:101", "sure:80x0", "sure:80x", "sure:nan", "sure:-1", "sure:1e1", "sure:80x1001",
     "sure:80/", "sure:80/0", "sure:80/4x2", "sure/400",
     "2=", "=sure:80", "2=sure:80,", "2=sure:80,2=sure:90", "0=sure:80", "2=default", "2=3=sure:80",
     "leading:2", "loss", "loss:0", "loss:x", "loss:0.03", "loss:50", "sure:0.8"],
)  # fmt: skip
def test_other_names_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="no strategy"):
        parse_strategy(wrong)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("halving", "halving"),
        ("halving:2x3", "halving"),
        ("5=round-robin:3,6=knockout:5", "knockout"),
        ("lead:3", "lead"),
        ("2=lead:2,6=sure:80", "lead"),
    ],
)
def test_a_strategy_that_was_taken_out_is_told_so(text: str, gone: str) -> None:
    assert taken_out(text) == gone
    with pytest.raises(ValueError, match=f"{gone} is gone: sure finds as many winners with fewer votes"):
        parse_strategy(text)


@pytest.mark.parametrize("text", ["default", "sure:80", "5=round-robin:3,6=sure:80", "runs:95:lead:halving"])
def test_other_names_were_not_taken_out(text: str) -> None:
    assert taken_out(text) == ""


def test_numbers_left_out_are_the_usual_ones() -> None:
    assert parse_strategy("round-robin") == RoundRobin(1)
    assert parse_strategy("5=round-robin:3,9=sure:80") != DEFAULT
    assert parse_strategy("6=sure:90x5/400,5=round-robin:3") == DEFAULT


def test_each_size_has_its_strategy_and_larger_pools_the_last() -> None:
    found = parse_strategy("2=round-robin:5,4=round-robin:3,6=sure:80")
    assert isinstance(found, BySize)
    assert [found.of(size) for size in (1, 2, 3, 5, 9)] == [
        RoundRobin(5), RoundRobin(5), RoundRobin(3), Sure(0.8), Sure(0.8),
    ]  # fmt: skip
    nothing = np.zeros((1, 3, 3))
    assert found.ask(nothing).votes.tolist() == RoundRobin(3).ask(nothing).votes.tolist() == [3, 3, 3]


@pytest.mark.parametrize("runs", [(), ("bm25", "dense"), ("a:b=c,d/e %41", "über x10")])
def test_runs_to_be_told_apart_are_a_part_of_the_name(runs: tuple[str, ...]) -> None:
    one = Sure(0.95, 10, runs=runs)
    assert parse_strategy(one.name) == one
    assert (one.name == "runs:95x10") == (not runs)


@pytest.mark.parametrize("text", ["runs:95:a", "runs:95:a:a", "runs:95:a:b:c", "runs:95::", "runs:95/400",
                                  "runs", "5=runs:95,9=sure:80", "runs:0"])  # fmt: skip
def test_what_names_no_two_runs_is_no_strategy(text: str) -> None:
    with pytest.raises(ValueError, match="runs:PERCENT"):
        parse_strategy(text)


# Shares of wrong votes, held against sums and integrals that are worked out another way.


@pytest.mark.parametrize(("right", "missed"), [(0, 0), (9, 1), (30, 5)])
@pytest.mark.parametrize("error", [0.02, 0.2, 0.49])
def test_gold_says_that_it_is_missed_at_most_as_often_as_a_random_pair(
    right: int, missed: int, error: float
) -> None:
    # The mean of the binomial likelihood over all shares up to the error, as a sum of rectangles.
    share = (np.arange(20_000) + 0.5) / 20_000 * error
    scale = math.comb(right + missed, missed) * (right + missed + 1)
    gold = float(np.mean(share**missed * (1 - share) ** right)) * scale
    found = log_weight_of_golds(error, right=right, missed=missed)
    assert found == pytest.approx(math.log(gold), abs=1e-6)


def test_an_error_that_gold_rules_out_has_a_weight_that_is_still_a_number() -> None:
    assert math.isfinite(log_weight_of_golds(1e-6, right=0, missed=500))


@pytest.mark.parametrize("error", [0.01, 0.1, 0.33, 0.49])
def test_the_scale_of_an_error_has_that_error(error: float) -> None:
    scale = scale_of_error(error)
    assert error_of_scale(scale) == pytest.approx(error, abs=1e-9)
    assert LapseNoise(error=error).scale == scale
    chances, best = LapseNoise(error=error).draw_chances(100_000, 2, np.random.default_rng(3))
    wrong = np.where(best == 0, chances[:, 1, 0], chances[:, 0, 1])
    assert wrong.mean() == pytest.approx(error, abs=0.004)
    assert np.allclose(chances + chances.transpose(0, 2, 1), 1.0)


@pytest.mark.parametrize("error", [0.0, 0.5, -0.1])
def test_no_crowd_is_wrong_never_or_as_often_as_a_coin(error: float) -> None:
    with pytest.raises(ValueError, match=f"^a share of wrong votes must be between 0 and 0.5, not {error}$"):
        scale_of_error(error)


def test_constant_noise_orders_each_pool_at_random_and_errs_alike_on_every_pair() -> None:
    chances, best = LapseNoise(error=0.2, lapses=1.0).draw_chances(3000, 4, np.random.default_rng(4))
    pairs = chances[:, *np.triu_indices(4, 1)]
    assert set(np.unique(pairs)) == {0.2, 0.8}
    wins = (chances > 0.5).sum(axis=2)
    assert np.all(np.sort(wins, axis=1) == [0, 1, 2, 3]), "an order of merit"
    assert np.all(wins.argmax(axis=1) == best)
    assert np.all(np.abs(np.bincount(best, minlength=4) - 750) < 5 * np.sqrt(750))

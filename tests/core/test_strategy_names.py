"""Strategies by name, and one for each size of pool."""

import numpy as np
import pytest

from prefjudge.core.planning.rounds import DEFAULT, BySize, parse_strategy, taken_out
from prefjudge.core.planning.sure import Sure
from prefjudge.core.strategies import RoundRobin


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

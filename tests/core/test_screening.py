"""Screening: who is barred for missed gold pairs, how trust grows, and what nobody can have read."""

import numpy as np
import pytest

from prefjudge.core.judgments import BarringPolicy, BarringRule, GoldRecord, climb, is_unreadable


@pytest.mark.parametrize(
    ("policy", "record", "barred"),
    [
        (BarringPolicy.FIRST_MISS, GoldRecord(right=40, missed=1), True),
        (BarringPolicy.FIRST_MISS, GoldRecord(right=0, missed=0), False),
        (BarringPolicy.NEVER, GoldRecord(right=0, missed=9), False),
    ],
)
def test_who_is_barred(policy: BarringPolicy, record: GoldRecord, barred: bool) -> None:
    assert BarringRule(policy=policy).bars(record) is barred


@pytest.mark.parametrize(
    ("hits", "barred"),
    [
        # Between guessing and an accuracy of 0.9 a miss weighs log 5 = 1.609, a right answer -0.588.
        # The whole record bars from log 19 = 2.944 on, a turn from log 166 = 5.110 on.
        ([(1, 2)], False),
        ([(0, 3)], True),
        ([(3, 0), (1, 2), (1, 2)], True),
        ([(2, 1), (1, 2)], True),
        ([(2, 1), (3, 0), (2, 1)], False),
        ([(3, 0)] * 20 + [(1, 2)], False),
        ([(3, 0)] * 20 + [(1, 2), (1, 2)], True),
        ([(3, 0)] * 20 + [(1, 2), (3, 0), (1, 2)], False),
    ],
)
def test_the_ladder_bars_who_guesses_and_who_turns_to_guessing(
    hits: list[tuple[int, int]], barred: bool
) -> None:
    right, missed = (sum(hit[side] for hit in hits) for side in (0, 1))
    record = GoldRecord(right=right, missed=missed, hits=tuple(hits))
    assert BarringRule(policy=BarringPolicy.LADDER).bars(record) is barred


@pytest.mark.parametrize(
    ("hits", "well"),
    [
        ([(3, 0)] * 3 + [(1, 2)], True),
        ([(3, 0), (3, 0), (1, 2)], False),
        ([(3, 0), (1, 2), (3, 0)], False),
        ([(0, 3)], False),
        ([], False),
    ],
)
def test_eight_gold_pairs_before_the_first_miss_show_that_nobody_guessed(
    hits: list[tuple[int, int]], well: bool
) -> None:
    record = GoldRecord(right=0, missed=0, hits=tuple(hits))
    assert BarringRule(policy=BarringPolicy.LADDER).began_well(record) is well


def test_the_ladder_bars_few_of_those_who_slip_and_all_who_guess() -> None:
    rng, rule = np.random.default_rng(19), BarringRule(policy=BarringPolicy.LADDER)

    def share_barred(accuracy: float, workers: int) -> float:
        return (
            sum(
                any(rule.bars(screened(right[: n + 1])) for n in range(10))
                for right in rng.binomial(3, accuracy, size=(workers, 10)).tolist()
            )
            / workers
        )

    assert share_barred(0.95, 1000) < 0.01
    assert share_barred(0.5, 500) > 0.99


def screened(right: list[int]) -> GoldRecord:
    """The record of who got so many of three gold pairs right in each HIT."""
    each = tuple((one, 3 - one) for one in right)
    return GoldRecord(right=sum(right), missed=3 * len(right) - sum(right), hits=each)


def test_the_record_leaves_doubt_behind_for_who_reads_and_hardly_ever_for_who_guesses() -> None:
    rng, rule = np.random.default_rng(19), BarringRule(policy=BarringPolicy.LADDER)
    doubts = [rule.in_doubt(screened(right)) for right in ([], [3, 3], [3, 3, 3], [3, 3, 3, 2], [2, 3, 3])]
    assert doubts == [True, True, False, True, True]
    assert not rule.in_doubt(screened([3, 3, 3, 2, 3]))

    def share_trusted(accuracy: float, workers: int) -> float:
        trusted = 0
        for right in rng.binomial(3, accuracy, size=(workers, 10)).tolist():
            records = [screened(right[: n + 1]) for n in range(10)]
            ended = next((n for n, record in enumerate(records) if rule.bars(record)), 10)
            trusted += not all(rule.in_doubt(record) for record in records[:ended])
        return trusted / workers

    assert share_trusted(0.95, 500) > 0.98
    assert share_trusted(0.5, 2000) < 0.01


@pytest.mark.parametrize(
    ("clean", "rung"),
    [("", 1), ("+", 2), ("++", 2), ("+++", 4), ("+" * 7, 8), ("+" * 15, 16), ("+" * 90, 16), ("-", 1),
     ("+-", 1), ("+++-", 2), ("+" * 90 + "-", 8), ("+" * 7 + "--", 2), ("--+", 2)],
)  # fmt: skip
def test_a_miss_costs_a_rung_of_the_ladder(clean: str, rung: int) -> None:
    assert climb([(3, 0) if one == "+" else (2, 1) for one in clean]) == rung


@pytest.mark.parametrize(
    ("record", "rung"),
    [("o", 1), ("oo", 1), ("ooo", 0), ("o+", 2), ("oo+o", 2), ("oo+oo", 0), ("ooo+", 2), ("+o+o+", 4)],
)
def test_a_hit_that_says_nothing_is_no_step_up_and_three_too_many_end_the_climb(
    record: str, rung: int
) -> None:
    passed_over = [place for place, one in enumerate(record) if one == "o"]
    assert climb([(3, 0) if one == "+" else (2, 0) for one in record], passed_over) == rung


@pytest.mark.parametrize(
    ("comparisons", "words", "least"),
    [
        (6, 0, 3.0),  # half a second a comparison, where the words are not known
        (6, 100, 3.0),  # or are few: 100 of them take 2.5 seconds
        (6, 400, 10.0),  # forty words a second
        (0, 0, 0.0),
    ],
)
def test_nobody_reads_faster_than_half_a_second_a_comparison_and_forty_words_a_second(
    comparisons: int, words: int, least: float
) -> None:
    assert is_unreadable(least - 0.01, comparisons, words)
    assert not is_unreadable(least, comparisons, words)

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefjudge.core.runs import Order, Scores
from prefjudge.evaluation.outcomes import (
    Harm,
    Outcomes,
    describe_outcomes,
    level_of_arrival,
    outcomes_of_arrivals,
    outcomes_of_pairs,
    to_positions,
)
from prefjudge.evaluation.tests import compare_runs
from prefjudge.show.statistics import outcomes_table


def outcomes_against(
    scores: Scores, baseline: str, contenders: Sequence[str] | None = None, *, alpha: float = 0.05
) -> tuple[Outcomes, ...]:
    names = [run for run in scores.runs if run != baseline] if contenders is None else contenders
    return outcomes_of_pairs(scores, [(baseline, name) for name in names], alpha=alpha)


def scores_at(positions: np.ndarray, runs: tuple[str, ...] | None = None) -> Scores:
    values = np.where(positions > 0, 1.0 / np.maximum(positions, 1), 0.0)
    return Scores(
        measure="RR@100",
        qrels="test",
        queries=tuple(f"q{row}" for row in range(len(positions))),
        runs=runs or tuple("ABCDEF"[: positions.shape[1]]),
        values=values,
        order=Order.SCORE,
    )


def column(*counts: tuple[int, int, int]) -> np.ndarray:
    """Rows of (how many, position in A, position in B)."""
    return np.array([[a, b] for count, a, b in counts for _ in range(count)])


def test_each_outcome_is_counted() -> None:
    (row,) = outcomes_against(scores_at(column((3, 0, 0), (5, 2, 0), (4, 0, 7), (6, 4, 2), (2, 1, 1))), "A")
    assert (row.neither, row.only_a, row.only_b, row.both) == (3, 5, 4, 8)
    assert (row.esl_a, row.esl_b) == (26 / 8, 14 / 8)
    assert (row.rr_a, row.rr_b) == pytest.approx((3.5 / 8, 5 / 8))
    assert row.difference == pytest.approx((4 / 7 + 5 - 2.5 - 3.5) / 20)


def test_p_values_equal_scipys() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy.stats is the oracle")
    rng = np.random.default_rng(4)
    positions = rng.geometric(0.08, size=(900, 2))
    positions[positions > 100] = 0
    positions[rng.random((900, 2)) < [0.15, 0.1]] = 0
    (row,) = outcomes_against(scores_at(positions), "A")
    a, b = positions.T
    both = (a > 0) & (b > 0)
    assert row.p_binomial == pytest.approx(stats.binomtest(row.only_b, row.only_a + row.only_b).pvalue)
    signed = stats.wilcoxon(a[both] - b[both], method="approx", correction=False).pvalue
    assert row.p_esl_signed_rank == pytest.approx(signed)
    assert row.p_esl_t == pytest.approx(stats.ttest_rel(a[both], b[both]).pvalue)
    assert row.p_rr_t == pytest.approx(stats.ttest_rel(1 / a[both], 1 / b[both]).pvalue)
    rr = np.where(positions > 0, 1 / np.maximum(positions, 1), 0.0)
    assert row.p_t == pytest.approx(stats.ttest_rel(rr[:, 0], rr[:, 1]).pvalue)
    rank_sum = stats.mannwhitneyu(rr[:, 0], rr[:, 1], use_continuity=False, method="asymptotic").pvalue
    assert row.p_rank_sum == pytest.approx(rank_sum)


@pytest.mark.parametrize(
    ("positions", "verdict"),
    [
        (column((40, 0, 2), (5, 2, 0), (60, 3, 1), (40, 1, 1)), Harm.BETTER),
        (column((40, 0, 2), (5, 2, 0), (60, 3, 3), (20, 1, 1)), Harm.BETTER_ANSWERS),
        (column((10, 0, 2), (10, 2, 0), (60, 5, 1), (20, 1, 1)), Harm.BETTER_RANKING),
        (column((40, 0, 2), (5, 2, 0), (60, 1, 9), (20, 1, 1)), Harm.MIXED),
        (column((5, 0, 2), (40, 2, 0), (60, 1, 1)), Harm.WORSE),
        (column((5, 0, 2), (5, 2, 0), (60, 1, 1)), Harm.NOT_TOLD_APART),
        (column((5, 0, 2), (5, 2, 0), (30, 1, 4), (30, 1, 1)), Harm.WORSE),
    ],
)
def test_do_no_harm(positions: np.ndarray, verdict: Harm) -> None:
    (row,) = outcomes_against(scores_at(positions), "A")
    assert row.verdict is verdict
    assert describe_outcomes(row).count("A") >= 1


def test_what_is_not_significant_is_not_called_absent() -> None:
    (row,) = outcomes_against(scores_at(column((40, 0, 2), (5, 2, 0), (60, 3, 3), (2, 1, 3))), "A")
    assert row.esl_b > row.esl_a
    assert "answers significantly more than A and does not rank significantly worse:" in describe_outcomes(
        row
    )


def test_both_verdicts_are_given_and_where_they_part() -> None:
    # a few long leaps carry the mean, and many small steps back the ranks
    parted = column((60, 1, 2), (25, 90, 1), (15, 1, 1))
    (row,) = outcomes_against(scores_at(parted), "A")
    assert row.p_esl_t <= row.alpha < row.p_esl_signed_rank
    assert (row.verdict, row.verdict_signed_rank) == (Harm.BETTER_RANKING, Harm.NOT_TOLD_APART)
    words = describe_outcomes(row)
    assert "The tests differ: by the t test of expected search length the verdict is 'ranks better'" in words
    assert "by the signed-rank test" in words
    (same,) = outcomes_against(scores_at(column((60, 2, 1), (40, 1, 1))), "A")
    assert same.verdict is same.verdict_signed_rank is Harm.BETTER_RANKING
    assert "part" not in describe_outcomes(same)
    tested = compare_runs(scores_at(parted), test="t", rng=np.random.default_rng(0))
    table = outcomes_table([(tested, row)])
    assert table.notes[-1] == "The two verdicts differ for 1 pair: A and B."
    assert outcomes_table([(tested, same)]).notes[-1] != table.notes[-1]


def test_the_level_is_divided_among_the_comparisons() -> None:
    rng = np.random.default_rng(1)
    rows = outcomes_against(scores_at(rng.integers(0, 9, size=(50, 5))), "C", alpha=0.04)
    assert [row.b for row in rows] == ["A", "B", "D", "E"]
    assert {row.alpha for row in rows} == {0.01}


HARMS = column((126, 0, 2), (93, 2, 0), (60, 1, 9), (20, 1, 1))
"""B answers more with p = .03, and ranks worse beyond doubt; C answers none."""


def test_a_harm_is_tested_at_the_level_itself_whatever_runs_stand_beside() -> None:
    beside = np.column_stack([HARMS, np.zeros((len(HARMS), 4), int)])
    alone = outcomes_against(scores_at(HARMS), "A")[0]
    among = outcomes_against(scores_at(beside), "A")[0]
    assert 0.01 < alone.p_binomial == among.p_binomial < 0.05
    assert (alone.alpha, alone.harm_alpha, among.alpha, among.harm_alpha) == (0.05, 0.05, 0.01, 0.05)
    assert alone.verdict is among.verdict is Harm.MIXED
    for of, against in (("A", "B"), ("B", "A")):
        (row, *_) = outcomes_against(scores_at(beside), of, [against, "C", "D", "E", "F"])
        assert row.verdict is Harm.MIXED
        assert "; level 0.01 for a gain, 0.05 for a harm)" in describe_outcomes(row)


def test_a_gain_that_the_correction_takes_away_is_no_verdict() -> None:
    harmless = column((126, 0, 2), (93, 2, 0), (60, 1, 1))
    pairs = [("A", "B")] * 5
    scores = scores_at(harmless)
    assert {row.verdict for row in outcomes_of_pairs(scores, pairs)} == {Harm.NOT_TOLD_APART}
    undivided = outcomes_of_pairs(scores, pairs, divided=False)
    assert {row.verdict for row in undivided} == {Harm.BETTER_ANSWERS}


def test_runs_that_share_no_answer_have_no_expected_search_length() -> None:
    (row,) = outcomes_against(scores_at(column((9, 1, 0), (4, 0, 1))), "A")
    assert row.both == 0
    assert math.isnan(row.esl_a)
    assert row.p_esl_t == row.p_rr_signed_rank == 1.0
    assert "no query is answered by both" in describe_outcomes(row)


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(2, 30), st.just(2)), elements=st.integers(0, 100)))
def test_swapping_the_runs_mirrors_the_row(positions: np.ndarray) -> None:
    (one,) = outcomes_against(scores_at(positions), "A")
    (other,) = outcomes_against(scores_at(positions), "B")
    assert one.neither + one.only_a + one.only_b + one.both == one.queries
    assert (one.only_a, one.only_b, one.both) == (other.only_b, other.only_a, other.both)
    for name in (
        "p_t",
        "p_signed_rank",
        "p_rank_sum",
        "p_binomial",
        "p_esl_t",
        "p_esl_signed_rank",
        "p_rr_t",
    ):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9), name
    assert (one.verdict is Harm.MIXED) == (other.verdict is Harm.MIXED)
    assert (one.verdict is Harm.NOT_TOLD_APART) == (other.verdict is Harm.NOT_TOLD_APART)


def test_positions_come_back_from_reciprocal_ranks() -> None:
    positions = np.arange(0, 1001).reshape(-1, 1)
    assert np.array_equal(to_positions(scores_at(positions)), positions)


def test_two_queries_that_both_answer_are_tested() -> None:
    """The differences are 1 and 3: t = 2, of one degree of freedom, where p = 1 - 2 / pi arctan t."""
    (row,) = outcomes_against(scores_at(column((1, 3, 2), (1, 5, 2))), "A")
    assert row.p_esl_t == pytest.approx(1 - 2 / math.pi * math.atan(2))


def test_each_arrival_meets_the_state_of_the_art_at_a_level_of_its_own() -> None:
    """B only harms, C answers more, D is C again, E ranks better than C but loses answers."""
    first = np.array([5] * 150 + [0] * 50)
    harms = np.where(first == 5, np.where(np.arange(200) % 10, 9, 8), 0)
    answers = np.where(first == 0, 5, first)
    ranks = np.where(np.arange(200) < 170, np.where(np.arange(200) % 10, 1, 2), 0)
    rows, line = outcomes_of_arrivals(
        scores_at(np.column_stack([first, harms, answers, answers, ranks])), tuple("ABCDE")
    )
    assert [(row.a, row.b, row.verdict.value) for row in rows] == [
        ("A", "B", "worse"),
        ("A", "C", "answers more"),
        ("C", "D", "not told apart"),
        ("C", "E", "mixed"),
    ]
    assert line == ("A", "C")
    assert [row.alpha for row in rows] == pytest.approx([0.05 / 4, 0.05 / 12, 0.05 / 24, 0.05 / 40])
    assert {row.harm_alpha for row in rows} == {0.05}
    two = sum(2 * level_of_arrival(number) for number in range(1, 5000))
    assert two == pytest.approx(0.05, rel=1e-3), "answers and ranking may each be claimed"
    (level,) = (
        one
        for one in outcomes_table([(scores_at(answers[:, None]), row) for row in rows], arrivals=True).notes
        if "its level" in one
    )
    assert "0.0125" not in level


def test_what_was_said_of_an_arrival_stays_when_others_follow() -> None:
    rng = np.random.default_rng(3)
    positions = rng.integers(0, 30, size=(300, 6))
    every, line = outcomes_of_arrivals(scores_at(positions), tuple("ABCDEF"))
    fewer, earlier = outcomes_of_arrivals(scores_at(positions[:, :4]), tuple("ABCD"))
    assert every[:3] == fewer
    assert line[: len(earlier)] == earlier


def test_a_run_that_was_withdrawn_is_nowhere_in_the_line_and_gives_its_level_to_nobody() -> None:
    first = np.array([5] * 150 + [0] * 50)
    positions = np.column_stack([first, np.full(200, 4), np.full(200, 4), np.full(200, 3)])
    every, line = outcomes_of_arrivals(scores_at(positions), tuple("ABCD"))
    rows, left = outcomes_of_arrivals(scores_at(positions), tuple("ABCD"), withdrawn={"B"})
    assert (line, left) == (("A", "B", "D"), ("A", "C", "D"))
    assert [(row.a, row.b) for row in rows] == [("A", "C"), ("C", "D")]
    assert [row.alpha for row in rows] == [row.alpha for row in every[1:]]
    _, without_the_first = outcomes_of_arrivals(scores_at(positions), tuple("ABCD"), withdrawn={"A"})
    assert without_the_first == ("B", "D")

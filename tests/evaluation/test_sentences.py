"""Verdicts in plain words, word for word."""

from dataclasses import replace
from math import log, nan

import numpy as np
import pytest

from prefjudge.evaluation.outcomes import Harm, Outcomes, describe_outcomes, describe_pair, write_p
from prefjudge.evaluation.tests import VARIANTS, Correction, Significance, SignificanceTest, default_test


def verdict(difference: float, p: float, *, pairs: int = 1, **fields: object) -> Significance:
    """One pair, or several that are the same."""

    def column(value: float) -> np.ndarray:
        return np.full(pairs, value)

    values: dict[str, object] = {
        "measure": "RR@10", "qrels": "q", "runs": ("r", "s"), "queries": 1200, "test": SignificanceTest.T,
        "variant": "", "reason": "", "correction": Correction.HOLM, "alpha": 0.05, "resamples": 0,
        "a": np.zeros(pairs, np.int32), "b": np.ones(pairs, np.int32), "difference": column(difference),
        "low": column(difference - 0.01), "high": column(difference + 0.02), "effect": column(0.1),
        "wins_a": np.zeros(pairs, np.int64), "wins_b": np.ones(pairs, np.int64), "p": column(p),
        "p_adjusted": column(p), "identical": np.zeros(pairs, np.bool_),
    }  # fmt: skip
    return Significance(**{**values, **fields})  # type: ignore[arg-type]


BETTER = "s is significantly better: 0.1250 RR@10 above r (95 % interval 0.1150 to 0.1450, 1,200 queries), "


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (verdict(0.125, 0.05), f"{BETTER}p = 0.05."),
        (verdict(0.125, 0.01, pairs=3), f"{BETTER}p = 0.01 among 3 pairs."),
        (verdict(0.125, 0.01, pairs=3, correction=Correction.NONE), f"{BETTER}p = 0.01."),
        (
            verdict(-0.125, 0.05001, alpha=0.1, queries=2),
            "r is significantly better: 0.1250 RR@10 above s (90 % interval 0.1050 to 0.1350, 2 queries), "
            "p = 0.05.",
        ),
        (
            verdict(0.125, 0.051),
            "r and s are not told apart: s is 0.1250 RR@10 above r "
            "(95 % interval 0.1150 to 0.1450, 1,200 queries), p = 0.051.",
        ),
        (
            verdict(0.125, 0.01, measure="ESL@10"),
            "r is significantly better: 0.1250 ESL@10 below s "
            "(95 % interval 0.1150 to 0.1450, 1,200 queries), p = 0.01.",
        ),
        (
            verdict(log(2), 0.01, measure="GMAP", low=np.log([0.5]), high=np.log([3e3])),
            "s is significantly better: 2.00 times the GMAP of r "
            "(95 % interval 0.50 to 3,000.00, 1,200 queries), p = 0.01.",
        ),
        (
            verdict(0.0, 1.0, low=np.array([nan]), high=np.array([nan]), queries=4),
            "r and s are not told apart: s is 0.0000 RR@10 above r (on each of 4 queries), p = 1.",
        ),
        (
            verdict(0.0, 1.0, identical=np.ones(1, np.bool_)),
            "r and s have the same RR@10 on each of 1,200 queries.",
        ),
    ],
)
def test_a_pair(result: Significance, sentence: str) -> None:
    assert describe_pair(result, 0) == sentence


ROW = Outcomes(
    a="r", b="s", queries=5000, difference=0.1, p_rank_sum=1.0, p_signed_rank=1.0, p_t=1.0, neither=2,
    only_a=1200, only_b=1, both=3000, p_binomial=0.03, esl_a=2.0, esl_b=3.5, rr_a=0.5, rr_b=0.4,
    p_esl_signed_rank=0.2, p_esl_t=0.00005, p_rr_signed_rank=1.0, p_rr_t=1.0, alpha=0.0083333,
    harm_alpha=0.05,    verdict=Harm.WORSE, verdict_signed_rank=Harm.WORSE,
)  # fmt: skip
ANSWERS = "1 query is answered only by s and 1,200 only by r (p = 0.03)"
LEVELS = "level 0.0083 for a gain, 0.05 for a harm"
LOWER = "the answer is 1.50 positions lower in s"


@pytest.mark.parametrize(
    ("harm", "claim"),
    [
        (Harm.BETTER, "s is significantly better than r in both ways"),
        (Harm.BETTER_ANSWERS, "s answers significantly more than r and does not rank significantly worse"),
        (
            Harm.BETTER_RANKING,
            "s ranks significantly better than r and does not answer significantly fewer",
        ),
        (Harm.MIXED, "s and r are each significantly better in one way"),
        (Harm.WORSE, "s is significantly worse than r"),
        (Harm.NOT_TOLD_APART, "s and r are not told apart by what they answer, or how high"),
    ],
)
def test_what_can_be_claimed_of_two_runs(harm: Harm, claim: str) -> None:
    assert describe_outcomes(replace(ROW, verdict=harm, verdict_signed_rank=harm)) == (
        f"{claim}: {ANSWERS}; where both answer (3,000), {LOWER} (p < 0.0001; {LEVELS})."
    )


def test_where_the_answers_stand() -> None:
    assert "the answer is 1.50 positions higher in s (" in describe_outcomes(replace(ROW, esl_b=0.5))
    assert "the answer is 0.01 positions higher in s (" in describe_outcomes(replace(ROW, esl_b=1.9949))
    assert "(3,000), the answer is as far down in both (p" in describe_outcomes(replace(ROW, esl_b=2.0049))
    alone = replace(ROW, both=0, only_b=2, esl_a=nan, esl_b=nan)
    assert describe_outcomes(alone) == (
        "s is significantly worse than r: 2 queries are answered only by s and 1,200 only by r (p = 0.03); "
        "no query is answered by both (level 0.0083 for a gain, 0.05 for a harm)."
    )


def test_tests_that_part_are_both_named() -> None:
    said = describe_outcomes(replace(ROW, verdict_signed_rank=Harm.NOT_TOLD_APART))
    assert said == (
        f"s is significantly worse than r: {ANSWERS}; where both answer (3,000), {LOWER} "
        f"(p < 0.0001; {LEVELS}). "
        "The tests differ: by the t test of expected search length the verdict is 'worse', by the "
        "signed-rank test (p = 0.2) 'not told apart'."
    )


@pytest.mark.parametrize(
    ("p", "written"),
    [
        (0.0, "< 0.0001"),
        (0.000099, "< 0.0001"),
        (0.0001, "= 0.0001"),
        (0.0314, "= 0.031"),
        (0.994, "= 0.99"),
        (0.995, "= 1"),
    ],
)
def test_p_values_are_written_to_two_digits(p: float, written: str) -> None:
    assert write_p(p) == written


FEW = " too few for a normal approximation, so the permutation test is used"
KEEPS = "the t test keeps its level on "
EFFECT = (
    ", where the signed-rank and sign tests do not; with so many, small differences become significant: read "
    "the effect beside the p-value"
)


@pytest.mark.parametrize(
    ("queries", "test", "reason"),
    [
        (1, "permutation", f"1 query is{FEW}"),
        (29, "permutation", f"29 queries are{FEW}"),
        (30, "t", f"{KEEPS}30 queries"),
        (999, "t", f"{KEEPS}999 queries"),
        (1000, "t", f"{KEEPS}1,000 queries{EFFECT}"),
    ],
)
def test_the_reason_for_a_test(queries: int, test: str, reason: str) -> None:
    assert default_test(queries) == (test, reason)


def test_every_test_has_a_variant_to_repeat_it_by() -> None:
    assert set(VARIANTS) == set(SignificanceTest)

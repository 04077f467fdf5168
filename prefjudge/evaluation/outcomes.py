"""Outcomes: does a run answer more queries, or rank the answers better?"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Scores
from prefjudge.errors import InputError
from prefjudge.evaluation import tests as paired
from prefjudge.evaluation.intervals import Column, Matrix, PairSums, pair_sums, to_grid
from prefjudge.evaluation.measures.measures import in_logarithms, lower_is_better
from prefjudge.evaluation.tests import Correction, Significance, SignificanceTest, classical_p
from prefjudge.words import many

_PAIR = (np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))


class Harm(StrEnum):
    """What can be claimed for run b over run a, "do no harm" (Lin et al., section 5).

    A gain is a claim: its level is divided among the comparisons. A harm is a doubt about a claim: it is
    tested at the level itself, or more runs beside the two would hide it.
    """

    BETTER = "better"
    """b answers significantly more queries and ranks significantly better."""
    BETTER_ANSWERS = "answers more"
    """b answers significantly more, and does not rank significantly worse."""
    BETTER_RANKING = "ranks better"
    """b ranks significantly better, and does not answer significantly fewer."""
    MIXED = "mixed"
    """One of the two gains significantly on one side and harms significantly on the other."""
    WORSE = "worse"
    """a gains significantly over b on one side, or both, and harms on neither."""
    NOT_TOLD_APART = "not told apart"
    """No significant gain on either side."""

    @property
    def improves(self) -> bool:
        """Whether b gains without harm."""
        return self in (Harm.BETTER, Harm.BETTER_ANSWERS, Harm.BETTER_RANKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The outcomes of two runs on the same queries. p-values are two-sided and raw; differences are b - a."""

    a: str
    b: str
    """The baseline and the contender."""
    queries: int
    difference: float
    """Mean reciprocal rank over all queries, b - a."""
    p_rank_sum: float
    p_signed_rank: float
    p_t: float
    """The naive tests of the reciprocal ranks over all queries (Table 1)."""
    neither: int
    only_a: int
    only_b: int
    both: int
    """How many queries each outcome has: cases (1), (2) and (3) of section 4."""
    p_binomial: float
    """The binomial test that a query which one run alone answers is as likely either's."""
    esl_a: float
    esl_b: float
    rr_a: float
    rr_b: float
    """Means over the queries that both answer; NaN where there are none."""
    p_esl_signed_rank: float
    p_esl_t: float
    p_rr_signed_rank: float
    p_rr_t: float
    """Tests over those queries (Table 2)."""
    alpha: float
    """The level of a gain, already divided by the number of comparisons."""
    harm_alpha: float
    """The level of a harm, which is not divided."""
    verdict: Harm
    verdict_signed_rank: Harm
    """From the binomial test and a test of ESL, which is on a ratio scale: the t test, and the Wilcoxon
    signed-rank test. The paper allows both, and they may part (its section 5)."""


def outcomes_of_pairs(
    scores: Scores,
    pairs: Sequence[tuple[str, str]],
    *,
    alpha: float = 0.05,
    divided: bool = True,
    harm_alpha: float | None = None,
) -> tuple[Outcomes, ...]:
    """Break down the outcomes of pairs of runs: one row of Tables 1 and 2 each.

    A gain has the level ``alpha``, ``divided`` among the pairs; a harm all of it, or its own.
    """
    for run in dict.fromkeys(run for pair in pairs for run in pair):
        if run not in scores.runs:
            raise InputError(f"no run is called {run!r}", f"Choose one of: {', '.join(scores.runs)}.")
    if len(scores.queries) < 2:
        raise InputError(many(len(scores.queries), "judged query"), "Give at least two judged queries.")
    positions = to_positions(scores)
    column = {run: number for number, run in enumerate(scores.runs)}
    levels = alpha / max(1, len(pairs)) if divided else alpha, harm_alpha or alpha
    return tuple(_break_down(a, b, positions[:, [column[a], column[b]]], *levels) for a, b in pairs)


def level_of_arrival(number: int, alpha: float = 0.05) -> float:
    """Return the level of each of the two tests of the run that came in after so many others.

    All levels together are ``alpha``, however many runs will come: under the same labels what was said of a
    run stays, and any claim, of a gain or a harm, is wrong on at most that share of boards of equal runs.
    """
    return alpha / (2 * number * (number + 1))


def outcomes_of_arrivals(
    scores: Scores, runs: Sequence[str], *, alpha: float = 0.05, withdrawn: Collection[str] = ()
) -> tuple[tuple[Outcomes, ...], tuple[str, ...]]:
    """Break down each run against the state of the art before it, in the order in which the runs came in.

    Returns the rows, and the runs that were the state of the art: the first, and each that improves. Those
    that were withdrawn are passed over; they keep their levels, which nobody gets by withdrawing.
    """
    standing = [(number, run) for number, run in enumerate(runs) if run not in withdrawn]
    line, rows = [run for _, run in standing[:1]], list[Outcomes]()
    for number, run in standing[1:]:
        level = level_of_arrival(number, alpha)
        rows += outcomes_of_pairs(scores, [(line[-1], run)], alpha=level, harm_alpha=alpha)
        line += [run] if rows[-1].verdict.improves else []
    return tuple(rows), tuple(line)


def to_positions(scores: Scores) -> Matrix:
    """Turn reciprocal ranks into positions; 0 where the query was not answered."""
    answered = scores.values > 0
    raw = 1.0 / np.where(answered, scores.values, 1.0)
    whole = np.rint(raw)
    if np.any(scores.values < 0) or np.any(np.abs(raw - whole) > 1e-6 * whole):
        raise InputError(
            f"{scores.measure} is not a reciprocal rank",
            "The outcome breakdown needs the position of the first relevant document: use RR, as RR@100.",
        )
    return np.where(answered, whole, 0.0)


def _break_down(a: str, b: str, positions: Matrix, alpha: float, harm_alpha: float) -> Outcomes:
    found_a, found_b = positions[:, 0] > 0, positions[:, 1] > 0
    both = found_a & found_b
    only_a, only_b = int(np.sum(found_a & ~found_b)), int(np.sum(found_b & ~found_a))
    # A position of 0 is "not found" and scores 0; the inner `where` only keeps it from being divided by.
    reciprocal = np.where(positions > 0, 1.0 / np.where(positions > 0, positions, 1.0), 0.0)
    esl, rr = positions[both], reciprocal[both]
    overall, by_esl, by_rr = _sums(reciprocal), _sums(esl), _sums(rr)
    p_binomial = float(paired.sign_test(np.array([float(only_b)]), np.array([float(only_a)]))[0])
    esl_a, esl_b = _means(esl)
    rr_a, rr_b = _means(rr)
    p_esl, p_esl_signed = _p(SignificanceTest.T, by_esl), _p(SignificanceTest.WILCOXON, by_esl)
    gain = np.sign([only_b - only_a, np.nan_to_num(esl_a - esl_b)]).astype(int)
    return Outcomes(
        a=a,
        b=b,
        queries=len(positions),
        difference=float(np.mean(reciprocal[:, 1]) - np.mean(reciprocal[:, 0])),
        p_rank_sum=_p(SignificanceTest.RANK_SUM, overall),
        p_signed_rank=_p(SignificanceTest.WILCOXON, overall),
        p_t=_p(SignificanceTest.T, overall),
        neither=int(np.sum(~found_a & ~found_b)),
        only_a=only_a,
        only_b=only_b,
        both=int(both.sum()),
        p_binomial=p_binomial,
        esl_a=esl_a,
        esl_b=esl_b,
        rr_a=rr_a,
        rr_b=rr_b,
        p_esl_signed_rank=p_esl_signed,
        p_esl_t=p_esl,
        p_rr_signed_rank=_p(SignificanceTest.WILCOXON, by_rr),
        p_rr_t=_p(SignificanceTest.T, by_rr),
        alpha=alpha,
        harm_alpha=harm_alpha,
        verdict=_verdict(gain, np.array([p_binomial, p_esl]), alpha, harm_alpha),
        verdict_signed_rank=_verdict(gain, np.array([p_binomial, p_esl_signed]), alpha, harm_alpha),
    )


def _sums(columns: Matrix) -> PairSums | None:
    return pair_sums(to_grid(columns), *_PAIR) if len(columns) > 1 else None


def _p(test: SignificanceTest, sums: PairSums | None) -> float:
    return 1.0 if sums is None else float(classical_p(test, sums)[0])


def _means(columns: Matrix) -> tuple[float, float]:
    if not len(columns):
        return float("nan"), float("nan")
    a, b = columns.mean(axis=0)
    return float(a), float(b)


def _verdict(gain: NDArray[np.int_], p: Column, alpha: float, harm_alpha: float) -> Harm:
    """Return the verdict from the signs of b's gains in answers and in ranking, and their p-values."""
    more, sooner = (gain * (p <= alpha)).tolist()
    if not more and not sooner:
        return Harm.NOT_TOLD_APART
    if {-1, 1} <= {more, sooner, *(gain * (p <= harm_alpha)).tolist()}:
        return Harm.MIXED
    if more + sooner < 0:
        return Harm.WORSE
    if more and sooner:
        return Harm.BETTER
    return Harm.BETTER_ANSWERS if more else Harm.BETTER_RANKING


# Verdicts in plain words.


def describe_pair(result: Significance, pair: int) -> str:
    """Return one sentence on a pair: who is ahead, by how much, and whether that can be told from chance."""
    a, b = result.runs[result.a[pair]], result.runs[result.b[pair]]
    if result.identical[pair]:
        return f"{a} and {b} have the same {result.measure} on each of {many(result.queries, 'query')}."
    difference = float(result.difference[pair])
    smaller = lower_is_better(result.measure)
    better, worse = (b, a) if (difference >= 0) != smaller else (a, b)
    side = "below" if smaller else "above"
    sign = math.copysign(1.0, difference)
    low, high = sorted(sign * float(end) for end in (result.low[pair], result.high[pair]))
    gap, apart = f"{abs(difference):.4f} {result.measure} {side} {worse}", f"{low:.4f} to {high:.4f}"
    if in_logarithms(result.measure):  # what is apart by a difference of logarithms is so by a ratio
        gap = f"{math.exp(abs(difference)):,.2f} times the {result.measure} of {worse}"
        apart = f"{math.exp(low):,.2f} to {math.exp(high):,.2f}"
    reach = f"{100 * (1 - result.alpha):g} % interval {apart}, {many(result.queries, 'query')}"
    if math.isnan(low):
        reach = f"on each of {many(result.queries, 'query')}"
    gap += f" ({reach})"
    p = write_p(float(result.p_adjusted[pair]))
    alone = result.correction is Correction.NONE or len(result) == 1
    among = "" if alone else f" among {many(len(result), 'pair')}"
    if result.significant[pair]:
        return f"{better} is significantly better: {gap}, p {p}{among}."
    return f"{a} and {b} are not told apart: {better} is {gap}, p {p}{among}."


def describe_outcomes(row: Outcomes) -> str:
    """Return one sentence on two runs: what can be claimed, from which outcomes."""
    claim = {
        Harm.BETTER: f"{row.b} is significantly better than {row.a} in both ways",
        Harm.BETTER_ANSWERS: (
            f"{row.b} answers significantly more than {row.a} and does not rank significantly worse"
        ),
        Harm.BETTER_RANKING: (
            f"{row.b} ranks significantly better than {row.a} and does not answer significantly fewer"
        ),
        Harm.MIXED: f"{row.b} and {row.a} are each significantly better in one way",
        Harm.WORSE: f"{row.b} is significantly worse than {row.a}",
        Harm.NOT_TOLD_APART: f"{row.b} and {row.a} are not told apart by what they answer, or how high",
    }[row.verdict]
    answers = (
        f"{many(row.only_b, 'query is', 'queries are')} answered only by {row.b} and {row.only_a:,} only by "
        f"{row.a} (p {write_p(row.p_binomial)})"
    )
    levels = f"level {row.alpha:.2g} for a gain, {row.harm_alpha:.2g} for a harm"
    if not row.both:
        return f"{claim}: {answers}; no query is answered by both ({levels})."
    gap = row.esl_b - row.esl_a
    if abs(gap) < 0.005:
        ranking = "the answer is as far down in both"
    else:
        ranking = f"the answer is {abs(gap):.2f} positions {'lower' if gap > 0 else 'higher'} in {row.b}"
    p = write_p(row.p_esl_t)
    said = f"{claim}: {answers}; where both answer ({row.both:,}), {ranking} (p {p}; {levels})."
    if row.verdict is row.verdict_signed_rank:
        return said
    p = write_p(row.p_esl_signed_rank)
    return (
        f"{said} The tests differ: by the t test of expected search length the verdict is "
        f"{row.verdict.value!r}, by the signed-rank test (p {p}) {row.verdict_signed_rank.value!r}."
    )


def write_p(p: float) -> str:
    """Write a p-value for a sentence: ``= 0.031``, ``< 0.0001``."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.995 else "= 1"

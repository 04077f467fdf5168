"""Verdicts in plain words."""

import math

from prefjudge.counts import many
from prefjudge.evaluation.scoring.measures import lower_is_better
from prefjudge.evaluation.testing.corrections import Correction
from prefjudge.evaluation.testing.outcomes import Harm, Outcomes
from prefjudge.evaluation.testing.significance import Significance


def describe_pair(result: Significance, pair: int) -> str:
    """Return one sentence on a pair: who is ahead, by how much, and whether that can be told from chance.

    Parameters
    ----------
    result : Significance
    pair : int
        The row of the pair.
    """
    a, b = result.runs[result.a[pair]], result.runs[result.b[pair]]
    if result.identical[pair]:
        return f"{a} and {b} have the same {result.measure} on each of {many(result.queries, 'query')}."
    difference = float(result.difference[pair])
    smaller = lower_is_better(result.measure)
    better, worse = (b, a) if (difference >= 0) != smaller else (a, b)
    side = "below" if smaller else "above"
    sign = math.copysign(1.0, difference)
    low, high = sorted(sign * float(end) for end in (result.low[pair], result.high[pair]))
    reach = (
        f"{100 * (1 - result.alpha):g} % interval {low:.4f} to {high:.4f}, {many(result.queries, 'query')}"
    )
    if math.isnan(low):
        reach = f"on each of {many(result.queries, 'query')}"
    gap = f"{abs(difference):.4f} {result.measure} {side} {worse} ({reach})"
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
        Harm.NOT_TOLD_APART: f"{row.b} and {row.a} are not told apart",
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
        ranking = "the answer is as far down in either"
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

"""Significance tests by name: which there are, the default, and the p-values of the classical ones."""

from enum import StrEnum

from prefjudge.counts import many
from prefjudge.evaluation.testing import classical_tests as paired
from prefjudge.evaluation.testing.difference_sums import PairSums
from prefjudge.evaluation.testing.integer_scores import Column

_SMALL = 30
_LARGE = 1000


class SignificanceTest(StrEnum):
    """A two-sided test that two runs score alike."""

    T = "t"
    WILCOXON = "wilcoxon"
    RANK_SUM = "rank-sum"
    SIGN = "sign"
    PERMUTATION = "permutation"
    BOOTSTRAP = "bootstrap"
    SEQUENTIAL = "sequential"


VARIANTS = {
    SignificanceTest.T: "Student's paired t test",
    SignificanceTest.WILCOXON: (
        "Wilcoxon signed-rank test: zeros dropped, average ranks; exact up to 50 differences, else normal "
        "approximation with tie correction and no continuity correction"
    ),
    SignificanceTest.RANK_SUM: (
        "Wilcoxon rank-sum test: average ranks; exact up to 8 queries, else normal approximation with tie "
        "correction and no continuity correction"
    ),
    SignificanceTest.SIGN: "sign test: exact binomial, equal scores dropped",
    SignificanceTest.PERMUTATION: (
        "sign-flip permutation test, two-sided: a flip counts where the means differ at least as much as "
        "they do, either way; all flips up to 14 queries, else p = (count + 1) / (resamples + 1)"
    ),
    SignificanceTest.BOOTSTRAP: "bootstrap test of the shifted mean, p = (count + 1) / (resamples + 1)",
    SignificanceTest.SEQUENTIAL: (
        "bets against equal means (hedged capital, mixture of 48 bets), p = 1 / capital; p and interval hold "
        "at all looks together, however often and whenever one looks"
    ),
}


def default_test(queries: int) -> tuple[SignificanceTest, str]:
    """Choose a test by the number of queries, and say why.

    The t test and the permutation test keep their level on every measure and size in the simulations of
    Urbano, Lima and Hanjalic (SIGIR 2019), where the sign and signed-rank tests drift from it as queries grow
    (also Ihemelandu and Ekstrand 2023). Below 30 queries the permutation test needs no normal approximation.
    """
    if queries < _SMALL:
        return SignificanceTest.PERMUTATION, (
            f"{many(queries, 'query is', 'queries are')} too few for a normal approximation, so "
            f"the permutation test is used"
        )
    reason = f"the t test keeps its level on {many(queries, 'query')}"
    if queries >= _LARGE:
        reason += (
            ", where the signed-rank and sign tests do not; with so many, small differences become "
            "significant: read the effect beside the p-value"
        )
    return SignificanceTest.T, reason


def classical_p(test: SignificanceTest, sums: PairSums, level: float | None = None) -> Column:
    """Return the p-value of each pair under a test that needs no resamples.

    With a ``level``, a p-value may be an approximate one that is on the same side of it.
    """
    if test is SignificanceTest.T:
        return paired.t_test(sums.total, sums.squares, sums.n)[1]
    if test is SignificanceTest.SIGN:
        return paired.sign_test(sums.plus, sums.minus)
    if test is SignificanceTest.WILCOXON:
        nonzero = sums.plus + sums.minus
        return paired.signed_rank_test(sums.rank_sum, nonzero, sums.rank_ties, sums.rank_pattern, level)[1]
    if test is SignificanceTest.RANK_SUM:
        return paired.rank_sum_test(sums.u, sums.n, sums.u_ties, sums.u_pattern)[1]
    raise ValueError(f"{test} needs resamples")

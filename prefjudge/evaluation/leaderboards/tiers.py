"""Tiers: which runs of a leaderboard do not differ significantly, and the ranks that each may have."""

from dataclasses import dataclass, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Scores
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.scoring.placings import Floats
from prefjudge.evaluation.testing.classical_tests import t_test
from prefjudge.evaluation.testing.corrections import Correction, adjust
from prefjudge.evaluation.testing.significance import Significance

_DRAWS = 4000
"""Draws for the chances to be first: their standard error is 0.008 at most."""
FIRST_TOLD_FROM = 50
"""The fewest queries for which P(first) is told: of fewer it was up to twice too high in simulations."""
_SHARES = 500
"""Shares of noise that are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How firmly one run holds its place.

    Attributes
    ----------
    run : str
        The run tag.
    tier : int
        From 1. A tier is led by its best run and holds the runs that are not significantly worse than it.
    highest, lowest : int
        The rank interval: one more than the runs that are significantly better, and the number of runs less
        those that are significantly worse.
    first : float
        The probability that the run is the best of all, as the mean over many more such queries would tell;
        NaN where it was not computed, as from too few queries.
    """

    run: str
    tier: int
    highest: int
    lowest: int
    first: float = nan


def standings(significance: Significance) -> tuple[Standing, ...]:
    """Return tiers and rank intervals from the tests of all pairs, the best run first.

    Parameters
    ----------
    significance : Significance
        The tests of all pairs of runs (``compare_runs`` without a baseline). With a correction that bounds
        the chance of any false claim (Holm, Bonferroni), all rank intervals hold together at ``1 - alpha``.

    Returns
    -------
    tuple of Standing
        One for each run, in order of its mean; equal means stand in order of the run tag.
    """
    count = len(significance.runs)
    # Filled for a < b only; less its transpose it is antisymmetric.
    lead = np.zeros((count, count))
    lead[significance.b, significance.a] = direction(significance.measure) * significance.difference
    lead -= lead.T
    told_apart = np.zeros((count, count), dtype=bool)
    told_apart[significance.a, significance.b] = significance.significant
    return _standings(significance.runs, lead, told_apart | told_apart.T)


def standings_of(
    scores: Scores, *, alpha: float = 0.05, first_from: int = FIRST_TOLD_FROM
) -> tuple[Standing, ...]:
    """Return tiers and rank intervals from paired t tests of all pairs with Holm's correction.

    The same as :func:`standings` of ``compare_runs(scores, test="t")``, from one matrix product instead of
    the sums that the other tests need too.

    Parameters
    ----------
    scores : Scores
        One measure of at least two runs on at least two queries, without perfect rankings.
    alpha : float
        The chance that any rank interval is wrong.
    first_from : int
        The fewest queries for which it is told how probable it is that a run is the best.
    """
    firm = rank_intervals(scores, alpha=alpha)
    if len(scores.queries) < first_from:
        return firm
    chances = dict(zip(scores.runs, _chances_first(direction(scores.measure) * scores.values), strict=True))
    return tuple(replace(one, first=chances[one.run]) for one in firm)


def rank_intervals(scores: Scores, *, alpha: float = 0.05) -> tuple[Standing, ...]:
    """Return the same without the chances to be first: all rank intervals hold together at 1 - alpha."""
    count = len(scores.runs)
    means = scores.values.mean(axis=0)
    tested = paired_t_tests(scores)
    told_apart = np.zeros((count, count), dtype=bool)
    told_apart[tested.a, tested.b] = (tested.p <= alpha) & (tested.difference != 0)
    lead = direction(scores.measure) * (means[:, None] - means[None, :])
    return _standings(scores.runs, lead, told_apart | told_apart.T)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTests:
    """The paired t tests of all pairs of runs.

    Attributes
    ----------
    a, b : ndarray of int64, shape (n_pairs,)
        Columns of the scores, ``a < b``.
    difference : ndarray of float64, shape (n_pairs,)
        The mean of b less that of a.
    p : ndarray of float64, shape (n_pairs,)
        The p-value with Holm's correction over all pairs.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    difference: Floats
    p: Floats


def paired_t_tests(scores: Scores) -> PairedTests:
    """Test all pairs of runs: the p-values of ``compare_runs(scores, test="t")``, from one matrix product.

    Parameters
    ----------
    scores : Scores
        One measure of at least two runs on at least two queries.
    """
    queries, count = scores.values.shape
    means, covered = scores.values.mean(axis=0), _covered(scores.values)
    squares = np.diag(covered)
    # The sum of squared differences of i and j about their
    # mean: |i|**2 + |j|**2 - 2 (i . j) for centred columns.
    around = np.maximum(squares[:, None] + squares[None, :] - 2 * covered, 0.0)
    # the product leaves rounding where two runs are the same: their difference is 0 there, and so is t
    a, b = np.triu_indices(count, 1)
    total = queries * (means[b] - means[a])
    # t_test takes raw sums of squares: those about the mean, and n times the mean squared.
    _, p = t_test(total, around[a, b] + total**2 / queries, queries)
    return PairedTests(a=a, b=b, difference=total / queries, p=adjust(p, Correction.HOLM))


def _covered(values: Floats) -> Floats:
    """Return the sums of products of the columns about their means."""
    centred = values - values.mean(axis=0)
    product: Floats = centred.T @ centred
    return product


@dataclass(frozen=True, slots=True, kw_only=True)
class NearlySame:
    """Two runs that score the same on nearly all queries.

    Attributes
    ----------
    a, b : str
        The run tags, the better one first.
    queries : int
        The queries on which either has more than the worst score: the others cannot tell runs apart.
    same : int
        On how many of these they have the same score. The rest alone decides which run is better.
    """

    a: str
    b: str
    queries: int
    same: int


def nearly_same(scores: Scores, *, least: float = 0.95, fewest: int = 20) -> tuple[NearlySame, ...]:
    """Return the runs that score the same on nearly all queries, the best ones first.

    Each run is compared with the five that follow it: such runs have nearly the same mean.

    Parameters
    ----------
    scores : Scores
        One measure of some runs.
    least : float
        The least share of the queries, of those on which either has more than the worst score.
    fewest : int
        The fewest such queries: of a handful, few runs differ on any.
    """
    if len(scores.values) < fewest:
        return ()
    sign = direction(scores.measure)
    order = sorted(
        range(len(scores.runs)), key=lambda run: (-sign * scores.values[:, run].mean(), scores.runs[run])
    )
    worst = (sign * scores.values).min(initial=0.0)
    found = []
    for place, a in enumerate(order):
        for b in order[place + 1 : place + 6]:
            one, other = sign * scores.values[:, a], sign * scores.values[:, b]
            hit = (one > worst) | (other > worst)
            queries, same = int(hit.sum()), int((one == other)[hit].sum())
            if queries >= fewest and same >= least * queries:
                found.append(NearlySame(a=scores.runs[a], b=scores.runs[b], queries=queries, same=same))
    return tuple(found)


def _chances_first(goodness: Floats) -> list[float]:
    """Return how often each run is first where the means are drawn by their covariance over queries.

    The error of means over many queries is normal, and over few of them Student's, as their variances are not
    known either. Nor do n queries rule out what chance makes of them: where one run is ahead on each, the
    sign test has p = 2 ** (1 - n), and so has this for two runs. ``goodness`` has a row a query and a column
    a run; higher is better.
    """
    # Runs that are the same on every query are drawn once, and are first together: a draw of each would part
    # them by rounding, which differs with the machine. Adding 0 makes one zero of the two.
    columns: dict[bytes, int] = {}
    same = [columns.setdefault(column.tobytes(), len(columns)) for column in goodness.T + 0.0]
    _, drawn_from = np.unique(same, return_index=True)
    distinct = goodness[:, drawn_from]
    means = distinct.mean(axis=0)
    # A root of the covariance with positive diagonal is the only one, so that all machines draw alike.
    _, root = np.linalg.qr(distinct - means)
    queries = len(goodness)
    root *= np.where(np.diag(root) < 0, -1.0, 1.0)[:, None] / np.sqrt(queries * (queries - 1))
    # The same draws for all boards: a board is a function of its scores.
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((_DRAWS, len(root))) @ root
    noise /= np.sqrt(rng.chisquare(queries - 1, _DRAWS) / (queries - 1))[:, None]
    kept = 1.0 - _noisy_shares(means, root, rng)
    # The posterior of such a share shrinks means by it, and the noise by its root: only the ratio counts.
    wins = np.bincount((noise + np.sqrt(kept)[:, None] * means).argmax(axis=1), minlength=means.size) / _DRAWS
    by_chance = 2.0 ** (1 - queries)
    found: list[float] = (
        (1.0 - by_chance) * (wins / np.bincount(same))[same] + by_chance / len(same)
    ).tolist()
    return found


def _noisy_shares(means: Floats, root: Floats, rng: np.random.Generator) -> Floats:
    """Draw which share of the variance between runs is noise, shape (_DRAWS,).

    The best of many runs was lucky, too: of thirty that are as good as each other the first is no better than
    the rest. How far runs truly are apart, all of them show; each variance is as probable before (C. Morris,
    Parametric empirical Bayes inference, JASA 1983). Two or three runs do not show it: nothing is shrunk.
    """
    centred = root - root.mean(axis=1, keepdims=True)
    spread = centred.T @ centred
    noise, seen = float(np.trace(spread)), float(((means - means.mean()) ** 2).sum())
    if noise <= 0.0:
        return np.zeros(_DRAWS)
    # Satterthwaite: runs whose noise is alike are fewer than they seem.
    freedom = noise**2 / float((spread**2).sum())
    if freedom <= 2.0:
        return np.zeros(_DRAWS)
    share = (np.arange(_SHARES) + 0.5) / _SHARES
    logs = (freedom / 2.0 - 2.0) * np.log(share) - share * freedom / 2.0 * seen / noise
    weight = np.exp(logs - logs.max())
    return rng.choice(share, _DRAWS, p=weight / weight.sum())


def _standings(runs: tuple[str, ...], lead: Floats, told_apart: NDArray[np.bool_]) -> tuple[Standing, ...]:
    """Put runs into tiers; ``lead[i, j]`` is by how much run i is better than run j."""
    count = len(runs)
    better = told_apart & (lead > 0)  # [i, j]: i is significantly better than j
    # Rounding differs with the way a mean was summed; twelve digits make runs of equal mean equal.
    goodness = lead.mean(axis=1)  # the mean lead orders runs exactly as their means do
    order = sorted(range(count), key=lambda run: (-round(float(goodness[run]), 12), runs[run]))
    tier = np.zeros(count, dtype=np.int64)
    number = 0
    for leader in order:
        if not tier[leader]:
            number += 1
            tier[(tier == 0) & ~better[leader]] = number
    return tuple(
        Standing(
            run=runs[run],
            tier=int(tier[run]),
            highest=1 + int(better[:, run].sum()),
            lowest=count - int(better[run].sum()),
        )
        for run in order
    )

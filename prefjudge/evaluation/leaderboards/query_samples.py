"""Query samples: does a sample of the queries rank the runs as all of them do?"""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.correlation import kendall_tau, tau_ap
from prefjudge.evaluation.scoring.measures import direction
from prefjudge.evaluation.scoring.placings import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAgreement:
    """How leaderboards from random samples of the queries agree with that of all queries.

    Attributes
    ----------
    measure, qrels : str
        What the scores are.
    queries, size, samples : int
        All queries, queries of a sample, and samples drawn.
    tau, tau_ap : ndarray of float64, shape (samples,)
        Each sample's correlation with the ranking by all queries, which is taken for the truth.
    identical : float
        The share of samples that rank all runs exactly as all queries do.
    """

    measure: str
    qrels: str
    queries: int
    size: int
    samples: int
    tau: Floats
    tau_ap: Floats
    identical: float


def sample_agreement(
    scores: Scores, *, size: int, samples: int = 1000, rng: np.random.Generator
) -> SampleAgreement:
    """Draw samples of queries without replacement and compare their rankings of the runs with the full one.

    Parameters
    ----------
    scores : Scores
        The query x run matrix.
    size : int
        How many queries a sample holds.
    samples : int
        How many samples to draw.
    rng : numpy.random.Generator
        Where the samples come from.

    Raises
    ------
    InputError
        Where a sample would hold no query or more than there are.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 4.1 and Figure 5: one sample of 500
    of 6,980 queries, which kept the order of all runs.
    """
    count = len(scores.queries)
    if not 0 < size <= count:
        raise InputError(f"a sample of {many(size, 'query')} cannot be drawn from {count}")
    sign = direction(scores.measure)
    whole = sign * scores.values.mean(axis=0)
    order = np.sign(whole[:, None] - whole[None, :])
    tau, tau_top, same = np.empty(samples), np.empty(samples), 0
    for number in range(samples):
        means = sign * scores.values[rng.permutation(count)[:size]].mean(axis=0)
        tau[number], tau_top[number] = kendall_tau(whole, means), tau_ap(whole, means)
        # Compared pair by pair, so that a tie which the sample breaks counts as a change.
        same += bool(np.array_equal(np.sign(means[:, None] - means[None, :]), order))
    return SampleAgreement(
        measure=scores.measure,
        qrels=scores.qrels,
        queries=count,
        size=size,
        samples=samples,
        tau=tau,
        tau_ap=tau_top,
        identical=same / samples,
    )

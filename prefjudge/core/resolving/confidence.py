"""Confidence: how probable it is that a candidate is the best answer, given the votes so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.runs import Codes
from prefjudge.core.resolving.bradley_terry import Strengths, fit_strengths
from prefjudge.core.resolving.cast_votes import CastVotes
from prefjudge.core.resolving.posterior import chance_best, is_exact
from prefjudge.core.resolving.scales import Scales, estimate_with_trust
from prefjudge.core.resolving.tournament import Index, tournaments
from prefjudge.core.resolving.trust import Trust, learn_trust
from prefjudge.core.resolving.vote_matrices import Floats, vote_matrices

_NEGLIGIBLE = 1e-3
"""A scale with a smaller share of the posterior moves no probability by more than that."""

_Function = TypeVar("_Function", bound=Callable[..., object])


def _one_blas_thread(function: _Function) -> _Function:
    """Limit linear algebra to one thread while the function runs, and put the process back as it was."""
    # The matrices are small: more threads would wait for each other, in a loop that takes processor time.
    limited: _Function = threadpool_limits.wrap(limits=1, user_api="blas")(function)
    return limited


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The probability of being the best, of every candidate of every query.

    The rows are those of the resolutions of the same judgments and pools.

    Attributes
    ----------
    model : str
        What the probabilities rest on.
    scales : Scales
        The standard deviations of the candidates' strengths, in logits, that the probabilities are averaged
        over: how probable each is by the votes, or the one that was given.
    draws : int
        Posterior samples per query.
    queries : tuple of str
    docs : sequence of str
        The vocabularies.
    start : ndarray of int64, shape (n_queries + 1,)
        The candidates of query ``q`` are the rows ``start[q]:start[q + 1]``.
    doc : ndarray of int32, shape (n_candidates,)
        Codes into ``docs``.
    chance : ndarray of float64, shape (n_candidates,)
        The probability that the candidate is the best; they sum to 1 in each query.
    trust : Trust or None
        How much the votes of each worker are worth; none where workers cannot be told apart.
    strength, deviation : ndarray of float64, shape (n_candidates,)
        The strength and its posterior standard deviation, in logits, as if nothing were a lapse.
    """

    model: str
    scales: Scales
    draws: int
    queries: tuple[str, ...]
    docs: Sequence[str]
    start: Index
    doc: Codes
    chance: Floats
    strength: Floats
    deviation: Floats
    trust: Trust | None = None

    def of(self, query_id: str) -> dict[str, float]:
        """Return the probability of each candidate of one query, by doc_id."""
        place = self.queries.index(query_id)
        rows = range(int(self.start[place]), int(self.start[place + 1]))
        return {self.docs[self.doc[row]]: float(self.chance[row]) for row in rows}

    def highest(self) -> Floats:
        """Return the highest probability in each query, shape (n_queries,); 0 where it has no candidate."""
        top = np.zeros(len(self.queries))
        filled = np.flatnonzero(np.diff(self.start))
        if filled.size:
            # reduceat gives an empty stretch the first value of
            # the next one: only queries with candidates take part.
            top[filled] = np.maximum.reduceat(self.chance, self.start[filled])
        return top


@_one_blas_thread
def assess_confidence(
    judgments: Judgments,
    *,
    rng: np.random.Generator,
    pools: Pools | None = None,
    scales: Scales | None = None,
    draws: int = 1000,
    strengths: bool = False,
) -> Confidence:
    """Compute the probability of being the best, for every candidate: Bradley-Terry with lapses.

    Where judgments name their workers, how reliable each of them is counts, too (see :class:`Trust`).

    Parameters
    ----------
    judgments : Judgments
        The votes. A tie is half a vote to each side.
    rng : numpy.random.Generator
        The source of the posterior samples. Those of a query do not depend on the other queries.
    pools : Pools, optional
        The candidates; by default the judged documents.
    scales : Scales, optional
        How far apart candidates are, and how votes err, where that is known (:func:`one_scale`); by default
        every value and share of lapses counts with its posterior probability, from the votes and from what is
        known of crowds.
    draws : int
        Posterior samples per query, shared out among the scales; the standard error of a probability, from
        one seed to another, is below ``0.5 / sqrt(draws)``. With 0 only the strengths are found, and every
        chance is nan.
    strengths : bool
        Whether a vote counts as often as it is strong.

    Notes
    -----
    A candidate that nobody compared keeps its share before any vote, one in as many as there are candidates;
    the votes tell how the others share the rest. It can only lower theirs.

    Calibrated: in simulations with such candidates, those who get a probability of 0.6 are the best six times
    in ten. Careless workers are known by their names alone: without names each vote is as doubtful as the
    average, and workers without other votes are taken for one of the crowd. Where ``scales.told``
    is false the votes do not tell how often votes are wrong, and the probabilities rest on how often crowds
    usually are.
    """
    if scales is None:
        scales, trust = estimate_with_trust(judgments, rng=rng, pools=pools, strengths=strengths)
    else:
        trust = learn_trust(judgments, pools=pools, strengths=strengths)
    seed = int(rng.integers(1 << 32))
    parts: list[tuple[Index, Codes, Floats, Floats, Floats]] = []
    for block in tournaments(judgments, pools=pools):
        n = block.doc.size
        chance, strength, deviation = np.zeros(n), np.zeros(n), np.zeros(n)
        compared, known = block.compared()
        share = compared.sizes / np.maximum(block.sizes, 1)
        if compared is not block:  # of whom nobody compared we know what we knew before any vote
            chance += (1.0 if draws else np.nan) / block.sizes[block.query]
            deviation += scales.mean
        for stack in vote_matrices(compared, ties=0.5, strengths=strengths, cells=1 << 20, trusting=trust):
            found = average_chances(stack.votes, scales, draws=draws, seed=seed, cast=stack.cast)
            rows = known[stack.rows]
            chance[rows], strength[rows], deviation[rows] = found
            chance[rows] *= share[stack.queries][:, None]
        parts.append((block.sizes, block.doc, chance, strength, deviation))
    vocabulary = pools if pools is not None else judgments
    return Confidence(
        model="bradley-terry",
        scales=scales,
        draws=draws,
        queries=vocabulary.queries,
        docs=vocabulary.docs,
        start=np.concatenate([[0], np.cumsum(np.concatenate([part[0] for part in parts]))]),
        doc=np.concatenate([part[1] for part in parts]),
        chance=np.concatenate([part[2] for part in parts]),
        strength=np.concatenate([part[3] for part in parts]),
        deviation=np.concatenate([part[4] for part in parts]),
        trust=trust,
    )


def average_chances(
    votes: Floats, scales: Scales, *, draws: int, seed: int, cast: CastVotes | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return each candidate's chance, strength and its deviation over the scales, all of shape (n, k).

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``.
    scales : Scales
        How votes may err.
    draws : int
        Posterior samples of each query, shared out among the scales; with 0 every chance is nan.
    seed : int
        Of the samples: the same votes have the same chances, whatever stands beside them.
    cast : CastVotes, optional
        The same votes with the trust in each, where it is not the same in all: ``votes`` are worth it.
    """
    size = votes.shape[1]
    counts = scales.weight > _NEGLIGIBLE
    weights = scales.weight[counts] / scales.weight[counts].sum()
    drawn = np.array([not is_exact(size, lapses) for lapses in scales.lapses[counts].tolist()])
    # Draws go where they are needed: what is summed up exactly takes none.
    per_weight = draws / max(float(weights[drawn].sum()), 1e-9)
    chance, mean, square = (np.zeros(votes.shape[:2]) for _ in range(3))
    start: Floats | None = None
    # Given the scale queries have nothing to do with each other: the posterior of all is the mixture, over
    # the scales, of each query's own.
    members = zip(
        scales.scale[counts].tolist(), scales.lapses[counts].tolist(), weights.tolist(), strict=True
    )
    for number, (scale, lapses, weight) in enumerate(members):
        fit = fit_strengths(votes, scale=scale, start=start)
        start = fit.mean
        if draws:
            # By the model and the size alone: what stands beside a query changes nothing of its draws.
            own = np.random.default_rng([seed, size, number])
            share = max(2, min(draws, round(per_weight * weight)))
            chance += weight * chance_best(
                votes, fit, scale=scale, draws=share, rng=own, lapses=lapses, cast=cast
            )
        mean += weight * fit.mean
        square += weight * (_variances(fit) + fit.mean**2)
    # The weights' sum is 1 but for rounding; the chance of a lone candidate is exactly that.
    chance = chance / chance.sum(axis=1, keepdims=True) if draws else np.full_like(chance, np.nan)
    return chance, mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _variances(fit: Strengths) -> Floats:
    # Laplace's approximation: the inverse curvature at the mode.
    covariance = np.linalg.inv(fit.precision)
    return np.diagonal(covariance, axis1=1, axis2=2)

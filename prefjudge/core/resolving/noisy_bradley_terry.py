"""Noisy Bradley-Terry: strengths of candidates together with the reliability and side bias of workers.

A worker looks with probability ``reliability`` and then votes as Bradley-Terry has it; otherwise the vote
goes to the left with probability ``left_when_guessing``, independent of what is shown.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.runs import Codes
from prefjudge.core.resolving.counting import Floats, Rule, Standing, TieWorth, Weights, best
from prefjudge.core.resolving.tournament import Index, Tournaments, tournaments


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Normal priors, all in logits.

    Attributes
    ----------
    scale : float
        The standard deviation of the strengths.
    reliability, reliability_scale : float
        The mean and standard deviation of a worker's reliability.
    side_scale : float
        The standard deviation of a worker's inclination to the left when guessing.
    """

    scale: float = 2.0
    reliability: float = 0.0
    reliability_scale: float = 1.5
    side_scale: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBradleyTerry:
    """Estimates of candidates and workers.

    Attributes
    ----------
    workers : tuple of str
        The workers; judgments without a worker id belong to a last, nameless one.
    reliability, left_when_guessing : ndarray of float64, shape (n_workers + 1,)
        The probability that a worker looks, and that a guess goes to the left.
    start : ndarray of int64, shape (n_queries + 1,)
        The candidates of query ``q`` are the rows ``start[q]:start[q + 1]``.
    doc : ndarray of int32, shape (n_candidates,)
        Document codes.
    strength : ndarray of float64, shape (n_candidates,)
        The strengths, in logits.
    converged : bool
        Whether the optimiser reached its tolerance.
    """

    workers: tuple[str, ...]
    reliability: Floats
    left_when_guessing: Floats
    start: Index
    doc: Codes
    strength: Floats
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Votes:
    """The votes as the likelihood needs them: ``side`` is 1 for the left, -1 for the right.

    A tie is half a vote for either.
    """

    left: Index
    right: Index
    worker: Index
    side: Floats
    worth: Floats
    n_candidates: int
    n_workers: int


def fit_noisy_bradley_terry(
    judgments: Judgments,
    *,
    pools: Pools | None = None,
    ties: TieWorth = TieWorth.HALF,
    strengths: bool = False,
    priors: Priors | None = None,
) -> NoisyBradleyTerry:
    """Fit the most probable strengths, reliabilities and side biases, by L-BFGS.

    Parameters
    ----------
    judgments : Judgments
        The votes of all queries, with their workers and the sides shown. Where those are not known, a guess
        is as likely to go to either document.
    pools : Pools, optional
        The candidates; by default the judged documents.
    ties : TieWorth
        Whether a tie says nothing, or is half a vote to each side.
    strengths : bool
        Whether a vote counts as often as it is strong.
    priors : Priors, optional
        What is taken to be known before any vote.

    References
    ----------
    X. Chen and others: Pairwise ranking aggregation in a crowdsourced setting (WSDM 2013) has workers of
    different reliability; the guess with a side bias is that of D. Ustalov and others (Crowd-Kit).
    """
    priors = priors if priors is not None else Priors()
    # Workers link the queries, so the votes of all of them are fitted at once, as one block.
    rows = 2 * len(judgments) + (0 if pools is None else pools.query.size) + 1
    (block,) = tournaments(judgments, pools=pools, block_rows=rows)
    votes = _votes(block, len(judgments.workers) + 1, ties, strengths)
    start = np.zeros(votes.n_candidates + 2 * votes.n_workers)
    start[votes.n_candidates : votes.n_candidates + votes.n_workers] = priors.reliability
    reach = np.full(start.size, np.inf)
    # Unknown sides tell nothing of a side bias: bounds of 0 hold every worker's at an even chance.
    if not judgments.sides:
        reach[-votes.n_workers :] = 0.0
    found = scipy.optimize.minimize(
        negative_log_posterior,
        start,
        args=(votes, priors),
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(-reach, reach),
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-6},
    )
    strength, reliability, side = _split(found.x, votes)
    return NoisyBradleyTerry(
        workers=judgments.workers,
        reliability=_logistic(reliability),
        left_when_guessing=_logistic(side),
        start=block.start,
        doc=block.doc,
        strength=strength,
        converged=bool(found.success),
    )


def negative_log_posterior(parameters: Floats, votes: _Votes, priors: Priors) -> tuple[float, Floats]:
    """Return minus the log posterior, up to a constant, and its gradient.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_candidates + 2 * n_workers,)
        The strengths, then each worker's reliability, then each worker's inclination to the left; in logits.
    votes : _Votes
        The votes.
    priors : Priors
        The priors.
    """
    strength, reliability, side = _split(parameters, votes)
    looks, guess = _logistic(reliability), _logistic(side)
    looking, guessing = looks[votes.worker], guess[votes.worker]
    honest = _logistic(strength[votes.left] - strength[votes.right])
    more = honest - guessing
    # The chance of the vote that was cast; away from 0, where its logarithm is infinite.
    chance = np.maximum(0.5 + votes.side * (guessing + looking * more - 0.5), 1e-12)
    value = -float(votes.worth @ np.log(chance))
    # d value / d chance of the left; the chain rule takes it to each of the three parameters that it mixes.
    slope = -votes.worth * votes.side / chance
    of_strength = slope * looking * honest * (1.0 - honest)
    n, w = votes.n_candidates, votes.n_workers
    # What is the same in all votes of a worker is multiplied once.
    of_reliability = np.bincount(votes.worker, weights=slope * more, minlength=w) * looks * (1.0 - looks)
    of_side = np.bincount(votes.worker, weights=slope, minlength=w) * (1.0 - looks) * guess * (1.0 - guess)
    gradient = np.concatenate(
        [
            np.bincount(votes.left, weights=of_strength, minlength=n)
            # The chance depends on left - right: what pulls the left one up pulls the right one down.
            - np.bincount(votes.right, weights=of_strength, minlength=n)
            + strength / priors.scale**2,
            of_reliability + (reliability - priors.reliability) / priors.reliability_scale**2,
            of_side + side / priors.side_scale**2,
        ]
    )
    value += 0.5 * float((strength**2).sum()) / priors.scale**2
    value += 0.5 * float(((reliability - priors.reliability) ** 2).sum()) / priors.reliability_scale**2
    value += 0.5 * float((side**2).sum()) / priors.side_scale**2
    return value, gradient


def _split(parameters: Floats, votes: _Votes) -> tuple[Floats, Floats, Floats]:
    n, w = votes.n_candidates, votes.n_workers
    return parameters[:n], parameters[n : n + w], parameters[n + w :]


def _logistic(x: Floats) -> Floats:
    # The logistic function, which overflows for no x in this form.
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _votes(block: Tournaments, n_workers: int, ties: TieWorth, strengths: bool) -> _Votes:
    decided, tied = np.flatnonzero(block.choice), np.flatnonzero(block.choice == 0)
    tied = np.repeat(tied if ties == TieWorth.HALF else tied[:0], 2)
    rows = np.concatenate([decided, tied])
    worth = block.strength[rows].astype(np.float64) if strengths else np.ones(rows.size)
    worth[decided.size :] *= 0.5
    return _Votes(
        left=block.left[rows],
        right=block.right[rows],
        # Code -1 would count from the end of the array by
        # accident; the nameless worker is the last by design.
        worker=np.where(block.worker >= 0, block.worker, n_workers - 1)[rows].astype(np.int64),
        side=np.concatenate([block.choice[decided], np.tile([1, -1], tied.size // 2)]).astype(np.float64),
        worth=worth,
        n_candidates=block.doc.size,
        n_workers=n_workers,
    )


def noisy_rule(judgments: Judgments, *, pools: Pools | None, ties: TieWorth, strengths: bool) -> Rule:
    """Fit all judgments together, and return the rule that takes the greatest strength in each query."""
    fit = fit_noisy_bradley_terry(judgments, pools=pools, ties=ties, strengths=strengths)

    span = len(judgments.docs if pools is None else pools.docs)
    keys = np.repeat(np.arange(fit.start.size - 1), np.diff(fit.start)) * span + fit.doc

    def noisy_bradley_terry(block: Tournaments, weights: Weights, won: Floats) -> Standing:
        # The fit has the rows of all queries, by query and document; a block has some of them.
        query = block.first + block.query.astype(np.int64)
        score = fit.strength[np.searchsorted(keys, query * span + block.doc)]
        # The optimiser stops short of the optimum by less than this, which must not break a tie.
        return Standing(score=score, winner=best(block, score, within=1e-4))

    return noisy_bradley_terry

"""Bradley-Terry: a strength for each candidate, from which the chance of a vote follows.

The chance that ``x`` is preferred to ``y`` is the logistic function of the difference of their strengths. The
strengths have a normal prior, so that a candidate who never lost, or was never compared, has a finite one.
"""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.resolving.counting import Standing, Weights, best
from prefjudge.core.resolving.tournament import Tournaments
from prefjudge.core.resolving.vote_matrices import Floats, vote_matrices

SCALE = 0.6
"""The prior's standard deviation by default: as real judgments of close passages have it. A vote on a random
pair is then wrong one time in three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Fitted strengths of ``n`` tournaments of ``k`` candidates.

    Attributes
    ----------
    mean : ndarray of float64, shape (n, k)
        The most likely strengths, in logits; 0 is average.
    precision : ndarray of float64, shape (n, k, k)
        The curvature there: the inverse of the posterior covariance.
    """

    mean: Floats
    precision: Floats


def fit_strengths(
    votes: Floats, *, scale: float | Floats = SCALE, start: Floats | None = None, within: float = 1e-9
) -> Strengths:
    """Fit many Bradley-Terry models at once, by Newton's method.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        ``votes[q, x, y]`` votes prefer ``x`` to ``y``. A tie is half a vote to each.
    scale : float or ndarray of float64, shape (n,)
        The standard deviation of the prior: of all, or of each.
    start : ndarray of float64, shape (n, k), optional
        Where to begin.
    within : float
        The gradient at which a fit is near enough to its optimum.

    Returns
    -------
    Strengths
        The gradient there is below that. The problem is strictly concave, so there is one answer.

    References
    ----------
    R. Bradley, M. Terry: Rank analysis of incomplete block designs (Biometrika, 1952).
    """
    n, k, _ = votes.shape
    mean = np.zeros((n, k)) if start is None else start.copy()
    both = votes + votes.transpose(0, 2, 1)
    prior = np.broadcast_to(1.0 / np.asarray(scale) ** 2, n)
    won = votes.sum(axis=2)
    precision = np.empty((n, k, k))
    open_ = np.arange(n)
    for _ in range(100):
        # Before the test, so that the precision returned is that of the mean returned.
        gradient, curvature = _slopes(mean[open_], won[open_], both[open_], prior[open_, None])
        precision[open_] = curvature
        steep = np.abs(gradient).max(axis=1, initial=0.0) > within
        open_ = open_[steep]
        if not open_.size:
            break
        step = np.linalg.solve(curvature[steep], gradient[steep][:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        # Far from the optimum the likelihood is nearly flat and
        # a full Newton step overshoots: two logits at most.
        mean[open_] += step * np.minimum(1.0, 2.0 / np.maximum(longest, 1e-12))
    return Strengths(mean=mean, precision=precision)


def _slopes(mean: Floats, won: Floats, both: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Return the gradient, shape (n, k), and the negative Hessian, shape (n, k, k), of the log posterior."""
    chance = 1.0 / (1.0 + np.exp(mean[:, None, :] - mean[:, :, None]))
    # Votes won less votes expected, less the pull of the prior.
    gradient = won - (both * chance).sum(axis=2) - prior * mean
    # A weighted graph Laplacian plus prior x identity: positive definite even where nothing was compared.
    precision = -both * chance * (1.0 - chance)
    diagonal = np.arange(mean.shape[1])
    precision[:, diagonal, diagonal] = 0.0
    precision[:, diagonal, diagonal] = prior - precision.sum(axis=2)
    return gradient, precision


def bradley_terry(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """The greatest strength under a Bradley-Terry model with a normal prior.

    Where every pair has equally many votes, the order is that of the votes won.
    """
    score = np.zeros(block.doc.size)
    for stack in vote_matrices(block, ties=weights.ties, strengths=weights.strengths):
        score[stack.rows] = fit_strengths(stack.votes).mean
    # Newton leaves a gradient of 1e-9, and the prior's curvature bounds the error: nearer strengths are tied.
    return Standing(score=score, winner=best(block, score, within=1e-6))

"""Proposals: the distributions that draws of strengths come from, to be weighted by how far these are off.

A proposal is a multivariate t distribution. Only differences of strengths count, so it lies in the plane in
which they sum to 0: a dimension less. Its draws are one even net of points, turned about the centre: their
error is several times smaller than that of as many random draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.resolving.bradley_terry import Strengths
from prefjudge.core.resolving.vote_matrices import Flags, Floats

Singles = NDArray[np.float32]

_WIDER = 1.1
"""How much wider than Laplace's approximation, so that no tail is missed."""
_FREEDOM = 4
"""Of the t distribution: with lapses the tails are heavier than a normal distribution's. Of larger pools it
is the number of dimensions: far out in many of them is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The t distributions of the strengths of ``n`` queries of ``k`` candidates, in the plane of their sum 0.

    Attributes
    ----------
    centre : ndarray of float64, shape (n, k - 1)
        By the basis of :func:`plane`.
    root : ndarray of float64, shape (n, k - 1, k - 1)
        Lower triangles ``L`` with ``L L'`` the scale matrix.
    """

    centre: Floats
    root: Floats

    def draw(self, net: Singles, turn: Floats) -> tuple[Singles, Singles]:
        """Return draws, each with its mirror image, and less the log of their density.

        Parameters
        ----------
        net : ndarray of float32, shape (k - 1, m)
            Draws of the standard distribution: a :func:`t_net`.
        turn : ndarray of float64, shape (k - 1, k - 1) or (n, k - 1, k - 1)
            Rotations: of one net for all queries, or for each.

        Returns
        -------
        strength : ndarray of float32, shape (n, k, 2 m)
        log_density : ndarray of float32, shape (n, 2 m)
            Up to a constant of the size ``k``: a standard normal distribution's at its centre.
        """
        size = net.shape[0]
        basis = plane(size + 1)
        move = (basis @ (self.root @ turn)).astype(np.float32) @ net
        centre = (self.centre @ basis.T)[:, :, None].astype(np.float32)
        strength = np.concatenate([centre + move, centre - move], axis=2)
        volume = np.log(np.diagonal(self.root, axis1=1, axis2=2)).sum(axis=1)
        freedom = max(_FREEDOM, size)
        volume += scipy.special.gammaln(freedom / 2) - scipy.special.gammaln((freedom + size) / 2)
        volume += 0.5 * size * np.log(freedom / 2)
        tail = 0.5 * (freedom + size) * np.log1p((net**2).sum(axis=0) / freedom)
        log_density = -(volume[:, None] + np.concatenate([tail, tail]))
        return strength, log_density.astype(np.float32)

    def only(self, some: slice | Flags) -> "Proposal":
        """Return the proposals of some of the queries."""
        return Proposal(centre=self.centre[some], root=self.root[some])

    def moved(self, strength: Singles, weight: Singles, *, where: Flags) -> "Proposal":
        """Return proposals with the mean and the covariance of weighted draws, as far as these tell them.

        Parameters
        ----------
        strength : ndarray of float32, shape (n, k, draws)
        weight : ndarray of float32, shape (n, draws)
            The logs of the draws' weights.
        where : ndarray of bool, shape (n,)
            Of which queries; the others stay.
        """
        share = np.exp(weight[where] - weight[where].max(axis=1, keepdims=True)).astype(np.float64)
        share /= share.sum(axis=1, keepdims=True)
        basis = plane(strength.shape[1])
        place = basis.T @ strength[where].astype(np.float64)
        mean = np.einsum("ndm,nm->nd", place, share)
        away = place - mean[:, :, None]
        # As many draws as the weights amount to, beside two for each candidate that say what was proposed.
        told = 1.0 / (share**2).sum(axis=1)
        told /= told + 2.0 * strength.shape[1]
        centre, root = self.centre.copy(), self.root.copy()
        old = root[where] @ root[where].transpose(0, 2, 1)
        seen = (away * share[:, None]) @ away.transpose(0, 2, 1)
        centre[where] += told[:, None] * (mean - centre[where])
        root[where] = np.linalg.cholesky(old + told[:, None, None] * (seen - old))
        return Proposal(centre=centre, root=root)


def laplace(fit: Strengths) -> Proposal:
    """Return Laplace's approximation at the most likely strengths, a little wider."""
    basis = plane(fit.mean.shape[1])
    covariance = np.linalg.inv(basis.T @ fit.precision @ basis)
    return Proposal(centre=fit.mean @ basis, root=_WIDER * np.linalg.cholesky(covariance))


def effective_draws(weight: Singles) -> Floats:
    """Return how many draws of equal weight tell as much, from the logs of weights, shape (n,)."""
    share = np.exp(weight - weight.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(share.sum(axis=1) ** 2 / (share**2).sum(axis=1))


def plane(size: int) -> Floats:
    """Return an orthonormal basis of the strengths whose sum is 0, shape (size, size - 1)."""
    return np.asarray(scipy.linalg.helmert(size).T)


@lru_cache(maxsize=64)
def t_net(size: int, points: int) -> Singles:
    """Return an even net of points of the standard t distribution, shape (size, points).

    Notes
    -----
    Directions follow Richtmyer's sequence, multiples of the roots of primes modulo 1. The lengths are at
    even quantiles: what depends on them alone is then exact, whatever the rotation (A. Genz, J. Monahan:
    Stochastic integration rules for infinite regions, SIAM J. Sci. Comput., 1998).
    """
    steps = np.sqrt(list(islice(_primes(), size + 1)))
    uniform = (0.5 + np.arange(1, points + 1)[:, None] * steps) % 1.0
    direction = scipy.special.ndtri(np.clip(uniform[:, :size], 1e-12, 1 - 1e-12)).T
    direction /= np.sqrt((direction**2).sum(axis=0))
    quantile = np.empty(points)
    quantile[np.argsort(uniform[:, size])] = (np.arange(points) + 0.5) / points
    # The squared length over the freedom follows a beta prime distribution.
    freedom = max(_FREEDOM, size)
    beta = scipy.special.betaincinv(0.5 * size, 0.5 * freedom, quantile)
    net = np.asarray(direction * np.sqrt(freedom * beta / (1.0 - beta)), dtype=np.float32)
    net.flags.writeable = False
    return net


def rotations(size: int, rng: np.random.Generator, *, many: int) -> Floats:
    """Return random rotations, all as probable as each other, shape (many, size, size)."""
    q, r = np.linalg.qr(rng.standard_normal((many, size, size)))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :])


def _primes() -> Iterator[int]:
    return (p for p in count(2) if all(p % q for q in range(2, int(p**0.5) + 1)))

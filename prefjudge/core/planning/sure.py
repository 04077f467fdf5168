"""Sure: votes where they tell most who is the best, until one candidate is it with enough probability."""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from prefjudge.core.asking.strategies import NOTHING, Asked, Counts, Flags, Floats
from prefjudge.core.resolving.bradley_terry import SCALE, Strengths, fit_strengths
from prefjudge.core.resolving.posterior import chance_best
from prefjudge.core.resolving.scales import HIGHEST, LOWEST, log_prior

_MOST_VOTES = 40
"""The most votes of a pool for each of its candidates: what nobody can tell apart must not cost for ever."""
_MOST_ON_A_PAIR = 60
"""Each is another worker's."""
_LARGEST_GROWTH = 2.0
"""How much the votes of a pool grow in a round at most, so that few rounds do not make them many."""
_DRAWS, _MANY_DRAWS, _SEED = 100, 1000, 18
_NEAR = 0.05
"""A probability so near to the level is computed again with many draws: of a hundred, luck stops a pool."""
_SAMPLE = 60
"""How many pools tell the scale of a simulation."""
_INFORMATION = 0.23
"""What a vote tells of the difference of two strengths: p (1 - p), where a third of the votes is wrong."""
_STEP = 6
"""The most votes of a pool in a round with patience: rounds of a sixth of its votes need a third more."""
_NEARLY = 0.9
"""A round that brought so much of its votes is over: one for the last few would cost days."""
_AHEAD = np.array([1, 2, 4, 8, 16, 32, 64], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Sure:
    """Ask where it tells most who is the best, until one candidate is the best with this probability.

    The first round lets every candidate meet two others; who joins a pool later first meets its most probable
    best. Each further round spends its votes on the pairs
    that two draws from the posterior would name as the best and its rival. The votes of a pool grow from
    round to round by the same factor, so that the last round leads to 40 votes for each candidate: who is not
    found by then is not worth finding.

    Attributes
    ----------
    level : float
        The probability of being the best at which a pool is finished, above 0 and up to 1.
    rounds : int
        In about how many rounds a pool is finished at the latest. More rounds need fewer votes.
    scale : float, optional
        How far apart candidates are: the standard deviation of their strengths, in logits. By default the
        votes of all pools that are shown tell it.
    patience : int, optional
        Give a pool up where votes raise the expected number of right winners by less than one for so many.
        Rounds are small then, so that none is spent after that: a vote for each pair, 6 a pool at most. By
        default only the most votes of a pool end it.

    References
    ----------
    D. Russo: Simple Bayesian algorithms for best-arm identification (Operations Research, 2020): top-two
    sampling. Rounds share their votes out in proportion to the probabilities of the pairs, which needs no
    chance, so that a round that was interrupted is asked for again as it was.
    """

    level: float
    rounds: int = 25
    scale: float | None = None
    patience: int | None = None

    @property
    def name(self) -> str:
        """Return ``sure:80``, ``sure:80x10`` in another number of rounds, ``sure:80/400`` with patience."""
        rounds = "" if self.rounds == Sure(1.0).rounds else f"x{self.rounds}"
        patience = "" if self.patience is None else f"/{self.patience}"
        return f"sure:{100 * self.level:.10g}{rounds}{patience}"

    def ask(self, votes: Floats) -> Asked:
        """Ask for the next round of the pools whose best is not probable enough by a fit of these votes."""
        return self.ask_by(votes, self.believe(votes))

    def leaders(self, votes: Floats) -> Flags:
        """Return the most probable best; all where nothing tells them apart."""
        return most_probable(self.believe(votes, draws=_MANY_DRAWS))

    def learn(self, votes: Floats) -> "Sure":
        """Return the strategy with the scale that these votes tell."""
        return replace(self, scale=likely_scale(votes[:_SAMPLE])) if self.scale is None else self

    def believe(self, votes: Floats, *, draws: int = _DRAWS) -> Floats:
        """Return the probability that each candidate is the best, shape (n, k)."""
        scale = self.learn(votes).scale
        assert scale is not None
        fit = fit_strengths(votes, scale=scale)
        # The same draws each time: the votes alone decide.
        chance = chance_best(votes, fit, scale=scale, draws=draws, rng=np.random.default_rng(_SEED))
        near = np.flatnonzero(chance.max(axis=1) >= self.level - _NEAR)
        if draws < _MANY_DRAWS and near.size:
            few = Strengths(mean=fit.mean[near], precision=fit.precision[near])
            again = np.random.default_rng(_SEED)
            chance[near] = chance_best(votes[near], few, scale=scale, draws=_MANY_DRAWS, rng=again)
        return chance

    def ask_by(self, votes: Floats, chance: Floats) -> Asked:
        """Return what to ask for, given the probability that each candidate is the best.

        Parameters
        ----------
        votes : ndarray of float64, shape (n, k, k)
            The votes so far.
        chance : ndarray of float64, shape (n, k)
            The probabilities.
        """
        if votes.shape[1] == 1:
            return NOTHING
        lacks = np.where(self.open(votes, chance), self._lacking(votes), 0)
        first = ~votes.any(axis=(1, 2)) & (lacks > 0)
        wanted = _shared_out(_duels(chance), lacks, np.ceil(votes + votes.transpose(0, 2, 1)))
        wanted = _in_steps(wanted)
        joined = _unseen(votes)
        wanted[joined.any(axis=1)] = _introduced(joined, chance)[joined.any(axis=1)]
        wanted[first] = _circle(votes.shape[1])
        pool, x, y = np.nonzero(wanted)
        return Asked(pool, x, y, wanted[pool, x, y])

    def open(self, votes: Floats, chance: Floats) -> Flags:
        """Return which pools are not finished, shape (n,)."""
        size, total = votes.shape[1], votes.sum(axis=(1, 2))
        if size == 1:
            return np.zeros(total.size, dtype=bool)
        unsure = chance.max(axis=1) < self.level
        if self.patience is not None:
            unsure &= worth(votes, chance) * self.patience > 1
        # A pool that nobody has judged is never finished, however low the level; nor is one with a candidate
        # who met nobody: the model takes him for an average one.
        new = (total == 0) | _unseen(votes).any(axis=1)
        return np.asarray(new | (unsure & (total < self._totals(size)[-1])))

    def _lacking(self, votes: Floats) -> Counts:
        """Return how many votes each pool is short of the total of its next round, shape (n,)."""
        totals, so_far = self._totals(votes.shape[1]), votes.sum(axis=(1, 2))
        if self.patience is not None:
            return np.full(so_far.size, min(_STEP, votes.shape[1] * (votes.shape[1] - 1) // 2))
        following = np.searchsorted(totals, so_far / _NEARLY, side="right")
        lacks = totals[np.minimum(following, totals.size - 1)] - so_far
        found: Counts = np.ceil(np.maximum(lacks, 0)).astype(np.int64)
        return found

    def _totals(self, size: int) -> Counts:
        """Return how many votes a pool of this size has after each round."""
        first = int(_circle(size).sum())
        most = min(_MOST_VOTES * size, _MOST_ON_A_PAIR * size * (size - 1) // 2)
        growth = min(_LARGEST_GROWTH, (most / first) ** (1.0 / max(1, self.rounds - 1)))
        return np.unique(np.rint(first * growth ** np.arange(self.rounds)).astype(np.int64))


def most_probable(chance: Floats) -> Flags:
    """Return the most probable best of each pool, shape (n, k); several where they are even."""
    return np.asarray(chance >= chance.max(axis=1, keepdims=True))


def worth(votes: Floats, chance: Floats) -> Floats:
    """Return by how much a further vote on a pool raises the expected number of right winners, shape (n,).

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes so far.
    chance : ndarray of float64, shape (n, k)
        The probability that each candidate is the best.

    Notes
    -----
    Of the two likeliest only, as if the difference of their strengths were normal: ``m`` more votes move its
    mean by a normal amount of known variance, so that the expected probability of being right after them is a
    one-dimensional integral. One vote seldom changes who leads, and so looks worth nothing: the best of one
    to 64 votes ahead is taken, for each of its votes (as the knowledge gradient of Frazier and Powell, The
    knowledge-gradient stopping rule, 2008, and its look-ahead).
    """
    n, size = chance.shape
    if size == 1:
        return np.zeros(n)
    place = np.argsort(-chance, axis=1, kind="stable")[:, :2]
    two = np.take_along_axis(chance, place, axis=1)
    shown = votes.sum(axis=2) + votes.sum(axis=1)
    # The prior and the votes that showed each of the two: what is known of each strength adds up.
    known = 1.0 / SCALE**2 + _INFORMATION * np.take_along_axis(shown, place, axis=1)
    variance = (1.0 / known).sum(axis=1)
    both = two.sum(axis=1)
    lead = scipy.special.ndtri(np.clip(two[:, 0] / np.maximum(both, 1e-300), 0.5, 1.0 - 1e-9))
    mean = lead * np.sqrt(variance)
    left = 1.0 / (1.0 / variance[:, None] + _INFORMATION * _AHEAD)
    moves = np.sqrt(variance[:, None] - left)
    after = mean[:, None, None] + moves[:, :, None] * _NODES
    right = scipy.special.ndtr(np.abs(after) / np.sqrt(left)[:, :, None]) @ _WEIGHTS
    gained = (right - scipy.special.ndtr(lead)[:, None]) / _AHEAD
    return np.asarray(both * np.maximum(gained.max(axis=1), 0.0))


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def likely_scale(votes: Floats) -> float:
    """Return the most probable scale by the votes, by Laplace's approximation of their probability.

    Parameters
    ----------
    votes : ndarray of float64, shape (n, k, k)
        The votes of some pools.
    """
    start: Floats | None = None

    def improbable(log_scale: float) -> float:
        nonlocal start
        scale = float(np.exp(log_scale))
        fit = fit_strengths(votes, scale=scale, start=start)
        start = fit.mean
        gap = fit.mean[:, :, None] - fit.mean[:, None, :]
        likelihood = -(votes * np.logaddexp(0.0, -gap)).sum() - 0.5 * (fit.mean**2).sum() / scale**2
        volume = 0.5 * np.linalg.slogdet(fit.precision)[1].sum() + fit.mean.size * np.log(scale)
        return float(volume - likelihood) - log_prior(scale)

    bounds = (np.log(LOWEST), np.log(HIGHEST))
    found = scipy.optimize.minimize_scalar(
        improbable, bounds=bounds, method="bounded", options={"xatol": 0.02}
    )
    return float(np.exp(found.x))


def _circle(size: int) -> Counts:
    """Return the first round: each candidate meets the next one, and the last the first."""
    wanted = np.zeros((size, size), dtype=np.int64)
    one = np.arange(size - 1)
    wanted[one, one + 1] = 1
    if size > 2:
        wanted[0, size - 1] = 1
    return wanted


def _unseen(votes: Floats) -> Flags:
    """Return which candidates have met nobody, shape (n, k)."""
    return np.asarray((votes.sum(axis=1) + votes.sum(axis=2)) == 0)


def _introduced(unseen: Flags, chance: Floats) -> Counts:
    """Return two votes on each candidate who has met nobody against the most probable best of the others."""
    n, size = chance.shape
    wanted = np.zeros((n, size, size), dtype=np.int64)
    best = np.where(unseen, -1.0, chance).argmax(axis=1)
    pool, one = np.nonzero(unseen)
    wanted[pool, np.minimum(one, best[pool]), np.maximum(one, best[pool])] = 2
    return wanted


def _duels(chance: Floats) -> Floats:
    """Return how often top-two sampling compares each pair, shape (n, k, k), above the diagonal.

    Of two draws from the posterior that differ in who is best, ``x`` is the first with its chance, ``y`` the
    second with its chance among the others.
    """
    # A chance of exactly 1 has no rival among the draws: then all others are rivals alike.
    soft = (chance + 1e-6) / (1.0 + 1e-6 * chance.shape[1])
    second = soft / (1.0 - soft)
    return np.triu(soft[:, :, None] * second[:, None, :] + second[:, :, None] * soft[:, None, :], 1)


def _shared_out(weights: Floats, lacks: Counts, so_far: Floats) -> Counts:
    """Return whole numbers in proportion to the weights, shape (n, k, k), that add up to ``lacks``.

    What a pair may not have, as it would pass its most votes, goes to the others.
    """
    n, size, _ = weights.shape
    flat, room = weights.reshape(n, -1), np.maximum(_MOST_ON_A_PAIR - so_far, 0.0).reshape(n, -1)
    given, left = np.zeros_like(flat), lacks.astype(np.float64)
    while left.any():
        open_to = np.where(given < room, flat, 0.0)
        left = np.where(open_to.sum(axis=1) > 0, left, 0.0)
        more = np.minimum(_rounded(open_to, left), room - given)
        given, left = given + more, left - more.sum(axis=1)
    return given.astype(np.int64).reshape(n, size, size)


def _in_steps(wanted: Counts) -> Counts:
    """Return each number as the power of two that is nearest to it.

    Pairs that need as many votes share a HIT: were there pairs for 5, 6, 7 and 9 votes, each number would
    have a HIT that is not full, and costs as much as a full one.
    """
    steps = np.exp2(np.rint(np.log2(np.maximum(wanted, 1))))
    return np.where(wanted > 0, np.minimum(steps, 1 << 5), 0).astype(np.int64)


def _rounded(weights: Floats, total: Floats) -> Floats:
    """Return whole numbers in proportion to the weights of each row that add up to its total."""
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) * total[:, None]
    whole = np.floor(shares)
    # What rounding down leaves goes to the largest remainders.
    order = np.argsort(whole - shares, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(weights.shape[1])[None, :], axis=1)
    return np.asarray(whole + (rank < np.rint(total - whole.sum(axis=1))[:, None]))

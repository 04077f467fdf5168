"""Sure: votes where they tell most who is the best, until one candidate is it with enough probability."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.asking.strategies import NOTHING, Asked, Counts, Flags, Floats, joined
from prefjudge.core.planning.likely_crowd import Crowds, Judged, likely_crowd
from prefjudge.core.planning.neighbours import Stakes
from prefjudge.core.planning.worth import worth
from prefjudge.core.resolving.confidence import average_chances
from prefjudge.core.resolving.scales import Scales

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
"""How many pools tell how the votes of a simulation err."""
_STEP = 6
"""The most votes of a pool in a round with patience: rounds of a sixth of its votes need a third more."""
_NEARLY = 0.9
"""A round that brought so much of its votes is over: one for the last few would cost days."""


@dataclass(frozen=True, slots=True)
class Sure:
    """Ask where it tells most who is the best, until one candidate is the best with this probability.

    In the first round each candidate meets the next one; who joins a pool later first meets its most probable
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
    crowd : Scales, optional
        How far apart candidates are, and how votes err. By default the votes of all pools that are shown tell
        it.
    patience : int, optional
        Give a pool up where votes raise the expected number of right winners by less than one for so many.
        Rounds are small then, so that none is spent after that: 6 votes a pool at most. By default only the
        most votes of a pool end it.
    runs : tuple of str, optional
        Ask where it tells most which of two runs is better, until the order of neighbours on the board has
        this probability; of two runs where they are named. By default it is the best answers that count.

    References
    ----------
    D. Russo: Simple Bayesian algorithms for best-arm identification (Operations Research, 2020): top-two
    sampling. Rounds share their votes out in proportion to the probabilities of the pairs, which needs no
    chance, so that a round that was interrupted is asked for again as it was.
    """

    level: float
    rounds: int = 25
    crowd: Scales | None = None
    patience: int | None = None
    runs: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Return ``sure:80``, ``sure:80x10`` in another number of rounds, ``sure:80/400`` with patience.

        For runs it is ``runs:80``, and ``runs:80:one:other`` for two that are named.
        """
        rounds = "" if self.rounds == Sure(1.0).rounds else f"x{self.rounds}"
        patience = "" if self.patience is None else f"/{self.patience}"
        named = "".join(":" + run.replace("%", "%25").replace(":", "%3A") for run in self.runs or ())
        kind = "sure" if self.runs is None else "runs"
        return f"{kind}:{100 * self.level:.10g}{rounds}{patience}{named}"

    @property
    def share(self) -> float:
        """How many votes a round takes of those before it, where one queue serves all pools."""
        return float(min(_LARGEST_GROWTH, _MOST_VOTES ** (1.0 / max(1, self.rounds - 1)))) - 1.0

    def ask(self, votes: Floats) -> Asked:
        """Ask for the next round of the pools whose best is not probable enough by a fit of these votes."""
        return self.ask_by(votes, self.believe(votes))

    def leaders(self, votes: Floats) -> Flags:
        """Return the most probable best; all where nothing tells them apart."""
        return most_probable(self._chance(votes, _contested))

    def learn(self, votes: Floats) -> "Sure":
        """Return the strategy with the crowd that these votes tell."""
        if self.crowd is not None:
            return self
        return replace(self, crowd=likely_crowd(votes[:_SAMPLE]))

    def believe(self, votes: Floats) -> Floats:
        """Return the probability that each candidate is the best, shape (n, k)."""
        return self._chance(votes, lambda chance: chance.max(axis=1) >= self.level - _NEAR)

    def _chance(self, votes: Floats, in_doubt: Callable[[Floats], Flags]) -> Floats:
        """Return the same, of many draws for the pools that are in doubt by few."""
        crowd = self.learn(votes).crowd
        assert crowd is not None
        chance, _, _ = average_chances(votes, crowd, draws=_DRAWS, seed=_SEED)
        some = np.flatnonzero(in_doubt(chance))
        if some.size:
            chance[some], _, _ = average_chances(votes[some], crowd, draws=_MANY_DRAWS, seed=_SEED)
        return chance

    def ask_in(self, judged: Judged, crowds: Crowds) -> Asked:
        """Ask for the next round of pools of several studies, each of which has told its own crowd."""
        chance = crowds.chances(judged, draws=_DRAWS)
        some = np.flatnonzero(chance.max(axis=1) >= self.level - _NEAR)
        if some.size:
            chance[some] = crowds.chances(judged.only(some), draws=_MANY_DRAWS // 2)
        if self.patience is None:
            return self.ask_by(judged.votes, chance)
        asked = []
        for study in np.unique(judged.study).tolist():  # what a vote is worth hangs on the crowd
            own = np.flatnonzero(judged.study == study)
            one = replace(self, crowd=crowds.of(study)).ask_by(judged.votes[own], chance[own])
            asked.append(Asked(own[one.pool], one.x, one.y, one.votes))
        return joined(asked)

    def leaders_in(self, judged: Judged, crowds: Crowds) -> Flags:
        """Return the most probable best of pools of several studies."""
        return most_probable(crowds.chances(judged, draws=_MANY_DRAWS))

    def ask_by(
        self, votes: Floats, chance: Floats, stakes: Stakes | None = None, *, weighed: Floats | None = None
    ) -> Asked:
        """Return what to ask for, given the probability that each candidate is the best.

        Parameters
        ----------
        votes : ndarray of float64, shape (n, k, k)
            The votes so far.
        chance : ndarray of float64, shape (n, k)
            The probabilities.
        stakes : Stakes, optional
            What hangs on the best answers; by default as much on each.
        weighed : ndarray of float64, shape (n, k, k), optional
            The votes by the trust in their workers; by default all weigh the same.
        """
        if votes.shape[1] == 1:
            return NOTHING
        is_open = self.open(votes, chance, stakes, weighed=weighed)
        lacks = np.where(is_open, self._lacking(votes), 0)
        first = ~votes.any(axis=(1, 2)) & (lacks > 0)
        duels = _duels(chance) * (1.0 if stakes is None else stakes.cost)
        wanted = _in_steps(_shared_out(duels, lacks, np.ceil(votes + votes.transpose(0, 2, 1))))
        joined = _unseen(votes) & is_open[:, None]
        wanted[joined.any(axis=1)] = _introduced(joined, chance)[joined.any(axis=1)]
        wanted[first] = _in_a_row(votes.shape[1])
        pool, x, y = np.nonzero(wanted)
        return Asked(pool, x, y, wanted[pool, x, y])

    def open(
        self, votes: Floats, chance: Floats, stakes: Stakes | None = None, *, weighed: Floats | None = None
    ) -> Flags:
        """Return which pools are not finished, shape (n,)."""
        size, total = votes.shape[1], votes.sum(axis=(1, 2))
        if size == 1:
            return np.zeros(total.size, dtype=bool)
        # A pool that nobody has judged is never finished, however low the level; nor is one with a candidate
        # who met nobody: the model takes him for an average one.
        new = (total == 0) | _unseen(votes).any(axis=1)
        unsure = chance.max(axis=1) < self.level
        if stakes is not None:
            new, unsure = new & stakes.counts, stakes.cost.any(axis=(1, 2)) & (not stakes.told)
        if self.patience is not None:
            gain = worth(votes if weighed is None else weighed, chance, crowd=self.crowd)
            unsure &= gain * self.patience > 1
        # One queue over all queries has no rounds of a pool's own: only the most votes end a pool.
        most = self._totals(size)[-1] if self.runs is None else _most_votes(size)
        return np.asarray(new | (unsure & (total < most)))

    def _lacking(self, votes: Floats) -> Counts:
        """Return how many votes each pool is short of the total of its next round, shape (n,)."""
        totals, so_far = self._totals(votes.shape[1]), votes.sum(axis=(1, 2))
        step = min(_STEP, votes.shape[1] * (votes.shape[1] - 1) // 2)
        if self.runs is not None:
            return np.full(so_far.size, step)
        following = np.searchsorted(totals, so_far / _NEARLY, side="right")
        lacks = totals[np.minimum(following, totals.size - 1)] - so_far
        found: Counts = np.ceil(np.maximum(lacks, 0)).astype(np.int64)
        return found if self.patience is None else np.minimum(found, step)

    def _totals(self, size: int) -> Counts:
        """Return how many votes a pool of this size has after each round."""
        first = int(_in_a_row(size).sum())
        growth = min(_LARGEST_GROWTH, (_most_votes(size) / first) ** (1.0 / max(1, self.rounds - 1)))
        return np.unique(np.rint(first * growth ** np.arange(self.rounds)).astype(np.int64))


def most_probable(chance: Floats) -> Flags:
    """Return the most probable best of each pool, shape (n, k); several where they are even."""
    return np.asarray(chance >= chance.max(axis=1, keepdims=True))


def _contested(chance: Floats) -> Flags:
    """Return in which pools luck may tell who of two is the most probable best, shape (n,)."""
    if chance.shape[1] == 1:
        return np.zeros(len(chance), dtype=bool)
    two = np.partition(chance, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0] < 2 * _NEAR)


def _most_votes(size: int) -> int:
    """Return the most votes of a pool of this size."""
    return min(_MOST_VOTES * size, _MOST_ON_A_PAIR * size * (size - 1) // 2)


def _in_a_row(size: int) -> Counts:
    """Return the first round: each candidate meets the next one."""
    wanted = np.zeros((size, size), dtype=np.int64)
    one = np.arange(size - 1)
    wanted[one, one + 1] = 1
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

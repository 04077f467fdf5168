"""Sure: votes where they tell most who is the best, until one candidate is it with enough probability."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.resolving.posterior import (
    ABOUT,
    SCALE,
    by_orders,
    fit_strengths,
    log_evidences,
    tell_best,
)
from prefjudge.core.resolving.scales import HIGHEST, LAPSES, LOWEST, SPREAD, Scales, log_prior
from prefjudge.core.strategies import (
    NOTHING,
    USUAL_ERROR,
    Asked,
    Counts,
    Flags,
    Floats,
    error_of_scale,
    joined,
    scale_of_error,
)

_APART = 0.2
"""How far apart the logs of three scales are through which a parabola is laid."""
_LOOKS, _FAR = 8, 5.0
"""How often a parabola may lead to the next, and by how many of these steps: farther off it tells little."""
_WITHIN = (np.log(LOWEST) + _APART, np.log(HIGHEST) - _APART)
_STRENGTHS, _ORDERS, _CROWD_SEED = 100, 50, 18
"""How many strengths tell the evidence of a pool, and how many orders: they are better proposals."""
_COUNTS = 0.01
"""A share of lapses that is less probable is left out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The votes on some pools of one size."""

    votes: Floats
    """Shape (n, k, k): the votes."""
    study: Counts
    """Shape (n,): the study of each pool: each has a crowd of its own."""

    def only(self, some: Counts) -> "Judged":
        """Return those of some of the pools."""
        return Judged(self.votes[some], self.study[some])


@dataclass(frozen=True, slots=True)
class Crowds:
    """How votes err in each study: the most probable scale at each share of lapses, and how probable it is.

    The first two arrays have a row for each study and a column for each share.
    """

    scale: Floats
    weight: Floats
    lapses: Floats

    def of(self, study: int) -> Scales:
        """Return the crowd of one study."""
        return Scales(scale=self.scale[study], weight=self.weight[study], lapses=self.lapses)

    def tell(self, judged: Judged, *, draws: int) -> Floats:
        """Return the first three :data:`FIGURES` of each candidate, shape (3, n, k)."""
        votes, size = judged.votes, judged.votes.shape[1]
        found = np.zeros((3, *votes.shape[:2]))
        for number, lapses in enumerate(self.lapses.tolist()):
            weight = self.weight[judged.study, number]
            some = np.flatnonzero(weight)
            if some.size:
                scale = self.scale[judged.study[some], number]
                # Draws are of the model and the size alone: what stands beside a pool changes nothing.
                rng = np.random.default_rng([_CROWD_SEED, size, number])
                fit = (
                    None if by_orders(size, lapses) else fit_strengths(votes[some], scale=scale, within=1e-6)
                )
                told = tell_best(votes[some], fit, scale=scale, draws=draws, rng=rng, lapses=lapses)
                found[:, some] += weight[some, None] * np.stack([told.chance, told.chance, told.loss])
        return found


def likely_crowd(votes: Floats, *, near: Scales | None = None) -> Scales:
    """Return the most probable scale at each share of lapses, and how probable each share is.

    What fewer votes told is ``near``: three looks at each share tell it then, where more are needed without.
    """
    before = None if near is None else Crowds(near.scale[None], near.weight[None], near.lapses)
    return likely_crowds([Judged(votes, np.zeros(len(votes), dtype=np.int64))], 1, near=before).of(0)


def likely_crowds(pools: Sequence[Judged], studies: int, *, near: Crowds | None = None) -> Crowds:
    """Return the same for each of so many studies, by its own pools of all sizes."""
    usual = np.full((studies, len(LAPSES)), scale_of_error(USUAL_ERROR))
    start = np.clip(np.log(usual if near is None else near.scale), *_WITHIN)
    found = [
        _lowest(partial(_improbable, pools, lapses), start[:, number]) for number, lapses in enumerate(LAPSES)
    ]
    place, least, wide = np.stack(found, axis=2)
    weight = wide * np.exp(least.min(axis=1, keepdims=True) - least)
    weight[weight < _COUNTS * weight.sum(axis=1, keepdims=True)] = 0.0
    return Crowds(
        np.clip(np.exp(place), LOWEST, HIGHEST), weight / weight.sum(axis=1, keepdims=True), np.array(LAPSES)
    )


def _improbable(pools: Sequence[Judged], lapses: float, log_scale: Floats, some: Counts) -> Floats:
    """Return less the log probability of a scale for each of some studies, up to a constant."""
    scale, told = np.exp(log_scale), np.zeros(log_scale.size)
    place = np.full(int(some.max(initial=-1)) + 1, -1)
    place[some] = np.arange(some.size)
    for one in pools:
        inside = np.flatnonzero(np.isin(one.study, some))
        if not inside.size:
            continue
        votes, of = one.votes[inside], place[one.study[inside]]
        fit = None
        if not by_orders(votes.shape[1], lapses):
            fit = fit_strengths(votes, scale=scale[of], within=ABOUT)
        rng = np.random.default_rng(_CROWD_SEED)  # the same draws for all scales, so that their errors cancel
        draws = _ORDERS if lapses == 1.0 else _STRENGTHS
        logs = log_evidences(votes, fit, scale=scale[of], draws=draws, rng=rng, lapses=lapses)
        told += np.bincount(of, weights=logs, minlength=some.size)
    return np.asarray(-told - np.array([log_prior(one) for one in scale.tolist()]))


def _lowest(improbable: Callable[[Floats, Counts], Floats], start: Floats) -> Floats:
    """Return where it is lowest in each study, how low, and the width of the bend there, shape (3, studies).

    The width is a standard deviation.
    """
    found = np.stack([start, np.full(start.size, np.inf), np.full(start.size, SPREAD)])
    some = np.arange(start.size)
    for _ in range(_LOOKS):
        middle = found[0, some]
        low, at, high = (improbable(middle + _APART * step, some) for step in (-1, 0, 1))
        bend = low - 2.0 * at + high
        curved = bend > 0.0
        off = np.where(curved, 0.5 * (low - high) / np.where(curved, bend, 1.0), _FAR * np.sign(low - high))
        found[1, some] = at
        met = curved & (np.abs(off) <= 1.0)
        there = some[met]
        found[0, there] += _APART * off[met]
        found[1, there] = (at - (low - high) ** 2 / (8.0 * np.where(curved, bend, 1.0)))[met]
        found[2, there] = _APART * bend[met] ** -0.5
        following = np.clip(middle + _APART * np.round(np.clip(off, -_FAR, _FAR)), *_WITHIN)
        # At a bound, or where it is flat, there is nothing further to look for.
        on = ~met & (np.abs(following - middle) > 1e-9)
        found[0, some[on]], some = following[on], some[on]
        if not some.size:
            break
    return found


# Neighbours: runs whose order the votes are to tell, and what it hangs on in each query.

Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGains:
    """What each run scores on a query, for each candidate that may be its best answer."""

    runs: tuple[str, ...]
    """The run tags."""
    gain: Floats
    """Shape (n_rows, n_runs): for each row of the pools, the score of its query if this candidate is the only
    best answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderChance:
    """How sure the order of two runs is, by the votes on these queries."""

    better: str
    other: str
    """The run tags; the first is the better one by the votes so far."""
    difference: float
    """Of their mean scores, as the votes have it: over all queries and all candidates that may be the
    best."""
    deviation: float
    """Its posterior standard deviation."""
    chance: float
    """The probability that the first has the greater mean on these queries, were all their best answers
    known; 1 where the two score the same whatever the answers are."""

    @property
    def words(self) -> str:
        """Which run is above the other, by how much, and how probable that is; or that neither can be."""
        if self.chance == 1.0 and not self.difference:
            return f"runs {self.better} and {self.other} score the same, whatever the best answers are"
        nearly = self.deviation > 0 and self.chance >= 0.995  # what is not certain does not look so
        chance = "a probability above 0.99" if nearly else f"a probability of {self.chance:.2f}"
        return (
            f"run {self.better} is above {self.other} by {self.difference:.3f}; "
            f"this order is right on these queries with {chance}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The runs to be told apart, two by two."""

    orders: tuple[OrderChance, ...]
    """Each two runs."""
    spread: Floats
    """Shape (n_rows, n_pairs): for each row of the pools, the difference of each two runs where this
    candidate is the best, times the root of what the variance of their mean difference costs."""
    counts: Flags
    """Shape (n_rows,): the rows of queries on which any two of them may score differently."""

    @property
    def chance(self) -> float:
        """The expected share of the orders that are right; 1 where there is none."""
        return float(np.mean([one.chance for one in self.orders])) if self.orders else 1.0

    def stakes(self, rows: Codes, level: float) -> "Stakes":
        """Return what hangs on the best answers of some queries, by their candidates' rows, shape (n, k).

        The share of right orders that is wanted is ``level``.
        """
        spread = self.spread[rows]
        square = np.einsum("nkp,nkp->nk", spread, spread)
        apart = square[:, :, None] + square[:, None, :] - 2.0 * (spread @ spread.transpose(0, 2, 1))
        # The product leaves rounding where candidates are alike: nothing hangs on them.
        none = 1e-12 * np.maximum(square[:, :, None], square[:, None, :])
        return Stakes(
            cost=np.where(apart > none, apart, 0.0),
            counts=np.asarray(self.counts[rows].any(axis=1)),
            told=self.chance >= level,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """What hangs on the best answers of ``n`` queries of ``k`` candidates."""

    cost: Floats
    """Shape (n, k, k): what it costs that ``x`` is taken for the best where ``y`` is."""
    counts: Flags
    """Shape (n,): whether the runs may score differently at all."""
    told: bool
    """Whether their order is sure enough."""


def find_neighbours(
    gains: RunGains, query: Codes, chance: Floats, *, between: Sequence[str] = ()
) -> Neighbours:
    """Return the runs to be told apart: the two of ``between``, or each run of the board and the next one.

    The board is the one that the votes make so far; ``query``, ascending, and ``chance`` are of each row.

    Notes
    -----
    Queries have votes of their own, so the variance of the mean difference is the sum of the queries'
    variances, and the mean of many queries is as good as normal. Within a query the variance is the sum, over
    each two candidates, of the product of their probabilities and of the square of what the difference
    between the runs would change. The order of two runs that is wrong with probability ``p`` counts ``p`` for
    each share of the variance that is taken away: what is sure already needs no votes.
    """
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    count, place = max(starts.size, 1), np.cumsum(np.diff(query, prepend=-1) > 0) - 1
    board = chance @ gains.gain
    if between:
        a, b = (np.array([gains.runs.index(name)]) for name in between)
    else:
        ranked = np.array(sorted(range(len(gains.runs)), key=lambda run: (-board[run], gains.runs[run])))
        a, b = ranked[:-1], ranked[1:]
    apart = gains.gain[:, a] - gains.gain[:, b]
    total = board[a] - board[b]
    mean = np.add.reduceat(chance[:, None] * apart, starts)
    variance = (chance[:, None] * (apart - mean[place]) ** 2).sum(axis=0)
    known = variance <= 1e-18 * count
    variance[known] = 0.0
    sure = np.where(known, 1.0, scipy.special.ndtr(np.abs(total) / np.sqrt(np.where(known, 1.0, variance))))
    cost = np.where(known, 0.0, (1.0 - sure) / np.where(known, 1.0, variance))
    orders = zip(
        a.tolist(), b.tolist(), total.tolist(), np.sqrt(variance).tolist(), sure.tolist(), strict=True
    )
    return Neighbours(
        orders=tuple(
            OrderChance(
                better=gains.runs[one if lead >= 0 else other],
                other=gains.runs[other if lead >= 0 else one],
                difference=abs(lead) / count,
                deviation=deviation / count,
                chance=right,
            )
            for one, other, lead, deviation, right in orders
        ),
        spread=apart * np.sqrt(cost),
        counts=np.logical_or.reduceat((apart != 0).any(axis=1), starts)[place],
    )


# Worth: what a further vote on a pool is expected to bring.

_INFORMATION = 0.23
"""What a vote tells of the difference of two strengths: p (1 - p), where a third of the votes is wrong."""
_AHEAD = np.array([1, 2, 4, 8, 16, 32, 64], dtype=np.float64)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_NEGLIGIBLE = 0.01


def worth(
    votes: Floats, chance: Floats, stakes: Stakes | None = None, *, crowd: Scales | None = None
) -> Floats:
    """Return by how much a further vote on a pool raises the expected number of right winners, shape (n,).

    With ``stakes`` a vote is worth by how much it lowers the cost of being wrong. The further apart
    candidates are by the ``crowd``, the more may a vote still change.

    Notes
    -----
    Of two candidates only, the likeliest ones, or those on whom most hangs: as if the difference of their
    strengths were normal, ``m`` more votes move its mean by a normal amount of known variance, so that the
    expected probability of being right after them is a one-dimensional integral. One vote seldom changes who
    leads, and so looks worth nothing: the best of one to 64 votes ahead is taken, for each of its votes (as
    the knowledge gradient of Frazier and Powell, The knowledge-gradient stopping rule, 2008, and its
    look-ahead).
    """
    n, size = chance.shape
    if size == 1:
        return np.zeros(n)
    place = np.argsort(-chance, axis=1, kind="stable")[:, :2]
    if stakes is not None:
        doubt = chance[:, :, None] * chance[:, None, :] * stakes.cost
        pair = np.stack(np.divmod(doubt.reshape(n, -1).argmax(axis=1), size), axis=1)
        place = np.take_along_axis(
            pair, np.argsort(-np.take_along_axis(chance, pair, axis=1), axis=1), axis=1
        )
    two = np.take_along_axis(chance, place, axis=1)
    shown = votes.sum(axis=2) + votes.sum(axis=1)
    one, other = place.T
    row = np.arange(n)
    between = votes[row, one, other] + votes[row, other, one]
    # The prior and the votes that showed each of the two beside others: what is known of each strength adds
    # up. Those that showed both tell their difference itself.
    known = 1.0 / (SCALE if crowd is None else crowd.mean) ** 2 + _INFORMATION * (
        np.take_along_axis(shown, place, axis=1) - between[:, None]
    )
    variance = 1.0 / (1.0 / (1.0 / known).sum(axis=1) + _INFORMATION * between)
    both = two.sum(axis=1)
    share = np.clip(two[:, 0] / np.maximum(both, 1e-300), 0.5, 1.0 - 1e-9)
    # Where something hangs on a choice between two, it is the variance of the choice that votes take away.
    value = _chance if stakes is None else _less_variance
    scope = both if stakes is None else both**2 * stakes.cost[row, one, other]
    alike, error = _all_alike(crowd)
    gained = np.zeros((n, _AHEAD.size))
    if alike < 1.0 - _NEGLIGIBLE:
        gained += (1.0 - alike) * _if_close_is_harder(share, variance, value)
    if alike > _NEGLIGIBLE:
        gained += alike * _if_all_are_alike(share, error, value)
    return np.asarray(scope * np.maximum((gained / _AHEAD).max(axis=1), 0.0))


def _chance(right: Floats) -> Floats:
    return right


def _less_variance(right: Floats) -> Floats:
    return -right * (1.0 - right)


def _all_alike(crowd: Scales | None) -> tuple[float, float]:
    """Return how probably all pairs are as hard, and the share of wrong votes then."""
    if crowd is None:
        return 0.0, 0.5
    weight = np.where(crowd.lapses == 1.0, crowd.weight, 0.0)
    total = float(weight.sum())
    errors = [error_of_scale(scale) for scale in crowd.scale.tolist()]
    return total, float(weight @ errors) / max(total, 1e-300)


def _if_close_is_harder(share: Floats, variance: Floats, value: Callable[[Floats], Floats]) -> Floats:
    """Return what further votes add to the value of a choice, shape (n, ahead): a normal difference."""
    lead = scipy.special.ndtri(share)
    left = 1.0 / (1.0 / variance[:, None] + _INFORMATION * _AHEAD)
    moves = np.sqrt(variance[:, None] - left)
    after = (lead * np.sqrt(variance))[:, None, None] + moves[:, :, None] * _NODES
    then = scipy.special.ndtr(np.abs(after) / np.sqrt(left)[:, :, None])
    return np.asarray(value(then) @ _WEIGHTS - value(share)[:, None])


def _if_all_are_alike(share: Floats, error: float, value: Callable[[Floats], Floats]) -> Floats:
    """Return the same: each vote multiplies the odds by as much."""
    votes = _AHEAD[:, None]
    right = np.arange(_AHEAD[-1] + 1.0)
    ways = scipy.special.binom(votes, right)  # none to have more than all
    first, other = (ways * p**right * (1.0 - p) ** (votes - right) for p in (1.0 - error, error))
    mass = share[:, None, None] * first, (1.0 - share)[:, None, None] * other
    either = mass[0] + mass[1]
    then = np.maximum(*mass) / np.maximum(either, 1e-300)
    return np.asarray((value(then) * either).sum(axis=2) - value(share)[:, None])


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

    References
    ----------
    D. Russo: Simple Bayesian algorithms for best-arm identification (Operations Research, 2020): top-two
    sampling. Rounds share their votes out in proportion to the probabilities of the pairs, which needs no
    chance, so that a round that was interrupted is asked for again as it was.
    """

    level: float
    """The probability of being the best, or as good, at which a pool is finished, above 0 and up to 1."""
    rounds: int = 25
    """In about how many rounds a pool is finished at the latest. More rounds need fewer votes."""
    crowd: Scales | None = None
    """How far apart candidates are, and how votes err. By default the votes of all pools that are shown tell
    it."""
    patience: int | None = None
    """Give a pool up where votes raise the expected number of right winners by less than one for so many.
    Rounds are small then, so that none is spent after that: 6 votes a pool at most. By default only the most
    votes of a pool end it."""
    runs: tuple[str, ...] | None = None
    """Ask where it tells most which of two runs is better, until the order of neighbours on the board has
    this probability; of two runs where they are named. By default it is the best answers that count."""
    loss: float | None = None
    """Finish a pool where the share of votes that would prefer the best to the likeliest is no more than this
    over a half, as expected; the level counts no more. Near ties then cost no votes."""

    @property
    def name(self) -> str:
        """Return ``sure:80``, ``sure:80x10`` in another number of rounds, ``sure:80/400`` with patience.

        By a loss it is ``loss:3``. For runs it is ``runs:80``, and ``runs:80:one:other`` for two that are
        named.
        """
        rounds = "" if self.rounds == Sure(1.0).rounds else f"x{self.rounds}"
        patience = "" if self.patience is None else f"/{self.patience}"
        named = "".join(":" + run.replace("%", "%25").replace(":", "%3A") for run in self.runs or ())
        if self.loss is not None:
            return f"loss:{100 * self.loss:.10g}{rounds}{patience}"
        kind = "sure" if self.runs is None else "runs"
        return f"{kind}:{100 * self.level:.10g}{rounds}{patience}{named}"

    @property
    def short(self) -> str:
        """What an answer is that is not told as well as is wanted."""
        return f"below P(best) = {self.level:g}" if self.loss is None else f"above a loss of {self.loss:.10g}"

    @property
    def share(self) -> float:
        """How many votes a round takes of those before it, where one queue serves all pools."""
        return float(min(_LARGEST_GROWTH, _MOST_VOTES ** (1.0 / max(1, self.rounds - 1)))) - 1.0

    def ask(self, votes: Floats) -> Asked:
        """Ask for the next round of the pools whose best is not probable enough by a fit of these votes."""
        return self.ask_in(*self._alone(votes), draws=_MANY_DRAWS)

    def leaders(self, votes: Floats) -> Flags:
        """Return the most probable best; all where nothing tells them apart."""
        return self.leaders_in(*self._alone(votes))

    def believe(self, votes: Floats) -> Floats:
        """Return the first three :data:`FIGURES` of each candidate, shape (3, n, k)."""
        return self._told(*self._alone(votes), _MANY_DRAWS)

    def _alone(self, votes: Floats) -> tuple[Judged, Crowds]:
        """Return the votes as those of one study, and its crowd, which they tell where it is not known."""
        crowd = likely_crowd(votes[:_SAMPLE]) if self.crowd is None else self.crowd
        return Judged(votes, np.zeros(len(votes), dtype=np.int64)), Crowds(
            crowd.scale[None], crowd.weight[None], crowd.lapses
        )

    def enough(self, told: Floats) -> Flags:
        """Return which pools are told as well as is wanted, shape (n,), from such figures."""
        return self._by(told, 0.0)

    def _by(self, told: Floats, near: float) -> Flags:
        """Return which pools are told well enough, or so nearly."""
        if self.loss is not None:
            of_likeliest = np.take_along_axis(told[2], told[0].argmax(axis=1)[:, None], axis=1)[:, 0]
            return np.asarray(of_likeliest <= self.loss * (1.0 + 10.0 * near))
        # Which of two equals is named makes no difference: no vote is spent on that.
        return np.asarray(told[1].max(axis=1) >= self.level - near)

    def _told(self, judged: Judged, crowds: Crowds, draws: int) -> Floats:
        """Return the figures, of many draws for the pools that are in doubt by few."""
        told = crowds.tell(judged, draws=_DRAWS)
        some = np.flatnonzero(self._by(told, _NEAR))
        if some.size:
            told[:, some] = crowds.tell(judged.only(some), draws=draws)
        return told

    def ask_in(self, judged: Judged, crowds: Crowds, *, draws: int = _MANY_DRAWS // 2) -> Asked:
        """Ask for the next round of pools of several studies, each of which has told its own crowd."""
        told = self._told(judged, crowds, draws)
        chance, enough = told[0], self.enough(told)
        if self.patience is None:
            return self.ask_by(judged.votes, chance, enough=enough)
        asked = []
        for study in np.unique(judged.study).tolist():  # what a vote is worth hangs on the crowd
            own = np.flatnonzero(judged.study == study)
            by = replace(self, crowd=crowds.of(study))
            one = by.ask_by(judged.votes[own], chance[own], enough=enough[own])
            asked.append(Asked(own[one.pool], one.x, one.y, one.votes))
        return joined(asked)

    def leaders_in(self, judged: Judged, crowds: Crowds) -> Flags:
        """Return the most probable best of pools of several studies."""
        return most_probable(crowds.tell(judged, draws=_MANY_DRAWS)[0])

    def ask_by(
        self,
        votes: Floats,
        chance: Floats,
        stakes: Stakes | None = None,
        *,
        enough: Flags | None = None,
        weighed: Floats | None = None,
    ) -> Asked:
        """Return what to ask for, given the probability that each candidate is the best, shape (n, k).

        By default as much hangs on each best answer, all votes weigh the same, and none is as good as the
        best; ``weighed`` are those by the trust in their workers, and ``enough`` says which pools are told.
        """
        if votes.shape[1] == 1:
            return NOTHING
        is_open = self.open(votes, chance, stakes, enough=enough, weighed=weighed)
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
        self,
        votes: Floats,
        chance: Floats,
        stakes: Stakes | None = None,
        *,
        enough: Flags | None = None,
        weighed: Floats | None = None,
    ) -> Flags:
        """Return which pools are not finished, shape (n,)."""
        size, total = votes.shape[1], votes.sum(axis=(1, 2))
        if size == 1:
            return np.zeros(total.size, dtype=bool)
        # A pool that nobody has judged is never finished, however low the level; nor is one with a candidate
        # who met nobody: the model takes him for an average one.
        new = (total == 0) | _unseen(votes).any(axis=1)
        unsure = chance.max(axis=1) < self.level if enough is None else ~enough
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

"""Rules: every way to resolve a tournament, by its name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Protocol

import numpy as np
import scipy

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.tournaments import (
    Flags,
    Floats,
    Index,
    Rule,
    Standing,
    TieWorth,
    Tournaments,
    VoteMatrices,
    Weights,
    best,
    most_wins,
    reachable,
    shallow_pooling,
    tournaments,
    vote_matrices,
    wins,
)
from prefjudge.core.runs import Codes
from prefjudge.registers import Register

SCALE = 0.6
"""The prior's standard deviation by default: as real judgments of close passages have it. A vote on a random
pair is then wrong one time in three."""
ABOUT = 1e-3
"""So near the most likely strengths are where draws are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Fitted strengths of ``n`` tournaments of ``k`` candidates."""

    mean: Floats
    """Shape (n, k): the most likely strengths, in logits; 0 is average."""
    precision: Floats
    """Shape (n, k, k): the curvature there: the inverse of the posterior covariance."""


def fit_strengths(
    votes: Floats, *, scale: float | Floats = SCALE, start: Floats | None = None, within: float = 1e-9
) -> Strengths:
    """Fit many Bradley-Terry models at once, by Newton's method.

    The prior's deviation is one ``scale``, or one for each; a fit begins at ``start`` and ends where the
    gradient is ``within`` so little of 0. The problem is strictly concave, so there is one answer (R.
    Bradley, M. Terry: Rank analysis of incomplete block designs, Biometrika, 1952).
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
    # In place: of many small matrices, new ones would take longer than the numbers in them.
    chance = mean[:, None, :] - mean[:, :, None]
    np.exp(chance, out=chance)
    chance += 1.0
    np.divide(1.0, chance, out=chance)
    precision = both * chance
    # Votes won less votes expected, less the pull of the prior.
    gradient = won - precision.sum(axis=2) - prior * mean
    # A weighted graph Laplacian plus prior x identity: positive definite even where nothing was compared.
    chance -= 1.0
    precision *= chance
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


# Majority rules: winners by who beats whom, pair by pair, and not by counting all votes together.

MatrixRule = Callable[[VoteMatrices], tuple[Floats, Flags]]
"""Takes stacked votes; returns scores and winners, both of shape (n, k)."""


def on_matrices(rule: MatrixRule) -> Rule:
    """Make a rule for blocks of tournaments out of one for stacked votes."""

    def on_block(block: Tournaments, weights: Weights, won: Floats) -> Standing:
        score, winner = np.zeros(block.doc.size), np.zeros(block.doc.size, dtype=bool)
        for stack in vote_matrices(block, ties=weights.ties, strengths=weights.strengths):
            score[stack.rows], winner[stack.rows] = rule(stack)
        return Standing(score=score, winner=winner)

    on_block.__doc__ = rule.__doc__
    return on_block


def shallow_pooling_pairs(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """Most pairs won by majority, repeated among the tied: section 5.1 read pair by pair."""
    score = stack.beats.sum(axis=2).astype(np.float64)
    alive = score == score.max(axis=1, keepdims=True)
    while True:
        # Axis 2 is who is beaten: only pairs won against those still in count.
        among = (stack.beats & alive[:, None, :]).sum(axis=2)
        among[~alive] = -1
        still = alive & (among == among.max(axis=1, keepdims=True))
        if (still == alive).all():
            return score, alive
        alive = still


def copeland(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """Most pairs won by majority, a tied pair being half a win to both."""
    beats = stack.beats
    even = ~(beats | beats.transpose(0, 2, 1))
    # Less one: everybody is even with themselves.
    score: Floats = beats.sum(axis=2) + 0.5 * (even.sum(axis=2) - 1)
    return score, score == score.max(axis=1, keepdims=True)


def smith(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """The smallest set whose members all beat everybody outside: the top cycle."""
    beats = stack.beats
    # x leads to y where y does not beat x. The members are those from whom such paths lead to everybody.
    reach = reachable(~beats.transpose(0, 2, 1))
    score = beats.sum(axis=2).astype(np.float64)
    return score, np.asarray(reach.all(axis=2))


def schwartz(beats: Flags) -> Flags:
    """Return the members of the smallest sets that nobody outside beats, shape (n, k).

    Without cycles these are the unbeaten candidates.
    """
    reach = reachable(beats)
    # Beaten, perhaps along a path, by somebody whom no path leads back to.
    dominated = (reach & ~reach.transpose(0, 2, 1)).any(axis=1)
    return np.logical_not(dominated)


def schulze(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """Winners of the strongest paths, the strength of a pair being its margin.

    References
    ----------
    M. Schulze: A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner
    election method (Social Choice and Welfare, 2011).
    """
    margin = stack.votes - stack.votes.transpose(0, 2, 1)
    path = np.where(margin > 0, margin, 0.0)
    for middle in range(path.shape[1]):
        # Floyd and Warshall's scheme: a path is as strong as its weakest pair, and the strongest path counts.
        np.maximum(path, np.minimum(path[:, :, middle, None], path[:, None, middle, :]), out=path)
    better = path > path.transpose(0, 2, 1)
    return better.sum(axis=2).astype(np.float64), np.logical_not(better.any(axis=1))


def unbeaten(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """Of those whom no majority beats, the highest share of votes won, then the most votes.

    Where everybody is beaten, as in large pools of contradictory votes, the winner is out of the smallest
    sets of which nobody is beaten from outside (Schwartz). This is the rule for sparse pools, where the
    number of votes won says how often a candidate was shown.
    """
    member = np.zeros(block.doc.size, dtype=bool)
    for stack in vote_matrices(block, ties=weights.ties, strengths=weights.strengths):
        alone = np.logical_not(stack.beats.any(axis=1))
        nobody = ~alone.any(axis=1, keepdims=True)
        member[stack.rows] = alone | (schwartz(stack.beats) & nobody)
    # With all choices turned round, votes won are votes lost.
    lost = wins(replace(block, choice=-block.choice), weights)
    rate = won / np.maximum(won + lost, 1e-9)
    # A share is at most 1, so members stand above all others.
    score = np.where(member, 1.0 + rate, rate)
    first = best(block, score)
    return Standing(score=score, winner=best(block, np.where(first, won, -1.0)))


# Kemeny's rule: the order that contradicts the fewest votes, found exactly.

EXACT = 20
"""Up to how many candidates in the top cycle the search is exact."""
_CELLS = 1 << 22


def kemeny(stack: VoteMatrices) -> tuple[Floats, Flags]:
    """Every candidate that comes first in some order that contradicts the fewest votes.

    The top cycle comes first in any such order, so only it is searched: by dynamic programming over its
    subsets, up to :data:`EXACT` members. A larger top cycle is returned whole.

    References
    ----------
    J. Kemeny: Mathematics without numbers (Daedalus, 1959). H. Young: Condorcet's theory of voting (American
    Political Science Review, 1988) shows the order to be the most likely one when all votes err alike.
    """
    score, top = smith(stack)
    winner = top.copy()
    sizes = top.sum(axis=1)
    # One alone leads; two in a top cycle are even, and either may lead. Both are in ``top`` already.
    for size in np.unique(sizes[(sizes > 2) & (sizes <= EXACT)]):
        queries = np.flatnonzero(sizes == size)
        # ``against`` holds k 2**k sums for each query.
        step = max(1, _CELLS // (int(size) << int(size)))
        for low in range(0, queries.size, step):
            some = queries[low : low + step]
            members = np.nonzero(top[some])[1].reshape(some.size, int(size))
            votes = stack.votes[some[:, None, None], members[:, :, None], members[:, None, :]]
            winner[some[:, None], members] = _first_of_best_orders(votes)
    return score, winner


def _first_of_best_orders(votes: Floats) -> Flags:
    """Return who comes first in some best order, shape (n, k), from votes of shape (n, k, k)."""
    n, k, _ = votes.shape
    full = 1 << k
    # against[x, S]: the votes of members of S over x, all contradicted where x stands ahead of S.
    against, votes_over = np.zeros((n, k, full)), votes.transpose(0, 2, 1)
    for y in range(k):
        # Sets below 2**y lack the member; the next as many are the same with it.
        against[:, :, 1 << y : 2 << y] = against[:, :, : 1 << y] + votes_over[:, :, y, None]
    cost = np.zeros((n, full))
    # cost[S] = min over x in S of against[x, S - x] + cost[S - x]: by size, since every S - x is one smaller.
    for sets, first in subsets_by_size(k):
        rest = sets[:, None] ^ (1 << first)
        cost[:, sets] = (against[:, first, rest] + cost[:, rest]).min(axis=2)
    # Whoever reaches the least cost of all when put first is first in some best order.
    others = (full - 1) ^ (1 << np.arange(k))
    chosen = against[:, np.arange(k), others] + cost[:, others]
    return np.asarray(np.isclose(chosen, cost[:, -1:], rtol=0, atol=1e-6))


@lru_cache(maxsize=16)
def subsets_by_size(k: int) -> list[tuple[Index, Index]]:
    """Return the sets of 1, 2, ... k candidates, as bits, and the members of each, shape (sets, size)."""
    member = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    sizes = member.sum(axis=1)
    layers = []
    for size in range(1, k + 1):
        sets = np.flatnonzero(sizes == size)
        layers.append((sets, np.nonzero(member[sets])[1].reshape(sets.size, size)))
    return layers


# Noisy Bradley-Terry: strengths of candidates together with the reliability and side bias of workers.
#
# A worker looks with probability ``reliability`` and then votes as Bradley-Terry has it; otherwise the vote
# goes to the left with probability ``left_when_guessing``, independent of what is shown.


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Normal priors, all in logits."""

    scale: float = 2.0
    """The standard deviation of the strengths."""
    reliability: float = 0.0
    reliability_scale: float = 1.5
    """The mean and standard deviation of a worker's reliability."""
    side_scale: float = 1.5
    """The standard deviation of a worker's inclination to the left when guessing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBradleyTerry:
    """Estimates of candidates and workers."""

    workers: tuple[str, ...]
    """The workers; judgments without a worker id belong to a last, nameless one."""
    reliability: Floats
    left_when_guessing: Floats
    """Shape (n_workers + 1,): the probability that a worker looks, and that a guess goes to the left."""
    start: Index
    """Shape (n_queries + 1,): the candidates of query ``q`` are the rows ``start[q]:start[q + 1]``."""
    doc: Codes
    """Shape (n_candidates,): document codes."""
    strength: Floats
    """Shape (n_candidates,): the strengths, in logits."""
    converged: bool
    """Whether the optimiser reached its tolerance."""


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

    The parameters are the strengths, then each worker's reliability, then each worker's inclination to the
    left; in logits.
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
    worth = block.weighed(rows, strengths)
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


class Learner(Protocol):
    """Learns a rule from all queries together, for instance how reliable each worker is."""

    def __call__(self, judgments: Judgments, *, pools: Pools | None, ties: TieWorth, strengths: bool) -> Rule:
        """Return the rule for each query."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRule:
    """What the name of a rule stands for."""

    rule: Rule | None = None
    """Resolves a block of tournaments, each query by itself."""
    learn: Learner | None = None
    """Makes such a rule from all judgments, where the rule needs them."""
    counts_votes: bool = False
    """Whether it counts what a candidate has won, so that all must have been shown as often. Where some were
    shown more often, another rule takes its place."""
    weighs_workers: bool = False
    """Whether it weighs judgments by who made them, so that it takes workers who can be told apart."""
    for_partial: bool = False
    """Whether it finds a best answer where not every pair was judged."""


RULES = Register(
    "rule",
    NamedRule,
    {
        "shallow-pooling": NamedRule(rule=shallow_pooling, counts_votes=True),
        "shallow-pooling-pairs": NamedRule(rule=on_matrices(shallow_pooling_pairs), counts_votes=True),
        "most-wins": NamedRule(rule=most_wins, counts_votes=True),
        "unbeaten": NamedRule(rule=unbeaten, for_partial=True),
        "copeland": NamedRule(rule=on_matrices(copeland), counts_votes=True),
        "smith": NamedRule(rule=on_matrices(smith)),
        "schulze": NamedRule(rule=on_matrices(schulze)),
        "kemeny": NamedRule(rule=on_matrices(kemeny)),
        "bradley-terry": NamedRule(rule=bradley_terry, for_partial=True),
        "noisy-bradley-terry": NamedRule(learn=noisy_rule, weighs_workers=True, for_partial=True),
    },
)
"""The rules by their names; the first is the default for files."""

PAPER_RULE = "shallow-pooling"
UNEVEN_RULE = "bradley-terry"
"""Where a rule does not fit because some pairs have more votes than others."""
NO_RULE = "none"
"""In the place of a rule for queries that are judged in part: they get no winner."""
WEIGHING_RULE = "noisy-bradley-terry"
"""The default of a study, whose workers are known."""

RuleName = Annotated[str, RULES]


def find_rule(
    name: str,
    judgments: Judgments,
    *,
    pools: Pools | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
) -> Rule:
    """Return the rule of that name."""
    if name not in RULES:
        raise ValueError(f"no rule {name!r}: choose from {', '.join(RULES)}")
    named = RULES[name]
    with RULES.using(name):
        rule = named.rule
        if named.learn is not None:
            rule = named.learn(judgments, pools=pools, ties=ties, strengths=strengths)
        if rule is None:
            raise TypeError("it has neither a rule nor a way to learn one")

    def by_name(block: Tournaments, weights: Weights, won: Floats) -> Standing:
        with RULES.using(name):
            standing = rule(block, weights, won)
            if standing.score.shape != standing.winner.shape or len(standing.score) != block.doc.size:
                raise ValueError(f"{len(standing.score)} scores for {block.doc.size} candidates")
        return standing

    return by_name

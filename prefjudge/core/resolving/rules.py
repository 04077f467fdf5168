"""Rules: every way to resolve a tournament, by its name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Protocol

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.posterior import fit_strengths, subsets_by_size
from prefjudge.core.resolving.scales import Trust, learn_trust
from prefjudge.core.resolving.tournaments import (
    Flags,
    Floats,
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
    vote_matrices,
    wins,
)
from prefjudge.registers import Register


def bradley_terry(
    block: Tournaments, weights: Weights, won: Floats, *, trust: Trust | None = None
) -> Standing:
    """The greatest strength under a Bradley-Terry model with a normal prior.

    Where every pair has equally many votes, and all are trusted alike, the order is that of the votes won.
    """
    score = np.zeros(block.doc.size)
    for stack in vote_matrices(block, ties=weights.ties, strengths=weights.strengths, trusting=trust):
        score[stack.rows] = fit_strengths(stack.votes).mean
    # Newton leaves a gradient of 1e-9, and the prior's curvature bounds the error: nearer strengths are tied.
    return Standing(score=score, winner=best(block, score, within=1e-6))


def noisy_rule(judgments: Judgments, *, pools: Pools | None, ties: TieWorth, strengths: bool) -> Rule:
    """Learn from all judgments how reliable each worker is, and return the rule that weighs votes by it."""
    # By votes alone, so that votes that are released make the same answers: P(best) knows of gold, too.
    trust = learn_trust(replace(judgments, gold=None), pools=pools, strengths=strengths)
    return partial(bradley_terry, trust=trust)


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

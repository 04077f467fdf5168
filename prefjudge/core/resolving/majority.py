"""Majority rules: winners by who beats whom, pair by pair, and not by counting all votes together."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from prefjudge.core.resolving.counting import Rule, Standing, Weights, best, wins
from prefjudge.core.resolving.tournament import Tournaments
from prefjudge.core.resolving.vote_matrices import Flags, Floats, VoteMatrices, reachable, vote_matrices

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

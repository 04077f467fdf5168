"""Counting: winners by the number of votes won, and what every rule takes and returns.

Every rule takes a block of tournaments and returns a :class:`Standing`: a score for each candidate, and
whether it is among the winners. Whether enough was judged is not a rule's concern.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.resolving.tournament import Index, Tournaments

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class TieWorth(StrEnum):
    """What a tie is worth to each side."""

    IGNORE = "ignore"
    """Nothing. It counts as a judgment of the pair."""
    HALF = "half"
    """Half a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a vote is worth.

    Attributes
    ----------
    ties : float
        What a tie is worth to each side: 0, or a half.
    strengths : bool
        Whether a vote counts as often as it is strong.
    """

    ties: float = 0.0
    strengths: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The outcome of a rule for the candidates of a block.

    Attributes
    ----------
    score : ndarray of float64, shape (n_candidates,)
        The rule's own score; higher is better. Its unit is the rule's.
    winner : ndarray of bool, shape (n_candidates,)
        The best; several where the rule cannot tell them apart.
    """

    score: Floats
    winner: Flags


Rule = Callable[[Tournaments, Weights, Floats], Standing]
"""Takes the votes, their worth, and the candidates' wins as counted by :func:`wins`."""


def wins(block: Tournaments, weights: Weights) -> Floats:
    """Return the votes won by each candidate, shape (n_candidates,).

    Parameters
    ----------
    block : Tournaments
        The votes.
    weights : Weights
        What each is worth.
    """
    left, right, choice, strength = block.left, block.right, block.choice, block.strength
    n = block.doc.size
    worth = strength.astype(np.float64) if weights.strengths else None
    tied = choice == 0
    winner = right + (left - right) * (choice > 0)  # a choice of where() would be guessed wrong half the time
    if not tied.any():
        return np.bincount(winner, weights=worth, minlength=n).astype(np.float64)
    # Half a vote is not an integer, so decided and tied votes are counted apart.
    decided = ~tied
    total = np.bincount(winner[decided], weights=None if worth is None else worth[decided], minlength=n)
    if not weights.ties:
        return total.astype(np.float64)
    return total + weights.ties * (
        np.bincount(left[tied], minlength=n) + np.bincount(right[tied], minlength=n)
    )


def best(block: Tournaments, score: Floats, *, within: float = 0.0) -> Flags:
    """Return which candidates have their query's highest score, up to ``within``, shape (n_candidates,)."""
    leaders: Flags = score >= (highest(block, score) - within).take(block.query)
    return leaders


def highest(block: Tournaments, score: Floats) -> Floats:
    """Return the highest score of each query's candidates, 0 where it has none, shape (n_queries,)."""
    top = np.zeros(block.n_queries)
    filled = np.flatnonzero(block.sizes)
    if filled.size:
        # reduceat gives an empty stretch the first value of
        # the next one: only queries with candidates take part.
        top[filled] = np.maximum.reduceat(score, block.start[filled])
    return top


def most_wins(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """Keep all candidates with the most votes.

    References
    ----------
    Yan, Luo, Clarke, Arabzadeh: Human preferences as dueling bandits (SIGIR 2022): the published best answers
    follow this rule on a complete round robin.
    """
    return Standing(score=won, winner=best(block, won))


def shallow_pooling(block: Tournaments, weights: Weights, won: Floats) -> Standing:
    """Keep the candidates with the most votes, repeat among them until one is left or all are tied.

    References
    ----------
    Shallow pooling for sparse labels, section 5.1: "for queries where multiple passages were tied for first
    place, we eliminate the losing passages and repeat the process with the first-place passages".
    """
    winner = best(block, won)
    rows = _undecided(block, winner)
    contest = block.among(rows)
    while rows.size:
        leader = best(contest, wins(contest, weights))
        winner[rows[~leader]] = False
        # Each round drops somebody from every query that is left, so the loop ends.
        again = _undecided(contest, leader)
        rows, contest = rows[again], contest.among(again)
    return Standing(score=won, winner=winner)


def _undecided(block: Tournaments, leader: Flags) -> Index:
    """Return the rows of the leaders of queries that have several, but not all candidates, in the lead."""
    rows = np.flatnonzero(leader)
    count = block.count(rows)
    # Where everybody leads, the next round would count the same votes.
    undecided: Index = rows[((count > 1) & (count < block.sizes))[block.query[rows]]]
    return undecided

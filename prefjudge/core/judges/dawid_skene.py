"""Dawid and Skene's model: how often each worker is right, and which document of a pair is better."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.verdicts import Floats, Verdicts, gather_verdicts, known_answers
from prefjudge.core.pooling.runs import Codes

_Weighted: TypeAlias = tuple[NDArray[np.intp], Floats]
"""Judgments by their workers, and how much each counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene:
    """Estimates of workers and pairs.

    Attributes
    ----------
    workers : tuple of str
        The workers; judgments without a worker id belong to a last, nameless one.
    right_on_left, right_on_right : ndarray of float64, shape (n_workers + 1,)
        The chance to be right where the better document is on the left, and where it is on the right.
    query, doc_a, doc_b : ndarray of int32, shape (n_pairs,)
        The pairs, as codes of the judgments.
    chance_a : ndarray of float64, shape (n_pairs,)
        The probability that ``doc_a`` is the better one.
    rounds : int
        Rounds of expectation and maximisation until nothing moved.
    """

    workers: tuple[str, ...]
    right_on_left: Floats
    right_on_right: Floats
    query: Codes
    doc_a: Codes
    doc_b: Codes
    chance_a: Floats
    rounds: int

    @property
    def accuracy(self) -> Floats:
        """The chance to be right, whichever side the better one is on, shape (n_workers + 1,)."""
        return 0.5 * (self.right_on_left + self.right_on_right)


def fit_dawid_skene(
    judgments: Judgments,
    *,
    golds: Judgments | None = None,
    prior: tuple[float, float] = (2.0, 1.0),
    tolerance: float = 1e-8,
    most_rounds: int = 1000,
) -> DawidSkene:
    """Fit the model by expectation and maximisation, from the majority's verdicts.

    Parameters
    ----------
    judgments : Judgments
        The votes; ties say nothing here. Without several votes on the same pairs, or golds, there is
        nothing to learn, and the estimates are little more than the prior.
    golds : Judgments, optional
        Pairs whose answer is known, one row each with the answer as its choice. It stays fixed.
    prior : tuple of float
        Right and wrong judgments that every worker is taken to have made beforehand, for each side.
    tolerance : float
        Stop when no probability of a pair moves by more.
    most_rounds : int
        Stop then at the latest.

    References
    ----------
    A. Dawid, A. Skene: Maximum likelihood estimation of observer error-rates using the EM algorithm (Applied
    Statistics, 1979). The classes are the sides of the screen, so that the names of documents do not matter.
    """
    verdicts = gather_verdicts(judgments)
    known = (
        known_answers(verdicts, judgments, golds)
        if golds is not None
        else np.zeros(verdicts.n_pairs, np.int8)
    )
    n = len(judgments.workers) + 1
    votes = _votes(judgments, verdicts, known, nobody=n - 1)
    pair, worker, known = votes.pair, votes.worker, votes.known
    for_a = np.bincount(
        pair, weights=np.where(votes.says_left == votes.a_left, 1.0, -1.0), minlength=known.size
    )
    # Starting from the majority: the likelihood is the same
    # with all workers wrong and all pairs turned round.
    chance_a = _fixed(1.0 / (1.0 + np.exp(-for_a)), known)
    # Each vote of a round weighs as one of four of its worker's kinds do, so logarithms are taken of kinds.
    kind = (worker * 2 + votes.says_left) * 2 + votes.a_left
    lefts, rights = np.flatnonzero(votes.says_left), np.flatnonzero(~votes.says_left)
    of_lefts, of_rights = worker[lefts], worker[rights]
    rounds, moved = 0, np.inf
    while moved > tolerance and rounds < most_rounds:
        rounds += 1
        # The better document is on the left where it is a and a is left, or b and b is left.
        chance = chance_a[pair]
        better_left = votes.count * np.where(votes.a_left, chance, 1.0 - chance)
        better_right = votes.count - better_left
        on_left = _rate((of_lefts, better_left[lefts]), (of_rights, better_left[rights]), prior, n)
        on_right = _rate((of_rights, better_right[rights]), (of_lefts, better_right[lefts]), prior, n)
        # Bayes with even odds beforehand: each vote adds its log
        # likelihood ratio, in favour of the left or of the right.
        says_right = np.log(1.0 - on_left) - np.log(on_right)
        ratio = np.stack((says_right, np.log(on_left) - np.log(1.0 - on_right)), axis=1)
        evidence = np.stack((-ratio, ratio), axis=2).ravel()[kind]
        logit = np.bincount(pair, weights=evidence, minlength=known.size)
        before, chance_a = chance_a, _fixed(0.5 * (1.0 + np.tanh(0.5 * logit)), known)
        moved = float(np.abs(chance_a - before).max(initial=0.0))
    return DawidSkene(
        workers=judgments.workers,
        right_on_left=on_left,
        right_on_right=on_right,
        query=verdicts.query,
        doc_a=verdicts.doc_a,
        doc_b=verdicts.doc_b,
        chance_a=chance_a[votes.of],
        rounds=rounds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Votes:
    """The decided votes, one for all that count alike.

    Pairs with one vote each, of one worker, with the preferred document on the same side and the same one the
    first by doc_id, are one pair, whose vote counts as often. Most pairs are judged once, so that a round
    costs what workers cost, and not what votes do.

    Attributes
    ----------
    pair, worker : ndarray of intp, shape (n_votes,)
        The pair, as it is numbered here, and the worker.
    says_left, a_left : ndarray of bool, shape (n_votes,)
        Whether the left was preferred, and whether it was ``doc_a``.
    count : ndarray of float64, shape (n_votes,)
        How many votes it stands for.
    known : ndarray of int8, shape (n_here,)
        The answer of each pair: 1, -1, or 0 where it is not known.
    of : ndarray of intp, shape (n_pairs,)
        Which of these pairs each pair of the judgments is.
    """

    pair: NDArray[np.intp]
    worker: NDArray[np.intp]
    says_left: NDArray[np.bool_]
    a_left: NDArray[np.bool_]
    count: Floats
    known: NDArray[np.int8]
    of: NDArray[np.intp]


def _votes(
    judgments: Judgments, verdicts: Verdicts, answers: NDArray[np.int8] | None, *, nobody: int
) -> _Votes:
    known = np.zeros(verdicts.n_pairs, np.int8) if answers is None else answers
    rows = np.flatnonzero(judgments.choice != 0)
    # as numpy counts and looks up by them: otherwise it converts them in every round
    pair = verdicts.pair[rows].astype(np.intp)
    worker = np.where(judgments.worker >= 0, judgments.worker, nobody)[rows].astype(np.intp)
    a_left = verdicts.a_left[rows]
    says_left = (verdicts.choice[rows] > 0) == a_left
    once = np.flatnonzero(np.bincount(pair, minlength=verdicts.n_pairs)[pair] == 1)
    kind = (worker[once] * 2 + says_left[once]) * 2 + a_left[once]
    alike = np.arange(verdicts.n_pairs)
    alike[pair[once]] = verdicts.n_pairs + 3 * kind + 1 + known[pair[once]]
    _, first, of, count = np.unique(alike, return_index=True, return_inverse=True, return_counts=True)
    stays = np.zeros(verdicts.n_pairs, dtype=bool)
    stays[first] = True
    kept = stays[pair]
    pair = of[pair[kept]]
    return _Votes(
        pair=pair,
        worker=worker[kept],
        says_left=says_left[kept],
        a_left=a_left[kept],
        count=count[pair].astype(np.float64),
        known=known[first],
        of=of,
    )


def _rate(right: _Weighted, wrong: _Weighted, prior: tuple[float, float], n: int) -> Floats:
    # The mean of a Beta posterior, each judgment weighted by the chance that the better one was on this side.
    hits = prior[0] + np.bincount(right[0], weights=right[1], minlength=n)
    misses = prior[1] + np.bincount(wrong[0], weights=wrong[1], minlength=n)
    rate: Floats = hits / (hits + misses)
    return rate


def _fixed(chance: Floats, known: np.ndarray) -> Floats:
    """Set the chances of the pairs whose answer is known, in place."""
    chance[known > 0], chance[known < 0] = 1.0, 0.0
    return chance

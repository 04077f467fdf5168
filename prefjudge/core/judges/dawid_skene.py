"""Dawid and Skene's model: how often each worker is right, and which document of a pair is better."""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.verdicts import Floats, gather_verdicts, known_answers
from prefjudge.core.pooling.runs import Codes


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
    known = known_answers(verdicts, judgments, golds) if golds is not None else np.zeros(verdicts.n_pairs)
    n = len(judgments.workers) + 1
    rows = np.flatnonzero(judgments.choice != 0)
    worker = np.where(judgments.worker >= 0, judgments.worker, n - 1)[rows]
    pair, says_a, a_left = verdicts.pair[rows], verdicts.choice[rows] > 0, verdicts.a_left[rows]
    for_a = np.bincount(pair, weights=np.where(says_a, 1.0, -1.0), minlength=verdicts.n_pairs)
    # Starting from the majority: the likelihood is the same
    # with all workers wrong and all pairs turned round.
    chance_a = _fixed(1.0 / (1.0 + np.exp(-for_a)), known)
    rounds, moved = 0, np.inf
    while moved > tolerance and rounds < most_rounds:
        rounds += 1
        # The better document is on the left where it is a and a is left, or b and b is left.
        better_left = np.where(a_left, chance_a[pair], 1.0 - chance_a[pair])
        says_left = says_a == a_left
        on_left = _rate(worker, better_left, says_left, prior, n)
        on_right = _rate(worker, 1.0 - better_left, ~says_left, prior, n)
        if_left = np.where(says_left, on_left[worker], 1.0 - on_left[worker])
        if_right = np.where(says_left, 1.0 - on_right[worker], on_right[worker])
        # Bayes with even odds beforehand: each vote adds its log
        # likelihood ratio, in favour of the left or of the right.
        evidence = np.where(a_left, 1.0, -1.0) * (np.log(if_left) - np.log(if_right))
        logit = np.bincount(pair, weights=evidence, minlength=verdicts.n_pairs)
        before, chance_a = chance_a, _fixed(0.5 * (1.0 + np.tanh(0.5 * logit)), known)
        moved = float(np.abs(chance_a - before).max(initial=0.0))
    return DawidSkene(
        workers=judgments.workers,
        right_on_left=on_left,
        right_on_right=on_right,
        query=verdicts.query,
        doc_a=verdicts.doc_a,
        doc_b=verdicts.doc_b,
        chance_a=chance_a,
        rounds=rounds,
    )


def _rate(worker: Codes, mass: Floats, right: np.ndarray, prior: tuple[float, float], n: int) -> Floats:
    # The mean of a Beta posterior, each judgment weighted by the chance that the better one was on this side.
    hits = prior[0] + np.bincount(worker, weights=mass * right, minlength=n)
    misses = prior[1] + np.bincount(worker, weights=mass * ~right, minlength=n)
    rate: Floats = hits / (hits + misses)
    return rate


def _fixed(chance: Floats, known: np.ndarray) -> Floats:
    return np.where(known > 0, 1.0, np.where(known < 0, 0.0, chance))

"""Screening: whose work is dropped for missed gold pairs, and who is barred from further HITs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log

import scipy


class BarringPolicy(StrEnum):
    """When a worker who missed gold pairs is barred from further HITs.

    The data of a HIT with a missed gold pair is dropped and re-issued under every policy.
    """

    LADDER = "ladder"
    """When the whole record of gold pairs speaks for chance, or its last part does. A slip costs a step on
    the ladder of trust (:func:`climb`), not the worker."""
    FIRST_MISS = "first-miss"
    """At the first miss, as the paper does (section 3.1)."""
    POSTERIOR = "posterior"
    """When it is likely, by a Beta posterior over all gold pairs, that the worker is not good enough."""
    SEQUENTIAL = "sequential"
    """When a sequential probability ratio test over all gold pairs decides for careless."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldRecord:
    """How a worker has answered gold pairs so far.

    Attributes
    ----------
    right, missed : int
        The counts over all assignments.
    hits : tuple of (int, int)
        The counts in each assignment, in the order of submission; needed by the ladder alone.
    passed_over : frozenset of int
        The places in ``hits`` of those that say nothing: some gold pair was passed over, and none was missed.
    """

    right: int
    missed: int
    hits: tuple[tuple[int, int], ...] = ()
    passed_over: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class BarringRule:
    """A policy and its parameters.

    Attributes
    ----------
    policy : BarringPolicy
        When to bar.
    accuracy : float
        The share of gold pairs that an acceptable worker gets right; above a half for ``ladder``.
    careless : float
        The share that a careless worker gets right (``sequential`` only).
    confidence : float
        How sure to be before barring.
    """

    policy: BarringPolicy = BarringPolicy.LADDER
    accuracy: float = 0.9
    careless: float = 0.6
    confidence: float = 0.95

    def bars(self, record: GoldRecord) -> bool:
        """Return whether a worker with this record is barred."""
        if self.policy is BarringPolicy.NEVER or record.missed == 0:
            return False
        if self.policy is BarringPolicy.FIRST_MISS:
            return True
        if self.policy is BarringPolicy.POSTERIOR:
            return _chance_below(self.accuracy, record) >= self.confidence
        if self.policy is BarringPolicy.LADDER:
            return self.guesses(record) or max(_page_sums(self.accuracy, record.hits)) >= _log_odds(_SURE)
        return _decides_careless(self, record)

    def guesses(self, record: GoldRecord) -> bool:
        """Return whether a worker is no better than chance, with a posterior probability of ``confidence``.

        A worker guesses (is right half of the time) or is acceptable, each as likely before the first gold
        pair.
        """
        return _weight(self.accuracy, record.right, record.missed) >= _log_odds(self.confidence)

    def began_well(self, record: GoldRecord) -> bool:
        """Return whether the HITs before the first miss show, at 99 %, that nobody guessed.

        With an accuracy of 0.9 it takes eight gold pairs. Six were too few: where six people guess, one of
        them gets the first six gold pairs right in one study of eleven.
        """
        return _weight(self.accuracy, _before_miss(record.hits), 0) <= -_log_odds(_SURE)

    def in_doubt(self, record: GoldRecord) -> bool:
        """Return whether the gold pairs do not show, at 99 %, that nobody guesses, or show it no longer.

        With an accuracy of 0.9 it takes eight that are right. After a HIT with a miss the doubt is back until
        later ones outweigh it.
        """
        shown = _weight(self.accuracy, record.right, record.missed) <= -_log_odds(_SURE)
        return not shown or _page_sums(self.accuracy, record.hits)[-1] > 0


SLIP = 0.25
"""How often honest workers miss a gold pair, as a share of how often they err: simulated ones do so, as such
pairs are easier than others."""


def dropped_share(error: float, golds: int) -> float:
    """Return the share of honest workers' assignments that miss a gold pair, and so are dropped."""
    return 1.0 - (1.0 - SLIP * error) ** golds


UNREADABLE = 40.0
"""Words a second that no reader can reach: ten times the pace of reading (Brysbaert, 2019), so that whoever
decides by the first lines of a passage is well below it."""
_LEAST = 0.5
"""Seconds that a person needs at least to see a comparison and choose."""


def _before_miss(hits: Sequence[tuple[int, int]]) -> int:
    """Return how many gold pairs were right in the HITs before the first with a miss."""
    right = 0
    for found, missed in hits:
        if missed:
            break
        right += found
    return right


def is_unreadable(seconds: float, comparisons: int, words: int) -> bool:
    """Return whether nobody can have read what was compared in this time.

    Parameters
    ----------
    seconds : float
        The time from acceptance to submission, by the marketplace's clock.
    comparisons : int
        How many were made.
    words : int
        How many words they show; 0 where that is not known.
    """
    return seconds < max(_LEAST * comparisons, words / UNREADABLE)


_SURE = 0.99
"""How sure to be that a worker has turned to guessing, or did not guess before. The test for a turn looks
again after each HIT and forgets what was good before: at 95 % it would bar one in twelve of those who slip in
5 % of gold pairs within 40 HITs."""
_TOP = 16
"""The most HITs that a worker may have in hand or waiting for review."""
_PASSED_OVER = 3
"""How many more HITs a worker may hand in without all gold pairs than with them: people do stop early."""


def climb(hits: Sequence[tuple[int, int]], passed_over: Collection[int] = ()) -> int:
    """Return how many HITs a worker may have in hand or waiting for review.

    Parameters
    ----------
    hits : sequence of (int, int)
        Gold pairs right and missed in each HIT that was screened, in the order of submission.
    passed_over : collection of int
        The places of the HITs that say nothing, because some gold pair was passed over. They are no step up:
        who passes over what looks like gold would climb, and be paid, without ever being tested.

    Returns
    -------
    int
        1 for a newcomer, 2 after one HIT without a miss, 4 after two more, then 8 and 16, each after as many
        as the rung before. A HIT with a miss costs one rung. 0 after three HITs more that say nothing than
        others.
    """
    if 2 * len(passed_over) >= len(hits) + _PASSED_OVER:
        return 0
    good = 0
    for place, (_, missed) in enumerate(hits):
        if place in passed_over:
            continue
        good = good // 2 if missed else min(_TOP - 1, good + 1)
    return 1 << ((good + 1).bit_length() - 1)


def _page_sums(accuracy: float, hits: Sequence[tuple[int, int]]) -> list[float]:
    """Return the evidence that a worker has turned from good work to guessing, before and after each HIT.

    These are the sums of Page's test (Biometrika, 1954), which begin anew whenever no evidence is left, so
    that good work in the past does not hide what came after it.
    """
    sums = [0.0]
    for right, missed in hits:
        sums.append(max(0.0, sums[-1] + _weight(accuracy, right, missed)))
    return sums


def _weight(accuracy: float, right: int, missed: int) -> float:
    """Return the log likelihood ratio of guessing to an accuracy."""
    return right * log(0.5 / accuracy) + missed * log(0.5 / (1 - accuracy))


def _log_odds(probability: float) -> float:
    return log(probability / (1 - probability))


def _chance_below(accuracy: float, record: GoldRecord) -> float:
    """Return the posterior chance, from a uniform prior, of an accuracy below ``accuracy``."""
    return float(scipy.special.betainc(record.right + 1, record.missed + 1, accuracy))


def _decides_careless(rule: BarringRule, record: GoldRecord) -> bool:
    """Return whether Wald's sequential probability ratio test accepts "careless" against "acceptable"."""
    ratio = record.right * log(rule.careless / rule.accuracy) + record.missed * log(
        (1 - rule.careless) / (1 - rule.accuracy)
    )
    error = 1 - rule.confidence
    return ratio >= log((1 - error) / error)

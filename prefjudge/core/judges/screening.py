"""Screening: whose work is dropped for missed gold pairs, and who is barred from further HITs."""

from dataclasses import dataclass
from enum import StrEnum
from math import log

import scipy


class BarringPolicy(StrEnum):
    """When a worker who missed gold pairs is barred from further HITs.

    The data of a HIT with a missed gold pair is dropped and re-issued under every policy.
    """

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
    """

    right: int
    missed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarringRule:
    """A policy and its parameters.

    Attributes
    ----------
    policy : BarringPolicy
        When to bar.
    accuracy : float
        The share of gold pairs that an acceptable worker gets right.
    careless : float
        The share that a careless worker gets right (``sequential`` only).
    confidence : float
        How sure to be before barring.
    """

    policy: BarringPolicy = BarringPolicy.FIRST_MISS
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
        return _decides_careless(self, record)


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

"""Costs: rewards, what a crowd takes on top, and what an hour pays. Money is Decimal, to the cent."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a batch of HITs will cost.

    Attributes
    ----------
    pairs, hits, assignments : int
        The size of the batch.
    rewards, fees : Decimal
        The sums over all assignments.
    hourly : Decimal or None
        The pay of an hour at the expected seconds a pair; None where those are not known.
    """

    pairs: int
    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal
    hourly: Decimal | None

    @property
    def total(self) -> Decimal:
        """Rewards and fees."""
        return self.rewards + self.fees


def estimate(
    *,
    pairs: int,
    hits: int,
    assignments_per_hit: int,
    slots_per_hit: int,
    reward: Decimal,
    price: Decimal,
    seconds_per_pair: float | None = None,
) -> Estimate:
    """Return the cost of ``hits`` HITs of ``assignments_per_hit`` assignments each.

    Parameters
    ----------
    pairs, hits, assignments_per_hit : int
        The size of the batch.
    slots_per_hit : int
        How many comparisons a worker makes in a full HIT, gold pairs included.
    reward : Decimal
        The reward of one assignment.
    price : Decimal
        What one assignment costs, the crowd's fee included.
    seconds_per_pair : float, optional
        The expected, or the median visible, time of a comparison.
    """
    assignments = hits * assignments_per_hit
    return Estimate(
        pairs=pairs,
        hits=hits,
        assignments=assignments,
        rewards=reward * assignments,
        fees=(price - reward) * assignments,
        hourly=hourly_pay(reward, slots_per_hit, seconds_per_pair) if seconds_per_pair else None,
    )


def hourly_pay(reward: Decimal, slots: int, seconds_per_pair: float) -> Decimal:
    """Return what an hour pays when each of a HIT's ``slots`` comparisons takes ``seconds_per_pair``."""
    return (reward * 3600 / Decimal(str(slots * seconds_per_pair))).quantize(CENT, rounding=ROUND_HALF_UP)


def prorated(reward: Decimal, done: int, slots: int) -> Decimal:
    """Return the share of a reward for ``done`` of ``slots`` comparisons, rounded up to the cent.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: "Workers exiting before completing the task were paid a
    prorated amount."
    """
    share = reward * done / slots
    rounded = share.quantize(CENT, rounding=ROUND_HALF_UP)
    return rounded if rounded >= share else rounded + CENT

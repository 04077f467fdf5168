"""The fees of Mechanical Turk and similar marketplaces. Money is Decimal, to the cent."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

_CENT = Decimal("0.01")
MANY_ASSIGNMENTS = 10
"""HITs with at least this many assignments have the extra fee; smaller HITs cannot be extended to as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with shares of rewards and bonuses.

    Attributes
    ----------
    rate : Decimal
        The share of the reward or bonus: ``Decimal("0.20")``; 0: the marketplace takes nothing.
    many_rate : Decimal
        The share that is added for HITs with ten assignments or more.
    minimum : Decimal
        The least fee of one assignment or bonus.
    """

    rate: Decimal = Decimal("0.20")
    many_rate: Decimal = Decimal("0.20")
    minimum: Decimal = _CENT

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one assignment costs, of a HIT with ``workers`` assignments."""
        many = self.rate > 0 and workers >= MANY_ASSIGNMENTS
        rate = self.rate + (self.many_rate if many else 0)
        return pay + self._fee(pay, rate)

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what one bonus costs."""
        return amount + self._fee(amount, self.rate)

    def _fee(self, amount: Decimal, rate: Decimal) -> Decimal:
        if rate == 0 or amount == 0:
            return Decimal("0.00")
        return max((amount * rate).quantize(_CENT, rounding=ROUND_HALF_UP), self.minimum)

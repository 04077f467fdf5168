"""What Prolific charges for a HIT: the fees of the config, held against Prolific's own calculator."""

from dataclasses import dataclass, field
from decimal import Decimal

from prefjudge.crowd.mturk.fees import Fees
from prefjudge.crowd.prolific.client import Client
from prefjudge.errors import ConfigError

_CENT = Decimal("0.01")
_PLACES = 100
"""So many places are asked about, so that a rounding that differs shows."""


def fees_of(rate: Decimal) -> Fees:
    """Return the prices by the config's rate alone."""
    return Fees(rate=rate, many_rate=Decimal(0), minimum=Decimal("0.00"))


@dataclass
class CheckedPrices:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with prices that Prolific has confirmed.

    A price that differs by a cent would let the study's ledger differ from Prolific's, so it is refused.

    Parameters
    ----------
    client : Client
        Prolific.
    fees : Fees
        The prices by the config.
    hits : int
        HITs of one participant, who is paid for all of them at once.
    """

    client: Client
    fees: Fees
    hits: int
    _right: set[Decimal] = field(default_factory=set)

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one HIT of a participant costs.

        Raises
        ------
        ConfigError
            Prolific charges something else.
        """
        price = self.fees.submission(pay, 1)
        if pay and pay not in self._right:
            self._check(pay, price)
            self._right.add(pay)
        return price

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs."""
        return self.fees.bonus(amount)

    def _check(self, pay: Decimal, price: Decimal) -> None:
        reward = int(pay / _CENT) * self.hits
        asked = {"reward": reward, "total_available_places": _PLACES}
        found = self.client.call("POST", "/api/v1/study-cost-calculator/", asked)
        try:
            total = Decimal(str(found["total_cost"])) * _CENT
        except (KeyError, TypeError, ArithmeticError) as error:
            raise self.client.odd("a cost") from error
        if total == price * self.hits * _PLACES:
            return
        rate = total / (Decimal(reward) * _CENT * _PLACES) - 1
        raise ConfigError(
            f"Prolific charges ${total / _PLACES:.4f} for a place that pays ${reward * _CENT:.2f}, and "
            f"[fees] of study.toml makes it ${price * self.hits:.2f}",
            f"Set rate = {rate.quantize(Decimal('0.0001')).normalize()} in [fees], and a reward of which the "
            "fee is whole cents.",
        )

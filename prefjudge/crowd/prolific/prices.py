"""What Prolific charges, as its own calculator says."""

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

from prefjudge.crowd.mturk.fees import Fees
from prefjudge.crowd.prolific.client import Client

_CENT = Decimal("0.01")
_HUNDRED = 10_000
"""A reward in cents of which the cost shows the account's fee and VAT to a hundredth of a percent."""


def fees_of(rate: Decimal) -> Fees:
    """Return the prices by the config's rate alone, for plans: nothing is asked of Prolific."""
    return Fees(rate=rate, many_rate=Decimal(0), minimum=Decimal("0.00"))


@dataclass
class CalculatedPrices:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with what Prolific's calculator says.

    Parameters
    ----------
    client : Client
        Prolific.
    hits : int
        HITs of one participant, who is paid for all of them at once.
    """

    client: Client
    hits: int
    _known: dict[int, int] = field(default_factory=dict)

    def place(self, reward: int) -> int:
        """Return the cents that one participant costs whose reward is so many."""
        if reward and reward not in self._known:
            asked = {"reward": reward, "total_available_places": 1}
            found = self.client.call("POST", "/api/v1/study-cost-calculator/", asked)
            try:
                self._known[reward] = int(Decimal(str(found["total_cost"])).to_integral_value(ROUND_HALF_UP))
            except (KeyError, TypeError, ArithmeticError) as error:
                raise self.client.odd("a cost") from error
        return self._known.get(reward, 0)

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one HIT of a participant costs: an equal part, rounded up to the cent."""
        cost = Decimal(self.place(int(pay * self.hits / _CENT))) / self.hits
        return cost.to_integral_value(ROUND_CEILING) * _CENT

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs, at the account's fee and VAT."""
        return (amount * self.place(_HUNDRED) / _HUNDRED).quantize(_CENT, ROUND_HALF_UP)

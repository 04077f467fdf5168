"""What comparisons cost at the paper's rates."""

from decimal import Decimal

from prefjudge.core.hits import estimate

REWARD, PRICE, PAIRS_PER_HIT = Decimal("2.00"), Decimal("2.40"), 10
"""Section 3.1: two dollars, and a fee of 20 %, for a HIT of ten pairs …"""
_SLOTS = 13
"""… and three test comparisons."""


def hits_of(pairs: int) -> int:
    """Return how many HITs hold this many pairs."""
    return -(-pairs // PAIRS_PER_HIT)


def paper_price(pairs: int) -> str:
    """Return what judging this many pairs once costs."""
    cost = estimate(
        pairs=pairs,
        hits=hits_of(pairs),
        assignments_per_hit=1,
        slots_per_hit=_SLOTS,
        reward=REWARD,
        price=PRICE,
    )
    return f"${cost.total:,.2f}"

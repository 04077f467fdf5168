"""Money: whole cents inside, decimal strings outside, and what the marketplace takes."""

import re
from dataclasses import dataclass

from prefjudge.marketplace.turk_errors import invalid

_AMOUNT = re.compile(r"([0-9]{1,9})(?:\.([0-9]{0,2}))?")


def to_cents(amount: str, where: str) -> int:
    """Read ``"2"``, ``"2."``, ``"2.4"`` or ``"2.40"``."""
    match = _AMOUNT.fullmatch(amount)
    if not match:
        raise invalid(where, f"{amount[:32]!r} is not an amount in whole cents")
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0"))


def from_cents(cents: int) -> str:
    """Write ``240`` as ``"2.40"``."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """What the marketplace charges a requester on top of a reward or a bonus, in per cent.

    ``many_percent`` comes on top for HITs of ten or more assignments. A fee that is not zero is at least
    ``minimum_cents`` for each payment; fractions of a cent round half up.
    """

    percent: int = 20
    many_percent: int = 20
    minimum_cents: int = 1

    def on(self, cents: int, max_assignments: int = 1) -> int:
        """Return the fee on one payment, in cents."""
        percent = self.percent + (self.many_percent if max_assignments >= 10 else 0)
        if not percent:
            return 0
        return max(self.minimum_cents, (cents * percent + 50) // 100)

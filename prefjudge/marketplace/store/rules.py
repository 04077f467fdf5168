"""What the marketplace promises and charges, where that may differ from Mechanical Turk."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """What the marketplace charges a requester on top of a reward or a bonus, in per cent.

    ``many_percent`` is added for HITs of ten or more assignments. A fee that is not zero is at least
    ``minimum_cents`` for each payment; fractions of a cent round half up. A payment of zero has no fee.
    """

    percent: int = 20
    many_percent: int = 20
    minimum_cents: int = 1

    def on(self, cents: int, max_assignments: int = 1) -> int:
        """Return the fee on one payment, in cents."""
        percent = self.percent + (self.many_percent if max_assignments >= 10 else 0)
        if not (percent and cents):
            return 0
        return max(self.minimum_cents, (cents * percent + 50) // 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the marketplace promises its requesters and workers.

    ``keep_days`` is how long people are known after their last HIT has ended; None: until the admin forgets
    them.
    """

    fees: Fees = field(default_factory=Fees)
    dispose_after: float = 120 * 86400
    token_life: float = 86400
    session_life: float = 30 * 86400
    invite_life: float = 90 * 86400
    keep_days: int | None = None

"""Amounts of money: whole cents inside, decimal strings outside."""

import re

from prefjudge.marketplace.errors import invalid

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

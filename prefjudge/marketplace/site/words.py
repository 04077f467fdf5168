"""How the pages write money, times and counts."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

_MONTHS = ("January", "February", "March", "April", "May", "June",
           "July", "August", "September", "October", "November", "December")  # fmt: skip
_SPANS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def money(amount: str) -> str:
    """Write an amount with its currency and a separator at the thousands."""
    return f"${Decimal(amount or '0'):,.2f}"


def moment(time: str) -> str:
    """Write an ISO 8601 time in UTC for people."""
    at = datetime.fromisoformat(time)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def span(seconds: float) -> str:
    """Write a length of time in its two largest units."""
    left = max(0, int(seconds))
    parts = []
    for unit, length in _SPANS:
        number, left = divmod(left, length)
        if number:
            parts.append(count(number, unit))
    return " ".join(parts[:2]) or "less than a minute"


def count(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 HIT``, ``2 HITs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def filters() -> dict[str, Callable[..., Any]]:
    """Return the filters of the templates."""
    return {"money": money, "moment": moment, "span": span, "count_of": count}

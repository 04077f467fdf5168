"""How the pages write money, times and counts."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from prefjudge.marketplace.wording import ENGLISH, Wording

_MONTHS = ("January", "February", "March", "April", "May", "June",
           "July", "August", "September", "October", "November", "December")  # fmt: skip
_SPANS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def money(amount: str) -> str:
    """Write an amount with its currency and a separator at the thousands."""
    return f"${Decimal(amount or '0'):,.2f}"


def moment(time: str, language: str = ENGLISH) -> str:
    """Write an ISO 8601 time in UTC for people; their browser then writes it in their zone and language."""
    at = datetime.fromisoformat(time)
    if language != ENGLISH:
        return f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def span(seconds: float, wording: Wording) -> str:
    """Write a length of time in its two largest units."""
    left = max(0, int(seconds))
    parts = []
    for unit, length in _SPANS:
        number, left = divmod(left, length)
        if number:
            parts.append(wording.count(number, unit))
    return " ".join(parts[:2]) or wording.say("less than a minute", begins=False)


def filters(wording: Wording) -> dict[str, Callable[..., Any]]:
    """Return the filters of the templates in a study's words and a language."""
    return {
        "money": money,
        "moment": partial(moment, language=wording.language),
        "span": partial(span, wording=wording),
        "count_of": wording.count,
        "own": wording.say,
    }

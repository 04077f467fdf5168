"""Counts in sentences."""

import re


def many(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: ``1 HIT``, ``2,000 HITs``, ``3 queries``; or its ``nouns``."""
    return f"{count:,} {noun if count == 1 else nouns or _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"

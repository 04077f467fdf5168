"""Counts in sentences."""


def many(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: ``1 HIT``, ``2,000 HITs``; ``nouns`` where it takes more than an s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"

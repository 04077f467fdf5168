"""Words that people read: counts, probabilities, what is rehearsed, harmless ids, and a shared choice."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    told = property
else:

    class told(property):  # noqa: N801 - a decorator, as property is
        """What follows from a record's fields, and is told beside them in JSON."""


def many(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: ``1 HIT``, ``2,000 HITs``, ``3 queries``; or its ``nouns``."""
    return f"{count:,} {noun if count == 1 else nouns or _plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"


def some(words: Collection[str], most: int = 5, between: str = ", ") -> str:
    """Return the first of some words, and how many more there are."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return f"{between.join([*words][:most])}{more}"


# Probabilities as people read them.


def chance_text(probability: float) -> str:
    """Return a probability with two digits: ``0.37``. What is not certain does not look so: ``>0.99``."""
    if probability > 0.995:
        return ">0.99"
    return "<0.01" if probability < 0.005 else f"{probability:.2f}"


# How much of what is at hand is rehearsed: judged by nobody, but by simulated workers.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Judgments that were collected, those that do not count among them, and how many are simulated."""

    simulated: int
    judgments: int

    def __str__(self) -> str:
        return f"rehearsal: {self.simulated:,} of {many(self.judgments, 'judgment')} are simulated"


def joint(found: Iterable[Rehearsal]) -> Rehearsal | None:
    """Return what several sources are together, of which two with the same numbers are one source."""
    apart = set(found)
    if not apart:
        return None
    return Rehearsal(
        simulated=sum(one.simulated for one in apart), judgments=sum(one.judgments for one in apart)
    )


# Plain text: ids and names of any bytes, for eyes and for programs.
#
# Bytes that are not UTF-8 are lone surrogates in a string (PEP 383), which neither a terminal, a font nor
# JSON takes as they are.

_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return what a reader can be shown: odd bytes as ``\xe9``, and blanks for what drives a terminal."""
    return "".join(character if character.isprintable() else _shown(character) for character in text)


def _shown(character: str) -> str:
    return f"\\x{ord(character) - 0xDC00:02x}" if "\udc80" <= character <= "\udcff" else " "


def json_text(value: object, *, indent: int | None = 2) -> str:
    """Return a value as JSON in UTF-8; a lone surrogate is escaped, and Python reads it back as it was."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class OnDuplicate(StrEnum):
    """What to do where a run lists a document twice for a query."""

    ERROR = "error"
    FIRST = "first"
    """Keep the line that comes first."""
    BEST = "best"
    """Keep the line that ranks highest."""

"""How simulated workers choose: honest ones, careless ones, and those who want to be paid for nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp

import numpy as np

Truth = Mapping[tuple[str, str], float]
"""How well a passage answers a query, by their texts as a page shows them; others are off-topic."""


class Temper(StrEnum):
    """How a simulated worker works."""

    HONEST = "honest"
    """Chooses the better passage, with an error rate; seldom slips where one passage is off-topic."""
    CARELESS = "careless"
    """Chooses at random, at once."""
    LEFT = "left"
    """Always chooses the left passage."""
    FIRST = "first"
    """Always chooses the passage that comes first in the page's source."""
    HASTY = "hasty"
    """Chooses like an honest worker, faster than anyone reads."""
    GOLD_AWARE = "gold-aware"
    """Chooses at random, but never an off-topic passage: passes the gold pairs without working."""
    QUITTER = "quitter"
    """Judges honestly and stops after a few pairs."""
    GARBAGE = "garbage"
    """Submits fields that the page does not have."""
    TWICE = "twice"
    """Judges honestly and submits everything twice."""
    CLICKER = "clicker"
    """Chooses at random, as slowly as a reader."""
    LEXICAL = "lexical"
    """Chooses the passage that has more of the question's words, as slowly as a reader."""
    SCRIPT = "script"
    """Knows the answer to each pair that it meets again, as only gold pairs are; chooses others at random."""
    COLLUDERS = "colluders"
    """Like a script, but knows what any of them has met."""
    SLEEPER = "sleeper"
    """Judges honestly in ten HITs, and chooses at random from then on."""


LOOKERS = (Temper.HONEST, Temper.HASTY, Temper.QUITTER, Temper.TWICE)
"""Those who choose by what they read, in all that they do."""
_AT_ONCE = (Temper.CARELESS, Temper.HASTY, Temper.LEFT, Temper.FIRST)
SLEEPS = 10
"""The HITs that a sleeper judges honestly."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSlot:
    """One comparison as the page's source holds it."""

    name: str
    query: str
    tokens: tuple[str, str]
    passages: tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Mind:
    """What a simulated worker knows, and how it chooses.

    Attributes
    ----------
    temper : Temper
        How the worker works.
    truth : Truth
        What the worker would say with enough thought.
    error, slip : float
        How often an honest choice is wrong; and where one of the passages is off-topic, as in a gold pair.
    rng : Generator
        Draws the choices and the times.
    met : set of SeenPair
        The pairs that were met in earlier HITs; colluders share one set.
    done : int
        How many HITs the worker has judged.
    """

    temper: Temper
    truth: Truth
    error: float
    slip: float
    rng: np.random.Generator
    met: "set[SeenPair]" = field(default_factory=set)
    done: int = 0

    def choose(self, slot: SeenSlot, *, first_on_left: bool) -> int:
        """Return 0 for the slot's first passage, 1 for its second."""
        at_random = int(self.rng.random() < 0.5)
        match self.temper:
            case Temper.LEFT:
                return 0 if first_on_left else 1
            case Temper.FIRST:
                return 0
            case Temper.CARELESS | Temper.CLICKER:
                return at_random
            case Temper.SLEEPER if self.done >= SLEEPS:
                return at_random
            case Temper.LEXICAL:
                shared = [_shared_words(slot.query, passage) for passage in slot.passages]
                return at_random if shared[0] == shared[1] else int(shared[1] > shared[0])
            case Temper.SCRIPT | Temper.COLLUDERS:
                return self._better(slot) if _pair_of(slot) in self.met else at_random
            case Temper.GOLD_AWARE:
                return self._better(slot) if self._is_easy(slot) else at_random
        wrong = self.rng.random() < (self.slip if self._is_easy(slot) else self.error)
        return self._better(slot) ^ int(wrong)

    def milliseconds(self, slot: SeenSlot) -> int:
        """Return how long the slot was visible: the time to read about four words a second, or hardly any."""
        if self.temper in _AT_ONCE:
            return int(self.rng.integers(300, 1200))
        words = sum(len(passage.split()) for passage in slot.passages)
        return int(1000 * (2 + words / 4) * exp(self.rng.normal(0, 0.25)))

    def remember(self, slots: tuple[SeenSlot, ...]) -> None:
        """Keep in mind what a HIT has shown."""
        self.met |= {_pair_of(slot) for slot in slots}
        self.done += 1

    def _values(self, slot: SeenSlot) -> list[float | None]:
        return [self.truth.get((slot.query, passage)) for passage in slot.passages]

    def _is_easy(self, slot: SeenSlot) -> bool:
        return None in self._values(slot)

    def _better(self, slot: SeenSlot) -> int:
        first, second = (float("-inf") if value is None else value for value in self._values(slot))
        return int(second > first)


SeenPair = tuple[str, frozenset[str]]
"""A question and two passages, whatever their sides."""


def _pair_of(slot: SeenSlot) -> SeenPair:
    return slot.query, frozenset(slot.passages)


def _shared_words(query: str, passage: str) -> int:
    words = set(_WORD.findall(query.lower()))
    return len(words & set(_WORD.findall(passage.lower())))

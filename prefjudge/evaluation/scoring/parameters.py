"""The parameters of measures: what each takes, and what it is where it is not given."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from prefjudge.evaluation.scoring.placings import Floats

Parameter = float | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A parameter that is a number: what it is where it is not given, and its bounds.

    Attributes
    ----------
    default : float
    low, high : float
        The bounds; infinite where there is none.
    open : bool
        Whether the bounds themselves are excluded.
    required : bool
        Whether it must be given, as no default would fit.
    """

    default: float
    low: float = -inf
    high: float = inf
    open: bool = False
    required: bool = False

    def takes(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        if self.open:
            return self.low < number < self.high
        return self.low <= number <= self.high and abs(number) < inf

    def __str__(self) -> str:
        """Say what the parameter takes."""
        both = ", both excluded" if self.open else ""
        if self.low == -inf and self.high == inf:
            return "a number"
        if self.high == inf:
            return f"a number above {self.low:g}" if self.open else f"a number of {self.low:g} or more"
        return f"a number between {self.low:g} and {self.high:g}{both}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A parameter that is one of a few words."""

    default: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return " or ".join(f"'{word}'" for word in self.words)


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter that is True or False, and False where it is not given."""

    default: bool = False

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return "True or False"


@dataclass(frozen=True, slots=True)
class GainTable:
    """A parameter that says what each grade is worth: ``{1:3,2:7}``. Other grades stay as they are."""

    default: str = "{}"

    def read(self, text: str) -> str | None:
        """Return a table as measures print it, without grades that stay; None where it is not a table."""
        pairs = [pair.split(":") for pair in text.strip("{}").split(",") if pair]
        try:
            table = {float(grade): float(gain) for grade, gain in pairs}
        except ValueError:
            return None
        if not re.fullmatch(r"\{.*\}", text) or not np.isfinite([*table, *table.values()]).all():
            return None
        changed = [f"{grade:g}:{gain:g}" for grade, gain in sorted(table.items()) if gain != grade]
        return f"{{{','.join(changed)}}}"

    def __str__(self) -> str:
        """Say what the parameter takes."""
        return "the gain of each grade, such as {1:3,2:7}"


Takes = Number | Choice | Flag | GainTable
"""What a parameter may be."""


def gains_of(grades: Floats, parameters: Mapping[str, Parameter]) -> Floats:
    """Return what the parameter ``gains`` makes of grades; the grades themselves where it is not given."""
    pairs = [pair.split(":") for pair in str(parameters.get("gains", "{}")).strip("{}").split(",") if pair]
    worth = grades.copy()
    for grade, gain in pairs:
        worth[grades == float(grade)] = float(gain)
    return worth

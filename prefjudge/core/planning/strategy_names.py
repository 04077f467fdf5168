"""Strategies by their names: one for all pools, or one for each size of pool."""

import re
from dataclasses import dataclass, replace

from prefjudge.core.asking.strategies import (
    Asked,
    Flags,
    Floats,
    RoundRobin,
    Strategy,
)
from prefjudge.core.planning.sure import Sure


@dataclass(frozen=True, slots=True)
class BySize:
    """Another strategy for pools of another size."""

    steps: tuple[tuple[int, Strategy], ...]
    """The largest size of pool, and its strategy, by size; the last is for all larger pools, too."""

    @property
    def name(self) -> str:
        """Return ``default`` for the default, else the spelling."""
        return "default" if self == DEFAULT else self.spelling

    @property
    def spelling(self) -> str:
        """Return ``5=round-robin:3,6=sure:90x5/400``: the largest size of pool before each strategy."""
        return ",".join(f"{size}={strategy.name}" for size, strategy in self.steps)

    def ask(self, votes: Floats) -> Asked:
        """Ask as the strategy for this size does."""
        return self.of(votes.shape[1]).ask(votes)

    def leaders(self, votes: Floats) -> Flags:
        """Decide as the strategy for this size does."""
        return self.of(votes.shape[1]).leaders(votes)

    def of(self, size: int) -> Strategy:
        """Return the strategy for pools of this size."""
        return next((one for largest, one in self.steps if size <= largest), self.steps[-1][1])


DEFAULT = BySize(((5, RoundRobin(3)), (6, Sure(0.9, 5, patience=400))))
"""Three votes on every pair of a pool of up to five. Larger ones until one candidate is the best with a
probability of 0.9, or a further right winner would take more than 400 votes."""


def of_size(strategy: Strategy, size: int) -> Strategy:
    """Return the strategy for pools of this size."""
    return strategy.of(size) if isinstance(strategy, BySize) else strategy


_LARGEST_NUMBER, _MOST_ROUNDS = 99, 1000
_TAKEN_OUT = re.compile(r"(?:^|=)(halving|knockout|lead)(?=[:,]|$)")


def taken_out(text: str) -> str:
    """Return the first strategy in a name that there was in earlier versions; empty if there is none."""
    found = None if text.startswith("runs:") else _TAKEN_OUT.search(text)  # a run's name may be anything
    return found.group(1) if found else ""


def parse_strategy(text: str) -> Strategy:
    """Return the strategy of that name, such as ``round-robin:3`` or ``sure:80``.

    ``4=round-robin:3,6=sure:80`` takes the first for pools of up to four and the second for those of up to
    six, and for larger ones. ``default`` is such a one.

    Raises
    ------
    ValueError
        There is no such strategy.
    """
    if text == "default":
        return DEFAULT
    try:
        if text.startswith("runs:") or "=" not in text:  # a run's name may hold anything
            return _parse_one(text)
        parts = [part.split("=") for part in text.split(",")]
        steps = {_whole(size): _parse_one(one) for size, one in parts}
        if len(steps) < len(parts):
            raise ValueError
        if any(isinstance(one, Sure) and one.runs is not None for one in steps.values()):
            raise ValueError  # runs are told apart by the queries of all sizes together
        found = BySize(tuple(sorted(steps.items())))
    except ValueError:
        gone = taken_out(text)
        raise ValueError(
            (f"{gone} was taken out, as sure needs fewer votes for as many right winners" if gone else "")
            or f"no strategy {text!r}: choose from default, round-robin:VOTES, sure:PERCENT, runs:PERCENT, "
            "or one for each size of pool, such as 4=round-robin:3,6=sure:80"
        ) from None
    return found


def _parse_one(text: str) -> Strategy:
    kind, _, rest = text.partition(":")
    if kind == "sure":
        return _parse_sure(rest)
    if kind == "runs":
        sure, *named = rest.split(":")
        names = (name.replace("%3A", ":").replace("%25", "%") for name in named)
        found = replace(_parse_sure(sure), runs=tuple(sorted(names)))
        if len({*named}) not in {0, 2} or len(named) > 2 or not all(named) or found.patience is not None:
            raise ValueError
        return found
    if kind != "round-robin":
        raise ValueError
    made = RoundRobin(_whole(rest)) if rest else RoundRobin()
    if made.votes_per_pair > _LARGEST_NUMBER:
        raise ValueError
    return made


def _parse_sure(text: str) -> Sure:
    spent, limited, patience = text.partition("/")
    percent, _, rounds = spent.partition("x")
    whole, _, fraction = percent.partition(".")
    if not (whole + fraction).isascii() or not (whole + fraction).isdigit() or not 0 < float(percent) <= 100:
        raise ValueError
    made = Sure(
        float(percent) / 100,
        _whole(rounds) if "x" in spent else Sure(1.0).rounds,
        patience=_whole(patience) if limited else None,
    )
    if made.rounds > _MOST_ROUNDS:
        raise ValueError
    return made


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError
    return int(text)

"""Strategies by their names: one for all pools, or one for each size of pool."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prefjudge.core.asking.strategies import (
    Asked,
    Flags,
    Floats,
    Halving,
    Knockout,
    LeadStop,
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
        """Return ``5=round-robin:3,6=halving:1x2``: the largest size of pool before each strategy."""
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


DEFAULT = BySize(((5, RoundRobin(3)), (6, Halving())))
"""Three votes on every pair of a pool of up to five, halving for larger ones."""


def combine(chosen: Mapping[int, Strategy]) -> Strategy:
    """Return one strategy that treats pools of each size by the one chosen for it."""
    steps: list[tuple[int, Strategy]] = []
    for size in sorted(chosen):
        strategy = chosen[size]
        one = of_size(strategy, size)
        if steps and steps[-1][1] == one:
            steps.pop()
        steps.append((size, one))
    return steps[0][1] if len(steps) == 1 else BySize(tuple(steps))


def of_size(strategy: Strategy, size: int) -> Strategy:
    """Return the strategy for pools of this size."""
    return strategy.of(size) if isinstance(strategy, BySize) else strategy


_KINDS = {"round-robin": RoundRobin, "halving": Halving, "knockout": Knockout, "lead": LeadStop}
_LARGEST_NUMBER, _LARGEST_FACTOR, _MOST_ROUNDS = 99, 4, 1000


def parse_strategy(text: str) -> Strategy:
    """Return the strategy of that name, such as ``halving:2x3``, ``lead:3`` or ``sure:80``.

    ``4=round-robin:3,6=knockout:5`` takes the first for pools of up to four and the second for those of up to
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
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"no strategy {text!r}: choose from default, round-robin:VOTES, halving:VOTESxFACTOR, "
            "knockout:VOTES, lead:LEAD, sure:PERCENT, runs:PERCENT, or one for each size of pool, such as "
            "4=round-robin:3,6=knockout:5"
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
    numbers = [_whole(part) for part in rest.split("x")] if rest else []
    if any(number > _LARGEST_NUMBER for number in numbers):
        raise ValueError
    made: Strategy = _KINDS[kind](*numbers)
    if isinstance(made, Halving) and made.factor > _LARGEST_FACTOR:
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

"""Two files of figures side by side: what got slower, or larger, beyond the noise.

Only ratios are compared, since seconds are of one machine and of its load at the time.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LEAST = 1.1
"""Less than a tenth slower is not told, however sure."""
_ALONE = 1.5
"""With fewer than three rounds nobody knows the noise: then only half as slow again is told."""
_MEMORY = 1.2
Key = tuple[str, str, str]
"""The section, the contest and the rival."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What ours cost in each round, as times of what the rival cost."""

    rounds: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.rounds)

    def exceed(self, before: Costs) -> bool:
        """Whether these are higher than those before by more than the noise.

        All rounds must be higher than all those before: with five rounds each, chance does that once in 252.
        """
        least = _LEAST if min(len(self.rounds), len(before.rounds)) >= 3 else _ALONE
        return min(self.rounds) > max(before.rounds) and self.median > least * before.median

    def __str__(self) -> str:
        return f"{self.median:.2f} [{min(self.rounds):.2f}, {max(self.rounds):.2f}] n={len(self.rounds)}"


@dataclass(frozen=True, slots=True)
class Figures:
    """One file of figures."""

    short: bool
    rounds: int
    machine: Mapping[str, Any]
    sections: tuple[str, ...]
    costs: Mapping[Key, Costs]
    peaks: Mapping[Key, float]

    @classmethod
    def read(cls, path: Path) -> Figures:
        """Read a file that ``--json`` wrote.

        Raises
        ------
        ValueError
            It is another file.
        """
        try:
            return cls.of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} has no figures that --json wrote: {error!r}") from error

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Figures:
        """Take the figures out of JSON."""
        contests = said["contests"]
        return cls(
            short=bool(said["short"]),
            rounds=int(said["rounds"]),
            machine=said["machine"],
            sections=tuple(dict.fromkeys(one["section"] for one in contests)),
            costs={
                (one["section"], one["contest"], rival["rival"]): _costs(rival)
                for one in contests
                for rival in one["rivals"]
            },
            peaks={
                (one["section"], one["contest"], "MB"): one["peak_mb"] for one in contests if one["peak_mb"]
            },
        )


def _costs(rival: Mapping[str, Any]) -> Costs:
    ratios = [float(ratio) for ratio in rival["ratios"]]
    # A contest without a goal may have changed sides, so both files are read as what ours costs.
    return Costs(ratios if rival["ratio_is"] == "ours / theirs" else [1 / ratio for ratio in ratios])


def worse(old: Figures, new: Figures) -> Iterator[str]:
    """Yield a line for each ratio that got worse beyond the noise, and for each peak of memory."""
    for key in old.costs.keys() & new.costs.keys():
        before, after = old.costs[key], new.costs[key]
        if after.exceed(before):
            times = after.median / before.median
            yield f"{_name(key)}: {times:.2f} times slower: {before} -> {after}"
    for key in old.peaks.keys() & new.peaks.keys():
        was, now = old.peaks[key], new.peaks[key]
        if now > _MEMORY * was:
            yield f"{_name(key)}: {now / was:.2f} times the memory: {was:.0f} -> {now:.0f} MB"


def report(old: Figures, new: Figures) -> tuple[list[str], bool]:
    """Return what is printed, and whether anything got worse.

    Raises
    ------
    ValueError
        The figures are of inputs of another size.
    """
    if old.short != new.short:
        raise ValueError("one file is of --short inputs and the other is not: their ratios do not compare")
    found = sorted(worse(old, new))
    common = old.costs.keys() & new.costs.keys()
    lines = [f"{len(common)} ratios compared; ours / theirs, median [least, most]"]
    lines += _differences(old.machine, new.machine)
    lines += [f"  not measured any more: {_name(key)}" for key in sorted(old.costs.keys() - common)]
    better = [key for key in sorted(common) if old.costs[key].exceed(new.costs[key])]
    lines += [f"  faster: {_name(key)}: {old.costs[key]} -> {new.costs[key]}" for key in better]
    lines += [f"  WORSE: {line}" for line in found]
    lines.append(
        f"{len(found)} got worse beyond the noise" if found else "nothing got worse beyond the noise"
    )
    return lines, bool(found)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    for what in sorted(old.keys() | new.keys()):
        if old.get(what) != new.get(what):
            yield f"  {what} differs: {old.get(what)} -> {new.get(what)}"


def _name(key: Key) -> str:
    section, contest, rival = key
    return f"{section}: {contest}: {rival}"

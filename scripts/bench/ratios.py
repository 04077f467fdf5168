"""The ratios of a contest, whether they meet their goals, and how all that is printed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from harness import Contest, Outcome, Sample, Work


@dataclass(frozen=True, slots=True)
class Ratio:
    """How ours compares with a rival, round by round."""

    rival: str
    seconds: float
    processor_seconds: float
    peak_mb: float | None
    ratios: Sequence[float]
    goal: str
    extrapolated: bool
    cost: bool
    """Whether the ratios say how much ours costs, not how much faster it is."""

    @property
    def median(self) -> float:
        """The middle ratio."""
        return statistics.median(self.ratios)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal that was measured."""

    what: str
    value: float
    goal: str

    @property
    def met(self) -> bool:
        """Whether the value reaches the goal."""
        sign, limit = self.goal.split()
        return self.value <= float(limit) if sign == "<=" else self.value >= float(limit)


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome in figures."""

    contest: Contest
    seconds: float
    processor_seconds: float
    peak_mb: float | None
    ratios: Sequence[Ratio]
    absent: dict[str, str]

    @classmethod
    def of(cls, outcome: Outcome) -> Result:
        """Return the figures of an outcome: medians over its rounds."""
        peaks = [sample.peak for sample in outcome.ours if sample.peak is not None]
        return cls(
            contest=outcome.contest,
            seconds=statistics.median(sample.wall for sample in outcome.ours),
            processor_seconds=statistics.median(sample.cpu for sample in outcome.ours),
            peak_mb=max(peaks) if peaks else None,
            ratios=[
                _ratio(outcome.contest, name, outcome.ours, samples)
                for name, samples in outcome.theirs.items()
            ],
            absent=dict(outcome.absent),
        )

    @property
    def per_second(self) -> float | None:
        """How many units ours deals with a second."""
        return self.contest.count / self.seconds if self.contest.count else None

    def verdicts(self) -> list[Verdict]:
        """Return the goals that were measured: of ratios, memory and throughput."""
        found = [Verdict(ratio.rival, ratio.median, ratio.goal) for ratio in self.ratios if ratio.goal]
        if self.peak_mb is not None and self.contest.memory_limit_mb:
            found.append(Verdict("MB", self.peak_mb, f"<= {self.contest.memory_limit_mb:g}"))
        if self.per_second is not None and self.contest.goal_per_second:
            what = f"{self.contest.unit} a second"
            found.append(Verdict(what, self.per_second, f">= {self.contest.goal_per_second:g}"))
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the figures under stable names."""
        return {
            "contest": self.contest.name,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "peak_mb": self.peak_mb,
            "per_second": self.per_second,
            "rivals": [
                {
                    "rival": ratio.rival,
                    "seconds": ratio.seconds,
                    "processor_seconds": ratio.processor_seconds,
                    "peak_mb": ratio.peak_mb,
                    "ratio": ratio.median,
                    "ratio_is": "ours / theirs" if ratio.cost else "theirs / ours",
                    "ratios": list(ratio.ratios),
                    "spread": [min(ratio.ratios), max(ratio.ratios)],
                    "extrapolated": ratio.extrapolated,
                }
                for ratio in self.ratios
            ],
            "goals": [
                {"what": goal.what, "value": goal.value, "goal": goal.goal, "met": goal.met}
                for goal in self.verdicts()
            ],
            "absent": self.absent,
        }

    def lines(self, *, judge: bool) -> Iterable[str]:
        """Yield what is printed."""
        words = {goal.what: _judged(goal) for goal in self.verdicts()} if judge else {}
        figures = [f"{self.processor_seconds:.3f} s of processors"]
        if self.peak_mb is not None:
            figures.append(f"{self.peak_mb:.0f} MB{words.get('MB', '')}")
        if self.per_second is not None:
            what = f"{self.contest.unit} a second"
            figures.append(f"{self.per_second:,.0f} {what}{words.get(what, '')}")
        note = f" [{self.contest.note}]" if self.contest.note else ""
        yield f"  {self.contest.name}: {self.seconds:.3f} s, {', '.join(figures)}{note}"
        for ratio in self.ratios:
            how = "ours / theirs" if ratio.cost else "times faster"
            spread = f"{ratio.median:.2f} [{min(ratio.ratios):.2f}, {max(ratio.ratios):.2f}]"
            more = ", extrapolated" if ratio.extrapolated else ""
            took = f"{ratio.seconds:9.3f} s"
            if self.contest.by == "cpu":
                took += f", {ratio.processor_seconds:.3f} s of processors, {ratio.peak_mb or 0:.0f} MB"
            yield (
                f"    {ratio.rival:28s} {took}  {how} {spread} n={len(ratio.ratios)}{more}"
                + words.get(ratio.rival, "")
            )
        for name, reason in self.absent.items():
            yield f"    {name:28s} skipped: {reason.splitlines()[-1] if reason else ''}"


def summary(results: Iterable[Result]) -> Iterable[str]:
    """Yield how many goals are met, and which are not."""
    goals = [(result.contest.name, goal) for result in results for goal in result.verdicts()]
    missed = [(name, goal) for name, goal in goals if not goal.met]
    yield f"{len(goals) - len(missed)} of {len(goals)} goals met"
    for name, goal in missed:
        yield f"  missed: {name}: {goal.what} {goal.value:.2f}, goal {goal.goal}"


def _judged(goal: Verdict) -> str:
    return f" (goal {goal.goal}: {'met' if goal.met else 'MISSED'})"


def _ratio(contest: Contest, name: str, ours: Sequence[Sample], theirs: Sequence[Sample]) -> Ratio:
    goal, work = contest.goals.get(name, ""), contest.rivals[name]
    by = attrgetter(contest.by)
    pairs = [(by(mine), by(other)) for mine, other in zip(ours, theirs, strict=False)]
    peaks = [other.peak for other in theirs if other.peak is not None]
    slower = statistics.median(a / b for a, b in pairs) >= 1
    cost = goal.startswith("<") or (not goal and slower)
    return Ratio(
        rival=name,
        seconds=statistics.median(other.wall for other in theirs),
        processor_seconds=statistics.median(other.cpu for other in theirs),
        peak_mb=max(peaks) if peaks else None,
        ratios=[a / b if cost else b / a for a, b in pairs],
        goal=goal,
        extrapolated=isinstance(work, Work) and (work.extrapolated or contest.ours.extrapolated),
        cost=cost,
    )

"""The stopwatch of the benchmarks: works, contests, and the laboratory they run in.

A section is a file beside this one with a ``TITLE``, a function ``contests(lab)`` that yields `Contest`s, and
perhaps ``prepare(lab)``, which makes inputs below ``lab.folder``, once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PEERS = ("ir-measures", "pytrec-eval-terrier", "ranx", "polars", "duckdb")
ROOT = Path(__file__).resolve().parents[2]
_SLOW = 15.0
"""Seconds after which a rival is not run again."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a work: seconds on the clock and on processors, and the peak of its memory in MB."""

    wall: float
    cpu: float
    peak: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes time. ``scale`` multiplies it, where only a part of the work is done."""

    run: Callable[[], Sample]
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Absent:
    """A rival that cannot run here, and why."""

    reason: str


def shell(command: Sequence[str | Path] | str, *, scale: float = 1.0) -> Work:
    """Return a whole process, or a pipeline where the command is a string."""
    argv = ["sh", "-c", command] if isinstance(command, str) else [str(part) for part in command]

    def run() -> Sample:
        with tempfile.TemporaryFile() as errors:
            start = time.perf_counter()
            child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                errors.seek(0)
                raise RuntimeError(f"{argv[:3]} failed:\n{errors.read().decode(errors='replace')[-2000:]}")
        peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        return Sample(wall, usage.ru_utime + usage.ru_stime, peak)

    return Work(run, scale)


def call(
    function: Callable[..., Any], *args: Any, repeats: int = 1, scale: float = 1.0, **options: Any
) -> Work:
    """Return a function of this process; ``repeats`` calls count as one."""

    def run() -> Sample:
        start, used = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            function(*args, **options)
        return Sample((time.perf_counter() - start) / repeats, (time.process_time() - used) / repeats, None)

    return Work(run, scale)


@dataclass(frozen=True, slots=True)
class Contest:
    """Our work against others'.

    A goal ``"<= 2.5"`` is met where ours takes at most 2.5 times what the rival takes; ``">= 100"`` where the
    rival takes at least 100 times what ours takes.
    """

    name: str
    ours: Work
    rivals: Mapping[str, Work | Absent]
    goals: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    memory_limit_mb: float | None = None


@dataclass(slots=True)
class Lab:
    """Where the benchmarks run: the folder of inputs and the environment of the peers."""

    folder: Path
    short: bool
    peers: tuple[str, ...] = PEERS
    seed: int = 20_260_930
    _installed: dict[str, str] | None = None

    def rng(self, name: str) -> np.random.Generator:
        """Return the random stream of a name: the same at every run."""
        return np.random.default_rng([self.seed, *name.encode()])

    def ours(self, code: str, *args: str | Path) -> Work:
        """Return a fresh process of this environment that runs Python code."""
        return shell([sys.executable, "-c", code, *args])

    def peer(self, package: str, code: str, *args: str | Path, scale: float = 1.0) -> Work | Absent:
        """Return a fresh process of the peers' environment, if ``package`` could be installed there."""
        reason = self._peers().get(package, "not asked for")
        if reason:
            return Absent(reason)
        return shell([self._python(), "-c", code, *args], scale=scale)

    def _python(self) -> Path:
        return self.folder / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def _peers(self) -> dict[str, str]:
        """Install the peers in an environment of their own; return why each could not be, or nothing."""
        if self._installed is None:
            self._installed = {}
            if not self._python().exists():
                subprocess.run([sys.executable, "-m", "venv", self.folder / "peers"], check=True)
            for package in self.peers:
                self._installed[package] = self._install(package)
        return self._installed

    def _install(self, package: str) -> str:
        mark = self.folder / "peers" / f"{package}.installed"
        if mark.exists():
            return ""
        pip = [str(self._python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
        result = subprocess.run(pip, capture_output=True, text=True, check=False)
        if result.returncode:
            return f"{package} could not be installed: " + (result.stderr.strip().splitlines() or ["?"])[-1]
        mark.touch()
        return ""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How ours compares with a rival, round by round."""

    contest: str
    rival: str
    ours: float
    theirs: float
    ratios: tuple[float, ...]
    goal: str
    extrapolated: bool
    cost: bool
    """Whether the ratios say how much ours costs, not how much faster it is."""

    @property
    def median(self) -> float:
        """The middle ratio."""
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if not self.goal:
            return None
        sign, limit = self.goal.split()
        return self.median <= float(limit) if sign == "<=" else self.median >= float(limit)


def hold(contest: Contest, rounds: int) -> tuple[list[Sample], list[Ratio], dict[str, str]]:
    """Run a contest, ours and rivals in turn; return our samples, the ratios and why rivals are absent."""
    ours: list[Sample] = []
    theirs: dict[str, list[Sample]] = {}
    absent = {name: work.reason for name, work in contest.rivals.items() if isinstance(work, Absent)}
    present = {name: work for name, work in contest.rivals.items() if isinstance(work, Work)}
    if rounds > 1:
        contest.ours.run()  # what is read for the first time is in the cache now
    for _ in range(rounds):
        ours.append(contest.ours.run())
        for name, work in list(present.items()):
            samples = theirs.setdefault(name, [])
            if samples and samples[0].wall > _SLOW:
                continue
            try:
                samples.append(work.run())
            except Exception as error:  # a rival that fails is told, not fatal
                absent[name] = str(error)
                del present[name], theirs[name]
    ratios = [_ratio(contest, name, ours, samples) for name, samples in theirs.items()]
    return ours, ratios, absent


def _ratio(contest: Contest, name: str, ours: list[Sample], theirs: list[Sample]) -> Ratio:
    goal = contest.goals.get(name, "")
    work = contest.rivals[name]
    assert isinstance(work, Work)
    pairs = [
        (mine.wall * contest.ours.scale, other.wall * work.scale)
        for mine, other in zip(ours, theirs, strict=False)
    ]
    faster = statistics.median(a / b for a, b in pairs) < 1
    cost = goal.startswith("<") or (not goal and not faster)
    times = tuple(a / b if cost else b / a for a, b in pairs)
    return Ratio(
        contest=contest.name,
        rival=name,
        ours=statistics.median(a for a, _ in pairs),
        theirs=statistics.median(b for _, b in pairs),
        ratios=times,
        goal=goal,
        extrapolated=work.scale != 1 or contest.ours.scale != 1,
        cost=cost,
    )


def lines(
    contest: Contest, samples: list[Sample], ratios: Iterable[Ratio], absent: Mapping[str, str], judge: bool
) -> Iterable[str]:
    """Yield what is printed of a contest."""
    wall = statistics.median(sample.wall for sample in samples) * contest.ours.scale
    cpu = statistics.median(sample.cpu for sample in samples) * contest.ours.scale
    peaks = [sample.peak for sample in samples if sample.peak is not None]
    memory = f", {max(peaks):.0f} MB" if peaks else ""
    if peaks and contest.memory_limit_mb and judge:
        memory += (
            f" (goal <= {contest.memory_limit_mb:.0f} MB: {_word(max(peaks) <= contest.memory_limit_mb)})"
        )
    yield f"  {contest.name}: {wall:.3f} s ({cpu:.3f} s of processors{memory})" + (
        f" [{contest.note}]" if contest.note else ""
    )
    for ratio in ratios:
        how = "ours / theirs" if ratio.cost else "times faster"
        spread = (
            f"{ratio.median:.2f} [{min(ratio.ratios):.2f}, {max(ratio.ratios):.2f}] n={len(ratio.ratios)}"
        )
        goal = f", goal {ratio.goal}: {_word(bool(ratio.met))}" if ratio.goal and judge else ""
        more = ", extrapolated" if ratio.extrapolated else ""
        yield f"    {ratio.rival:28s} {ratio.theirs:9.3f} s  {how} {spread}{more}{goal}"
    for name, reason in absent.items():
        yield f"    {name:28s} skipped: {reason.splitlines()[-1] if reason else ''}"


def _word(met: bool) -> str:
    return "met" if met else "MISSED"

"""The stopwatch of the benchmarks: works, contests, and the laboratory they run in.

A section is a file beside this one with a ``TITLE`` and a function ``contests(lab)`` that yields `Contest`s,
which makes its inputs below ``lab.folder``, once. A function ``figures(lab)`` yields lines of other figures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

PEERS = ("ir-measures", "pytrec-eval-terrier", "ranx", "polars")
ROOT = Path(__file__).resolve().parents[2]
_CLOCK = (sys.executable, "-I", "-S", str(Path(__file__).with_name("clock.py")))
_SLOW = 15.0
"""Seconds after which a rival is not run again."""
_SLOW_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a work: seconds on the clock and on processors, and the peak of its memory in MB."""

    wall: float
    cpu: float
    peak: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes time; extrapolated where only a part of it is done."""

    run: Callable[[], Sample]
    extrapolated: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """A rival that cannot run here, and why."""

    reason: str


def shell(command: Sequence[str | Path] | str, *, ends: Collection[int] = (0,)) -> Work:
    """Return a process, or a pipeline where the command is a string; ``ends`` are its good exit codes."""
    argv = ["sh", "-c", command] if isinstance(command, str) else [str(part) for part in command]

    def run() -> Sample:
        done = subprocess.run([*_CLOCK, *argv], capture_output=True, text=True, check=False)
        if done.returncode not in ends:
            raise RuntimeError(f"{argv[:3]} failed:\n{done.stderr[-2000:]}")
        return Sample(*map(float, done.stdout.split()))

    return Work(run)


def call(
    function: Callable[..., Any],
    *args: Any,
    fresh: Callable[[], Any] | None = None,
    scale: float = 1.0,
) -> Work:
    """Return a function of this process.

    ``fresh`` makes its first argument anew before each run, on nobody's time; ``scale`` multiplies the time.
    """

    def run() -> Sample:
        made = () if fresh is None else (fresh(),)
        start, used = time.perf_counter(), time.process_time()
        function(*made, *args)
        return Sample(time.perf_counter() - start, time.process_time() - used, None)

    return scaled(Work(run), scale)


def scaled(part: Work, scale: float, start: Work | None = None) -> Work:
    """Return ``scale`` times the work of ``part``; ``start``, which is in ``part`` too, is done only once."""
    if scale == 1:
        return part

    def run() -> Sample:
        once = start.run() if start else Sample(0.0, 0.0, None)
        whole = part.run()
        return Sample(
            once.wall + scale * (whole.wall - once.wall),
            once.cpu + scale * (whole.cpu - once.cpu),
            whole.peak,
        )

    return Work(run, extrapolated=True)


@dataclass(frozen=True, slots=True)
class Contest:
    """Our work against others'.

    A goal ``"<= 2.5"`` is met where ours takes at most 2.5 times what the rival takes; ``">= 100"`` where the
    rival takes at least 100 times what ours takes. ``count`` is how many ``unit`` ours deals with, for a goal
    in ``unit`` a second. ``reads`` are files that each round begins with reading: while slow rivals run, the
    page cache may drop what is large. Ratios are of seconds on the clock, or ``by`` those on processors, if
    both sides wait for the disk. A ``slow`` contest has no round to warm up, and three at the most.
    """

    name: str
    ours: Work
    rivals: Mapping[str, Work | Absent]
    goals: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    memory_limit_mb: float | None = None
    count: int = 0
    unit: str = ""
    goal_per_second: float | None = None
    reads: Sequence[Path] = ()
    by: Literal["wall", "cpu"] = "wall"
    slow: bool = False


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

    def verb(self, *args: str | Path) -> Work:
        """Return a command as a user types it."""
        return shell([sys.executable, "-m", "prefjudge", *args])

    def runs(self, paths: Sequence[str | Path]) -> list[str | Path]:
        """Return the options that name runs."""
        return [part for path in paths for part in ("--runs", path)]

    def peer(
        self, package: str, code: str, *args: str | Path, each: Sequence[str | Path], scale: float = 1.0
    ) -> Work | Absent:
        """Return a fresh process of the peers' environment, if ``package`` could be installed there.

        The code deals with ``each`` of its last arguments in turn. With ``scale`` it stands for a process
        that starts once and deals with so many times as many.
        """
        reason = self._peers().get(package, "not asked for")
        if reason:
            return Absent(reason)
        start = shell([self._python(), "-c", code, *args])
        return scaled(shell([self._python(), "-c", code, *args, *each]), scale, start)

    def _python(self) -> Path:
        return self.folder / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def _peers(self) -> dict[str, str]:
        """Install the peers in an environment of their own; return why each could not be, or nothing."""
        if self._installed is None:
            self._installed = {}
            if self.peers and not self._python().exists():
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
class Outcome:
    """What was measured in a contest: ours, the rivals round by round, and why others are absent."""

    contest: Contest
    ours: Sequence[Sample]
    theirs: Mapping[str, Sequence[Sample]]
    absent: Mapping[str, str]


def hold(contest: Contest, rounds: int, *, warm: bool = True) -> Outcome:
    """Run a contest, ours and rivals in turn; where ``warm``, a first round fills caches, uncounted."""
    ours: list[Sample] = []
    theirs: dict[str, list[Sample]] = {}
    absent = {name: work.reason for name, work in contest.rivals.items() if isinstance(work, Absent)}
    present = {name: work for name, work in contest.rivals.items() if isinstance(work, Work)}
    if contest.slow:
        warm, rounds = False, min(rounds, _SLOW_ROUNDS)
    for counts in [False] * warm + [True] * rounds:
        for path in contest.reads:
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 24):
                    pass
        sample = contest.ours.run()
        if counts:
            ours.append(sample)
        for name, work in list(present.items()):
            began = time.perf_counter()
            try:
                sample = work.run()
            except Exception as error:  # a rival that fails is told, not fatal
                absent[name] = str(error)
                del present[name]
                theirs.pop(name, None)
                continue
            if counts:
                theirs.setdefault(name, []).append(sample)
                if time.perf_counter() - began > _SLOW and not contest.slow:
                    del present[name]
    return Outcome(contest, ours, theirs, absent)

"""Study: the verbs at the size of a leaderboard, and at a tenth of it.

The generator makes runs, qrels and texts; the verbs themselves make all else, from the pools to the judgments
of simulated workers. Each measured verb is a process of its own that works on a copy of the study.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from boards import RUNS, Board, board
from harness import Contest, Lab, Sample, Work, shell

from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.steps.collect import collect
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import pool
from prefjudge.steps.publish import publish
from prefjudge.steps.resolve import resolve
from prefjudge.steps.work import work
from prefjudge.study.progress import count_rows
from prefjudge.study.store import CONFIG_FILE, Study

TITLE = (
    f"study: its verbs at two sizes, {RUNS} runs 100 deep, ten times the queries; growth in processor time"
)

QUERIES = (477, 4_770)
"""Of TREC DL 2021, and ten times as many: about 1,000 and 10,000 HITs of ten pairs."""
_WORKERS = 40
_SMALL = "a tenth of it"
_GROWTH = "<= 11"
"""The larger study has ten times as much of everything; a tenth more than that is still called linear."""

VERBS: dict[str, tuple[str, tuple[str, ...], float | None]] = {
    "publish": ("pooled", ("--sandbox", "--yes"), 60),
    "work": ("published", ("--workers", str(_WORKERS), "--temper", "careless", "--temper", "careless"), None),
    "collect": ("worked", (), 60),
    "status": ("collected", (), None),
    "plan": ("collected", (), 20),
    "resolve": ("collected", (), None),
    "score": ("resolved", (), None),
    "agreement": ("resolved", (), None),
    "report": ("resolved", (), 20),
}
"""Each verb: the state of the study that it starts from, its options, and its goal in seconds."""
_SHORT = ("publish", "collect")
"""Each process takes a second to start: the short run has two verbs."""


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield a contest for each verb; the rival is the same verb on the smaller study."""
    few, many = (5, 10) if lab.short else QUERIES
    small, large = (Road(lab.folder, queries, runs=5 if lab.short else RUNS) for queries in (few, many))
    for verb in _SHORT if lab.short else VERBS:
        state, options, seconds = VERBS[verb]
        large.state(state)  # made on nobody's time
        small.state(state)
        hits = large.hits
        yield Contest(
            name=f"{verb}, {hits:,} HITs" if hits else verb,
            ours=large.verb(verb, state, options),
            rivals={_SMALL: small.verb(verb, state, options)},
            goals={_SMALL: _GROWTH},
            memory_limit_mb=500,
            count=hits,
            unit="HITs",
            goal_per_second=hits / seconds if seconds and hits else None,
            by="cpu",
            slow=True,
        )


class Road:
    """One study in each of its states, every one a folder that is made once from the one before."""

    def __init__(self, folder: Path, queries: int, runs: int) -> None:
        self._folder = folder / f"road-{runs}x{queries}"
        self._board: Callable[[], Board] = lambda: board(folder, queries, runs)

    @property
    def hits(self) -> int:
        """How many HITs the pools fill."""
        study = Study(self.state("pooled"))
        with study.transaction(write=False) as db:
            pairs = count_rows(db, "pairs")
        study.close()
        return -(-pairs // study.config.design.pairs_per_hit)

    def verb(self, name: str, state: str, options: tuple[str, ...]) -> Work:
        """Return a verb as a user types it, on a copy of the study in a state."""

        def run() -> Sample:
            copy = self._copied(state, "measured")
            # 3: HITs are open, as where `collect` has issued again what missed a gold pair
            return shell([sys.executable, "-m", "prefjudge", name, copy, *options], ends=(0, 3)).run()

        return Work(run)

    def state(self, name: str) -> Path:
        """Return the study in a state, made where it is not there."""
        done = self._folder / name
        if not done.exists():
            made = _MAKERS[name](self)
            made.rename(done)
        return done

    def pooled(self) -> Path:
        """Make a study with pools and gold pairs."""
        made, files = self._folder / "making", self._board()
        shutil.rmtree(made, ignore_errors=True)
        init(made)
        # The ladder hands out more only as work is collected; here one `collect` is to have all of it.
        config = made / CONFIG_FILE
        config.write_text(config.read_text().replace('policy = "ladder"', 'policy = "never"'))
        pool(
            made,
            runs=[files.runs / "*.txt"],
            qrels=files.qrels,
            queries=files.queries,
            collection=files.collection,
            depth=1,
        )
        gold(made, suggest=12)
        gold(made, accept=True)
        return made

    def published(self) -> Path:
        """Publish all of it."""
        made = self._copied("pooled", "making")
        publish(made, yes=True)
        return made

    def worked(self) -> Path:
        """Let simulated workers judge all of it, over HTTP."""
        made = self._copied("published", "making")
        work(made, workers=_WORKERS, temper=["careless"] * 2)
        return made

    def collected(self) -> Path:
        """Collect until every pair is judged."""
        made = self._copied("worked", "making")
        with keep_marketplace_open(Study(made)):
            while not collect(made).finished:
                work(made, workers=_WORKERS)
        return made

    def resolved(self) -> Path:
        """Resolve what was collected: a report then has all of its sections."""
        made = self._copied("collected", "making")
        resolve(made)
        return made

    def _copied(self, state: str, name: str) -> Path:
        copy = self._folder / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.state(state), copy)
        return copy


_MAKERS: dict[str, Callable[[Road], Path]] = {
    "pooled": Road.pooled,
    "published": Road.published,
    "worked": Road.worked,
    "collected": Road.collected,
    "resolved": Road.resolved,
}

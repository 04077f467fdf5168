"""Opens runs for reading: on this machine, in one process or several, or on a cluster."""

import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order
from prefjudge.counts import many
from prefjudge.engines.choice import Engine, tables_of
from prefjudge.engines.files.files import RunFiles, Runs
from prefjudge.engines.files.in_parts import units_of
from prefjudge.engines.files.reading import Reading
from prefjudge.engines.tables import TableRuns
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.judged_pairs import relabel, union_documents
from prefjudge.formats.lines.addresses import is_remote, kept_addresses, knowing
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.parts import FilePart
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.runs.chunks import OnDuplicate
from prefjudge.formats.runs.parquet import is_parquet
from prefjudge.formats.sniffing import doubt_ranks
from prefjudge.gather.inputs import is_address
from prefjudge.gather.once import is_asking_once, once_each, state_of
from prefjudge.gather.read_options import DEFAULTS, ReadOptions

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copies
    from prefjudge.engines.health import RunHealth

_PAYS = 128 << 20
"""Bytes of files that are checked line by line in about a second, twice what starting processes takes."""
_MOST = 8
"""The most processes that are started by default: each takes up to 200 MB."""

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Runs that are read, and what the verbs need of them."""

    runs: "Runs"

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self.runs)

    def read_as(self) -> dict[str, str]:
        """Return what each run file was taken for, as far as it was read: its columns, lines and queries."""
        return {path: str(form) for path, form in self.runs.forms.items()}

    def top(self, depth: int, queries: Collection[str] | None = None) -> "Heads":
        """Return the first documents of each query of each run."""
        return self.runs.top(depth, queries)

    def judged(self, qrels: "Qrels") -> "list[JudgedRanks]":
        """Return where each run placed the documents of the qrels."""
        return self.runs.judged(qrels)

    def judged_all(self, sets: "Sequence[Qrels]") -> "list[list[JudgedRanks]]":
        """Return the same for several label sets, from one reading of the runs."""
        if not (is_asking_once() and isinstance(self.runs, RunFiles)):
            return self._judged_together(sets)
        runs = self.runs
        answers = once_each(
            [_question(runs, labels) for labels in sets],
            lambda: [(placed, dict(runs.forms)) for placed in self._judged_together(sets)],
        )
        for _, forms in answers:
            runs.forms.update(forms)
        return [placed for placed, _ in answers]

    def _judged_together(self, sets: "Sequence[Qrels]") -> "list[list[JudgedRanks]]":
        if len(sets) < 2:
            return [self.judged(labels) for labels in sets]
        documents = union_documents(sets)
        ranks = self.judged(documents)
        found = [relabel(ranks, documents, labels) for labels in sets]
        # where a run has nothing of a set, its reader knows whether that is a mistake, and which
        return [
            placed if all(one.judged.size for one in placed) else self.judged(labels)
            for placed, labels in zip(found, sets, strict=True)
        ]

    def health(self, qrels: "Qrels | None") -> "list[RunHealth]":
        """Return what each run file holds; the queries of the qrels are expected."""
        if not isinstance(self.runs, RunFiles):
            raise InputError(
                "the health of runs is that of their text files, read on this machine",
                "Leave out Parquet and --engine, or the health: with site, --no-health.",
            )
        held = next((path for path in self.runs.paths if isinstance(path, Held)), None)
        if held is not None:
            raise InputError(
                f"{held} is in memory, and the health of a run is that of its file", "Leave out health."
            )
        from prefjudge.engines.health import health  # and with it OpenSSL's digests: 4 MB

        work = partial(
            health, qrels=qrels, order=self.runs.how.order, on_duplicate=self.runs.how.on_duplicate
        )
        return each(work, self.runs.paths, self.runs.executor)


def _question(runs: RunFiles, qrels: "Qrels") -> Hashable:
    """Return all that decides where runs place documents: the files as they are now, and the documents."""
    files = tuple((str(path), state_of(path)) for path in runs.paths)
    rows = tuple(column.tobytes() for column in (qrels.query, qrels.doc, qrels.grade))
    return (files, runs.how, qrels.queries, qrels.docs, rows)


@contextmanager
def reading(
    runs: Sequence[str | Path],
    order: Order,
    notices: "list[Notice]",
    engine: Engine | str = Engine.FILES,
    **how: Unpack[ReadOptions],
) -> Iterator[Reader]:
    """Yield a reader of the runs; workers, copies and a cluster change no result.

    Raises
    ------
    InputError
        An option is not one of the choices, or does not fit the engine.
    """
    options = DEFAULTS | how
    workers = options["workers"]
    on_duplicate = OnDuplicate(options["on_duplicate"])
    engine = Engine(engine)
    _check_paths(runs, engine)
    doubts = {str(path): doubt_ranks(path) for path in runs if not is_parquet(path) and _is_here(path)}
    notices += [Notice(where=path, what=doubt) for path, doubt in doubts.items() if doubt]
    if runs and engine is Engine.SPARK:
        words = {
            "--on-duplicate": on_duplicate is not OnDuplicate.ERROR,
            "workers (PREFJUDGE_WORKERS)": workers not in (None, 1),
        }
        unfit = [name for name, given in words.items() if given]
        if unfit:
            raise InputError(
                f"{', '.join(unfit)}: not for a cluster, which checks every line and shares the work out "
                "by itself",
                f"Leave out {', '.join(unfit)}, or --engine {engine}.",
            )
        with closing(tables_of(engine)) as tables:
            yield Reader(runs=TableRuns(tables, runs, Reading(order=order), notices=notices))
        return
    in_files = [path for path in runs if not is_parquet(path)]
    copies = None
    if on_duplicate is OnDuplicate.ERROR and (workers is None or isinstance(workers, int)):
        from prefjudge.engines.files.copies import copies_of

        copies = copies_of(in_files, notices)  # this user's, on this machine
    if copies is not None:
        copies.trim(units_of(map(str, in_files), copies))
    how_read = Reading(order=order, on_duplicate=on_duplicate, copies=copies)
    with working(workers, in_files, in_parts=True, copies=copies) as executor:
        if len(in_files) < len(runs):
            yield Reader(runs=TableRuns(tables_of(engine, executor), runs, how_read, notices=notices))
        else:
            yield Reader(runs=RunFiles(tuple(runs), how_read, executor=executor, notices=notices))
    if copies is not None:
        copies.trim()


@contextmanager
def working(
    workers: int | Executor | None,
    files: Sequence[str | Path],
    *,
    in_parts: bool = False,
    copies: "Copies | None" = None,
) -> Iterator[Executor | None]:
    """Yield the executor that reads files in parallel: a pool of processes, or what is given."""
    if workers is None:
        workers = _as_many_as_pay(files, copies)
    if not isinstance(workers, int):
        yield workers if hasattr(workers, "map") else _Submitting(workers)
        return
    if workers < 1:
        raise InputError(f"{many(workers, 'worker')} cannot read runs", "Give 1 or more.")
    units = len(units_of([str(path) for path in files], copies) if in_parts else files)
    if min(workers, units) < 2:
        yield None
        return
    from multiprocessing import get_context

    processes = min(workers, units) - 1  # and this one
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield _Helped(pool, processes)


def _as_many_as_pay(files: Sequence[str | Path], copies: "Copies | None") -> int:
    """Return the number of processors that this process may use, or 1 where what is to be read is small."""
    names = [str(path) for path in files if Path(path).is_file()]
    left = [path for path in units_of(names, copies) if not (copies and copies.has(path))]
    parts = (
        path.end - path.start if isinstance(path, FilePart) else Path(path).stat().st_size for path in left
    )
    if sum(parts) < _PAYS:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST)


class _Helped(Executor):
    """The ``map`` of processes whose work this one shares.

    A process gets one item at a time: an item in its queue could not be done by anybody else. All take the
    first that is left, and a result is let go once it was taken, so that few are held at a time.
    """

    def __init__(self, executor: Executor, processes: int) -> None:
        self.executor, self.processes = executor, processes

    def map(self, work: Callable[..., T], things: Iterable[Any], **_: Any) -> Iterator[T]:  # type: ignore[override]

        listed = list(things)
        jobs: dict[int, Future[T]] = {place: Future() for place in range(len(listed))}
        open_ = deque(range(len(listed)))

        def hand_out() -> None:
            with suppress(IndexError):
                place = open_.popleft()
                try:
                    task = self.executor.submit(work, listed[place])
                except RuntimeError as error:  # a process was killed
                    jobs[place].set_exception(error)
                else:
                    task.add_done_callback(lambda done: take_back(place, done))

        def take_back(place: int, done: "Future[T]") -> None:
            _settle(jobs[place], done.result)
            hand_out()

        with _no_main():
            for _process in range(self.processes):
                hand_out()
        try:
            for place in range(len(listed)):
                with suppress(IndexError):
                    while not jobs[place].done():
                        own = open_.popleft()
                        _settle(jobs[own], partial(work, listed[own]))
                wait([jobs[place]])  # who does it looks for it here
                yield jobs.pop(place).result()
        except BrokenExecutor as error:
            raise InputError(
                "a process that read for this one was killed",
                "Check the machine's memory, or set PREFJUDGE_WORKERS=1.",
            ) from error
        finally:
            open_.clear()  # where nobody wants the rest any more


@contextmanager
def _no_main() -> Iterator[None]:
    """Start processes that do not run the caller's program again, which may lack a guard, to no purpose."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _settle(job: "Future[T]", work: Callable[[], T]) -> None:
    """Hold an item's result or error until its turn."""
    try:
        job.set_result(work())
    except Exception as error:  # raised where the result would have been taken
        job.set_exception(error)


class _Submitting(Executor):
    """The ``map`` of an executor that has none of its own, such as submitit's."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def map(self, work: Callable[..., T], things: Iterable[Any], **_: Any) -> Iterator[T]:  # type: ignore[override]
        jobs = [self._executor.submit(work, thing) for thing in things]
        return (job.result() for job in jobs)


def each(work: Callable[[A], T], things: Sequence[A], executor: Executor | None) -> list[T]:
    """Return the work done on each thing, in their order, by an executor where there is one."""
    if executor is None:
        return list(map(work, things))
    known = kept_addresses(str(thing) for thing in things)
    return list(executor.map(partial(knowing, known, work), things))


def _is_here(path: str | Path) -> bool:
    return is_remote(path) or not is_address(path)


def _check_paths(runs: Sequence[str | Path], engine: Engine) -> None:
    for path in runs:
        if isinstance(path, Held):
            if engine is not Engine.FILES:
                raise InputError(
                    f"{path} is in memory, and a cluster reads files and tables",
                    f"Leave out engine={str(engine)!r}.",
                )
            continue
        fetched = is_remote(path) and not is_parquet(path)
        if is_address(path) and engine is not Engine.SPARK and not fetched:
            raise InputError(f"{path} is an address, which a cluster reads", "Add --engine spark.")

"""Opened inputs: runs read once for all that a verb asks, and what in them may surprise."""

import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from prefjudge.core.copies import Copies
from prefjudge.core.pools import Candidate, Pools, unpooled_tops
from prefjudge.core.runs import Heads, JudgedRanks, Order, Qrels, without_runs
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice, is_text, way_of_writing
from prefjudge.reading.given import is_address
from prefjudge.reading.held import Held
from prefjudge.reading.options import DEFAULTS, ReadOptions
from prefjudge.reading.remote import is_remote, without_secrets
from prefjudge.reading.runs.heads import Reader, Reading, RunFiles, units_of
from prefjudge.reading.runs.parquet import is_parquet, require_arrow
from prefjudge.reading.runs.tables import TableRuns, Tables
from prefjudge.reading.sniffing import doubt_ranks
from prefjudge.reading.unpacking import FilePart, can_reread
from prefjudge.words import OnDuplicate, many

if TYPE_CHECKING:
    from prefjudge.evaluation.boards import NotJudged, TieSensitivity
    from prefjudge.reading.runs.copies import RunCopies
    from prefjudge.reading.runs.health import RunHealth


_PAYS = 128 << 20
"""Bytes of files that are checked line by line in about a second, twice what starting processes takes."""
_MOST = 8
"""The most processes that are started by default: each takes up to 200 MB."""

T = TypeVar("T")
A = TypeVar("A")


class Engine(StrEnum):
    """What reads runs: this machine, or a cluster."""

    FILES = "files"
    SPARK = "spark"


def tables_of(engine: Engine | str, executor: Executor | None = None) -> Tables:
    """Return what reads and writes Parquet, and sends run files to where they are read."""
    require_arrow()
    if engine == Engine.SPARK:
        from prefjudge.reading.runs.cluster import SparkTables

        return SparkTables()
    return Tables(executor)


@contextmanager
def reading(
    runs: Sequence[str | Path],
    order: Order,
    notices: "list[Notice]",
    engine: Engine | str = Engine.FILES,
    **how: Unpack[ReadOptions],
) -> Iterator[Reader]:
    """Yield a reader of the runs; workers, copies and a cluster change no result."""
    options = DEFAULTS | how
    workers = options["workers"]
    on_duplicate = OnDuplicate(options["on_duplicate"])
    engine = Engine(engine)
    _check_paths(runs, engine)
    read_here = (path for path in runs if not is_parquet(path) and (is_remote(path) or not is_address(path)))
    doubts = {str(path): doubt_ranks(path) for path in read_here}
    notices += [Notice(where=path, what=doubt) for path, doubt in doubts.items() if doubt]
    if runs and engine is Engine.SPARK:
        words = {
            "--on-duplicate": on_duplicate is not OnDuplicate.ERROR,
            "workers (PREFJUDGE_WORKERS)": workers not in (None, 1),
        }
        unfit = [name for name, given in words.items() if given]
        if unfit:
            raise InputError(
                f"{', '.join(unfit)} cannot be used on a cluster, which checks every line and shares the "
                "work out by itself",
                f"Leave out {', '.join(unfit)}, or --engine {engine}.",
            )
        with closing(tables_of(engine)) as tables:
            yield TableRuns(tables, runs, Reading(order=order), notices=notices)
        return
    in_files = [path for path in runs if not is_parquet(path)]
    copies = None
    if on_duplicate is OnDuplicate.ERROR and (workers is None or isinstance(workers, int)):
        from prefjudge.reading.runs.copies import copies_of

        copies = copies_of(in_files, notices)  # this user's, on this machine
    if copies is not None:
        copies.trim(units_of(map(str, in_files), copies))
    how_read = Reading(order=order, on_duplicate=on_duplicate, copies=copies)
    with working(workers, in_files, in_parts=True, copies=copies) as executor:
        if len(in_files) < len(runs):
            yield TableRuns(tables_of(engine, executor), runs, how_read, notices=notices)
        else:
            yield RunFiles(tuple(runs), how_read, executor=executor, notices=notices)
    if copies is not None:
        copies.trim()


@contextmanager
def working(
    workers: int | Executor | None,
    files: Sequence[str | Path],
    *,
    in_parts: bool = False,
    copies: "RunCopies | None" = None,
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


def _as_many_as_pay(files: Sequence[str | Path], copies: "RunCopies | None") -> int:
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
    """The ``map`` of processes whose work this one shares."""

    # A process gets one item at a time: an item in its queue could not be done by anybody else. All take the
    # first that is left, and a result is let go once it was taken, so that few are held at a time.

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


# Finds the run that an option names, by its tag or its file.


def with_named(runs: Sequence[str | Path], named: Sequence[str | Path | None]) -> tuple[str | Path, ...]:
    """Return the run files, and others that options name."""
    more = [Path(name) for name in named if name is not None and can_reread(name)]
    return (*runs, *(path for path in dict.fromkeys(more) if not any(_same_file(path, run) for run in runs)))


def tag_of(name: str | Path, sources: Sequence[str | Path], tags: Sequence[str], option: str) -> str:
    """Return the tag of the run that an option names, by its tag or by its file."""
    if str(name) in tags:
        return str(name)
    found = [tag for source, tag in zip(sources, tags, strict=True) if _same_file(Path(name), source)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{option}: {name} holds {many(len(found), 'run')}", f"Choose one of: {', '.join(found)}."
        )
    raise InputError(
        f"{option}: there is no run {str(name)!r}, by its tag or by its file",
        f"Choose one of: {', '.join(tags)}.",
    )


def _same_file(path: Path, source: str | Path) -> bool:
    if is_remote(path):
        return without_secrets(str(path)) == without_secrets(str(source))
    try:
        return path.samefile(source)
    except OSError:  # one of them is a tag, or an address
        return str(path) == str(source)


# Warnings about a readable file, and about runs beside each other, in sentences.

_DEEPEST = 1_000
_NAMED = 5
"""So many runs are named where a sentence is about several."""


def run_surprises(run: "RunHealth") -> list[str]:
    """Return what a scorer of the run should know: each finding is one sentence without the file's name."""
    found, are, have = [], ("are", "is"), partial(many, noun="query has", nouns="queries have")
    if run.missing:
        found.append(
            f"{_queries(run.missing)} of those expected {are[len(run.missing) == 1]} missing and will score 0"
        )
    if run.missing and run.extra and (what := way_of_writing(run.extra, run.missing)):
        found.append(
            f"query_ids differ from those expected in {what}, such as {run.extra[0]!r}: write them alike"
        )
    if run.extra:
        found.append(
            f"{_queries(run.extra)} {are[len(run.extra) == 1]} beyond those expected and will not count"
        )
    if run.ties_at_top:
        found.append(f"{have(run.ties_at_top)} a tie at the first place: the order of ties decides the top")
    if run.ties_at_cutoff:
        found.append(f"{have(run.ties_at_cutoff)} a tie across place {run.cutoff}")
    if run.rank_contradicts_score:
        found.append(
            f"{have(run.rank_contradicts_score)} ranks that contradict the scores: "
            "--order rank and --order score will differ"
        )
    if run.first_rank is not None and run.first_rank != 1:
        found.append(f"ranks are numbered from {run.first_rank}, not from 1")
    if run.negative_scores:
        found.append(f"{run.negative_scores:,} scores are negative")
    if run.infinite_scores:
        found.append(
            f"{run.infinite_scores:,} scores are infinite, or too large for a number, which ties them"
        )
    if run.other_tags:
        found.append(f"some lines have other tags ({', '.join(run.other_tags)}): is this several runs?")
    if run.depth_max > _DEEPEST:
        found.append(
            f"queries hold up to {run.depth_max:,} documents: TREC's Deep Learning track and MS MARCO take "
            f"{_DEEPEST:,} passages, or 100 documents"
        )
    if run.depth_min < run.depth_max:
        found.append(f"queries hold {run.depth_min:,} to {run.depth_max:,} documents")
    if run.judged is not None and run.judged < 0.5:
        found.append(f"Judged@{run.cutoff} is only {run.judged:.0%}")
    return found


def qrels_surprises(qrels: Qrels) -> list[str]:
    """Return what a user of the qrels should know."""
    relevant = np.bincount(qrels.query[qrels.grade >= 1], minlength=len(qrels.queries))
    empty = [query for query, count in zip(qrels.queries, relevant, strict=True) if not count]
    found = []
    if empty:
        found.append(f"{_queries(empty)} {'has' if len(empty) == 1 else 'have'} no relevant document")
    if (qrels.grade < 0).any():
        found.append(f"{int((qrels.grade < 0).sum()):,} grades are negative")
    if (qrels.grade != np.floor(qrels.grade)).any():
        found.append("some grades are fractions, which trec_eval cuts off")
    if not all(name.isascii() or is_text(name) for name in (*qrels.queries, *qrels.docs)):
        found.append("some ids are not UTF-8: they stay as they are, but Parquet does not take them")
    return found


def copies_labelled(qrels: Qrels, copies: Copies) -> list[str]:
    """Return how many copies of one text the qrels label in one query, and where their labels differ."""
    groups = defaultdict[tuple[str, str], list[tuple[str, float]]](list)
    for row in copies.rows(qrels.docs, qrels.doc):
        query, doc = qrels.queries[qrels.query[row]], qrels.docs[qrels.doc[row]]
        groups[query, copies.of(doc)[0]].append((doc, float(qrels.grade[row])))
    several = {key: labels for key, labels in groups.items() if len(labels) > 1}
    if not several:
        return []
    texts = sum(map(len, several.values())) - len(several)
    found = [f"{many(texts, 'labelled document is a copy', 'labelled documents are copies')} of another"]
    differ = [(query, same) for (query, _), same in several.items() if len({grade for _, grade in same}) > 1]
    if differ:
        named = "; ".join(
            f"{query}: {', '.join(f'{doc} {grade:g}' for doc, grade in same[:_NAMED])}"
            for query, same in differ[:_NAMED]
        )
        more = f"; and {len(differ) - _NAMED:,} more" if len(differ) > _NAMED else ""
        found.append(
            f"{many(len(differ), 'text has', 'texts have')} copies with other labels ({named}{more}): "
            "for pooling the highest counts, scores take each as it is"
        )
    return found


def beside_each_other(
    ranks: Sequence[Sequence[JudgedRanks]],
    sets: Sequence[Qrels],
    cutoff: int | None,
    ties: "Iterable[TieSensitivity]",
) -> list[Notice]:
    """Return what in the runs changes their scores: one sentence a cause."""
    depth = cutoff or max(
        (int(one.retrieved.max(initial=0)) for placed in ranks for one in placed), default=0
    )
    queries = {query for labels in sets for query in labels.queries}
    missing, short = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    alike = defaultdict[str, int](int)
    tied = dict.fromkeys((one.run for placed in ranks for one in placed), 0)
    for found in ties:
        tied[found.run] = max(tied[found.run], found.queries)
    for placed, labels in zip(ranks, sets, strict=True):
        names = np.array(labels.queries, dtype=object)
        most = np.max([one.retrieved for one in placed], axis=0, initial=0)
        for one in placed:
            missing[one.run] |= {*names[one.retrieved == 0]}
            few = (one.retrieved > 0) & (one.retrieved < np.minimum(most, depth))
            short[one.run] |= {*names[few]}
            parts = (one.judged.tobytes(), one.position.tobytes(), one.retrieved.tobytes())
            alike[one.run] = hash((alike[one.run], *parts))
    return [
        *_said("missing queries", _counts(missing), len(queries), "each counts as 0"),
        *_said("few documents", _counts(short), len(queries), f"others return more of the first {depth:,}"),
        *_said("ties", tied, len(queries), "the order of tied documents changes a score"),
        *_same(alike, "place all judged documents alike: no number tells them apart"),
    ]


def heads_beside_each_other(heads: Heads, queries: Sequence[str], depth: int) -> list[Notice]:
    """Return what in the tops of runs changes what is pooled or compared, one sentence a cause."""
    asked = {query: place for place, query in enumerate(queries)}
    counted = np.zeros((len(heads.runs), len(queries)), np.int64)
    alike = defaultdict[str, int](int)
    ends = zip(heads.start[:-1].tolist(), heads.start[1:].tolist(), strict=True)
    for run, query, (first, last) in zip(
        heads.list_run.tolist(), heads.list_query.tolist(), ends, strict=True
    ):
        place = asked.get(heads.queries[query])
        if place is not None:
            counted[run, place] = last - first
            # a sum, as runs may list their queries in any order, and of millions of lists none is kept
            alike[heads.runs[run]] += hash((place, heads.doc[first:last].tobytes()))
    names = np.array(queries, dtype=object)
    few = (counted > 0) & (counted < np.minimum(counted.max(axis=0, initial=0), depth))
    missing = {run: {*names[row == 0]} for run, row in zip(heads.runs, counted, strict=True)}
    short = {run: {*names[row]} for run, row in zip(heads.runs, few, strict=True)}
    return [
        *_said("missing queries", _counts(missing), len(queries), "they have no answer to these"),
        *_said("few documents", _counts(short), len(queries), f"others return more of the first {depth:,}"),
        *_same(alike, f"have the same first {many(depth, 'document')} in every query"),
    ]


def copies_pooled(replaced: Mapping[Candidate, str], where: str | Path | None) -> list[Notice]:
    """Return how many pooled documents gave way to a candidate with the same text; else none."""
    if not replaced:
        return []
    (query, doc), candidate = next(iter(replaced.items()))
    what = (
        f"{many(len(replaced), 'pooled document is a copy', 'pooled documents are copies')} of another in "
        f"{many(len({query for query, _ in replaced}), 'query', 'queries')}, such as {doc} of {candidate} in "
        f"{query}: they are one candidate, and nobody is asked to compare them"
    )
    return [Notice(where=str(where or "copies"), what=what)]


def pooled_only(heads: Heads, pools: Pools | None, notices: list[Notice]) -> Heads:
    """Return the runs whose win ratios are known, and say which others are left out."""
    if pools is None or not (lacking := unpooled_tops(heads, pools)):
        return heads
    what = "people judged their first document only where a pooled run has it, too: no win ratios"
    found = dict.fromkeys(heads.runs, 0) | lacking
    notices.extend(_said("not pooled", found, len(pools.queries), what))
    return without_runs(heads, lacking)


def tops_not_judged(runs: "Sequence[NotJudged]") -> list[Notice]:
    """Return how many of the runs' top passages people have not compared, in one sentence."""
    most = max((one.queries for one in runs), default=0)
    unknown = {one.run: one.queries - one.judged for one in runs}
    return _said(
        "not judged", unknown, most, "nobody compared their first passage, so it cannot be a best answer"
    )


def _counts(found: Mapping[str, set[str]]) -> dict[str, int]:
    return {run: len(some) for run, some in found.items()}


def _said(cause: str, found: Mapping[str, int], queries: int, what: str) -> list[Notice]:
    """Return one sentence on the runs that have some, the worst first."""
    counts = sorted(((count, run) for run, count in found.items() if count), key=lambda one: -one[0])
    if not counts:
        return []
    named = ", ".join(f"{run} {count:,}" for count, run in counts[:_NAMED])
    more = f" and {many(len(counts) - _NAMED, 'other run')}" if len(counts) > _NAMED else ""
    runs = f"in {len(counts):,} of {many(len(found), 'run')}"
    return [Notice(where=cause, what=f"{runs}, of {many(queries, 'query')}: {named}{more}; {what}")]


def _same(alike: Mapping[str, int], what: str) -> list[Notice]:
    """Return one sentence on the groups of runs whose hashes are the same."""
    groups = defaultdict[int, list[str]](list)
    for run, known in alike.items():
        groups[known].append(run)
    same = [f"{', '.join(runs[:-1])} and {runs[-1]}" for runs in groups.values() if len(runs) > 1]
    more = f"; and {len(same) - _NAMED:,} more groups" if len(same) > _NAMED else ""
    return [Notice(where="identical runs", what=f"{'; '.join(same[:_NAMED])}{more} {what}")] if same else []


def _queries(names: Sequence[str]) -> str:
    return f"{many(len(names), 'query')} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})"

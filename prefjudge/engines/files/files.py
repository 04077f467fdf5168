"""Run files: the few rows that matter, out of many runs, on this machine."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order
from prefjudge.core.pooling.tokens import line_tokens
from prefjudge.engines.files.heads import RunHead, head_of
from prefjudge.engines.files.in_parts import Found, joined_parts, of_part, units_of
from prefjudge.engines.files.judged import Judged, JudgedRows, found, found_in_copy
from prefjudge.engines.files.overlap import check_overlap
from prefjudge.engines.files.reading import Reading, RunFacts, answers, per_chunk
from prefjudge.errors import InputError
from prefjudge.formats.lines.addresses import kept_addresses, knowing
from prefjudge.formats.lines.blocks import is_slow
from prefjudge.formats.lines.held import NamedFile
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.problems import Notice, decode, encode, paths_of
from prefjudge.formats.lines.readers import stem
from prefjudge.formats.runs.layouts import RunForm

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copies

T = TypeVar("T")
Facts = TypeVar("Facts", bound=RunFacts)

_THREADS = 4
"""Files that are unpacked at once: more would wait for each other's Python code, and hold more memory."""
_NAMED = 5
"""So many runs are named where a sentence is about several."""


Work: TypeAlias = Callable[[str], Found]
"""Finds something in one run file: it is sent to whatever process reads the file."""


class Runs(ABC):
    """Runs that can be asked for the few rows that matter.

    Attributes
    ----------
    how : Reading
        How they are read.
    notices : list of Notice
        Receives what was odd.
    forms : dict of str to RunForm
        What each run file was taken for, once it was read.
    """

    how: Reading
    notices: list[Notice]
    forms: dict[str, RunForm]

    @property
    @abstractmethod
    def sources(self) -> tuple[str, ...]:
        """The file of each run."""

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self.sources)

    @abstractmethod
    def found(self, work: Work[Found]) -> Iterable[Found]:
        """Return what ``work`` finds in each run, in their order."""

    def top(self, k: int, queries: Collection[str] | None = None) -> Heads:
        """Return the ``k`` best documents of each query of each run, or of the given queries only.

        Raises
        ------
        InputError
            Where ``k`` is less than 1, or a run cannot be read.
        """
        found = self.noted(self.found(top_of_run(k, self.how, queries)))
        return joined_heads(found, self.how.order, self.notices)

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents: one record a run, in their order.

        Raises
        ------
        InputError
            Where a run cannot be read, or has nothing to do with the qrels.
        """
        found = list(self.noted(self.found(judged_of_run(qrels, self.how))))
        return joined_judged(found, qrels, self.how.order, self.notices)

    def noted(self, found: Iterable[Facts]) -> Iterator[Facts]:
        """Keep what each run was taken for."""
        for one in found:
            if one.form is not None:
                self.forms[one.path] = one.form
            yield one


@dataclass(frozen=True)
class RunFiles(Runs):
    """Run files that are read again for each question.

    Attributes
    ----------
    paths : sequence of paths
        The run files. Results come in their order.
    executor : Executor, optional
        Reads the files in parallel. The result does not depend on it.
    """

    paths: Sequence[str | Path]
    how: Reading = field(default_factory=Reading)
    executor: Executor | None = field(default=None, kw_only=True)
    notices: list[Notice] = field(default_factory=list, kw_only=True)
    forms: dict[str, RunForm] = field(default_factory=dict, kw_only=True)

    @property
    def sources(self) -> tuple[str, ...]:
        """The run files."""
        return tuple(map(str, paths_of(self.paths)))  # without what a name may hold

    def found(self, work: Work[Found]) -> Iterator[Found]:
        """Return what ``work`` finds in each run, in their order."""
        return each_found(work, _distinct(self.paths), self.executor, self.how.copies)


def top_of_run(k: int, how: Reading, queries: Collection[str] | None = None) -> Work[RunHead]:
    """Return what finds the ``k`` best documents of each query, or of some queries, of one run file."""
    if k < 1:
        raise InputError(f"the depth is {k}", "Give a depth of 1 or more.")
    return partial(head_of, k=k, wanted=None if queries is None else frozenset(map(encode, queries)), how=how)


def judged_of_run(qrels: Qrels, how: Reading) -> Work[JudgedRows]:
    """Return what finds the judged documents of one run file."""
    return partial(_judged_of, index=Judged.of(qrels), how=how)


def _judged_of(path: str, *, index: Judged, how: Reading) -> JudgedRows:
    work = partial(found, index=index, order=how.order)
    if not index.is_sparse:
        return JudgedRows.joined(path, *per_chunk(path, work, how))
    from_copy = partial(found_in_copy, index=index, order=how.order)
    return JudgedRows.joined(path, *answers(path, work, how, from_copy=from_copy))


def joined_judged(
    found: list[JudgedRows], qrels: Qrels, order: Order, notices: list[Notice]
) -> list[JudgedRanks]:
    """Return what measures work on, a record a run; ``found`` is used up."""
    for one in found:
        shared, hits = len(one.seen), one.rows.shape[1]
        check_overlap(one.path, qrels, example=one.example, shared=shared, found=hits, notices=notices)
    tags = called(found, notices)
    ranks = []
    for tag in reversed(tags):  # what is done with is let go: the rows of all runs twice are the peak
        ranks.append(found.pop().ranks(tag, qrels, order))
    return ranks[::-1]


def each_found(
    work: Work[Found], paths: Sequence[str], executor: Executor | None, copies: Copies | None = None
) -> Iterator[Found]:
    """Yield what ``work`` finds in each file; large ones are read, and copied, in parts."""
    if executor is None and copies is None:
        return each_run(work, paths, executor)
    parts = units_of(paths, copies)
    return joined_parts(work, parts, each_run(partial(of_part, work), parts, executor))


def each_run(work: Callable[[str], T], paths: Sequence[str], executor: Executor | None) -> Iterator[T]:
    """Yield what ``work`` makes of each path; compressed and fetched files are read side by side."""
    if executor is not None:
        yield from executor.map(partial(knowing, kept_addresses(paths), work), paths)
    elif len(paths) > 1 and any(map(is_slow, paths)):
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
            yield from threads.map(work, paths)
    else:
        yield from map(work, paths)


def _distinct(paths: Sequence[str | Path]) -> tuple[str, ...]:
    names = paths_of(paths)
    if not names:
        raise InputError(
            "no run files were given",
            "Give at least one, as by --runs 'runs/*'; a pattern must match something.",
        )
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{name} is named twice among the runs", "Give each run once.")
    return names


def called(found: Sequence[RunFacts], notices: list[Notice]) -> tuple[str, ...]:
    """Return a name for each run: its tag, or its file's name where the tag is absent or not its own.

    A `NamedFile` has the name that a program gave it. ``notices`` receives which names are odd, then what
    readers met.
    """
    named, by_file = [], defaultdict[str, list[str]](list)
    tags = [one.path.name if isinstance(one.path, NamedFile) else one.tag for one in found]
    stems = [stem(one.path) for one in found]
    for one, tag, name in zip(found, tags, stems, strict=True):
        if tag and tags.count(tag) == 1:
            named.append(tag)
            continue
        if stems.count(name) > 1 or name in tags:
            name = one.path
        by_file[tag].append(name)
        named.append(name)
    untagged = by_file.pop("", [])
    shared = [f"{tag!r} is that of {_some(names)}" for tag, names in by_file.items()]
    for cause, what in (("one tag", _some(shared, "; ")), ("no tag", _some(untagged))):
        if what:
            notices.append(Notice(where=cause, what=f"{what}: they are called by their files"))
    notices += [notice for one in found for notice in one.notices]
    return tuple(named)


def _some(words: Sequence[str], between: str = ", ") -> str:
    """Return a few words, and how many more there are."""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"{between.join(words[:_NAMED])}{more}"


def joined_heads(results: Iterable[RunHead], order: Order, notices: list[Notice]) -> Heads:
    """Join the heads of the runs as they come; queries and documents are numbered as they first come."""
    facts: list[RunFacts] = []
    queries: dict[bytes, int] = {}
    docs = Numbering()
    list_query: list[int] = []
    sizes: list[NDArray[np.int64]] = []
    counts: list[int] = []
    doc = bytearray()
    for result in results:
        facts.append(RunFacts(path=result.path, tag=result.tag, notices=result.notices))
        list_query += [queries.setdefault(name, len(queries)) for name in result.queries]
        sizes.append(result.sizes)
        counts.append(len(result.queries))
        doc.extend(docs.add(line_tokens(result.docs)).data)
    return Heads(
        runs=called(facts, notices),
        queries=tuple(map(decode, queries)),
        docs=docs.vocabulary(),
        list_run=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        list_query=np.array(list_query, dtype=np.int32),
        start=np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
        doc=np.frombuffer(doc, np.int32),
        order=order,
    )

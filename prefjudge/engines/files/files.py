"""Run files: the few rows that matter, out of many runs, on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order
from prefjudge.core.pooling.tokens import line_tokens
from prefjudge.engines.files.anchored import anchored, is_sparse
from prefjudge.engines.files.gallop import NotGalloping
from prefjudge.engines.files.heads import RunHead, head_of
from prefjudge.engines.files.in_parts import Found, joined_parts, of_part, parts_of_runs
from prefjudge.engines.files.judged import Judged, JudgedRows, found
from prefjudge.engines.files.overlap import check_overlap
from prefjudge.engines.files.reading import per_chunk
from prefjudge.errors import InputError
from prefjudge.formats.lines.addresses import is_remote, kept_addresses, knowing
from prefjudge.formats.lines.blocks import can_reread, is_compressed
from prefjudge.formats.lines.held import NamedFile
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.problems import Notice, Stop, decode, encode, paths_of
from prefjudge.formats.lines.readers import stem
from prefjudge.formats.runs.chunks import OnDuplicate, Scattered
from prefjudge.formats.runs.layouts import RunForm

if TYPE_CHECKING:
    from prefjudge.engines.files.cache import RunCache

T = TypeVar("T")

_THREADS = 4
"""Files that are unpacked at once: more would wait for each other's Python code, and hold more memory."""


def top(
    paths: str | Path | Iterable[str | Path],
    *,
    k: int,
    order: Order | str = Order.SCORE,
    queries: Collection[str] | None = None,
    trust: bool = False,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    cache: str | Path | None = None,
    executor: Executor | None = None,
    notices: list[Notice] | None = None,
    forms: dict[str, RunForm] | None = None,
) -> Heads:
    """Return the ``k`` best documents of each query of each run.

    Parameters
    ----------
    paths : path or iterable of paths
        The run files. Results come in their order.
    k : int
        The depth, at least 1.
    order : Order
        What ranks a document higher.
    queries : collection of str, optional
        Keep these queries only.
    trust : bool
        Read only what the top needs: lines below are then not checked.
    on_duplicate : OnDuplicate
        What to do with a document that a run lists twice for a query.
    cache : path, optional
        A folder that keeps columnar copies of the runs that were read in full; see `engines.files.cache`.
    executor : Executor, optional
        Reads the files in parallel. The result does not depend on it.
    notices : list of Notice, optional
        Receives what was odd.
    forms : dict of str to RunForm, optional
        Receives what each file was taken for.
    """
    work = top_of_run(
        k,
        order=Order(order),
        queries=queries,
        trust=trust,
        on_duplicate=OnDuplicate(on_duplicate),
        cache=_cache(cache),
    )
    found = each_found(work, _distinct(paths), executor, cut=not trust and cache is None)
    return joined_heads(found, Order(order), notices, forms)


def top_of_run(
    k: int,
    *,
    order: Order,
    queries: Collection[str] | None = None,
    trust: bool = False,
    on_duplicate: OnDuplicate = OnDuplicate.ERROR,
    cache: RunCache | None = None,
) -> Callable[[str], RunHead]:
    """Return what finds the ``k`` best documents of each query of one run file."""
    if k < 1:
        raise InputError(f"the depth is {k}", "Give a depth of 1 or more.")
    wanted = None if queries is None else frozenset(map(encode, queries))
    return partial(
        head_of, k=k, order=order, wanted=wanted, trust=trust, on_duplicate=on_duplicate, cache=cache
    )


def judged(
    paths: str | Path | Iterable[str | Path],
    qrels: Qrels,
    *,
    order: Order | str = Order.SCORE,
    trust: bool = False,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    cache: str | Path | None = None,
    executor: Executor | None = None,
    notices: list[Notice] | None = None,
    forms: dict[str, RunForm] | None = None,
) -> list[JudgedRanks]:
    """Return where each run placed the judged documents: one record a run, in the order of ``paths``.

    With ``trust`` and sparse qrels, lines without a judged document are counted and not checked. The other
    parameters are those of `top`.

    Raises
    ------
    InputError
        Where a run cannot be read, or has nothing to do with the qrels.
    """
    names = _distinct(paths)
    work = judged_of_run(
        qrels,
        order=Order(order),
        trust=trust,
        on_duplicate=OnDuplicate(on_duplicate),
        cache=_cache(cache),
    )
    found = each_found(work, names, executor, cut=not trust and cache is None)
    return joined_judged(found, qrels, Order(order), notices, forms)


def judged_of_run(
    qrels: Qrels,
    *,
    order: Order,
    trust: bool = False,
    on_duplicate: OnDuplicate = OnDuplicate.ERROR,
    cache: RunCache | None = None,
) -> Callable[[str], JudgedRows]:
    """Return what finds the judged documents of one run file."""
    return partial(
        _judged_of,
        index=Judged.of(qrels),
        order=order,
        trust=trust,
        on_duplicate=on_duplicate,
        cache=cache,
    )


def joined_judged(
    found: Iterable[JudgedRows],
    qrels: Qrels,
    order: Order,
    notices: list[Notice] | None = None,
    forms: dict[str, RunForm] | None = None,
) -> list[JudgedRanks]:
    """Return what measures work on, a record a run, in the order in which the runs come."""
    results = list(found)
    for result in results:
        _keep_form({} if forms is None else forms, result)
        check_overlap(
            result.path,
            qrels,
            example=result.example,
            shared=len(result.seen),
            found=result.judged.size,
            notices=notices,
        )
    tags = run_tags([result.path for result in results], [result.tag for result in results], notices)
    if notices is not None:
        for result in results:
            notices.extend(result.notices)
    ranks = []
    for tag in reversed(tags):  # what is done with is let go: the rows of all runs twice are the peak
        ranks.append(results.pop().ranks(tag, qrels, order))
    return ranks[::-1]


def _judged_of(
    path: str,
    *,
    index: Judged,
    order: Order,
    trust: bool,
    on_duplicate: OnDuplicate,
    cache: RunCache | None,
) -> JudgedRows:
    notices: list[Notice] = []
    sparse = is_sparse(index)
    if sparse and cache is not None and on_duplicate is OnDuplicate.ERROR:
        copy = cache.copy(path, order, look=not trust)
        if copy is not None and copy.in_order(order):
            from prefjudge.engines.files.copy_lookup import found_in_copy

            part = found_in_copy(copy, index, order)
            return JudgedRows.joined(path, [part], copy.form, copy.notices(path))
    if sparse and trust and can_reread(path):
        try:
            return JudgedRows.joined(path, *anchored(path, index=index, order=order))
        except (NotGalloping, Scattered, Stop):
            pass
    work = partial(found, index=index, order=order)
    parts, form = per_chunk(path, work, order, on_duplicate, notices, cache)
    return JudgedRows.joined(path, parts, form, notices)


def _cache(folder: str | Path | None) -> RunCache | None:
    if folder is None:
        return None
    from prefjudge.engines.files.cache import RunCache

    return RunCache(folder)


def each_found(
    work: Callable[[str], Found], paths: Sequence[str], executor: Executor | None, *, cut: bool
) -> Iterator[Found]:
    """Yield what ``work`` finds in each file; where they may be cut, large ones are read in parts."""
    if executor is None or not cut:
        return each_run(work, paths, executor)
    parts = parts_of_runs(paths)
    return joined_parts(work, parts, each_run(partial(of_part, work), parts, executor))


def each_run(work: Callable[[str], T], paths: Sequence[str], executor: Executor | None) -> Iterator[T]:
    """Yield what ``work`` makes of each path; compressed and fetched files are read side by side."""
    if executor is not None:
        yield from executor.map(partial(knowing, kept_addresses(paths), work), paths)
    elif len(paths) > 1 and any(is_remote(path) or is_compressed(path) for path in paths):
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
            yield from threads.map(work, paths)
    else:
        yield from map(work, paths)


def _distinct(paths: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    names = paths_of(paths)
    if not names:
        raise InputError(
            "no run files were given", "Give at least one; a quoted pattern must match something."
        )
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{name} is named twice among the runs", "Give each run once.")
    return names


def run_tags(paths: Sequence[str], tags: Sequence[str], notices: list[Notice] | None) -> tuple[str, ...]:
    """Return a name for each run: its tag, or its file's name where the tag is absent or not its own.

    A `NamedFile` has the name that a program gave it.
    """
    named = []
    tags = [path.name if isinstance(path, NamedFile) else tag for path, tag in zip(paths, tags, strict=True)]
    for path, tag in zip(paths, tags, strict=True):
        if tag and tags.count(tag) == 1:
            named.append(tag)
            continue
        name = stem(path)
        if [stem(other) for other in paths].count(name) > 1 or name in tags:
            name = path
        why = f"other runs have the tag {tag!r} too" if tag else "the run has no tag"
        if notices is not None:
            notices.append(Notice(where=path, what=f"{why}; it is called {name!r}"))
        named.append(name)
    return tuple(named)


def _keep_form(forms: dict[str, RunForm], found: RunHead | JudgedRows) -> None:
    """Keep what a run was taken for, unless more is known of it: it may have been read in full before."""
    known = forms.get(found.path)
    if found.form is not None and (known is None or known.lines is None):
        forms[found.path] = found.form


def joined_heads(
    results: Iterable[RunHead],
    order: Order,
    notices: list[Notice] | None = None,
    forms: dict[str, RunForm] | None = None,
) -> Heads:
    """Join the heads of the runs as they come; queries and documents are numbered as they first come."""
    paths: list[str] = []
    tags: list[str] = []
    remarks: list[Notice] = []
    queries: dict[bytes, int] = {}
    docs = Numbering()
    list_query: list[int] = []
    sizes: list[NDArray[np.int64]] = []
    counts: list[int] = []
    doc = bytearray()
    for result in results:
        _keep_form({} if forms is None else forms, result)
        paths.append(result.path)
        tags.append(result.tag)
        remarks += result.notices
        list_query += [queries.setdefault(name, len(queries)) for name in result.queries]
        sizes.append(result.sizes)
        counts.append(len(result.queries))
        doc.extend(docs.add(line_tokens(result.docs)).data)
    names = run_tags(paths, tags, notices)
    if notices is not None:
        notices.extend(remarks)
    return Heads(
        runs=names,
        queries=tuple(map(decode, queries)),
        docs=docs.vocabulary(),
        list_run=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        list_query=np.array(list_query, dtype=np.int32),
        start=np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
        doc=np.frombuffer(doc, np.int32),
        order=order,
    )

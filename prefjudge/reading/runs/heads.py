"""What is asked of runs: their top documents, and the places of judged ones."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import (
    Heads,
    JudgedRanks,
    Order,
    Places,
    Qrels,
    Tokens,
    Words,
    line_tokens,
    same_token,
    tokens_of,
)
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.placings import relabel, union_documents
from prefjudge.reading.datasets import is_dataset
from prefjudge.reading.fields import Numbering
from prefjudge.reading.files import Notice, decode, encode, paths_of, write_alike
from prefjudge.reading.held import NamedFile
from prefjudge.reading.lines import BLOCK, has_reader, stem
from prefjudge.reading.remote import kept_addresses, knowing
from prefjudge.reading.runs.runs import (
    TREC,
    RunChunk,
    RunForm,
    Scattered,
    ranked,
    ranking_key,
    read_chunks,
    read_whole,
    stretches,
)
from prefjudge.reading.unpacking import FilePart, can_reread, is_slow, parts_of
from prefjudge.words import OnDuplicate, some

if TYPE_CHECKING:
    from prefjudge.reading.runs.copies import Copy, RunCopies


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How run files are read."""

    order: Order = Order.SCORE
    """What ranks a document higher."""
    on_duplicate: OnDuplicate = OnDuplicate.ERROR
    """What to do with a document that a run lists twice for a query."""
    copies: RunCopies | None = None
    """What is kept of runs that were read, for the next time."""

    def __post_init__(self) -> None:
        """Take texts, too: what only compares like an order would be taken for none."""
        object.__setattr__(self, "order", Order(self.order))
        object.__setattr__(self, "on_duplicate", OnDuplicate(self.on_duplicate))
        if self.on_duplicate is not OnDuplicate.ERROR:  # a run with repeated documents has several readings
            object.__setattr__(self, "copies", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run once it was read, or of the part of it that was."""

    path: str
    """The file, or the name that a table has for the run."""
    tag: str
    """The run tag, or nothing."""
    notices: tuple[Notice, ...] = ()
    """What was odd."""
    form: RunForm | None = None
    """What the whole run was taken for."""


def answers(
    path: str, work: Callable[[RunChunk], T], how: Reading, *, from_copy: Callable[[Copy], T]
) -> tuple[list[T], RunForm, list[Notice]]:
    """Return an answer in parts, what the run was taken for, and what was odd."""
    # Of a copy in which lines stand as they rank, no more is read than is needed; else each chunk.
    copy = how.copies.find(path, how.order) if how.copies is not None else None
    if copy is not None and copy.in_order(how.order):
        return [from_copy(copy)], copy.form(path), copy.notices(path)
    return per_chunk(path, work, how)


def per_chunk(
    path: str, work: Callable[[RunChunk], T], how: Reading, *, size: int = BLOCK
) -> tuple[list[T], RunForm, list[Notice]]:
    """Return what ``work`` makes of each chunk of a run, what the run was taken for, and what was odd."""
    # Every line is checked, now or when it was copied. A run whose queries turn out not to stand together is
    # read once more, from its first line: ``work`` then meets what it met before. ``size`` is about how many
    # bytes make a chunk.
    if how.copies is None:
        return _read(path, work, how, size)
    copy = how.copies.find(path, how.order)
    if copy is not None:
        return [work(chunk) for chunk in copy.chunks()], copy.form(path), copy.notices(path)
    with how.copies.writer(path) as writer:

        def keep(chunk: RunChunk) -> T:
            writer.add(chunk)
            return work(chunk)

        results, form, notices = _read(path, keep, how, size, again=writer.clear)
        writer.close(notices)
    return results, form, notices


def _read(
    path: str,
    work: Callable[[RunChunk], T],
    how: Reading,
    size: int,
    *,
    again: Callable[[], None] = lambda: None,
) -> tuple[list[T], RunForm, list[Notice]]:
    """Read a run from its file; ``again`` takes back what ``work`` left behind, before a second reading."""
    order, on_duplicate = how.order, how.on_duplicate
    of_part = isinstance(path, FilePart)
    notices: list[Notice] = []
    forms: list[RunForm] = []

    def noted(chunk: RunChunk) -> T:
        met = tuple(chunk.queries) if of_part else ()
        forms.append(RunForm(layout=chunk.layout, lines=len(chunk), queries=len(chunk.queries), met=met))
        return work(chunk)

    try:
        chunks = read_chunks(path, order=order, on_duplicate=on_duplicate, notices=notices, size=size)
        results = [noted(chunk) for chunk in chunks]
    except Scattered:
        if of_part:
            raise
        if not (can_reread(path) or is_dataset(path)):
            raise InputError(
                f"{path}: the lines of a query are not contiguous, and a pipe cannot be read twice",
                "Write the run to a file, and read that.",
            ) from None
        again()
        notices = [Notice(where=path, what="the lines of a query are not contiguous; read more slowly")]
        forms.clear()
        results = [noted(read_whole(path, order=order, on_duplicate=on_duplicate, notices=notices))]
    return results, RunForm.joined(forms), notices


# The head of a run: the top documents of each query.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead(RunFacts):
    """The top documents of one run, as one worker hands them back."""

    # ``docs`` holds a line for each: the first ``sizes[0]`` for ``queries[0]``, and so on.

    queries: list[bytes]
    sizes: NDArray[np.int64]
    docs: bytes

    @classmethod
    def joined(
        cls, path: str, parts: Sequence[RunHead], form: RunForm | None, notices: Iterable[Notice] = ()
    ) -> RunHead:
        """Put the parts of one run together."""
        return cls(
            path=path,
            tag=next((part.tag for part in parts if part.tag), ""),
            queries=[name for part in parts for name in part.queries],
            sizes=np.concatenate([part.sizes for part in parts]),
            docs=b"".join([part.docs for part in parts]),
            notices=tuple(notices),
            form=form,
        )


def head_of(path: str, *, k: int, wanted: frozenset[bytes] | None, how: Reading) -> RunHead:
    """Return the top documents of one run, of the queries that are wanted."""
    work = partial(_chunk_head, k=k, order=how.order, wanted=wanted)

    def from_copy(copy: Copy) -> RunHead:
        return work(copy.heads(k, how.order))

    return RunHead.joined(path, *answers(path, work, how, from_copy=from_copy))


def _chunk_head(chunk: RunChunk, k: int, order: Order, wanted: frozenset[bytes] | None) -> RunHead:
    names, starts, sizes = chunk.queries, chunk.bounds[:-1], np.minimum(np.diff(chunk.bounds), k)
    if wanted is not None:
        asked = np.array([place for place, name in enumerate(names) if name in wanted], np.int64)
        names, starts, sizes = [names[place] for place in asked], starts[asked], sizes[asked]
    rows = ranked(chunk, order).rows[stretches(starts, sizes)]
    return RunHead(
        path="", tag=decode(chunk.tag), queries=names, sizes=sizes, docs=chunk.docs.take(rows).to_lines()
    )


# Judged documents looked up in a run or its copy: their positions, by counting what stands above them.

SPARSE = 6
"""So many judged documents a query, on average, are sooner found in a copy one by one than by all rows."""

_SIEVE = 32
"""Places of the sieve for each key: more let fewer strangers through."""
_SIEVE_BITS = 24
"""The most bits of a place in the sieve."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Qrels prepared for look-up."""

    queries: dict[bytes, int]
    """The code of each judged query."""
    docs: Tokens
    """The document of each row of the qrels."""
    query: Places
    """The query of each row."""
    keys: Words
    order: Places
    """The rows' keys, ascending, and the row that each is of. A key is the query, then the document's code as
    far as there is room."""
    sieve: NDArray[np.bool_]
    """True at the upper bits of some key: most rows of a run are ruled out by one look. What a query's rows
    look at is contiguous."""

    @classmethod
    def of(cls, qrels: Qrels) -> Judged:
        """Prepare qrels."""
        vocabulary = _tokens(qrels.docs)
        query = qrels.query.astype(np.int64)
        keys = _keys(vocabulary.codes()[qrels.doc], query, len(qrels.queries))
        order = np.argsort(keys)
        bits = min(max(10, (keys.size * _SIEVE).bit_length()), _SIEVE_BITS)
        sieve = np.zeros(1 << bits, bool)
        # The upper bits are the query, so the rows of a query look
        # at one stretch of the sieve, which stays in the cache.
        sieve[keys >> np.uint64(64 - bits)] = True
        queries = {encode(name): code for code, name in enumerate(qrels.queries)}
        return cls(queries, vocabulary.take(qrels.doc.astype(np.int64)), query, keys[order], order, sieve)

    def match(self, codes: Words, query: Places, docs: Tokens) -> tuple[Places, Places]:
        """Return which of the given rows are judged, and the row of the qrels that each is."""
        keys = _keys(codes, query, len(self.queries))
        bits = self.sieve.size.bit_length() - 1
        rows = np.flatnonzero(self.sieve[keys >> np.uint64(64 - bits)] & (query >= 0))
        if not rows.size or not self.keys.size:
            none = np.zeros(0, np.int64)
            return none, none
        places = np.minimum(np.searchsorted(self.keys, keys[rows]), self.keys.size - 1)
        hit = self.keys[places] == keys[rows]
        rows, judged = rows[hit], self.order[places[hit]]
        # Keys hold a part of the code, and codes collide: bytes decide.
        true = same_token(docs.take(rows), self.docs.take(judged)) & (query[rows] == self.query[judged])
        return rows[true], judged[true]


def _tokens(ids: Sequence[str]) -> Tokens:
    tokens = line_tokens(encode("\n".join([*ids, ""])))
    # Encoding all ids at once is several times faster than one after the other.
    if len(tokens) != len(ids):  # an id holds the end of a line
        return tokens_of([encode(name) for name in ids])
    return tokens


def _keys(codes: Words, query: Places, queries: int) -> Words:
    bits = np.uint64(max(1, queries.bit_length()))
    return (query.astype(np.uint64) << (np.uint64(64) - bits)) | (codes >> bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows(RunFacts):
    """The judged documents of one run or of a part of it, as one worker hands them back."""

    rows: Places
    """Shape (5, n): of each document: its query, its row in the qrels, its place in the ranking, and the best
    and the worst place that another order of ties would give it."""
    seen: dict[int, int]
    """How many documents the run returned, by judged query."""
    met: int
    """How many queries the run holds, judged or not."""
    example: tuple[str, str]
    """The first query and document of the run."""

    @classmethod
    def joined(
        cls, path: str, parts: Sequence[JudgedRows], form: RunForm | None, notices: Iterable[Notice] = ()
    ) -> JudgedRows:
        """Put the parts of one run together."""
        seen: dict[int, int] = {}
        for part in parts:
            seen.update(part.seen)
        return cls(
            path=path,
            tag=next((part.tag for part in parts if part.tag), ""),
            rows=np.concatenate([part.rows for part in parts], axis=1),
            seen=seen,
            met=sum(part.met for part in parts),
            example=parts[0].example,
            notices=tuple(notices),
            form=form,
        )

    def ranks(self, run: str, qrels: Qrels, order: Order) -> JudgedRanks:
        """Return what measures work on, queries in the order of the qrels, each from the top."""
        retrieved = np.zeros(len(qrels.queries), np.int32)
        for code, count in self.seen.items():
            retrieved[code] = count
        # Positions are unique within a query, so the order needs no stable sort.
        by = np.argsort((self.rows[0] << 32) | self.rows[2])
        query, judged, position, best, worst = (column[by].astype(np.int32) for column in self.rows)
        return JudgedRanks(
            run=run,
            query=query,
            judged=judged,
            position=position,
            best=best,
            worst=worst,
            grade=qrels.grade[judged],
            retrieved=retrieved,
            order=order,
        )


def found(chunk: RunChunk, index: Judged, order: Order) -> JudgedRows:
    """Return the judged documents of a chunk."""
    code = np.fromiter((index.queries.get(name, -1) for name in chunk.queries), np.int64, len(chunk.queries))
    sizes = np.diff(chunk.bounds)
    query = np.repeat(code, sizes)
    rows, judged = index.match(chunk.codes, query, chunk.docs)
    ranking = ranked(chunk, order)
    place = np.empty(len(chunk), np.int64)
    place[ranking.rows] = np.arange(len(chunk))
    places = place[rows]
    first = chunk.bounds[:-1][chunk.group[rows]]
    # A span is a group of ties: its first place is the best that
    # any order of it gives the document, its end the worst.
    starts = np.flatnonzero(~ranking.tied)
    span = np.searchsorted(starts, places, side="right") - 1
    ends = np.append(starts[1:], len(chunk))
    return JudgedRows(
        path="",
        tag=decode(chunk.tag),
        rows=np.stack(
            [query[rows], judged, places - first + 1, starts[span] - first + 1, ends[span] - first]
        ),
        seen={int(c): int(size) for c, size in zip(code, sizes, strict=True) if c >= 0},
        met=len(chunk.queries),
        example=(decode(chunk.queries[0]), decode(chunk.docs.raw(0))) if len(chunk) else ("", ""),
    )


def found_in_copy(copy: Copy, index: Judged, order: Order) -> JudgedRows:
    """Return the judged documents of a run whose copy is in ``order``."""
    group = {name: place for place, name in enumerate(copy.queries)}
    place = np.array([group.get(name, -1) for name in index.queries], dtype=np.int64)
    code = np.array(list(index.queries.values()), dtype=np.int64)
    by_code = np.full(code.max(initial=-1) + 1, -1)
    by_code[code] = place
    # plain arrays: a mapped file looks up its own class at each of millions of slices
    columns = np.asarray(copy.doc_words())
    key = None if order is Order.FILE else np.asarray(ranking_key(copy.score, copy.rank, order))
    bounds = copy.bounds.tolist()
    rows: list[tuple[int, ...]] = []
    parsed: set[int] = set()
    words = [index.docs.words(word).tolist() for word in range(columns.shape[1])]
    fits = (index.docs.ends - index.docs.starts <= 8 * columns.shape[1]).tolist()
    for row, query in enumerate(index.query.tolist()):
        at = int(by_code[query])
        if at < 0 or at in parsed or not fits[row]:
            continue
        start, end = bounds[at], bounds[at + 1]
        hits = (columns[start:end, 0] == words[0][row]).nonzero()[0]
        for column in range(1, columns.shape[1]):
            hits = hits[columns[start + hits, column] == words[column][row]]
        if not hits.size:
            continue
        line = start + int(hits[0])
        if key is not None and _tied(key, start, line, end):
            parsed.add(at)
            continue
        position = line - start + 1
        rows.append((query, row, position, position, position, at))
    kept = [found_row[:5] for found_row in rows if found_row[5] not in parsed]
    for at in sorted(parsed):
        part = found(copy.queries_chunk(at, at + 1), index, order)
        kept += map(tuple, part.rows.T.tolist())
    sizes = np.diff(copy.bounds)
    first = copy.queries_chunk(0, 1)
    return JudgedRows(
        path="",
        tag=decode(copy.tag),
        rows=np.array(kept, dtype=np.int64).reshape(-1, 5).T,
        seen={int(c): int(sizes[p]) for c, p in zip(code, place, strict=True) if p >= 0},
        met=len(copy.queries),
        example=(decode(copy.queries[0]), decode(first.docs.raw(0))),
    )


def _tied(key: NDArray[np.float64], start: int, line: int, end: int) -> bool:
    """Tell whether a line has the key of a neighbour in its query."""
    own = key[line]
    return bool((line > start and key[line - 1] == own) or (line + 1 < end and key[line + 1] == own))


# One run in parts: what is found in each part of a large file, read side by side, put together again.
#
# Only a file in order is read so. Where a part holds a mistake, something odd, or a query that another part
# has too, the file is read as one: that reading says what is wrong, and on which line.

Found = TypeVar("Found", RunHead, JudgedRows)
Work: TypeAlias = Callable[[str], Found]
"""Finds something in one run file: it is sent to whatever process reads the file."""


def units_of(paths: Iterable[str], copies: RunCopies | None) -> list[str]:
    """Return the parts of the large files, which are read side by side, and the others as they are."""
    units: list[str] = []
    for path in paths:
        # a file that turned out not to be in order has a copy of all of it
        whole = has_reader(path) or (copies is not None and copies.has(path))
        units += ([] if whole else parts_of(path)) or [path]
    return units


def of_part(work: Work[Found], part: str) -> Found | None:
    """Return what is found in a part of a file, or in all of it; None where all of it has to be read."""
    if not isinstance(part, FilePart):
        return work(part)
    try:
        found = work(part)
    except (InputError, Scattered):
        return None
    return None if found.notices else found


def joined_parts(work: Work[Found], parts: Sequence[str], results: Iterable[Found | None]) -> Iterator[Found]:
    """Yield what was found in each file, from what was found in its parts; ``work`` reads a file as one."""
    for path, group in groupby(zip(parts, results, strict=True), key=lambda one: str(one[0])):
        found = [result for _, result in group]
        whole = [result for result in found if result is not None]
        yield (_joined(path, whole) if len(whole) == len(found) else None) or work(path)


def _joined(path: str, parts: list[Found]) -> Found | None:
    """Put the parts of a file together; None where they are not those of a file in order."""
    first = parts[0]
    if len(parts) == 1:
        return first
    forms = [part.form for part in parts if part.form is not None]
    whole = RunForm.joined(forms)
    if len(set(whole.met)) < len(whole.met) or len({form.layout for form in forms}) > 1:
        return None
    if whole.layout.columns > TREC.columns and len({part.tag for part in parts}) > 1:
        return None
    return type(first).joined(path, parts, replace(whole, met=()))


# Overlap: whether a run and qrels share queries and documents at all.

MEASURED = 10
"""Where so many queries have so many labels each, whoever finds none of them ranks other documents."""
_SAMPLE = 1000
_FILES = "a run and qrels"
_SWAPPED = (
    "One of the two has queries where the other has documents: swap these columns. "
    "Write each line of a run as: query Q0 doc rank score tag; of qrels as: query Q0 doc grade."
)


def check_overlap(run: JudgedRows, qrels: Qrels, notices: list[Notice]) -> None:
    """Refuse a run that has no query of the qrels, or whose doc_ids are numbers where theirs are not."""
    # Other doc_ids say little by their looks (``ug7v899j`` and ``xqhn0vbp`` are of one collection): a run
    # that found nothing scores 0, and is noticed where its ids look different, or in several queries.
    (query, doc), shared = run.example, len(run.seen)
    if not shared and qrels.queries:
        raise InputError(
            f"{run.path}: none of the {len(qrels.queries)} judged queries of {qrels.name} is in this run:"
            f" its first query is {query!r}, the qrels have {qrels.queries[0]!r}",
            _SWAPPED
            if query in qrels.docs or doc in qrels.queries
            else write_alike("query_id", [query], qrels.queries, _FILES),
        )
    judged = qrels.docs[:_SAMPLE]
    if run.rows.size or not shared or not judged:
        return
    words = (
        f"no judged document of {qrels.name} is in this run: its doc_ids look like {doc!r},"
        f" those of the qrels like {judged[0]!r}"
    )
    numbers = sum(map(str.isdigit, judged))
    if numbers == (0 if doc.isdigit() else len(judged)):
        raise InputError(f"{run.path}: {words}", write_alike("doc_id", [doc], qrels.docs, _FILES))
    shapes = {re.sub(r"\d+", "9", name) for name in judged}
    if shared >= MEASURED or re.sub(r"\d+", "9", doc) not in shapes:
        notices.append(Notice(where=run.path, what=f"{words}; it scores 0: is it of this collection?"))


# Run files: the few rows that matter, out of many runs, on this machine.

Facts = TypeVar("Facts", bound=RunFacts)

_THREADS = 4
"""Files that are unpacked at once: more would wait for each other's Python code, and hold more memory."""


class Reader(ABC):
    """Runs that can be asked for the few rows that matter."""

    how: Reading
    """How they are read."""
    notices: list[Notice]
    """Receives what was odd."""
    forms: dict[str, RunForm]
    """What each run file was taken for, once it was read."""

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
        """Return the ``k`` best documents of each query of each run, or of the given queries only."""
        found = self.noted(self.found(top_of_run(k, self.how, queries)))
        return joined_heads(found, self.how.order, self.notices)

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents: one record a run, in their order."""
        found = list(self.noted(self.found(judged_of_run(qrels, self.how))))
        return joined_judged(found, qrels, self.how.order, self.notices)

    def judged_all(self, sets: Sequence[Qrels]) -> list[list[JudgedRanks]]:
        """Return the same for several label sets, from one reading of the runs."""
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

    def read_as(self) -> dict[str, str]:
        """Return what each run file was taken for, as far as it was read: its columns, lines and queries."""
        return {path: str(form) for path, form in self.forms.items()}

    def noted(self, found: Iterable[Facts]) -> Iterator[Facts]:
        """Keep what each run was taken for."""
        for one in found:
            if one.form is not None:
                self.forms[one.path] = one.form
            yield one


@dataclass(frozen=True)
class RunFiles(Reader):
    """Run files that are read again for each question."""

    paths: Sequence[str | Path]
    """The run files. Results come in their order."""
    how: Reading = field(default_factory=Reading)
    executor: Executor | None = field(default=None, kw_only=True)
    """Reads the files in parallel. The result does not depend on it."""
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
    if index.query.size > SPARSE * max(1, len(index.queries)):
        return JudgedRows.joined(path, *per_chunk(path, work, how))
    from_copy = partial(found_in_copy, index=index, order=how.order)
    return JudgedRows.joined(path, *answers(path, work, how, from_copy=from_copy))


def joined_judged(
    found: list[JudgedRows], qrels: Qrels, order: Order, notices: list[Notice]
) -> list[JudgedRanks]:
    """Return what measures work on, a record a run; ``found`` is used up."""
    for one in found:
        check_overlap(one, qrels, notices)
    tags = called(found, notices)
    ranks = []
    for tag in reversed(tags):  # what is done with is let go: the rows of all runs twice are the peak
        ranks.append(found.pop().ranks(tag, qrels, order))
    return ranks[::-1]


def each_found(
    work: Work[Found], paths: Sequence[str], executor: Executor | None, copies: RunCopies | None = None
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
    """Return a name for each run: its tag, or its file's name where the tag is absent or not its own."""
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
    shared = [f"{tag!r} is that of {some(names)}" for tag, names in by_file.items()]
    for cause, what in (("one tag", some(shared, between="; ")), ("no tag", some(untagged))):
        if what:
            notices.append(Notice(where=cause, what=f"{what}: they are named by their files"))
    notices += [notice for one in found for notice in one.notices]
    return tuple(named)


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

"""The head of a run: the top documents of each query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.gallop import HeadLines, NotGalloping, Text, gallop, lines_between, text_of
from prefjudge.engines.files.ranking import is_ranked, ranked, ranking_key, stretches
from prefjudge.engines.files.reading import Reading, RunFacts, answers
from prefjudge.formats.lines.line_ends import has_lone_cr
from prefjudge.formats.lines.problems import Notice, decode
from prefjudge.formats.runs.chunks import FormTally, OnDuplicate, RunChunk
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.formats.runs.lines import RunReader

if TYPE_CHECKING:
    from prefjudge.engines.files.run_copy import Copy


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead(RunFacts):
    """The top documents of one run, as one worker hands them back.

    ``docs`` holds a line for each: the first ``sizes[0]`` for ``queries[0]``, and so on.
    """

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

    def trusted() -> tuple[list[RunHead], RunForm]:
        tally = FormTally()
        heads = [work(tally.add(chunk)) for chunk in _trusted(path, k, how.order)]
        return heads, tally.form(whole=False)

    return RunHead.joined(path, *answers(path, work, how, from_copy=from_copy, trusted=trusted))


def _chunk_head(chunk: RunChunk, k: int, order: Order, wanted: frozenset[bytes] | None) -> RunHead:
    names, starts, sizes = chunk.queries, chunk.bounds[:-1], np.minimum(np.diff(chunk.bounds), k)
    if wanted is not None:
        asked = np.array([place for place, name in enumerate(names) if name in wanted], np.int64)
        names, starts, sizes = [names[place] for place in asked], starts[asked], sizes[asked]
    rows = ranked(chunk, order).rows[stretches(starts, sizes)]
    return RunHead(
        path="", tag=decode(chunk.tag), queries=names, sizes=sizes, docs=chunk.docs.take(rows).to_lines()
    )


def _trusted(path: str, k: int, order: Order) -> Iterator[RunChunk]:
    """Yield chunks that hold at least the ``k`` best lines of each query and all that tie with the last.

    Raises
    ------
    NotGalloping
        Where the file turns out not to be sorted, or to hold anything else that needs a full reading.
    """
    reader = RunReader(path, order, OnDuplicate.ERROR)
    with text_of(path) as text:
        # One more than wanted, to see whether the k-th ties with the next.
        for heads in gallop(text, k + 1):
            if heads.spans:
                yield _certain(reader, text, heads, k, order)
    if reader.layout is None:
        raise NotGalloping


def _certain(reader: RunReader, text: Text, heads: HeadLines, k: int, order: Order) -> RunChunk:
    """Return the chunk of some heads, with whole queries where a head leaves the top open."""
    chunk = sound_chunk(reader, heads.data, len(heads.spans))
    open_ = _open(chunk, np.array(heads.complete), k, order)
    if not open_.size:
        return chunk
    # The same queries are read once more, and must not count as scattered.
    reader.seen.difference_update(chunk.queries)
    parts = [*heads.parts]
    for group in open_.tolist():
        parts[group] = lines_between(text, *heads.spans[group])
    return sound_chunk(reader, b"".join(parts), len(parts))


def sound_chunk(reader: RunReader, data: bytes, queries: int) -> RunChunk:
    """Return a chunk of lines with nothing wrong and all queries in it; or raise `NotGalloping`."""
    if has_lone_cr(data):
        raise NotGalloping
    chunk = reader.chunk(reader.rows(data, 1))
    if reader.problems.found or len(chunk.queries) != queries:
        raise NotGalloping  # a full reading will say what is wrong, and on which line
    return chunk


def _open(chunk: RunChunk, complete: NDArray[np.bool_], k: int, order: Order) -> NDArray[np.int64]:
    """Return the groups whose lines do not settle which ``k`` documents come first."""
    sizes = np.diff(chunk.bounds)
    if order is Order.FILE:
        return np.flatnonzero(~complete & (sizes < k))
    if not is_ranked(chunk, order):  # then the head of the file is not the head of the ranking
        raise NotGalloping
    key = ranking_key(chunk.score, chunk.rank, order)
    last = chunk.bounds[1:] - 1
    kth = np.minimum(chunk.bounds[:-1] + k - 1, last)
    # Where the k-th ties with the last line read, lines that were not read may tie with it, too.
    return np.flatnonzero(~complete & ((sizes <= k) | (key[kth] == key[last])))

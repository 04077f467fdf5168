"""The head of a run: the top documents of each query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.ranking import ranked, stretches
from prefjudge.engines.files.reading import Reading, RunFacts, answers
from prefjudge.formats.lines.problems import Notice, decode
from prefjudge.formats.runs.chunks import RunChunk
from prefjudge.formats.runs.layouts import RunForm

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copy


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

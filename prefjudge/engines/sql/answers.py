"""Answers: what our reader finds in one run file, as rows of Arrow that an engine keeps where it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import encode
from prefjudge.engines.files.heads import RunHead
from prefjudge.engines.files.judged import JudgedRows
from prefjudge.engines.files.ranking import stretches
from prefjudge.engines.files.reading import RunFacts
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import shown

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(RunFacts):
    """What comes home of an answer whose rows stay.

    ``example`` is the first query and document of the run; ``overlap`` holds for each label set how many of
    its queries the run has, and how many of their documents.
    """

    example: tuple[str, str] = ("", "")
    overlap: tuple[tuple[int, int], ...] = ()


Answer: TypeAlias = "tuple[Summary, pa.RecordBatch]"
"""A summary, and its rows: path, query, doc and position."""

ROWS = {"path": "string", "query": "string", "doc": "string", "position": "int32"}
"""The columns of an answer's rows."""


def without_rows(path: str, *, work: Callable[[str], T]) -> tuple[T, None]:
    """Return an answer of which no rows stay."""
    return work(path), None


def top_answer(path: str, *, work: Callable[[str], RunHead]) -> Answer:
    """Return the top documents of a run as rows."""
    head = work(path)
    queries = _texts(path, b"".join(name + b"\n" for name in head.queries))
    rows = _batch(
        path,
        queries.take(np.repeat(np.arange(len(queries)), head.sizes)),
        _texts(path, head.docs),
        stretches(np.ones_like(head.sizes), head.sizes),
    )
    return Summary(path=path, tag=head.tag, notices=head.notices, form=head.form), rows


def judged_answer(
    path: str, *, work: Callable[[str], JudgedRows], qrels: Qrels, parts: Sequence[Part]
) -> Answer:
    """Return the places of a run's judged documents as rows; ``parts`` are the label sets in the qrels."""
    import pyarrow as pa

    found = work(path)
    queries, docs = (pa.array(names, pa.string()) for names in (qrels.queries, [*qrels.docs]))
    query, judged, position, *_ = found.rows
    rows = _batch(path, queries.take(query), docs.take(qrels.doc[judged]), position)
    seen = np.fromiter(found.seen, np.int64, len(found.seen))
    overlap = tuple((int(queries[seen].sum()), int(pairs[judged].sum())) for queries, pairs in parts)
    summary = Summary(
        path=path,
        tag=found.tag,
        notices=found.notices,
        form=found.form,
        example=found.example,
        overlap=overlap,
    )
    return summary, rows


Part: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Which queries, and which rows, of joined label sets are of one of them."""


def part_of(union: Qrels, labels: Qrels) -> Part:
    """Return which queries and rows of joined label sets are of this one."""
    queries = np.zeros(len(union.queries), bool)
    query = encode(labels.queries, union.queries)
    queries[query] = True
    doc, width = encode(labels.docs, union.docs), max(len(union.docs), 1)
    own = query[labels.query].astype(np.int64) * width + doc[labels.doc]
    return queries, np.isin(union.query.astype(np.int64) * width + union.doc, own)


def _batch(path: str, query: pa.Array, doc: pa.Array, position: NDArray[np.int64]) -> pa.RecordBatch:
    import pyarrow as pa

    name = pa.array([path], pa.string()).take(np.zeros(position.size, np.int64))
    arrays = [name, query, doc, pa.array(position.astype(np.int32))]
    return pa.RecordBatch.from_arrays(arrays, names=list(ROWS))


def _texts(path: str, lines: bytes) -> pa.Array:
    """Return ids, one a line, as SQL knows text."""
    import pyarrow as pa

    try:
        text = lines.decode()
    except UnicodeDecodeError as error:
        start, end = lines.rfind(b"\n", 0, error.start) + 1, lines.find(b"\n", error.start)
        raise InputError(
            f"{path}: the id {shown(lines[start:end])} is not UTF-8, and Parquet knows no other text",
            "Write text, for instance .tsv or .csv.",
        ) from None
    return pa.array(text.split("\n")[:-1], pa.string())

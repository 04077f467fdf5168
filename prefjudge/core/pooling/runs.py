"""Runs: ranked lists of documents, and the one ordering that every measure and the pool share."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import repeat
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""Positions in a vocabulary: ``docs[code]`` is the id."""


class Order(StrEnum):
    """How the documents of a query are ranked.

    One order feeds every measure and the pool, and is stored with every result.
    """

    SCORE = "score"
    """Score descending in float64, ties by doc_id descending: trec_eval 10, and the branch version-9.0.8."""
    SCORE_F32 = "score-f32"
    """The same with scores rounded to float32: trec_eval 9 to the tag v9.0.8, NIST's published tables."""
    RANK = "rank"
    """The rank column ascending: the MS MARCO scripts."""
    FILE = "file"
    """As the file lists them."""


OrderLike: TypeAlias = Order | Literal["score", "score-f32", "rank", "file"]
"""An order, or its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The top documents of several runs: a list for each query that a run answers, best first.

    Lists are grouped by run. All columns hold codes, into ``runs``, ``queries`` and ``docs``.

    Attributes
    ----------
    runs, queries : tuple of str
        The vocabularies of run tags and query ids, each without repeats.
    docs : sequence of str
        The vocabulary of doc ids: a tuple, or a `Vocabulary` where there may be millions.
    list_run, list_query : ndarray of int32, shape (n_lists,)
        The run and the query of each list.
    start : ndarray of int64, shape (n_lists + 1,)
        The documents of list ``i`` are the rows ``start[i]:start[i + 1]``.
    doc : ndarray of int32, shape (n,)
        The documents.
    order : Order
        The ordering that ranked them.
    """

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    docs: Sequence[str]
    list_run: Codes
    list_query: Codes
    start: NDArray[np.int64]
    doc: Codes
    order: Order

    @property
    def run(self) -> Codes:
        """The run of each row, shape (n,)."""
        return np.repeat(self.list_run, np.diff(self.start))

    @property
    def query(self) -> Codes:
        """The query of each row, shape (n,)."""
        return np.repeat(self.list_query, np.diff(self.start))

    @property
    def position(self) -> Codes:
        """The place of each row in its list, from 1, shape (n,)."""
        firsts = np.repeat(self.start[:-1].astype(np.int32), np.diff(self.start))
        return np.arange(1, firsts.size + 1, dtype=np.int32) - firsts


def heads_of(
    runs: tuple[str, ...],
    queries: tuple[str, ...],
    docs: Sequence[str],
    *,
    run: Codes,
    query: Codes,
    doc: Codes,
    order: Order = Order.SCORE,
) -> Heads:
    """Make heads of rows that are grouped by run and query, best first."""
    new = (np.diff(run, prepend=-1) != 0) | (np.diff(query, prepend=-1) != 0)
    firsts = np.flatnonzero(new)
    return Heads(
        runs=runs,
        queries=queries,
        docs=docs,
        list_run=run[firsts],
        list_query=query[firsts],
        start=np.append(firsts, run.size),
        doc=doc,
        order=order,
    )


def without_runs(heads: Heads, dropped: Collection[str]) -> Heads:
    """Return the heads of the other runs."""
    kept = np.array([run not in dropped for run in heads.runs], dtype=bool)
    lists, sizes = kept[heads.list_run], np.diff(heads.start)
    return replace(
        heads,
        runs=tuple(run for run in heads.runs if run not in dropped),
        list_run=(np.cumsum(kept, dtype=np.int32) - 1)[heads.list_run[lists]],
        list_query=heads.list_query[lists],
        start=np.concatenate([[0], np.cumsum(sizes[lists])]),
        doc=heads.doc[np.repeat(lists, sizes)],
    )


def encode(ids: Sequence[str], vocabulary: Sequence[str]) -> Codes:
    """Return the code of each id in ``vocabulary``, -1 where it has none."""
    place = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    return np.fromiter(map(place.get, ids, repeat(-1)), dtype=np.int32, count=len(ids))


class Names:
    """Names that come in parts: each part as codes, in the order in which the names first came."""

    def __init__(self) -> None:
        self._place: defaultdict[str, int] = defaultdict()
        self._place.default_factory = self._place.__len__  # a new name gets the next code

    def encode(self, names: Sequence[str]) -> Codes:
        """Return the codes of names, shape (len(names),)."""
        return np.fromiter(map(self._place.__getitem__, names), dtype=np.int32, count=len(names))

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of their codes."""
        return iter(self._place)

    def sorted(self) -> tuple[tuple[str, ...], Codes]:
        """Return the names in order, but the empty one, and the place of each code among them; -1 for it."""
        names = tuple(sorted(self._place.keys() - {""}))
        return names, encode(tuple(self), names)

"""Runs in memory: columns of a table as chunks of whole queries, as a file would give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.tokens import Places, Tokens
from prefjudge.errors import InputError
from prefjudge.formats.lines.fields import no_fields
from prefjudge.formats.lines.held import DOC, QUERY, Held, row_problems
from prefjudge.formats.lines.problems import decode, encode
from prefjudge.formats.lines.repeats import repeated_rows
from prefjudge.formats.lines.tables import Columns, id_tokens, nested_columns, numbers, pick
from prefjudge.formats.runs.chunks import OnDuplicate, RunChunk, kept_rows
from prefjudge.formats.runs.layouts import Layout

_ROWS = 1 << 18
"""About how many rows make a chunk: its columns stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """A run in columns, each query's rows wherever they stand.

    Attributes
    ----------
    name : str
        The run's tag.
    query, doc : Tokens
        The ids of each row.
    score : ndarray of float64, or None
    rank : ndarray of int64, or None
        What ranks a row; one of them is there.
    """

    name: str
    query: Tokens
    doc: Tokens
    score: NDArray[np.float64] | None
    rank: NDArray[np.int64] | None

    def chunks(self, order: Order, on_duplicate: OnDuplicate) -> Iterator[RunChunk]:
        """Yield the run as chunks of whole queries.

        Raises
        ------
        InputError
            A query lists a document twice, or there is no rank to order by.
        """
        if order is Order.RANK and self.rank is None:
            raise InputError(f"run {self.name} has no column rank", "Order by score: order='score'.")
        names, group, rows = self._grouped()
        docs = self.doc if rows is None else self.doc.take(rows)
        rank = self.rank if order is Order.RANK or self.score is None else None
        score = self.score if self.score is not None else -np.asarray(self.rank, np.float64)
        if rows is not None:
            score, rank = score[rows], rank[rows] if rank is not None else None
        codes = docs.codes()
        again, first = repeated_rows(group, codes, docs)
        if again.size:
            if on_duplicate is OnDuplicate.ERROR:
                raise self._repeated(again, first, names, group, docs, rows)
            keep = kept_rows(again, first, score if rank is None else -rank, on_duplicate)
            group, docs, codes, score = group[keep], docs.take(keep), codes[keep], score[keep]
            rank = rank[keep] if rank is not None else None
        bounds = np.searchsorted(group, np.arange(len(names) + 1))
        layout = Layout(
            name="in memory", columns=3 + (self.rank is not None), doc=1, rank=3, score=2, tag=None
        )
        for first_query, last_query in _pieces(bounds):
            part = slice(int(bounds[first_query]), int(bounds[last_query]))
            yield RunChunk(
                layout,
                no_fields(b""),
                encode(self.name),
                names[first_query:last_query],
                bounds[first_query : last_query + 1] - bounds[first_query],
                docs.take(part),
                codes[part],
                score[part],
                rank[part] if rank is not None else None,
            )

    def _grouped(self) -> tuple[list[bytes], Places, Places | None]:
        """Return the queries, the query of each row, and where to find the rows if they are not in groups."""
        starts = np.append(np.zeros(1, np.int64), self.query.changes())
        places: dict[bytes, int] = {}
        member = [places.setdefault(name, len(places)) for name in self.query.take(starts).to_bytes()]
        group = np.repeat(np.array(member, np.int64), np.diff(starts, append=len(self.query)))
        if len(places) == len(member):
            return list(places), group, None
        rows = np.argsort(group, kind="stable")
        return list(places), group[rows], rows

    def _repeated(
        self,
        again: Places,
        first: Places,
        names: list[bytes],
        group: Places,
        docs: Tokens,
        rows: Places | None,
    ) -> InputError:
        place = np.arange(len(docs)) if rows is None else rows
        found = [
            (
                int(place[row]),
                f"document {decode(docs.raw(row))!r} repeated for query {decode(names[group[row]])!r} "
                f"(first in row {place[before]})",
            )
            for row, before in zip(again.tolist(), first.tolist(), strict=True)
        ]
        hint = "Keep one of the rows, or say which counts: on_duplicate='first', or 'best'."
        return row_problems(f"run {self.name}", "run", found, hint)


def _pieces(bounds: Places) -> Iterator[tuple[int, int]]:
    """Yield ranges of queries that have about as many rows as a chunk."""
    first = 0
    while first < bounds.size - 1:
        last = int(np.searchsorted(bounds, bounds[first] + _ROWS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def held_run(given: Columns | Mapping[Any, Mapping[Any, Any]], name: str) -> Held[RunTable]:
    """Return a run in memory, from the columns of a table or a dictionary of dictionaries.

    Raises
    ------
    InputError
        It has no rows, lacks a column, or holds what is not an id, a score or a rank.
    """
    if all(isinstance(docs, Mapping) for docs in given.values()):
        columns = nested_columns(given, "score")
    else:
        columns = given  # type: ignore[assignment]
    where = f"run {name}"
    query, doc = pick(columns, QUERY, where, "queries"), pick(columns, DOC, where, "documents")
    score, rank = (one if one in columns else None for one in ("score", "rank"))
    if score is None and rank is None:
        pick(columns, ("score", "rank"), where, "scores")
    if not len(columns[query]):
        raise InputError(f"{where} is empty: a run needs at least one row", "Check the program that made it.")
    places = numbers(columns[rank], where, "rank") if rank else None
    if places is not None and (places % 1).any():
        odd = [(row, f"the rank is {places[row]:g}") for row in np.flatnonzero(places % 1).tolist()]
        raise row_problems(where, "run", odd, "Ranks are whole numbers: 1, 2, 3.")
    table = RunTable(
        name=name,
        query=id_tokens(columns[query], where, query),
        doc=id_tokens(columns[doc], where, doc),
        score=numbers(columns[score], where, "score") if score else None,
        rank=places.astype(np.int64) if places is not None else None,
    )
    return Held(name, table)


def run_in_memory(held: Held[Any]) -> RunTable:
    """Return the run that is in memory.

    Raises
    ------
    InputError
        Something else is.
    """
    if not isinstance(held.content, RunTable):
        raise InputError(f"{held} does not hold a run", "Give a table of queries, documents and scores.")
    return held.content


def renamed(held: Held[Any], name: str) -> Held[RunTable]:
    """Return a run in memory under another name."""
    return Held(name, replace(run_in_memory(held), name=name))

"""Runs: a run read as chunks of whole queries, checked line by line, and put in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import BACK, Order, Places, Tokens, Words, same_token, tokens_of
from prefjudge.errors import InputError
from prefjudge.reading.fields import Fields, fields, floats, integers, joined, no_fields, repeated_rows
from prefjudge.reading.files import Notice, Problems, ahead, decode, encode
from prefjudge.reading.held import Held
from prefjudge.reading.lines import BLOCK, Holds, blocks, whole_lines
from prefjudge.reading.memory import Columns, id_tokens, numbers, pick, row_problems, with_ids
from prefjudge.reading.unpacking import is_slow
from prefjudge.words import OnDuplicate, many

COLUMNS_HINT = (
    "Write each line of a TREC run as: query Q0 doc rank score tag; of an MS MARCO run: query doc rank."
)

_WIDEST = 64
"""The most columns of a run: a tag may hold blanks, but a line of more words is a text."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a run file holds what; None where it has no such column."""

    # A tag is the last column, or where it holds blanks, all from its own to the last.

    name: str
    columns: int
    doc: int
    rank: int
    score: int | None
    tag: int | None


TREC = Layout(name="TREC", columns=6, doc=2, rank=3, score=4, tag=5)
TREC_UNTAGGED = Layout(name="TREC without tag", columns=5, doc=2, rank=3, score=4, tag=None)
MSMARCO = Layout(name="MS MARCO", columns=3, doc=1, rank=2, score=None, tag=None)


def layout_of(path: str, count: int) -> Layout:
    """Return the layout of a file whose first line has ``count`` columns."""
    for layout in (TREC, TREC_UNTAGGED, MSMARCO):
        if count == layout.columns:
            return layout
    if TREC.columns < count <= _WIDEST:
        return Layout(name="TREC", columns=count, doc=2, rank=3, score=4, tag=5)
    if count == 4:
        raise InputError(
            f"{path} is not a run: its first line has 4 columns, as qrels have",
            "If runs and qrels were swapped, swap them back. " + COLUMNS_HINT,
        )
    commas = "Separate columns by blanks or tabs, not by commas.\n" if count == 1 else ""
    raise InputError(
        f"{path} is not a run: its first line has {many(count, 'column')}", commas + COLUMNS_HINT
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """What a run file was taken for; ``met`` are the queries of a part of it, by which two are compared."""

    layout: Layout
    lines: int
    queries: int
    met: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        counts = (many(self.layout.columns, "column"), many(self.lines, "line"), many(self.queries, "query"))
        return ", ".join([self.layout.name, *counts])

    @classmethod
    def joined(cls, forms: Sequence[RunForm]) -> RunForm:
        """Return the form of a run, from those of its parts."""
        assert forms, "a run without a line is an error before"
        return cls(
            layout=forms[0].layout,
            lines=sum(form.lines for form in forms),
            queries=sum(form.queries for form in forms),
            met=tuple(name for form in forms for name in form.met),
        )


# Run chunks: whole queries of a run in columns.


class Scattered(Exception):  # noqa: N818 - a property of the file
    """The lines of a query are not contiguous, so the run must be read as one chunk."""


@dataclass(frozen=True, slots=True)
class RunChunk:
    """Whole queries of a run: rows grouped by query, inside a query as the file lists them."""

    layout: Layout
    """The file's columns."""
    rows: Fields
    """The lines; none where the chunk comes from a copy of the file."""
    tag: bytes
    """The tag of the chunk's first line; it may hold blanks, or be absent."""
    queries: list[bytes]
    """The query of each group."""
    bounds: Places
    """Shape (len(queries) + 1,): group ``g`` is rows ``bounds[g]`` to ``bounds[g + 1]``."""
    docs: Tokens
    """The document of each row."""
    codes: Words
    """The code of each document."""
    score: NDArray[np.float64]
    """The score of each row; minus the rank where the file has no scores."""
    rank: NDArray[np.int64] | None
    """The rank column where it was asked for."""

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def group(self) -> Places:
        """The group of each row."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.bounds))

    def take(self, keep: NDArray[np.bool_]) -> RunChunk:
        """Return the chunk with some of its rows."""
        # How many rows are kept before each row: where each bound moves.
        before = np.concatenate([[0], np.cumsum(keep)])
        return RunChunk(
            self.layout,
            self.rows.take(keep),
            self.tag,
            self.queries,
            before[self.bounds],
            self.docs.take(keep),
            self.codes[keep],
            self.score[keep],
            self.rank[keep] if self.rank is not None else None,
        )


def kept_rows(
    again: Places, first: Places, by: NDArray[np.number[Any]], on_duplicate: OnDuplicate
) -> NDArray[np.bool_]:
    """Tell which rows stay of documents that are listed twice, where that is no error."""
    keep = np.ones(by.size, bool)
    keep[again] = False
    if on_duplicate is OnDuplicate.BEST:
        best: dict[int, int] = {}
        for row, before in zip(again.tolist(), first.tolist(), strict=True):
            # Strictly: of equal lines the first stays.
            if by[row] > by[best.get(before, before)]:
                keep[best.get(before, before)] = False
                keep[row] = True
                best[before] = row
    return keep


# Runs in memory: columns of a table as chunks of whole queries, as a file would give them.

_ROWS = 1 << 18
"""About how many rows make a chunk: its columns stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """A run in columns, each query's rows wherever they stand."""

    name: str
    """The run's tag."""
    query: Tokens
    doc: Tokens
    """The ids of each row."""
    score: NDArray[np.float64] | None
    rank: NDArray[np.int64] | None
    """What ranks a row; one of them is there."""

    def chunks(self, order: Order, on_duplicate: OnDuplicate) -> Iterator[RunChunk]:
        """Yield the run as chunks of whole queries."""
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
                place = np.arange(len(docs)) if rows is None else rows
                ids = ((decode(names[group[row]]), decode(docs.raw(row))) for row in again.tolist())
                raise self.repeated([*zip(ids, place[again].tolist(), place[first].tolist(), strict=True)])
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

    def repeated(self, found: Sequence[tuple[tuple[str, str], int, int]]) -> InputError:
        """Return what is wrong where a query and document have a row that is not their first."""
        rows = [
            (row, f"document {doc!r} repeated for query {query!r} (first in row {before})")
            for (query, doc), row, before in found
        ]
        hint = "Keep one of the rows, or say which counts: on_duplicate='first', or 'best'."
        return row_problems(f"run {self.name}", "run", rows, hint)


def _pieces(bounds: Places) -> Iterator[tuple[int, int]]:
    """Yield ranges of queries that have about as many rows as a chunk."""
    first = 0
    while first < bounds.size - 1:
        last = int(np.searchsorted(bounds, bounds[first] + _ROWS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def held_run(given: Columns | Mapping[Any, Mapping[Any, Any]], name: str) -> Held[RunTable]:
    """Return a run in memory, from the columns of a table or a dictionary of dictionaries."""
    where = f"run {name}"
    columns, query, doc = with_ids(given, where, "score")
    score, rank = (one if one in columns else None for one in ("score", "rank"))
    if score is None and rank is None:
        pick(columns, ("score", "rank"), where, "scores")
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


def _table_of(held: Held[Any]) -> RunTable:
    return held.holding(RunTable, "a run", "Give a table of queries, documents and scores.")


def renamed(held: Held[Any], name: str) -> Held[RunTable]:
    """Return a run in memory under another name."""
    return Held(name, replace(_table_of(held), name=name))


# Run lines: the lines of a run turned into chunks of whole queries, and checked on the way.
#
# Which columns there are, the first line says: TREC (``query Q0 doc rank score tag``; the tag may hold
# blanks, or be absent) or MS MARCO (``query doc rank``). All lines have as many as the first.

_MOVED = (
    "Check for a blank in a document id, or a column too many before the score. Beyond six columns there can"
    " only be a tag with blanks, the same on every line."
)


class RunReader:
    """Turns lines into chunks and collects what is wrong with them; an order by rank needs readable ranks."""

    def __init__(self, path: str, order: Order, on_duplicate: OnDuplicate) -> None:
        self.path, self.order, self.on_duplicate = path, order, on_duplicate
        self.layout: Layout | None = None
        self.problems = Problems(path, "run")
        self.seen: set[bytes] = set()
        self.words: list[bytes] = []
        """The words of a tag with blanks."""
        self.fresh = True

    def rows(self, data: bytes | Sequence[bytes], line: int) -> Fields:
        """Find the fields of lines; the first line of the file settles the layout."""
        return fields(data, line, self._columns)

    def _columns(self, count: int) -> int:
        if self.layout is None:
            self.layout = layout_of(self.path, count)
        return self.layout.columns

    def chunk(self, rows: Fields, changes: Places | None = None) -> RunChunk:
        """Check rows that are grouped by query and make a chunk of them."""
        assert self.layout is not None
        layout = self.layout
        count = len(rows)
        rows, score, rank = self.checked(rows, ranks=self.order is Order.RANK)
        # Rows were dropped: the changes that were known are places among other rows.
        if changes is None or len(rows) != count:
            changes = rows.ids(0).changes()
        if self.fresh and len(rows):
            self.fresh = False
            inside = np.ones(len(rows), bool)  # lines below another of the same query
            inside[changes] = inside[0] = False
            # What rises by one from line to line within each query is the rank; scores fall.
            counted = bool((score[inside] == score[np.flatnonzero(inside) - 1] + 1).all())
            self._check_places(rows, counted)
            if counted and inside.any():
                self._check_swapped(rows)
        bounds = np.concatenate([[0], changes, [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
        names = rows.take(bounds[:-1]).ids(0).to_bytes()
        for name in names:
            # The query was closed before: a chunk of it would be ranked as if it were all there is.
            if name in self.seen:
                raise Scattered(self.path)
            self.seen.add(name)
        docs = rows.ids(layout.doc)
        tag = b"" if layout.tag is None or not len(rows) else _rest(rows, 0, layout.tag)  # it may hold blanks
        made = RunChunk(layout, rows, tag, names, bounds, docs, docs.codes(), score, rank)
        return self._unrepeated(made)

    def checked(
        self, rows: Fields, *, ranks: bool
    ) -> tuple[Fields, NDArray[np.float64], NDArray[np.int64] | None]:
        """Return the sound rows, their scores, and their ranks if asked for or if there are no scores."""
        assert self.layout is not None
        layout = self.layout
        rows = self._tagged(self._counted(rows, layout), layout)
        score, fine = self._scores(rows, layout)
        rank = None
        if ranks or layout.score is None:
            rank, whole = self._ranks(rows, layout)
            fine &= whole
            if layout.score is None:
                # Ascending ranks are descending scores.
                score = -rank.astype(np.float64)
        if not fine.all():
            rows, score = rows.take(fine), score[fine]
            rank = rank[fine] if rank is not None else None
        return rows, score, rank

    def _counted(self, rows: Fields, layout: Layout) -> Fields:
        fine = rows.counts == layout.columns
        if fine.all():
            return rows
        if self.fresh:
            widths = {one.columns for one in (TREC, TREC_UNTAGGED, MSMARCO)}
            self.problems.refuse_other(rows, layout.columns, widths, COLUMNS_HINT)
        for row in np.flatnonzero(~fine).tolist():
            many = int(rows.counts[row])
            what = f"{many} columns where {layout.columns} are expected, as in the first line"
            hint = _MOVED if max(many, layout.columns) > TREC.columns else COLUMNS_HINT
            self.problems.at(rows, row, None, what, hint)
        return rows.take(fine)

    def _tagged(self, rows: Fields, layout: Layout) -> Fields:
        """Check a tag with blanks: it is that of the first line, else a column before it is too many."""
        if layout.tag is None or layout.columns == TREC.columns or not len(rows):
            return rows
        if not self.words:
            self.words = [rows.raw(0, column) for column in range(layout.tag, layout.columns)]
        fine = np.ones(len(rows), bool)
        for column, word in enumerate(self.words, layout.tag):
            fine &= same_token(rows.ids(column), tokens_of([word]).take(np.zeros(len(rows), np.int64)))
        for row in np.flatnonzero(~fine).tolist():
            self.problems.add(
                int(rows.lines[row]),
                rows.column_of(row, layout.tag),
                f"columns 6 to {layout.columns} are not those of the first line",
                _rest(rows, row, layout.tag),
                _MOVED,
            )
        return rows.take(fine)

    def _check_places(self, rows: Fields, counted: bool) -> None:
        """Refuse six columns without a tag, of which the fifth is the rank and the sixth the score."""
        # A blank in every document id, or a column too many, makes such lines of those that have no tag: the
        # sixth column then holds numbers that change, and the fifth counts the lines or the fourth does not.
        if rows.counts[0] != TREC.columns:
            return
        tags = rows.ids(TREC.columns - 1)
        change = tags.changes()
        if not change.size or not floats(tags)[1].all():
            return
        if (counted and integers(rows.ids(4))[1].all()) or not integers(rows.ids(TREC.rank))[1].all():
            what = "the sixth column holds numbers that change, so it is not the tag"
            self.problems.at(rows, int(change[0]), TREC.columns - 1, what, _MOVED)

    def _check_swapped(self, rows: Fields) -> None:
        """Refuse scores that count the lines of a query beside ranks that are numbers, but not whole ones."""
        assert self.layout is not None
        layout = self.layout
        if layout.score is None:
            return
        ranks = rows.ids(layout.rank)
        if floats(ranks)[1].all() and not integers(ranks)[1].all():
            what = "the score counts the lines of a query and the rank does not: the two columns are swapped"
            self.problems.at(rows, 0, layout.rank, what, COLUMNS_HINT)

    def _scores(self, rows: Fields, layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if layout.score is None:
            return np.zeros(len(rows)), np.ones(len(rows), bool)
        values, fine = floats(rows.ids(layout.score))
        for row in np.flatnonzero(~fine).tolist():
            self.problems.at(rows, row, layout.score, *_bad_score(rows.raw(row, layout.score)))
        return values, fine

    def _ranks(self, rows: Fields, layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values, fine = integers(rows.ids(layout.rank))
        by_score = "; or order by score: --order score" * (layout.score is not None)
        for row in np.flatnonzero(~fine).tolist():
            hint = f"Write ranks as whole numbers: 1, 2, 3{by_score}"
            self.problems.at(rows, row, layout.rank, "the rank is not a whole number", hint)
        return values, fine

    def _unrepeated(self, chunk: RunChunk) -> RunChunk:
        again, first = repeated_rows(chunk.group, chunk.codes, chunk.docs)
        if not again.size:
            return chunk
        if self.on_duplicate is OnDuplicate.ERROR:
            for row, before in zip(again.tolist(), first.tolist(), strict=True):
                where = (
                    f"for query {decode(chunk.rows.raw(row, 0))!r} (first on line {chunk.rows.lines[before]})"
                )
                hint = "Keep one of the lines, or say which counts: --on-duplicate first, or best"
                self.problems.at(chunk.rows, row, chunk.layout.doc, f"document repeated {where}", hint)
        by = chunk.score if chunk.rank is None else -chunk.rank
        return chunk.take(kept_rows(again, first, by, self.on_duplicate))

    def close(self) -> None:
        """Refuse a file without a line."""
        if self.layout is None:
            raise InputError(
                f"{self.path} is empty: a run needs at least one line", "Check the program that wrote it."
            )


def _rest(rows: Fields, row: int, column: int) -> bytes:
    """Return a line from a column on."""
    start = int(rows.starts[row, column])
    return rows.text[start : rows.text.index(b"\n", start)].rstrip()


def _bad_score(raw: bytes) -> tuple[str, str]:
    if raw.lower().lstrip(b"+-") == b"nan":
        return "the score is NaN", "Give the document a score, or leave its line out."
    if raw.count(b",") == 1 and raw.replace(b",", b"").lstrip(b"+-").isdigit():
        return "the score has a decimal comma", "Write a decimal point: " + decode(raw).replace(",", ".")
    return (
        "the score is not a number",
        "Write a score as a number with a decimal point, such as 12.5 or 1e-3.",
    )


# Runs: a run file read as chunks of whole queries, checked line by line, without an object per line.


def read_chunks(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
    size: int = BLOCK,
) -> Iterator[RunChunk]:
    """Yield a run as chunks of whole queries; memory is bounded by ``size`` and the largest query."""
    if isinstance(path, Held):
        yield from _table_of(path).chunks(order, OnDuplicate(on_duplicate))
        return
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    np.empty(8 * size, np.uint8)  # once given back, glibc keeps smaller blocks, and need not clear them again
    with reader.problems:
        queries = _queries(reader, whole_lines(path, Holds.COLUMNS, size=size, notices=notices))
        # A thread of its own costs processors a twentieth more, so that it pays only beside other work.
        for rows, changes in ahead(queries) if is_slow(path) else queries:
            yield reader.chunk(rows, changes)
    reader.close()


def _queries(reader: RunReader, texts: Iterator[bytes]) -> Iterator[tuple[Fields, Places]]:
    """Yield the fields of whole queries, and the rows where a query starts, the first aside."""
    kept: list[bytes] = []
    held, line, wanted = 0, 1, 0
    for data in texts:
        kept.append(data)
        held += len(data)
        if held < wanted:
            continue
        rows = reader.rows(kept, line)
        changes = rows.ids(0).changes()
        if changes.size:
            start = int(changes[-1])
            yield rows.take(slice(0, start)), changes[:-1]
            line = int(rows.lines[start])
            kept = [rows.text[rows.text.rfind(b"\n", 0, int(rows.starts[start, 0])) + 1 : -BACK]]
            held = len(kept[0])
        wanted = 2 * held  # a query that fills blocks is not tokenised again for each
    rows = reader.rows(kept, line)
    if len(rows):
        yield rows, rows.ids(0).changes()


def read_whole(
    path: str | Path,
    *,
    order: Order = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    notices: list[Notice] | None = None,
) -> RunChunk:
    """Read a run as one chunk, its lines grouped by query: for files that are not grouped."""
    reader = RunReader(fspath(path), order, OnDuplicate(on_duplicate))
    with reader.problems:
        rows = joined(
            reader.rows(block.data, block.line) for block in blocks(path, Holds.COLUMNS, notices=notices)
        )
        chunk = reader.chunk(_grouped(rows)) if len(rows) else None
    reader.close()
    assert chunk is not None
    return chunk


def _grouped(rows: Fields) -> Fields:
    """Bring the rows of each query together, queries in the order in which they first come."""
    queries = rows.ids(0)
    _, firsts, member = np.unique(queries.codes(), return_index=True, return_inverse=True)
    if same_token(queries, queries.take(firsts[member])).all():
        group = np.argsort(np.argsort(firsts))[member]
    else:  # two queries share a code
        places: dict[bytes, int] = {}
        group = np.array([places.setdefault(raw, len(places)) for raw in queries.to_bytes()])
    return rows.take(np.argsort(group, kind="stable"))


# Ranking: the one place where the documents of a query are put in order.


@dataclass(frozen=True, slots=True)
class Ranking:
    """A chunk of a run in ranking order."""

    rows: Places
    """Shape (n,): the chunk's rows: group after group, in each group from the top."""
    tied: NDArray[np.bool_]
    """Shape (n,): whether each of them ties with the one before it."""


def ranked(chunk: RunChunk, order: Order) -> Ranking:
    """Order the documents of each query; ties by doc_id descending, compared as bytes."""
    count = len(chunk)
    if order is Order.FILE:
        return Ranking(np.arange(count), np.zeros(count, bool))
    key = ranking_key(chunk.score, chunk.rank, order)
    inside = _inside(chunk.bounds)
    # Most runs are sorted already: only queries in which a key rises are sorted.
    rising = np.flatnonzero((key[1:] > key[:-1]) & inside)
    rows = np.arange(count)
    if rising.size:
        rows = _sorted_groups(chunk, key, rising + 1)
        key = key[rows]
    tied = np.zeros(count, bool)
    tied[1:] = (key[1:] == key[:-1]) & inside
    if tied.any():
        _order_ties(chunk.docs, rows, tied)
    return Ranking(rows, tied)


def is_ranked(chunk: RunChunk, order: Order) -> bool:
    """Tell whether the lines of each query stand as they rank, ties aside."""
    if order is Order.FILE:
        return True
    key = ranking_key(chunk.score, chunk.rank, order)
    return not ((key[1:] > key[:-1]) & _inside(chunk.bounds)).any()


def stretches(starts: Places, sizes: Places) -> Places:
    """Return as many rows from each start on as its size says, one stretch after the other."""
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(starts - ends + sizes, sizes)


def _inside(bounds: Places) -> NDArray[np.bool_]:
    """Tell of each row but the first whether the one before is of the same query."""
    inside = np.ones(bounds[-1], bool)
    inside[bounds[:-1]] = False
    return inside[1:]


def ranking_key(
    score: NDArray[np.float64], rank: NDArray[np.int64] | None, order: Order
) -> NDArray[np.float64]:
    """Return what ranks a row: higher is better."""
    if order is Order.RANK:
        assert rank is not None
        return -rank.astype(np.float64)
    if order is Order.SCORE_F32:
        with np.errstate(over="ignore"):  # a score beyond float32 is infinite there
            return score.astype(np.float32).astype(np.float64)
    return score


def _sorted_groups(chunk: RunChunk, key: NDArray[np.float64], rising: Places) -> Places:
    """Sort the groups in which the key rises somewhere; the others are in order."""
    rows = np.arange(len(chunk))
    groups = np.unique(np.searchsorted(chunk.bounds, rising, side="right") - 1)
    unsorted = np.zeros(len(chunk.queries), bool)
    unsorted[groups] = True
    group = chunk.group
    part = np.flatnonzero(unsorted[group])
    # Sorting is stable, so ties stay as the file lists them
    # until `_order_ties`; infinite scores negate as they should.
    rows[part] = part[np.lexsort((-key[part], group[part]))]
    return rows


def _order_ties(docs: Tokens, rows: Places, tied: NDArray[np.bool_]) -> None:
    """Reorder ``rows`` inside each span of ties by document, descending."""
    # The first row of a span is not ``tied`` to the one before it, but belongs to the span.
    member = tied.copy()
    member[:-1] |= tied[1:]
    places = np.flatnonzero(member)
    span = np.cumsum(~tied)[places]
    part = docs.take(rows[places])
    # Big-endian words compare as bytes do, their complements descending. Words end in zeros, so the length
    # tells "a" from "a" with a NUL behind it. lexsort takes its first key last.
    keys: list[NDArray[np.uint64] | Places] = [-(part.ends - part.starts)]
    keys += [~part.words(index).byteswap() for index in reversed(range(part.width()))]
    rows[places] = rows[places][np.lexsort((*keys, span))]

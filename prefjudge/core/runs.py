"""Runs and qrels: ranked documents, judged documents, and the one ordering of all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, repeat
from mmap import mmap
from typing import Any, Literal, TypeAlias, TypeVar, overload

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
    """

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    """The vocabularies of run tags and query ids, each without repeats."""
    docs: Sequence[str]
    """The vocabulary of doc ids: a tuple, or a `Vocabulary` where there may be millions."""
    list_run: Codes
    list_query: Codes
    """Shape (n_lists,): the run and the query of each list."""
    start: NDArray[np.int64]
    """Shape (n_lists + 1,): the documents of list ``i`` are the rows ``start[i]:start[i + 1]``."""
    doc: Codes
    """Shape (n,): the documents."""
    order: Order
    """The ordering that ranked them."""

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


# Qrels: the judged documents of each query, and where a run placed them.

MOST_SUBTOPICS = 64
"""Of one query, as many as a number has bits; the Web Track's have 3 to 12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qrels:
    """Judged documents: one row per (query, document), in the file's order."""

    name: str
    """What the leaderboard calls this set: ``nist``, ``preference``."""
    queries: tuple[str, ...]
    docs: Sequence[str]
    """The vocabularies. Every query here is judged: it counts in the denominator of a mean."""
    query: Codes
    doc: Codes
    """Shape (n,): codes into ``queries`` and ``docs``."""
    grade: NDArray[np.float64]
    """Shape (n,): the label: 0 is judged and not relevant; fractions and negatives are legal. Of judgments of
    subtopics it is the greatest."""
    subtopics: NDArray[np.uint64] | None = None
    """Shape (n,): which subtopics of its query the document is relevant to, a bit for each; None where the
    source does not tell subtopics apart."""

    @classmethod
    def all_relevant(
        cls, name: str, queries: tuple[str, ...], docs: Sequence[str], query: Codes, doc: Codes
    ) -> Qrels:
        """Return labels of grade 1."""
        return cls(name=name, queries=queries, docs=docs, query=query, doc=doc, grade=np.ones(doc.size))


def select_labels(qrels: Qrels, rows: NDArray[np.bool_]) -> Qrels:
    """Return the labels that ``rows`` flags, with the same vocabularies."""
    return replace(
        qrels,
        query=qrels.query[rows],
        doc=qrels.doc[rows],
        grade=qrels.grade[rows],
        subtopics=None if qrels.subtopics is None else qrels.subtopics[rows],
    )


def number_subtopics(query: Codes, name: Codes) -> NDArray[np.int64] | None:
    """Number the subtopics within each query, from 0; None where one has more than `MOST_SUBTOPICS`."""
    # `name` is a code for what the subtopic of each judgment is called.
    width = int(name.max(initial=0)) + 1
    each, row = np.unique(query.astype(np.int64) * width + name, return_inverse=True)
    of = each // width
    number = np.arange(each.size) - np.searchsorted(of, of)
    return None if number.max(initial=0) >= MOST_SUBTOPICS else number[row]


def with_subtopics(judged: Qrels, subtopic: NDArray[np.int64]) -> Qrels:
    """Return one row for each document of judgments of subtopics, where it first comes."""
    # Before, there is a row for each document and subtopic, which is numbered within its query.
    key = judged.query.astype(np.int64) * len(judged.docs) + judged.doc
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    grade, subtopics = judged.grade[first], np.zeros(first.size, dtype=np.uint64)
    np.maximum.at(grade, row, judged.grade)
    bit = np.uint64(1) << subtopic.astype(np.uint64)
    np.bitwise_or.at(subtopics, row, np.where(judged.grade >= 1, bit, np.uint64(0)))
    order = np.argsort(first)
    kept = first[order]
    return replace(
        judged,
        query=judged.query[kept],
        doc=judged.doc[kept],
        grade=grade[order],
        subtopics=subtopics[order],
    )


def restrict(qrels: Qrels, queries: Collection[str]) -> Qrels:
    """Return the qrels of the given queries only, in the order of ``qrels``."""
    wanted = set(queries)
    keep = np.array([query in wanted for query in qrels.queries], dtype=bool)
    rows = keep[qrels.query]
    code = (np.cumsum(keep) - 1).astype(np.int32)
    kept = select_labels(qrels, rows)
    return replace(
        kept, queries=tuple(query for query in qrels.queries if query in wanted), query=code[kept.query]
    )


def restrict_documents(qrels: Qrels, docs: Collection[str]) -> Qrels:
    """Return the qrels without the rows of other documents than ``docs``; the judged queries stay."""
    wanted = set(docs)
    rows = np.array([doc in wanted for doc in qrels.docs], dtype=bool)[qrels.doc]
    return select_labels(qrels, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRanks:
    """Where one run placed the judged documents: all that a measure needs to know of a run.

    One row per judged document that the run retrieved. Documents of the same query that share a score occupy
    a span of positions; ``best`` and ``worst`` are its ends, so the effect of ties can be bounded.
    """

    run: str
    """The run tag."""
    query: Codes
    """Shape (n,): code into the qrels' ``queries``."""
    judged: Codes
    """Shape (n,): the row of the qrels that this document is."""
    position: Codes
    best: Codes
    worst: Codes
    """Shape (n,): the place in the ranking, from 1, and the ends of its span of tied scores."""
    grade: NDArray[np.float64]
    """Shape (n,): the label of the document."""
    retrieved: Codes
    """Shape (len(qrels.queries),): how many documents the run returned for each judged query; 0 where it
    missed the query."""
    order: Order
    """The ordering that produced ``position``."""


def heads_of_judged(ranks: Sequence[JudgedRanks], qrels: Qrels) -> Heads | None:
    """Return the first document of each judged query of each run, where all of them are judged."""
    tops = [placed.position == 1 for placed in ranks]
    if any(top.sum() != np.count_nonzero(one.retrieved) for top, one in zip(tops, ranks, strict=True)):
        return None
    query, judged = (
        np.concatenate([column[top] for column, top in zip(columns, tops, strict=True)])
        if tops
        else np.zeros(0, np.int32)
        for columns in ([one.query for one in ranks], [one.judged for one in ranks])
    )
    answered = np.unique(query)
    return heads_of(
        tuple(one.run for one in ranks),
        tuple(qrels.queries[code] for code in answered.tolist()),
        qrels.docs,
        run=np.repeat(np.arange(len(tops), dtype=np.int32), [int(top.sum()) for top in tops]),
        query=np.searchsorted(answered, query).astype(np.int32),
        doc=qrels.doc[judged],
        order=ranks[0].order if ranks else Order.SCORE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One measure of many runs: the query x run matrix that all statistics work on."""

    measure: str
    qrels: str
    """The measure's canonical name (``RR@10``) and the name of the qrels."""
    queries: tuple[str, ...]
    runs: tuple[str, ...]
    """What the rows and the columns are."""
    values: NDArray[np.float64]
    """Shape (len(queries), len(runs)): the score of each query under each run. A query that a run missed has
    0."""
    order: Order
    """The ordering that ranked the documents."""

    def where(self, keep: NDArray[np.bool_]) -> Scores:
        """Return the scores of the queries marked in ``keep`` only."""
        queries = tuple(self.queries[row] for row in np.flatnonzero(keep))
        return replace(self, queries=queries, values=self.values[keep])


# Tokens: pieces of a text, millions of them without a Python object for each.

Text: TypeAlias = "bytes | bytearray | mmap"
"""What tokens are pieces of: a padded block, or a mapped file."""
Words = NDArray[np.uint64]
Places = NDArray[np.int64]

FRONT = 32
"""Bytes of padding before a block, so that words can be loaded that end in its first bytes."""
BACK = 64
"""Bytes of padding after it, so that words can be loaded that start in its last ones."""
NEWLINE = b"\n"[0]
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [2**64 - 1], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WIDE = 8
"""Words that every token of a column is given room for; a longer one has the column copied token by token."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Pieces of a text: token ``i`` is ``text[starts[i]:ends[i]]``."""

    text: Text
    starts: Places
    ends: Places

    def __len__(self) -> int:
        return int(self.starts.size)

    def raw(self, row: int) -> bytes:
        """Return one token."""
        return bytes(self.text[self.starts[row] : self.ends[row]])

    def take(self, rows: Places | NDArray[np.bool_] | slice) -> Tokens:
        """Return some of the tokens."""
        return Tokens(self.text, self.starts[rows], self.ends[rows])

    def to_bytes(self) -> list[bytes]:
        """Return every token as a Python object: for few rows."""
        text = bytes(self.text) if isinstance(self.text, bytearray) else self.text
        return [text[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def symbols(self) -> NDArray[np.uint8]:
        """Return the bytes of all tokens, one after the other."""
        width = self.width()
        # One long token would make room for as much in every row.
        if width > _WIDE:
            return np.frombuffer(b"".join(self.to_bytes()), np.uint8)
        columns = np.empty((len(self), width), np.uint64)
        for index in range(width):
            columns[:, index] = self.words(index)
        sizes = (self.ends - self.starts).astype(np.uint8)
        kept: NDArray[np.uint8] = columns.view(np.uint8)[
            np.arange(8 * width, dtype=np.uint8) < sizes[:, None]
        ]
        return kept

    def to_lines(self) -> bytes:
        """Return each token as a line, which `line_tokens` undoes. A byte follows the last token."""
        # One more byte of each, of any value, is room for its newline.
        longer = Tokens(self.text, self.starts, self.ends + 1)
        symbols = longer.symbols().copy()
        symbols[np.cumsum(longer.ends - longer.starts) - 1] = NEWLINE
        return symbols.tobytes()

    def words(self, index: int) -> Words:
        """Return bytes ``8 * index`` to ``8 * index + 8`` of each token as a number; zeros beyond its end."""
        # Bytes beyond the token's end are masked away, so equal tokens give equal words wherever they stand.
        left = self.ends - self.starts
        if index == 0:
            np.minimum(left, 8, out=left)
            first: Words = loadable(self.text)[self.starts] & _KEEP[left]
            return first
        left -= 8 * index
        np.clip(left, 0, 8, out=left)
        places = np.minimum(self.starts + 8 * index, len(self.text) - 8)  # a token may end long before
        word: Words = loadable(self.text)[places] & _KEEP[left]
        return word

    def changes(self) -> Places:
        """Return the rows that differ from the row before them."""
        lengths = self.ends - self.starts
        new = lengths[1:] != lengths[:-1]
        for index in range(self.width()):
            word = self.words(index)
            new |= word[1:] != word[:-1]
        return np.flatnonzero(new) + 1

    def width(self) -> int:
        """Return the number of words that the longest token takes."""
        return (int((self.ends - self.starts).max(initial=0)) + 7) // 8

    def codes(self) -> Words:
        """Return a 64-bit code of each token: equal tokens have equal codes, others almost always differ."""
        lengths = self.ends - self.starts
        # The length goes in first: words end in zeros, so "a" and "a" with a NUL behind it would be the same.
        code = lengths.astype(np.uint64) * _ODD
        for index in range(self.width()):
            mixed = _mixed(code ^ self.words(index))
            # no token is empty, and the code of one must not depend on its neighbours
            code = mixed if index == 0 else np.where(lengths > 8 * index, mixed, code)
        return code


def _mixed(word: Words) -> Words:
    # A multiplication carries upwards only; the shift brings high bits down again.
    word = word * _ODD
    return word ^ (word >> np.uint64(29))


def loadable(text: Text) -> Words:
    """Return the eight bytes that start at each place of a text."""
    # A stride of one byte: overlapping words, nothing copied. Little-endian, so the first byte is the lowest.
    return np.ndarray((len(text) - 7,), "<u8", text, 0, (1,))


def codes_of(ids: list[bytes]) -> Words:
    """Return the code of each id, as `Tokens.codes` gives it."""
    return tokens_of(ids).codes()


def tokens_of(ids: list[bytes]) -> Tokens:
    """Return Python objects as tokens."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    ends = FRONT + np.cumsum(lengths)
    return Tokens(b"\n" * FRONT + b"".join(ids) + b"\n" * BACK, ends - lengths, ends)


def line_tokens(data: bytes) -> Tokens:
    """Return whole lines as tokens, their ends aside."""
    text = b"\n" * FRONT + data + b"\n" * BACK
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE) + FRONT
    starts = np.empty_like(ends)
    starts[:1] = FRONT
    starts[1:] = ends[:-1] + 1
    return Tokens(text, starts, ends)


def same_token(a: Tokens, b: Tokens) -> NDArray[np.bool_]:
    """Tell row by row whether two columns hold the same bytes."""
    same: NDArray[np.bool_] = (a.ends - a.starts) == (b.ends - b.starts)
    for index in range(max(a.width(), b.width())):
        same &= a.words(index) == b.words(index)
    return same


# Vocabularies: many ids, held as bytes.

AnyText = TypeVar("AnyText", str, bytes)
_BLOCK = 1 << 14
"""Ids that are dealt with at once."""
_WIDE_IDS = 6
"""Words of eight bytes up to which ids are sorted as numbers; longer ones are sorted as strings."""


class Vocabulary(Sequence[str]):
    """Ids without repeats. A string is made when one is asked for: a million of them would take 70 MB.

    ``text`` has the ids in UTF-8, one after the other (bytes that are not UTF-8 become lone surrogates), and
    ``ends`` where each of them ends.
    """

    __slots__ = ("_ends", "_text")

    def __init__(self, text: bytes | bytearray, ends: NDArray[np.unsignedinteger[Any]]) -> None:
        self._text, self._ends = text, ends

    def __len__(self) -> int:
        return int(self._ends.size)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[code] for code in range(*index.indices(len(self))))
        size, code = self._ends.size, int(index)  # a code is often a numpy integer, which computes slowly
        if code < 0:
            code += size
        if not 0 <= code < size:
            raise IndexError(f"there are {size} ids, and none at {index}")
        start = self._ends.item(code - 1) if code else 0
        return _decoded(self._text[start : self._ends.item(code)])

    def __iter__(self) -> Iterator[str]:
        text = self._bytes().tobytes()
        if text.isascii():  # then its letters are its bytes, and need not be decoded id by id
            return _pieces(text.decode(), self._ends)
        return map(_decoded, _pieces(text, self._ends))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocabulary):
            same = np.array_equal(self._ends, other._ends)
            return same and self._bytes() == other._bytes()
        return isinstance(other, tuple) and len(self) == len(other) and all(map(str.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def take(self, codes: NDArray[np.integer[Any]]) -> Vocabulary:
        """Return some of the ids."""
        ends = self._ends[codes]
        ends -= np.where(codes > 0, self._ends[codes - 1], self._ends.dtype.type(0))
        np.cumsum(ends, out=ends)
        text = bytearray(int(ends[-1]) + BACK if ends.size else BACK)
        for block in _blocks(codes.size):
            symbols = self.tokens(codes[block]).symbols()
            last = int(ends[block.stop - 1])
            text[last - symbols.size : last] = symbols.data
        return Vocabulary(text, ends)

    def tokens(self, codes: NDArray[np.integer[Any]] | None = None) -> Tokens:
        """Return the ids, or some, as tokens: 16 bytes for each, so a part of a million at once."""
        if codes is None:
            codes = np.arange(len(self))
        ends = self._ends[codes].astype(np.int64)
        starts = np.where(codes > 0, self._ends[codes - 1], 0).astype(np.int64)
        return Tokens(self._padded(), starts, ends)

    def _lengths(self) -> NDArray[np.unsignedinteger[Any]]:
        """Return the number of bytes of each id."""
        lengths = self._ends.copy()
        lengths[1:] -= self._ends[:-1]
        return lengths

    def _padded(self) -> bytes | bytearray:
        """Return the text with the bytes behind the last id that tokens need."""
        used = int(self._ends[-1]) if self._ends.size else 0
        if len(self._text) < used + BACK:
            self._text = bytes(self._text) + b"\n" * BACK
        return self._text

    def _bytes(self) -> memoryview:
        """Return the text up to the end of the last id; what follows does not count."""
        return memoryview(self._text)[: int(self._ends[-1]) if self._ends.size else 0]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} ids)"


def vocabulary_of(ids: Sequence[str]) -> Vocabulary:
    """Return ids as a vocabulary."""
    if isinstance(ids, Vocabulary):
        return ids
    raw = [name.encode("utf-8", "surrogateescape") for name in ids]
    return _joined(raw, np.fromiter(map(len, raw), np.int64, len(raw)))


def _joined(texts: Iterable[bytes | memoryview], lengths: NDArray[np.integer[Any]]) -> Vocabulary:
    text = b"".join([*texts, b"\n" * BACK])
    kind = np.uint32 if len(text) < 2**32 else np.uint64
    ends: NDArray[np.unsignedinteger[Any]] = np.cumsum(lengths, dtype=kind)
    return Vocabulary(text, ends)


def merged(*lists: Sequence[str]) -> tuple[Vocabulary, list[Codes]]:
    """Return the ids of all lists, each once and sorted as strings, and the codes of each list's ids."""
    parts = [vocabulary_of(ids) for ids in lists]
    whole = _joined([part._bytes() for part in parts], np.concatenate([part._lengths() for part in parts]))
    order, new = _sorted(whole)
    codes = np.empty(order.size, np.int32)
    codes[order] = np.cumsum(new, dtype=np.int32) - 1
    return whole.take(order[new]), np.split(codes, np.cumsum([len(part) for part in parts])[:-1])


def _sorted(ids: Vocabulary) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the rows in the order of their ids as strings, and which of them differ from the one before."""
    new: NDArray[np.bool_] = np.ones(len(ids), np.bool_)
    text = ids._padded()
    width = (int(ids._lengths().max(initial=0)) + 7) // 8
    if text.isascii() and b"\0" not in text and 0 < width <= _WIDE_IDS:
        words = np.empty((width, len(ids)), np.uint64)
        for block in _blocks(len(ids)):
            part = ids.tokens(np.arange(block.start, block.stop))
            for index in range(width):
                words[index, block] = part.words(index).byteswap()  # the first byte weighs most
        by_words = words[0].argsort() if width == 1 else np.lexsort(words[::-1])
        order = by_words.astype(np.int32)
        new[1:] = False
        for word in words:
            for block in _blocks(len(ids)):
                first = max(block.start, 1)
                in_order = word[order[first - 1 : block.stop]]
                new[first : block.stop] |= in_order[1:] != in_order[:-1]
        return order, new
    names = list(ids)
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int32)
    new[1:] = [names[a] != names[b] for a, b in pairwise(order.tolist())]
    return order, new


def _blocks(count: int) -> Iterator[slice]:
    """Yield the slices in which so many ids are dealt with, since a token of each takes more than the id."""
    return (slice(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK))


def _pieces(text: AnyText, ends: NDArray[np.unsignedinteger[Any]]) -> Iterator[AnyText]:
    start = 0
    for end in ends.data:
        yield text[start:end]
        start = end


def _decoded(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "surrogateescape")

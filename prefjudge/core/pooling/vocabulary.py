"""Vocabularies: many ids, held as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes
from prefjudge.core.pooling.tokens import BACK, Tokens

AnyText = TypeVar("AnyText", str, bytes)
_BLOCK = 1 << 14
"""Ids that are dealt with at once."""
_WIDE = 6
"""Words of eight bytes up to which ids are sorted as numbers; longer ones are sorted as strings."""


class Vocabulary(Sequence[str]):
    """Ids without repeats. A string is made when one is asked for: a million of them would take 70 MB.

    Parameters
    ----------
    text : bytes or bytearray
        The ids in UTF-8, one after the other. Bytes that are not UTF-8 become lone surrogates.
    ends : ndarray of unsigned integers, shape (n,)
        Where each id ends in ``text``.
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
    if text.isascii() and b"\0" not in text and 0 < width <= _WIDE:
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

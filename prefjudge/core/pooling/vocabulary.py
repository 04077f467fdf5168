"""Vocabularies: many ids, held as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.tokens import BACK, Tokens

AnyText = TypeVar("AnyText", str, bytes)
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
        kept = self.tokens().take(codes.astype(np.int64))
        return _joined([kept.symbols().data], kept.ends - kept.starts)

    def tokens(self) -> Tokens:
        """Return the ids as pieces of a text of their own."""
        return _tokens([self._bytes()], self._ends.astype(np.int64))

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


def _joined(texts: Iterable[bytes | memoryview], lengths: NDArray[np.int64]) -> Vocabulary:
    return Vocabulary(b"".join(texts), np.cumsum(lengths).astype(np.uint64))


def merged(*lists: Sequence[str]) -> tuple[Vocabulary, list[NDArray[np.int64]]]:
    """Return the ids of all lists, each once and sorted as strings, and the codes of each list's ids."""
    parts = [vocabulary_of(ids) for ids in lists]
    lengths = np.concatenate([np.diff(part._ends.astype(np.int64), prepend=0) for part in parts])
    whole = _tokens([part._bytes() for part in parts], np.cumsum(lengths))
    order, new = _sorted(whole)
    codes = np.empty(order.size, np.int64)
    codes[order] = np.cumsum(new) - 1
    kept = whole.take(order[new])
    ids = _joined([kept.symbols().data], kept.ends - kept.starts)
    return ids, np.split(codes, np.cumsum([len(part) for part in parts])[:-1])


def _sorted(ids: Tokens) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows in the order of their ids as strings, and which of them differ from the one before."""
    new = np.ones(len(ids), bool)
    text = bytes(ids.text)
    if text.isascii() and b"\0" not in text and 0 < ids.width() <= _WIDE:
        # the first byte weighs most
        words = [ids.words(index).byteswap() for index in range(ids.width())]
        order = words[0].argsort() if len(words) == 1 else np.lexsort(words[::-1])
        for index, word in enumerate(words):
            in_order = word[order]
            differs = in_order[1:] != in_order[:-1]
            new[1:] = differs if index == 0 else new[1:] | differs
        return order, new
    names = list(map(_decoded, ids.to_bytes()))
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    new[1:] = [names[a] != names[b] for a, b in pairwise(order.tolist())]
    return order, new


def _tokens(texts: Iterable[bytes | memoryview], ends: NDArray[np.int64]) -> Tokens:
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    return Tokens(b"".join([*texts, b"\n" * BACK]), starts, ends)


def _pieces(text: AnyText, ends: NDArray[np.unsignedinteger[Any]]) -> Iterator[AnyText]:
    start = 0
    for end in ends.data:
        yield text[start:end]
        start = end


def _decoded(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "surrogateescape")

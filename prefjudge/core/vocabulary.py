"""Vocabularies: many ids, held as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

AnyText = TypeVar("AnyText", str, bytes)


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

    def _bytes(self) -> memoryview:
        """Return the text up to the end of the last id; what follows does not count."""
        return memoryview(self._text)[: int(self._ends[-1]) if self._ends.size else 0]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} ids)"


def _pieces(text: AnyText, ends: NDArray[np.unsignedinteger[Any]]) -> Iterator[AnyText]:
    start = 0
    for end in ends.data:
        yield text[start:end]
        start = end


def _decoded(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "surrogateescape")

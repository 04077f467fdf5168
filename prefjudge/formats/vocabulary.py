"""A vocabulary: the ids of a column, each with its code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prefjudge.formats.fields import Tokens, same_token
from prefjudge.formats.problems import decode


class Vocabulary:
    """Ids in the order of their first appearance; an id's place is its code."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}

    def codes(self, tokens: Tokens) -> NDArray[np.int32]:
        """Return the code of each token, new ids getting the next ones, shape (n,).

        Only one token of each id becomes a Python object.
        """
        _, first, member = np.unique(tokens.codes(), return_index=True, return_inverse=True)
        if not same_token(tokens, tokens.take(first[member])).all():  # two ids of one hash
            return self._add(tokens.to_bytes())
        order = np.argsort(first)
        code = np.empty(first.size, dtype=np.int32)
        code[order] = self._add(tokens.take(first[order]).to_bytes())
        return code[member]

    def _add(self, ids: list[bytes]) -> NDArray[np.int32]:
        codes = self._codes
        return np.fromiter((codes.setdefault(name, len(codes)) for name in ids), np.int32, count=len(ids))

    def names(self) -> tuple[str, ...]:
        """Return the ids, by code."""
        return tuple(map(decode, self._codes))

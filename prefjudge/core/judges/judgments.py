"""Judgments: the append-only log of which of two passages a judge preferred."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgments:
    """Side-by-side judgments: one row per choice of one judge, in the order of the log.

    Attributes
    ----------
    queries, workers : tuple of str
    docs : sequence of str
        The vocabularies. A worker is a person or a model.
    query, left, right : ndarray of int32, shape (n,)
        Codes: the query and the documents shown on the left and the right (in a file: columns 2 and 3).
    choice : ndarray of int8, shape (n,)
        1 where the left was preferred, -1 where the right was, 0 for a tie.
    strength : ndarray of int8, shape (n,)
        How strongly, from 1; 1 where no strength was asked.
    worker : ndarray of int32, shape (n,)
        Code into ``workers``; -1 where the source does not say.
    sides : bool
        Whether left and right are the sides of the screen. A file may list the documents by id, or the
        preferred one first: then nothing can be learnt from their order.
    """

    queries: tuple[str, ...]
    docs: Sequence[str]
    workers: tuple[str, ...]
    query: Codes
    left: Codes
    right: Codes
    choice: NDArray[np.int8]
    strength: NDArray[np.int8]
    worker: Codes
    sides: bool = True

    def __len__(self) -> int:
        return int(self.query.size)

    @property
    def winner(self) -> Codes:
        """The preferred document; the left one of a tie, so mask ties with ``choice != 0``."""
        return np.where(self.choice >= 0, self.left, self.right)

    @property
    def loser(self) -> Codes:
        """The other document."""
        return np.where(self.choice >= 0, self.right, self.left)


def only_queries(judgments: Judgments, queries: Collection[str]) -> Judgments:
    """Return the judgments of the given queries only, in the order of the log; the vocabularies stay."""
    wanted = set(queries)
    known = np.array([name in wanted for name in judgments.queries], dtype=bool)
    return select_judgments(judgments, known[judgments.query])


def nameless(judgments: Judgments) -> Judgments:
    """Return the judgments without their workers."""
    return replace(judgments, workers=(), worker=np.full(len(judgments), -1, dtype=np.int32))


def select_judgments(judgments: Judgments, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Judgments:
    """Return the judgments that ``keep`` flags, or lists in its order, with the same vocabularies."""
    return replace(
        judgments,
        query=judgments.query[keep],
        left=judgments.left[keep],
        right=judgments.right[keep],
        choice=judgments.choice[keep],
        strength=judgments.strength[keep],
        worker=judgments.worker[keep],
    )

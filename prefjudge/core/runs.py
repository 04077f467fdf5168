"""Runs: ranked lists of documents, and the one ordering that every measure and the pool share."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""Positions in a vocabulary: ``docs[code]`` is the id."""


class Order(StrEnum):
    """How the documents of a query are ranked.

    One order feeds every measure and the pool, and is stored with every result.
    """

    SCORE = "score"
    """Score descending in float64, ties by doc_id descending: trec_eval 10."""
    SCORE_F32 = "score-f32"
    """The same with scores rounded to float32: trec_eval 9 and NIST's published tables."""
    RANK = "rank"
    """The rank column ascending: the MS MARCO scripts."""
    FILE = "file"
    """As the file lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The top documents of several runs: one row per (run, query, position).

    Rows are grouped by run, then by query, then in ranking order. ``run``, ``query`` and ``doc`` are codes
    into ``runs``, ``queries`` and ``docs``.

    Attributes
    ----------
    runs, queries : tuple of str
        The vocabularies of run tags and query ids, each without repeats.
    docs : sequence of str
        The vocabulary of doc ids: a tuple, or a `Vocabulary` where there may be millions.
    run, query, doc : ndarray of int32, shape (n,)
        The row's run, query and document.
    position : ndarray of int32, shape (n,)
        The place in the ranking, from 1.
    score : ndarray of float64, shape (n,)
        The score in the run file.
    order : Order
        The ordering that produced ``position``.
    """

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    docs: Sequence[str]
    run: Codes
    query: Codes
    doc: Codes
    position: Codes
    score: NDArray[np.float64]
    order: Order


def encode(ids: Sequence[str], vocabulary: Sequence[str]) -> Codes:
    """Return the code of each id in ``vocabulary``, -1 where it has none."""
    place = {name: code for code, name in enumerate(vocabulary)}
    return np.fromiter((place.get(name, -1) for name in ids), dtype=np.int32, count=len(ids))

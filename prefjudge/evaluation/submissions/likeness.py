"""Likeness: how far two runs return the same documents, and two descriptions say the same."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Heads


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLikeness:
    """How alike the top documents of two runs are, over the queries that either has.

    Attributes
    ----------
    a, b : str
        The runs, in the order of the heads.
    overlap : float
        The mean over queries of the share of common documents among the top of the deeper one.
    same_top : float
        On which share of the queries both put the same document first.
    identical : bool
        Whether all positions hold the same documents.
    """

    a: str
    b: str
    overlap: float
    same_top: float
    identical: bool


def run_likeness(heads: Heads, *, least: float) -> tuple[RunLikeness, ...]:
    """Compare all pairs of runs by their top documents.

    Parameters
    ----------
    heads : Heads
        The top documents of the runs, to the depth that is to be compared.
    least : float
        Pairs that overlap less are left out.

    Returns
    -------
    tuple of RunLikeness
        The most alike first.
    """
    runs = len(heads.runs)
    depth = np.zeros((runs, len(heads.queries)))
    np.add.at(depth, (heads.run, heads.query), 1.0)
    overlap = _shared(heads, depth, places=False)
    tops = _shared(heads, depth, places=True)
    found = []
    for a in range(runs):
        for b in range(a + 1, runs):
            either = np.maximum(depth[a], depth[b]) > 0
            queries = int(either.sum())
            if queries and overlap[a, b] / queries >= least:
                found.append(
                    RunLikeness(
                        a=heads.runs[a],
                        b=heads.runs[b],
                        overlap=float(overlap[a, b] / queries),
                        same_top=float(tops[a, b] / queries),
                        identical=_columns(heads, a) == _columns(heads, b),
                    )
                )
    return tuple(sorted(found, key=lambda pair: (-pair.overlap, -pair.same_top, pair.a, pair.b)))


def _shared(heads: Heads, depth: NDArray[np.float64], *, places: bool) -> NDArray[np.float64]:
    """Sum, over queries, the share of documents that two runs have in common (or whether their first is)."""
    rows = np.flatnonzero(heads.position == 1) if places else np.arange(heads.run.size)
    key = heads.query[rows].astype(np.int64) * (len(heads.docs) + 1) + heads.doc[rows]
    order = np.argsort(key, kind="stable")
    run, query, key = heads.run[rows[order]], heads.query[rows[order]], key[order]
    total = np.zeros((len(heads.runs), len(heads.runs)))
    # A stretch of equal keys is the runs that share a document: the cost grows with what they share.
    start = np.flatnonzero(np.diff(key, prepend=-1))
    for first, last in zip(start, np.append(start[1:], key.size), strict=True):
        if last - first > 1:
            who = run[first:last]
            deeper = np.maximum(depth[who, query[first]][:, None], depth[who, query[first]][None, :])
            total[np.ix_(who, who)] += 1.0 if places else 1.0 / deeper
    return total


def _columns(heads: Heads, run: int) -> tuple[bytes, bytes, bytes]:
    lists = np.flatnonzero(heads.list_run == run)
    first, last = (int(heads.start[place]) for place in (lists[0], lists[-1] + 1)) if lists.size else (0, 0)
    sizes = np.diff(heads.start)[lists]
    return heads.list_query[lists].tobytes(), sizes.tobytes(), heads.doc[first:last].tobytes()


def description_likeness(one: str, other: str) -> float:
    """Return how alike two descriptions of models are, 0 to 1, without versions, numbers and punctuation.

    ``BERT base (v1)`` and ``BERT base (v2)`` are alike. It is the share of words in common (Dice).
    """
    words, others = _words(one), _words(other)
    if not words or not others:
        return 1.0 if one.strip().casefold() == other.strip().casefold() else 0.0
    return 2 * len(words & others) / (len(words) + len(others))


def _words(text: str) -> set[str]:
    found = re.findall(r"[^\W_]+", text.casefold())
    return {word for word in found if not re.fullmatch(r"v?\d+|single|ensemble|model", word)}

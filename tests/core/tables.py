"""Small tables for the tests, written as lines."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core import runs
from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.posterior import Strengths, tell_best
from prefjudge.core.runs import Qrels

Ranking = dict[str, dict[str, list[str]]]
"""Run, query, documents from the best on."""


def judgments_of(*lines: str) -> Judgments:
    """Read ``query left right preferred-or-"tie" [worker]`` lines."""
    queries: dict[str, int] = {}
    docs: dict[str, int] = {}
    workers: dict[str, int] = {}
    rows = []
    for line in lines:
        query, left, right, preferred, *worker = line.split()
        rows.append(
            (
                queries.setdefault(query, len(queries)),
                docs.setdefault(left, len(docs)),
                docs.setdefault(right, len(docs)),
                {left: 1, right: -1, "tie": 0}[preferred],
                workers.setdefault(worker[0], len(workers)) if worker else -1,
            )
        )
    table = np.array(rows, dtype=np.int32).reshape(-1, 5)
    return Judgments(
        queries=tuple(queries),
        docs=tuple(docs),
        workers=tuple(workers),
        query=table[:, 0],
        left=table[:, 1],
        right=table[:, 2],
        choice=table[:, 3].astype(np.int8),
        strength=np.ones(len(rows), dtype=np.int8),
        worker=table[:, 4],
    )


def judgments_of_file(path: Path) -> Judgments:
    """Read a whole file of such lines."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return judgments_of(*text.splitlines())


def pools_of(members: Mapping[str, str]) -> Pools:
    """Make pools of one-letter documents: ``{"q": "abc"}``."""
    docs = tuple(sorted(set("".join(members.values()))))
    rows = [(q, docs.index(doc)) for q, names in enumerate(members.values()) for doc in sorted(names)]
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return Pools(
        queries=tuple(members),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
    )


def heads_of(rankings: Ranking) -> runs.Heads:
    """Rankings as run -> query -> documents in order."""
    queries = sorted({q for by_query in rankings.values() for q in by_query})
    docs = sorted({d for by_query in rankings.values() for top in by_query.values() for d in top})
    rows = [
        (r, queries.index(q), docs.index(d))
        for r, by_query in enumerate(rankings.values())
        for q, top in sorted(by_query.items())
        for d in top
    ]
    run, query, doc = (np.array(c, dtype=np.int32) for c in zip(*rows, strict=True))
    return runs.heads_of(tuple(rankings), tuple(queries), tuple(docs), run=run, query=query, doc=doc)


def qrels_of(lines: list[tuple[str, str, float]], name: str = "original") -> Qrels:
    queries = list(dict.fromkeys(q for q, _, _ in lines))
    docs = list(dict.fromkeys(d for _, d, _ in lines))
    return Qrels(
        name=name, queries=tuple(queries), docs=tuple(docs),
        query=np.array([queries.index(q) for q, _, _ in lines], dtype=np.int32),
        doc=np.array([docs.index(d) for _, d, _ in lines], dtype=np.int32),
        grade=np.array([g for _, _, g in lines], dtype=float),
    )  # fmt: skip


def as_sets(pools: Pools) -> dict[str, set[str]]:
    return {
        name: {pools.docs[d] for d in pools.doc[pools.query == code]}
        for code, name in enumerate(pools.queries)
    }


def contributions(pools: Pools) -> set[tuple[str, str, str]]:
    return {
        (pools.queries[pools.query[row]], pools.docs[pools.doc[row]], pools.sources[source])
        for row, source in zip(pools.source_row, pools.source, strict=True)
    }


def simulated_judgments(
    queries: int, size: int, *, votes: int, scale: float, seed: int
) -> tuple[Judgments, NDArray[np.bool_]]:
    """Judge every pair under a Bradley-Terry model; return the judgments and who is truly the best.

    The truth has one row per candidate, grouped by query.
    """
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, scale, (queries, size))
    a, b = (np.repeat(side, votes) for side in np.triu_indices(size, 1))
    chance = 1 / (1 + np.exp(strength[:, b] - strength[:, a]))
    choice = np.where(rng.random(chance.shape) < chance, 1, -1).astype(np.int8).ravel()
    query = np.repeat(np.arange(queries), a.size)
    best = np.zeros((queries, size), dtype=bool)
    best[np.arange(queries), strength.argmax(axis=1)] = True
    return Judgments.of_nobody(
        queries=tuple(f"q{i}" for i in range(queries)),
        docs=tuple(f"d{i:06}" for i in range(queries * size)),
        query=query.astype(np.int32),
        left=(query * size + np.tile(a, queries)).astype(np.int32),
        right=(query * size + np.tile(b, queries)).astype(np.int32),
        choice=choice,
    ), best.ravel()


def log_of(votes: np.ndarray) -> tuple[Judgments, Pools]:
    """Return a row for each vote, and the pools of the matrices."""
    n, size, _ = votes.shape
    queries, docs = tuple(f"{q:03}" for q in range(n)), tuple(f"{d:05}" for d in range(n * size))
    doc = np.arange(n * size, dtype=np.int32)
    pools = Pools(queries=queries, docs=docs, query=doc // size, doc=doc)
    query, x, y = np.nonzero(votes)
    times = votes[query, x, y].astype(int)
    query, x, y = (np.repeat(side, times).astype(np.int32) for side in (query, x, y))
    judgments = Judgments.of_nobody(
        queries=queries,
        docs=docs,
        query=query,
        left=query * size + x,
        right=query * size + y,
        choice=np.ones(query.size, dtype=np.int8),
    )
    return judgments, pools


def chance_best(votes: NDArray[np.float64], fit: Strengths | None, **options: Any) -> NDArray[np.float64]:
    """Return how probably each candidate is the best."""
    return tell_best(votes, fit, **options).chance


def highest(found: Confidence) -> np.ndarray:
    """Return the highest P(best) in each query; each has a candidate."""
    return np.maximum.reduceat(found.chance, found.start[:-1])

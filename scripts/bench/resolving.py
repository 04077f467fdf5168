"""Resolving: a million tournaments at once against networkx query by query, and P(best) for 7,000 queries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from harness import Contest, Lab, call

from prefjudge.core.confidence import assess_confidence
from prefjudge.core.judgments import Judgments
from prefjudge.core.preferences import resolve
from prefjudge.core.resolutions import Resolutions

TITLE = "resolving"
SAMPLED = 5_000
"""networkx takes minutes for a million queries: it is timed on so many, and its time multiplied."""


def tournaments(queries: int, largest: int, rng: np.random.Generator) -> Judgments:
    """Judge all pairs of pools of two and more once, at random, grouped by query as a log is by HIT."""
    sizes = rng.integers(2, largest + 1, queries)
    start = np.concatenate([[0], np.cumsum(sizes)])
    parts = []
    for size in range(2, largest + 1):
        of = np.flatnonzero(sizes == size)
        a, b = np.triu_indices(size, 1)
        base = start[of][:, None]
        parts.append((np.repeat(of, a.size), (base + a).ravel(), (base + b).ravel()))
    query, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(query, kind="stable")
    choice = np.where(rng.random(query.size) < 0.5, 1, -1)
    return Judgments(
        queries=tuple(map(str, range(queries))),
        docs=tuple(map(str, range(int(start[-1])))),
        workers=(),
        query=query[order].astype(np.int32),
        left=left[order].astype(np.int32),
        right=right[order].astype(np.int32),
        choice=choice.astype(np.int8),
        strength=np.ones(query.size, dtype=np.int8),
        worker=np.full(query.size, -1, dtype=np.int32),
    )


Pairs = list[tuple[int, int]]
"""The votes of one query: who won, who lost."""


def split(judgments: Judgments, queries: int) -> list[Pairs]:
    """Return the votes of the first queries, one list each."""
    ends = np.searchsorted(judgments.query, np.arange(queries + 1)).tolist()
    winner, loser = judgments.winner[: ends[-1]].tolist(), judgments.loser[: ends[-1]].tolist()
    votes = list(zip(winner, loser, strict=True))
    return [votes[low:high] for low, high in pairwise(ends)]


def query_by_query(votes: list[Pairs]) -> int:
    """Resolve each query by section 5.1 with a networkx graph of its own; return the number of winners."""
    import networkx as nx

    found = 0
    for pairs in votes:
        graph = nx.DiGraph(pairs)
        left = set(graph)
        while True:
            wins = dict((graph if len(left) == len(graph) else graph.subgraph(left)).out_degree())
            most = max(wins.values())
            leaders = {doc for doc, count in wins.items() if count == most}
            if len(leaders) == 1 or leaders == left:
                break
            left = leaders
        found += len(leaders)
    return found


def in_threads(judgments: Judgments) -> Resolutions:
    """Resolve as the verb does, a thread for each processor."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return resolve(judgments, each=threads.map)


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests; the last has no rival but a minute."""
    queries = 5_000 if lab.short else 1_000_000
    sampled = min(SAMPLED, queries)
    for largest, goal in ((8, ">= 50"), (16, ">= 30")):
        judgments = tournaments(queries, largest, lab.rng(f"tournaments {largest}"))
        yield Contest(
            name=f"{queries:,} queries, pools of 2 to {largest}, {len(judgments):,} judgments",
            ours=call(in_threads, judgments),
            rivals={"networkx": call(query_by_query, split(judgments, sampled), scale=queries / sampled)},
            goals={"networkx": goal},
        )
    few = 200 if lab.short else 7_000
    judgments = tournaments(few, 8, lab.rng("probabilities"))
    yield Contest(
        name=f"P(best) of all candidates of {few:,} queries",
        ours=call(lambda: assess_confidence(judgments, rng=lab.rng("draws"))),
        rivals={},
        goals={},
        note="within a minute on two cores",
    )

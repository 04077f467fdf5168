"""Resolving: a million tournaments at once against networkx query by query, and P(best) for 7,000 queries."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
from harness import Contest, Lab, call

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.resolutions import Resolutions, resolve

TITLE = "resolving"
SAMPLED = 20_000
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
    return Judgments.of_nobody(
        queries=tuple(map(str, range(queries))),
        docs=tuple(map(str, range(int(start[-1])))),
        query=query[order].astype(np.int32),
        left=left[order].astype(np.int32),
        right=right[order].astype(np.int32),
        choice=choice.astype(np.int8),
    )


Answer = tuple[str, list[int]]
"""The status of a query, and the documents of its best answers."""


def query_by_query(judgments: Judgments, queries: int) -> list[Answer]:
    """Resolve the first queries by section 5.1, each with a networkx graph of its own."""
    ends = np.searchsorted(judgments.query, np.arange(queries + 1)).tolist()
    columns = (judgments.left, judgments.right, judgments.choice)
    left, right, choice = (column[: ends[-1]].tolist() for column in columns)
    votes = [(a, b) if c > 0 else (b, a) for a, b, c in zip(left, right, choice, strict=True)]
    return [_answer(votes[low:high]) for low, high in pairwise(ends)]


def _answer(votes: list[tuple[int, int]]) -> Answer:
    """Return the status and the best answers of one query, from the winner and the loser of each vote."""
    graph = nx.DiGraph(votes)
    if graph.number_of_edges() < len(graph) * (len(graph) - 1) // 2:
        return "sparse", []
    left = graph
    while True:
        wins = dict(left.out_degree())
        most = max(wins.values())
        leaders = [doc for doc, count in wins.items() if count == most]
        if len(leaders) == 1:
            return "single", leaders
        if len(leaders) == len(left):
            break
        left = graph.subgraph(leaders)
    cycles = any(len(part) > 1 for part in nx.strongly_connected_components(left))
    return "cycle" if cycles else "tie", sorted(leaders)


def same(judgments: Judgments, queries: int) -> None:
    """Check that both ways come to the same answers on the first queries."""
    theirs = query_by_query(judgments, queries)
    ours = itertools.islice(resolve(judgments), queries)
    assert theirs == [(one.status.value, sorted(map(int, one.winners))) for one in ours]


def in_threads(judgments: Judgments) -> Resolutions:
    """Resolve as the verb does, a thread for each processor."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return resolve(judgments, each=threads.map)


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests; the last two have no rival."""
    queries = 5_000 if lab.short else 1_000_000
    sampled = min(SAMPLED, queries)
    for largest, goal in ((8, ">= 50"), (16, ">= 100")):
        judgments = tournaments(queries, largest, lab.rng(f"tournaments {largest}"))
        same(judgments, min(500, sampled))
        yield Contest(
            name=f"{queries:,} queries, pools of 2 to {largest}, {len(judgments):,} judgments",
            ours=call(in_threads, judgments),
            rivals={"networkx": call(query_by_query, judgments, sampled, scale=queries / sampled)},
            goals={"networkx": goal},
        )
    shuffled = tournaments(queries, 8, lab.rng("tournaments 8"))
    order = lab.rng("order").permutation(len(shuffled))
    columns = {name: getattr(shuffled, name)[order] for name in ("query", "left", "right", "choice")}
    yield Contest(
        name="the first again, its judgments in random order",
        ours=call(in_threads, replace(shuffled, **columns)),
        rivals={},
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

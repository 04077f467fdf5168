"""Small judgments and heads for the tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.runs import Heads, heads_of

Vote = tuple[str, str, str, int]
"""Query, left, right, and 1 (left), -1 (right) or 0 (tie)."""


def make_judgments(votes: Sequence[Vote]) -> Judgments:
    queries = tuple(dict.fromkeys(vote[0] for vote in votes))
    docs = tuple(dict.fromkeys(doc for vote in votes for doc in vote[1:3]))
    return Judgments.of_nobody(
        queries=queries,
        docs=docs,
        query=np.array([queries.index(vote[0]) for vote in votes], dtype=np.int32),
        left=np.array([docs.index(vote[1]) for vote in votes], dtype=np.int32),
        right=np.array([docs.index(vote[2]) for vote in votes], dtype=np.int32),
        choice=np.array([vote[3] for vote in votes], dtype=np.int8),
    )


def make_heads(rankings: Mapping[str, Mapping[str, Sequence[str]]]) -> Heads:
    """Turn {run: {query: top documents, best first}} into heads."""
    queries = tuple(dict.fromkeys(query for run in rankings.values() for query in run))
    docs = tuple(dict.fromkeys(doc for run in rankings.values() for top in run.values() for doc in top))
    rows = [
        (number, queries.index(query), docs.index(doc))
        for number, run in enumerate(rankings.values())
        for query, top in run.items()
        for doc in top
    ]
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return heads_of(tuple(rankings), queries, docs, run=table[:, 0], query=table[:, 1], doc=table[:, 2])

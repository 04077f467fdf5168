"""Examples of judged pairs, drawn at random so that nobody can pick the telling ones."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Heads
from prefjudge.core.pooling.top_pairs import top_pairs
from prefjudge.evaluation.comparing.pair_votes import count_votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A decided pair of a qrel and a run's top passage.

    Attributes
    ----------
    query : str
        The query_id.
    category : str
        ``A`` or ``B``: whether the qrel was the run's first passage.
    preferred, other : str
        The doc_ids, by the majority of the votes.
    qrel_preferred : bool
        Whether ``preferred`` is the qrel.
    votes_for, votes_against : int
    query_text, preferred_text, other_text : str
        As the workers read them; empty where they are not known.
    """

    query: str
    category: str
    preferred: str
    other: str
    qrel_preferred: bool
    votes_for: int
    votes_against: int
    query_text: str = ""
    preferred_text: str = ""
    other_text: str = ""


def draw_examples(
    judgments: Judgments,
    heads: Heads,
    qrels: Qrels,
    run: str,
    *,
    count: int = 3,
    rng: np.random.Generator,
    queries: Collection[str] | None = None,
) -> tuple[Example, ...]:
    """Draw decided pairs, in turn from those in which the qrel and in which the other passage won.

    Parameters
    ----------
    judgments, heads, qrels, run, queries
        As for :func:`prefjudge.evaluation.comparing.top_against_qrel.top_against_qrel`.
    count : int
        How many; fewer where fewer pairs are decided.
    rng : numpy.random.Generator
        Draws them.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), Figure 1: "selected from our logs without
    prior knowledge of the questions, passages or outcome".
    """
    pairs = top_pairs(heads, qrels, run, queries=queries)
    votes = count_votes(judgments, pairs.queries, pairs.docs)
    for_qrel, for_rival, _ = votes.on(pairs.query, pairs.qrel, pairs.rival)
    sides = [
        rng.permutation(np.flatnonzero(won)).tolist() for won in (for_qrel > for_rival, for_qrel < for_rival)
    ]
    sides = sides[:: 1 if rng.random() < 0.5 else -1]  # neither outcome is always the first
    turns = [row for number in range(count) for side in sides for row in side[number : number + 1]]
    agreed = pairs.agreed

    def example(row: int) -> Example:
        won = bool(for_qrel[row] > for_rival[row])
        both = (pairs.docs[pairs.qrel[row]], pairs.docs[pairs.rival[row]])
        counts = (int(for_qrel[row]), int(for_rival[row]))
        return Example(
            query=pairs.queries[pairs.query[row]],
            category="A" if agreed[row] else "B",
            preferred=both[0 if won else 1],
            other=both[1 if won else 0],
            qrel_preferred=won,
            votes_for=max(counts),
            votes_against=min(counts),
        )

    return tuple(example(row) for row in turns[:count])

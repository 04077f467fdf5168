"""Gold pairs: comparisons whose answer is known, hidden in every HIT to screen the work."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.qrels import Qrels

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPair:
    """A known relevant passage against an obviously off-topic one.

    Attributes
    ----------
    query_id, query : str
        The question.
    good_id, good : str
        The passage that answers it.
    bad_id, bad : str
        The passage that has nothing to do with it.
    """

    query_id: str
    query: str
    good_id: str
    good: str
    bad_id: str
    bad: str


def suggest_gold(
    qrels: Qrels,
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    count: int,
    *,
    rng: np.random.Generator,
    avoid: Mapping[str, frozenset[str]] | None = None,
    min_words: int = 15,
) -> tuple[GoldPair, ...]:
    """Suggest gold pairs for review: a relevant passage of a query against one that shares no word with it.

    Queries are drawn at random, each used once as long as there are enough. The off-topic passage is the one,
    out of a random sample of the passages, that shares the fewest words with the query and with the relevant
    passage.

    Parameters
    ----------
    qrels : Qrels
        Which passages are relevant (grade of at least 1).
    queries, passages : mapping of str to str
        Texts by id. Only documents in ``passages`` are used.
    count : int
        How many to suggest.
    rng : Generator
        Draws the queries and the sample.
    avoid : mapping of str to frozenset of str, optional
        For each query the documents that must not be called off-topic: its pool and all its qrels.
    min_words : int
        The fewest words that a passage must have, so that a title is not taken for an answer.

    Returns
    -------
    tuple of GoldPair
        Fewer than ``count`` where the qrels do not yield as many.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: "between a known relevant passage (i.e., a qrel) and an
    obviously off-topic and non-relevant passage".
    """
    words = {doc: frozenset(_WORD.findall(text.lower())) for doc, text in passages.items()}
    long_enough = sorted(doc for doc, text in passages.items() if len(text.split()) >= min_words)
    relevant = _relevant_by_query(qrels, set(long_enough), queries)
    drawn = [str(q) for q in rng.permutation(sorted(relevant))]
    suggestions: list[GoldPair] = []
    for query_id in drawn[:count]:
        good_id = relevant[query_id]
        topic = frozenset(_WORD.findall(queries[query_id].lower())) | words[good_id]
        banned = (avoid or {}).get(query_id, frozenset()) | {good_id}
        sample = [str(d) for d in rng.permutation(long_enough)[:200] if d not in banned]
        if not sample:
            continue
        bad_id = min(sample, key=lambda doc: (len(words[doc] & topic) / (len(words[doc]) or 1), doc))
        suggestions.append(
            GoldPair(
                query_id=query_id,
                query=queries[query_id],
                good_id=good_id,
                good=passages[good_id],
                bad_id=bad_id,
                bad=passages[bad_id],
            )
        )
    return tuple(suggestions)


def _relevant_by_query(qrels: Qrels, usable: set[str], queries: Mapping[str, str]) -> dict[str, str]:
    """Return the first relevant, usable document of each query."""
    first: dict[str, str] = {}
    for row in np.flatnonzero(qrels.grade >= 1):
        query_id, doc_id = qrels.queries[qrels.query[row]], qrels.docs[qrels.doc[row]]
        if query_id in queries and doc_id in usable:
            first.setdefault(query_id, doc_id)
    return first


def rotate_gold(
    count: int, per_hit: int, hits: int, *, rng: np.random.Generator
) -> Sequence[tuple[int, ...]]:
    """Deal gold pairs to HITs so that each is used equally often and neighbouring HITs share none.

    Parameters
    ----------
    count : int
        How many gold pairs there are.
    per_hit : int
        How many each HIT hides.
    hits : int
        How many HITs.
    rng : Generator
        Shuffles the gold pairs once; the deal then goes round, so that a worker who takes HITs in turn meets
        ``count // per_hit`` of them before a gold pair returns.

    Raises
    ------
    ValueError
        There are fewer gold pairs than a HIT hides.
    """
    if count < per_hit:
        raise ValueError(f"a HIT hides {per_hit} gold pairs, and there are only {count}")
    shuffled = rng.permutation(count)
    return [tuple(int(shuffled[(h * per_hit + i) % count]) for i in range(per_hit)) for h in range(hits)]

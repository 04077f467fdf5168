"""Challenge: newcomers meet the best-known answers, and the history of the answers they replaced."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.strategies import Floats
from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.rounds import Round, next_round
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """The newcomers of new runs, query by query, with the best-known answer that they meet.

    Attributes
    ----------
    pools : Pools
        For each challenged query, who may be the best after it: the best-known answers, the newcomers, and
        candidates of earlier rounds, who may return.
    best : Qrels
        The best-known answers of all queries.
    incumbents : dict of str to str
        The doc_id that newcomers meet, by query.
    newcomers : dict of str to tuple of str
        The doc_ids in the order in which they are tried, by query.
    brought_by : dict of (str, str) to tuple of str
        The runs that have a newcomer on top, by query and doc_id.
    unknown : tuple of str
        Queries of the new runs that have no best-known answer: they need a pool of their own.
    """

    pools: Pools
    best: Qrels
    incumbents: dict[str, str]
    newcomers: dict[str, tuple[str, ...]]
    brought_by: dict[tuple[str, str], tuple[str, ...]]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """How a newcomer fared, or a candidate of an earlier round that is the best now.

    Attributes
    ----------
    query_id, incumbent, newcomer : str
        Who met whom.
    brought_by : tuple of str
        The runs that have the newcomer on top; none where it is a candidate of an earlier round.
    votes_for, votes_against : float
        Votes for the newcomer and for the incumbent; a tie is half a vote to each.
    dethroned : bool
        Whether the newcomer is the best answer from then on.
    chance : float or None
        The newcomer's probability of being the best, by all votes; None where an earlier version decided
        by a lead.
    """

    query_id: str
    incumbent: str
    newcomer: str
    brought_by: tuple[str, ...]
    votes_for: float
    votes_against: float
    dethroned: bool
    chance: float | None = None

    @property
    def returned(self) -> bool:
        """Whether a candidate of an earlier round is the best again."""
        return not self.brought_by


def gather_challenge(best: Qrels, known: Pools, arrivals: Pools, *, past: Pools | None = None) -> Challenge:
    """Find the newcomers: the documents of new runs that no earlier pool had.

    Parameters
    ----------
    best : Qrels
        The best-known answers.
    known : Pools
        Every document that has been a candidate before. It is no newcomer.
    arrivals : Pools
        The top documents of the new runs.
    past : Pools, optional
        The candidates of earlier rounds that may return.
    """
    answers = _by_query(best.queries, best.docs, best.query[best.grade > 0], best.doc[best.grade > 0])
    seen = _by_query(known.queries, known.docs, known.query, known.doc)
    arrived = _by_query(arrivals.queries, arrivals.docs, arrivals.query, arrivals.doc)
    before = None if past is None else _by_query(past.queries, past.docs, past.query, past.doc)
    members, incumbents, newcomers = {}, {}, {}
    for query, docs in arrived.items():
        fresh = tuple(sorted(docs - seen.get(query, set()) - answers.get(query, set())))
        if query in answers and fresh:
            incumbents[query], newcomers[query] = min(answers[query]), fresh
            others = {incumbents[query]} if before is None else answers[query] | before.get(query, set())
            members[query] = others.union(fresh)
    sources: dict[tuple[str, str], list[str]] = {}
    for row, source in zip(arrivals.source_row.tolist(), arrivals.source.tolist(), strict=True):
        key = (arrivals.queries[arrivals.query[row]], arrivals.docs[arrivals.doc[row]])
        if key[1] in newcomers.get(key[0], ()):
            sources.setdefault(key, []).append(arrivals.sources[source])
    return Challenge(
        pools=_pools(members.items()),
        best=best,
        incumbents=incumbents,
        newcomers=newcomers,
        brought_by={key: tuple(sorted(set(runs))) for key, runs in sources.items()},
        unknown=tuple(sorted(set(arrived) - set(answers))),
    )


def next_challenge_round(
    challenge: Challenge, judgments: Judgments, strategy: Sure, *, most: int | None = None
) -> Round:
    """Return the votes that the challenge needs next, at most so many."""
    return next_round(judgments, challenge.pools, strategy, most=most)


def conclude_challenge(
    challenge: Challenge, judgments: Judgments, strategy: Sure
) -> tuple[Qrels, tuple[Duel, ...]]:
    """Return the best-known answers after the challenge, and how every newcomer fared.

    The most probable best by all votes is the answer at any time, whoever it was before, once all newcomers
    have met somebody: votes that come later may make a query less sure again.

    Parameters
    ----------
    challenge : Challenge
        Who met whom.
    judgments : Judgments
        All votes.
    strategy : Sure
        How sure the answers are to be.
    """
    last = next_challenge_round(challenge, judgments, strategy)
    votes = _votes(judgments, set(challenge.newcomers))
    answers = _by_query(challenge.best.queries, challenge.best.docs, challenge.best.query, challenge.best.doc)
    assert last.chance is not None
    chances = _chances(challenge.pools, last.chance)
    met = {(query, doc) for query, *pair in votes for doc in pair}
    duels: list[Duel] = []
    for place, query in enumerate(challenge.pools.queries):
        unmet = {(query, newcomer) for newcomer in challenge.newcomers[query]} - met
        if last.open[place] and unmet:
            continue
        answers[query], fared = _by_probability(challenge, query, answers[query], chances[query], votes)
        duels += fared
    return _qrels("preference", answers), tuple(duels)


_Votes = dict[tuple[str, str, str], float]
"""By query, preferred and other document."""


def _by_probability(
    challenge: Challenge, query: str, before: set[str], chances: dict[str, float], votes: _Votes
) -> tuple[set[str], list[Duel]]:
    """Return the answers, and the duels of the newcomers and of those who return."""
    top = max(chances.values())
    after = {doc for doc, chance in chances.items() if chance >= top}
    incumbent, newcomers = challenge.incumbents[query], challenge.newcomers[query]
    return after, [
        Duel(
            query_id=query,
            incumbent=incumbent,
            newcomer=doc,
            brought_by=challenge.brought_by.get((query, doc), ()),
            votes_for=votes.get((query, doc, incumbent), 0.0),
            votes_against=votes.get((query, incumbent, doc), 0.0),
            dethroned=doc in after and incumbent not in after,
            chance=chances[doc],
        )
        for doc in (*newcomers, *sorted(after - before - set(newcomers)))
    ]


def _chances(pools: Pools, chance: Floats) -> dict[str, dict[str, float]]:
    """Return the probability of each candidate, by query and doc_id."""
    found: dict[str, dict[str, float]] = {}
    for query, doc, one in zip(pools.query.tolist(), pools.doc.tolist(), chance.tolist(), strict=True):
        found.setdefault(pools.queries[query], {})[pools.docs[doc]] = one
    return found


def merge_answers(kept: Qrels, found: Qrels) -> Qrels:
    """Return the answers that are kept, and those that were found to other queries."""
    answers = _by_query(found.queries, found.docs, found.query, found.doc)
    answers.update(_by_query(kept.queries, kept.docs, kept.query, kept.doc))
    return _qrels(kept.name, dict(sorted(answers.items())))


def _by_query(
    queries: tuple[str, ...], docs: Sequence[str], query: np.ndarray, doc: np.ndarray
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for q, d in zip(query.tolist(), doc.tolist(), strict=True):
        found.setdefault(queries[q], set()).add(docs[d])
    return found


def _votes(judgments: Judgments, queries: set[str]) -> dict[tuple[str, str, str], float]:
    """Count the votes on these queries, by query, preferred and other document."""
    wanted = np.array([query in queries for query in judgments.queries], dtype=bool)
    rows = np.flatnonzero(wanted[judgments.query]) if wanted.size else np.empty(0, np.int64)
    votes: dict[tuple[str, str, str], float] = {}
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice)
    for q, left, right, choice in zip(*(column[rows].tolist() for column in columns), strict=True):
        for winner, loser, worth in ((left, right, 0.5 + 0.5 * choice), (right, left, 0.5 - 0.5 * choice)):
            key = (judgments.queries[q], judgments.docs[winner], judgments.docs[loser])
            votes[key] = votes.get(key, 0.0) + worth
    return votes


def _pools(members: Iterable[tuple[str, set[str]]]) -> Pools:
    listed = list(members)
    docs = tuple(sorted({doc for _, names in listed for doc in names}))
    code = {doc: place for place, doc in enumerate(docs)}
    rows = [(q, code[doc]) for q, (_, names) in enumerate(listed) for doc in sorted(names)]
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    nothing = np.empty(0, dtype=np.int32)
    return Pools(
        queries=tuple(query for query, _ in listed),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
        sources=(),
        source_row=nothing,
        source=nothing,
    )


def _qrels(name: str, answers: dict[str, set[str]]) -> Qrels:
    docs = tuple(sorted({doc for names in answers.values() for doc in names}))
    code = {doc: place for place, doc in enumerate(docs)}
    rows = [(q, code[doc]) for q, names in enumerate(answers.values()) for doc in sorted(names)]
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return Qrels(
        name=name,
        queries=tuple(answers),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
        grade=np.ones(len(rows)),
    )

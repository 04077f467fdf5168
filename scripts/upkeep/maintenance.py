"""Maintenance: what it takes to keep the best-known answers current, simulated over months of new runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.strategies import LeadStop, Strategy
from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.planning.challenge import conclude_challenge, gather_challenge, next_challenge_round
from prefjudge.core.planning.rounds import Round, next_round
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels

Answers = dict[str, frozenset[str]]
"""The best answers of each query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What one month's new runs cost.

    Attributes
    ----------
    newcomers, dethroned : int
        Documents that no earlier pool had, and best-known answers that lost their place to one.
    votes : int
        Asked for by the challenge.
    votes_afresh : int
        What judging the whole pool of that month from nothing would have taken.
    """

    newcomers: int
    dethroned: int
    votes: int
    votes_afresh: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Answers kept current, against answers judged afresh every month.

    Attributes
    ----------
    months : tuple of Month
        The months after the first judging.
    first_votes : int
        What the first judging took; it is the same for both.
    agreement : float
        The share of queries where the answers kept and a fresh full judging of everything name a common
        best answer.
    agreement_afresh : float
        The same for two independent full judgings: more cannot be expected.
    correct, correct_afresh : float
        The share of queries where the true best is named; a random pick of several.
    """

    months: tuple[Month, ...]
    first_votes: int
    agreement: float
    agreement_afresh: float
    correct: float
    correct_afresh: float

    @property
    def cost_share(self) -> float:
        """The votes of all months as a share of what judging afresh takes."""
        afresh = sum(month.votes_afresh for month in self.months)
        return sum(month.votes for month in self.months) / afresh if afresh else 0.0


def simulate_upkeep(
    first: Pools,
    arrivals: Sequence[Pools],
    *,
    scale: float,
    strategy: Strategy,
    challenge: LeadStop,
    rng: np.random.Generator,
) -> Upkeep:
    """Judge the first pools in full, let each month's newcomers challenge, and compare with judging afresh.

    Parameters
    ----------
    first : Pools
        The pools to start with.
    arrivals : sequence of Pools
        The top documents of each month's new runs.
    scale : float
        How far apart candidates are: the standard deviation of their true strengths, in logits.
    strategy : Strategy
        How pools are judged in full.
    challenge : LeadStop
        How a newcomer meets the best-known answer.
    rng : numpy.random.Generator
        The source of the strengths and votes.
    """
    crowd = _Crowd(scale, rng)
    best, first_votes = crowd.judge(first, strategy)
    known, months = first, []
    for arrived in arrivals:
        found = gather_challenge(_to_qrels(best), known, arrived)
        known = merge_pools(known, arrived)
        log = _Log()
        while True:
            asked = next_challenge_round(found, log.judgments(), challenge)
            if not len(asked.pairs):
                break
            crowd.vote(asked, log)
        qrels, duels = conclude_challenge(found, log.judgments(), challenge)
        fresh, votes_afresh = crowd.judge(known, strategy)
        best = {**_to_answers(qrels), **{query: fresh[query] for query in found.unknown}}
        months.append(
            Month(
                newcomers=len(duels),
                dethroned=sum(duel.dethroned for duel in duels),
                votes=len(log),
                votes_afresh=votes_afresh,
            )
        )
    one, other = (crowd.judge(known, strategy)[0] for _ in range(2))
    truth = crowd.truth(known)
    return Upkeep(
        months=tuple(months),
        first_votes=first_votes,
        agreement=_agreement(best, one),
        agreement_afresh=_agreement(one, other),
        correct=_correct(best, truth),
        correct_afresh=_correct(one, truth),
    )


def merge_pools(known: Pools, arrived: Pools) -> Pools:
    """Return the documents of both, without their sources."""
    members: dict[str, set[str]] = {}
    for pools in (known, arrived):
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
            members.setdefault(pools.queries[query], set()).add(pools.docs[doc])
    docs = tuple(sorted({doc for names in members.values() for doc in names}))
    code = {doc: place for place, doc in enumerate(docs)}
    rows = [(q, code[doc]) for q, names in enumerate(members.values()) for doc in sorted(names)]
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    nothing = np.empty(0, dtype=np.int32)
    return Pools(
        queries=tuple(members),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
        sources=(),
        source_row=nothing,
        source=nothing,
    )


class _Log:
    """Votes, in the order in which they came in."""

    def __init__(self) -> None:
        self.queries: dict[str, int] = {}
        self.docs: dict[str, int] = {}
        self.rows: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, query: str, winner: str, loser: str, times: int) -> None:
        row = (
            self.queries.setdefault(query, len(self.queries)),
            self.docs.setdefault(winner, len(self.docs)),
            self.docs.setdefault(loser, len(self.docs)),
        )
        self.rows += [row] * times

    def judgments(self) -> Judgments:
        table = np.array(self.rows, dtype=np.int32).reshape(-1, 3)
        return Judgments(
            queries=tuple(self.queries),
            docs=tuple(self.docs),
            workers=(),
            query=table[:, 0],
            left=table[:, 1],
            right=table[:, 2],
            choice=np.ones(len(table), dtype=np.int8),
            strength=np.ones(len(table), dtype=np.int8),
            worker=np.full(len(table), -1, dtype=np.int32),
        )


class _Crowd:
    """Votes under a Bradley-Terry model; a document's strength is drawn when it is first met."""

    def __init__(self, scale: float, rng: np.random.Generator) -> None:
        self.scale, self.rng = scale, rng
        self.strengths: dict[tuple[str, str], float] = {}

    def strength(self, query: str, doc: str) -> float:
        key = (query, doc)
        if key not in self.strengths:
            self.strengths[key] = float(self.rng.normal(0.0, self.scale))
        return self.strengths[key]

    def vote(self, asked: Round, log: _Log) -> None:
        pairs = asked.pairs
        columns = (pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), asked.votes.tolist())
        for q, x, y, votes in zip(*columns, strict=True):
            query, a, b = pairs.queries[q], pairs.docs[x], pairs.docs[y]
            gap = self.strength(query, a) - self.strength(query, b)
            for_a = int(self.rng.binomial(votes, 0.5 + 0.5 * np.tanh(0.5 * gap)))
            log.add(query, a, b, for_a)
            log.add(query, b, a, votes - for_a)

    def judge(self, pools: Pools, strategy: Strategy) -> tuple[Answers, int]:
        """Judge pools in full; return the best answers and the number of votes."""
        log = _Log()
        while True:
            asked = next_round(log.judgments(), pools, strategy)
            if not len(asked.pairs):
                break
            self.vote(asked, log)
        answers: dict[str, set[str]] = {}
        for row in np.flatnonzero(asked.leaders).tolist():
            answers.setdefault(pools.queries[pools.query[row]], set()).add(pools.docs[pools.doc[row]])
        return {query: frozenset(docs) for query, docs in answers.items()}, len(log)

    def truth(self, pools: Pools) -> dict[str, str]:
        best: dict[str, str] = {}
        for q, d in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
            query, doc = pools.queries[q], pools.docs[d]
            if query not in best or self.strength(query, doc) > self.strength(query, best[query]):
                best[query] = doc
        return best


def _agreement(one: Answers, other: Answers) -> float:
    """Return on what share of the queries, all of which both answer, they share a best answer."""
    return sum(bool(docs & other[query]) for query, docs in one.items()) / max(len(one), 1)


def _correct(answers: Answers, truth: dict[str, str]) -> float:
    return sum((truth[query] in docs) / len(docs) for query, docs in answers.items()) / max(len(answers), 1)


def _to_answers(qrels: Qrels) -> Answers:
    answers: dict[str, set[str]] = {}
    for query, doc in zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True):
        answers.setdefault(qrels.queries[query], set()).add(qrels.docs[doc])
    return {query: frozenset(docs) for query, docs in answers.items()}


def _to_qrels(answers: Answers) -> Qrels:
    docs = tuple(sorted({doc for names in answers.values() for doc in names}))
    code = {doc: place for place, doc in enumerate(docs)}
    rows = [(q, code[doc]) for q, names in enumerate(answers.values()) for doc in sorted(names)]
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return Qrels(
        name="kept",
        queries=tuple(answers),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
        grade=np.ones(len(rows)),
    )

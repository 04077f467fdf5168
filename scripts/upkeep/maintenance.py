"""Maintenance: what it takes to keep the best-known answers current, simulated over months of new runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.rounds import (
    Round,
    conclude_challenge,
    gather_challenge,
    next_challenge_round,
    next_round,
)
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import Pools, select_queries
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.runs import Qrels
from prefjudge.core.strategies import Strategy
from prefjudge.field.challenge import grown

Answers = dict[str, frozenset[str]]
"""The best answers of each query."""
Shares = NDArray[np.float64]
"""A number from 0 to 1 for each query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Answers that challenges kept current by a rule."""

    rule: str
    newcomers: int
    dethroned: int
    rounds: int
    votes: int
    """Of all months: documents that no earlier pool had, answers that lost their place, rounds and votes."""
    agrees: Shares
    """Whether the answers and a fresh full judging of everything name a common best answer; the mean over two
    fresh judgings."""
    right: Shares
    """Whether the true best is named; of several answers, a share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Answers kept current, against judging everything afresh at the end, once."""

    first_votes: int
    votes: int
    """What the first judging took, which the kept answers began with, and one of everything."""
    agrees: Shares
    right: Shares
    """Of a fresh judging, as `Kept` has it; it is compared with a second one, and more cannot be expected."""
    kept: tuple[Kept, ...]
    """By rule."""


def simulate_upkeep(
    first: Pools,
    arrivals: Sequence[Pools],
    *,
    scale: float,
    strategy: Strategy,
    rules: Sequence[Sure],
    rng: np.random.Generator,
) -> Upkeep:
    """Judge the first pools in full, let each month's newcomers challenge, and compare with judging afresh.

    Parameters
    ----------
    first : Pools
        The pools to start with.
    arrivals : sequence of Pools
        The top documents of each month's new runs. Queries without a first pool are left out.
    scale : float
        How far apart candidates are: the standard deviation of their true strengths, in logits. `Sure` is
        told, as the votes of a whole study tell it.
    strategy : Strategy
        How pools are judged in full.
    rules : sequence of Sure
        How newcomers are judged: all rules begin with the same first judging.
    rng : numpy.random.Generator
        The source of the strengths and votes.
    """
    crowd, arrivals = _Crowd(scale, rng), [select_queries(arrived, first.queries) for arrived in arrivals]
    best, votes = crowd.judge(first, strategy)
    everything = first
    for arrived in arrivals:
        everything = merge_pools(everything, arrived)
    (one, cast), (other, _) = (crowd.judge(everything, strategy) for _ in range(2))
    truth = crowd.truth(everything)
    kept = []
    for rule in rules:
        told = replace(rule, crowd=one_scale(scale))
        answers, cost = crowd.keep(best, votes, first, arrivals, told)
        agrees = (_agreement(one, answers) + _agreement(other, answers)) / 2
        kept.append(Kept(rule=rule.name, agrees=agrees, right=_correct(answers, truth), **cost))
    return Upkeep(
        first_votes=len(votes),
        votes=len(cast),
        agrees=_agreement(one, other),
        right=(_correct(one, truth) + _correct(other, truth)) / 2,
        kept=tuple(kept),
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
    return Pools(
        queries=tuple(members),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
    )


class _Log:
    """Votes, in the order in which they came in."""

    def __init__(self, start: "_Log | None" = None) -> None:
        self.queries: dict[str, int] = dict(start.queries) if start else {}
        self.docs: dict[str, int] = dict(start.docs) if start else {}
        self.rows = start.rows if start else np.empty((0, 3), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, votes: Sequence[tuple[str, str, str, int]]) -> None:
        """Take in how many votes on a query prefer a winner to a loser."""
        rows = [
            (
                self.queries.setdefault(query, len(self.queries)),
                self.docs.setdefault(winner, len(self.docs)),
                self.docs.setdefault(loser, len(self.docs)),
            )
            for query, winner, loser, _ in votes
        ]
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        self.rows = np.concatenate([self.rows, np.repeat(table, [times for *_, times in votes], axis=0)])

    def judgments(self) -> Judgments:
        n = len(self.rows)
        return Judgments.of_nobody(
            queries=tuple(self.queries),
            docs=tuple(self.docs),
            query=self.rows[:, 0],
            left=self.rows[:, 1],
            right=self.rows[:, 2],
            choice=np.ones(n, dtype=np.int8),
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
        cast: list[tuple[str, str, str, int]] = []
        for q, x, y, votes in zip(*columns, strict=True):
            query, a, b = pairs.queries[q], pairs.docs[x], pairs.docs[y]
            gap = self.strength(query, a) - self.strength(query, b)
            for_a = int(self.rng.binomial(votes, 0.5 + 0.5 * np.tanh(0.5 * gap)))
            cast += [(query, a, b, for_a), (query, b, a, votes - for_a)]
        log.add(cast)

    def keep(
        self, best: Answers, votes: _Log, known: Pools, arrivals: Sequence[Pools], rule: Sure
    ) -> tuple[Answers, dict[str, int]]:
        """Let each month's newcomers challenge; return the answers, and what all months took."""
        log, cost = _Log(votes), dict.fromkeys(("newcomers", "dethroned", "rounds"), 0)
        first, usual = known.doc.size, rule
        for arrived in arrivals:
            challenge = gather_challenge(_to_qrels(best), known, arrived, past=known)
            known, left = merge_pools(known, arrived), challenge
            rule = grown(usual, first, known.doc.size)
            while len((asked := next_challenge_round(left, log.judgments(), rule)).pairs):
                self.vote(asked, log)
                cost["rounds"] += 1
                # A query that is finished stays so: its votes stay as they are.
                still = tuple(np.array(left.pools.queries, dtype=object)[asked.open])
                left = replace(left, pools=select_queries(left.pools, still))
            qrels, duels = conclude_challenge(challenge, log.judgments(), rule)
            best = _to_answers(qrels)
            cost["newcomers"] += sum(map(len, challenge.newcomers.values()))
            cost["dethroned"] += sum(duel.dethroned for duel in duels)
        return best, {**cost, "votes": len(log) - len(votes)}

    def judge(self, pools: Pools, strategy: Strategy) -> tuple[Answers, _Log]:
        """Judge pools in full; return the best answers and the votes."""
        log = _Log()
        while True:
            asked = next_round(log.judgments(), pools, strategy)
            if not len(asked.pairs):
                break
            self.vote(asked, log)
        answers: dict[str, set[str]] = {}
        for row in np.flatnonzero(asked.leaders).tolist():
            answers.setdefault(pools.queries[pools.query[row]], set()).add(pools.docs[pools.doc[row]])
        return {query: frozenset(docs) for query, docs in answers.items()}, log

    def truth(self, pools: Pools) -> dict[str, str]:
        best: dict[str, str] = {}
        for q, d in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
            query, doc = pools.queries[q], pools.docs[d]
            if query not in best or self.strength(query, doc) > self.strength(query, best[query]):
                best[query] = doc
        return best


def _agreement(one: Answers, other: Answers) -> Shares:
    """Return on which queries, all of which both answer, they share a best answer."""
    return np.array([float(bool(docs & other[query])) for query, docs in one.items()])


def _correct(answers: Answers, truth: dict[str, str]) -> Shares:
    return np.array([(best in answers[query]) / len(answers[query]) for query, best in truth.items()])


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
    return Qrels.all_relevant(
        name="kept",
        queries=tuple(answers),
        docs=docs,
        query=table[:, 0],
        doc=table[:, 1],
    )

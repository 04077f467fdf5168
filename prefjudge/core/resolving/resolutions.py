"""Resolutions: the best answers of each query, the cycles among them, and how they change."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import Pairs, Pools, docs_by_query, exclusive_rows, find_rows
from prefjudge.core.resolving.rules import NO_RULE, RULES, UNEVEN_RULE, find_rule
from prefjudge.core.resolving.tournaments import (
    BLOCK_ROWS,
    Cut,
    Each,
    Flags,
    Floats,
    Index,
    Span,
    Standing,
    TieWorth,
    Tournaments,
    Weights,
    highest,
    reachable,
    vote_matrices,
    wins,
)
from prefjudge.core.runs import Codes, Qrels, encode
from prefjudge.words import chance_text, many, some

if TYPE_CHECKING:
    import networkx as nx


class Status(StrEnum):
    """How far a query's judgments decide its best answer."""

    SINGLE = "single"
    """One best answer."""
    TIE = "tie"
    """Several that the rule cannot tell apart."""
    CYCLE = "cycle"
    """Several, because the majority prefers some of them in a cycle."""
    PARTIAL = "partial"
    """The best of those that were compared: others were not, or not each with each."""
    SPARSE = "sparse"
    """Not enough is judged to say."""


STATUSES = tuple(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What is known of the best answer to one query."""

    query_id: str
    """The query."""
    status: Status
    """Whether it is decided."""
    winners: tuple[str, ...]
    """The best answers; none where the status is sparse."""
    margin: float
    """How many votes the winner is ahead of the next; 0 for several winners."""
    cycle: tuple[str, ...]
    """The winners that are preferred to each other in a cycle."""
    pool_size: int
    votes: int
    missing: int
    """Candidates, judgments, and pairs that lack a judgment."""
    p_best: dict[str, float] = field(default_factory=dict)
    """The probability that each candidate is the best, by doc_id; empty where it was not asked."""
    likely: tuple[str, ...] = ()
    """The fewest candidates among whom the best is with a probability of 0.9, the likeliest first."""
    loss: dict[str, float] = field(default_factory=dict)
    """How far the share of votes that would prefer the best to each is expected to be over a half."""

    @property
    def sure(self) -> str:
        """The probability that each winner is the best, in their order; empty where it was not asked."""
        return " ".join(chance_text(self.p_best.get(doc, 0.0)) for doc in self.winners if self.p_best)

    @property
    def among(self) -> str:
        """The likely candidates with the probability that one is the best: ``d3 or d7: 0.93``."""
        if not self.likely:
            return ""
        if 1 < len(self.likely) == self.pool_size:
            return "any candidate"
        names = some(self.likely, 2, between=" or ")
        return f"{names}: {chance_text(sum(self.p_best[doc] for doc in self.likely))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Which queries another rule gives other winners."""

    rule: str
    """The other rule."""
    queries: tuple[str, ...]
    """The queries, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolutions:
    """The resolution of every query by one rule, with all candidates."""

    rule: str
    """The rule."""
    queries: tuple[str, ...]
    docs: Sequence[str]
    """The vocabularies."""
    status: NDArray[np.int8]
    """Shape (n_queries,): codes into :data:`STATUSES`."""
    margin: Floats
    """Shape (n_queries,): votes between the winner and the next; 0 for several winners."""
    votes: Codes
    missing: Codes
    """Shape (n_queries,): judgments, and pairs that lack one."""
    start: Index
    """Shape (n_queries + 1,): the candidates of query ``q`` are the rows ``start[q]:start[q + 1]``."""
    doc: Codes
    """Shape (n_candidates,): codes into ``docs``, ascending within a query."""
    score: Floats
    wins: Floats
    """Shape (n_candidates,): the rule's own score, and the votes won."""
    comparisons: Codes
    """Shape (n_candidates,): the judgments that the candidate took part in."""
    winner: Flags
    cycle: Flags
    """Shape (n_candidates,): whether it is a best answer, and whether it is in a cycle of best answers."""

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, place: int) -> Resolution:
        rows = slice(int(self.start[place]), int(self.start[place + 1]))
        doc = self.doc[rows]
        return Resolution(
            query_id=self.queries[place],
            status=STATUSES[int(self.status[place])],
            winners=tuple(sorted(self.docs[code] for code in doc[self.winner[rows]])),
            margin=float(self.margin[place]),
            cycle=tuple(sorted(self.docs[code] for code in doc[self.cycle[rows]])),
            pool_size=rows.stop - rows.start,
            votes=int(self.votes[place]),
            missing=int(self.missing[place]),
        )

    def __iter__(self) -> Iterator[Resolution]:
        return (self[place] for place in range(len(self)))

    def of(self, query_id: str) -> Resolution:
        """Return the resolution of one query."""
        return self[self.queries.index(query_id)]

    @property
    def query(self) -> Codes:
        """The query of each candidate, shape (n_candidates,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))

    def counts(self) -> dict[str, int]:
        """Return how many queries have each status."""
        tally = np.bincount(self.status, minlength=len(STATUSES))
        return {status.value: int(count) for status, count in zip(STATUSES, tally, strict=True)}


def with_answers(resolutions: Resolutions, answers: Qrels, rule: str) -> Resolutions:
    """Return the tournaments with other winners: the best answers that are known, however they were found.

    A query whose winners they are keeps its status, and so does one that is judged in part and has any; any
    other has one answer, or several (a tie), or none.
    """
    owner = resolutions.query
    winner = find_rows(answers, resolutions.queries, resolutions.docs, owner, resolutions.doc) >= 0
    count = np.bincount(owner[winner], minlength=len(resolutions))
    # A query where any candidate's flag differs has other
    # winners, and its status and margin are derived again.
    other = np.bincount(owner[winner != resolutions.winner], minlength=len(resolutions)) > 0
    named = np.array([STATUSES.index(one) for one in (Status.SPARSE, Status.SINGLE, Status.TIE)], np.int8)
    in_part = (resolutions.status == STATUSES.index(Status.PARTIAL)) & (count > 0)
    best, rest = np.zeros((2, len(resolutions)))
    np.maximum.at(best, owner[winner], resolutions.wins[winner])
    np.maximum.at(rest, owner[~winner], resolutions.wins[~winner])
    return replace(
        resolutions,
        rule=rule,
        status=np.where(other & ~in_part, named[np.minimum(count, 2)], resolutions.status),
        margin=np.where(other, (count == 1) * (best - rest), resolutions.margin),
        winner=winner,
        cycle=resolutions.cycle & ~other[owner],
    )


def difference(one: Resolutions, other: Resolutions) -> Difference:
    """Return which queries have other winners by another rule; both are of the same judgments and pools."""
    queries = np.unique(one.query[one.winner != other.winner]).tolist()
    return Difference(rule=other.rule, queries=tuple(one.queries[query] for query in queries))


# Cycles: names the cycle of preferences that keeps a query from having one best answer.


def name_cycles(judgments: Judgments, resolutions: Resolutions) -> dict[str, tuple[str, ...]]:
    """Put the winners of every cyclic query into an order in which each is preferred to the next.

    The last is preferred to the first, which is the first by doc_id. Only where pairs are even may some of
    the winners be missing.
    """
    rows = np.flatnonzero(resolutions.cycle)
    if not rows.size:
        return {}
    members: dict[str, set[str]] = {}
    for query, doc in zip(resolutions.query[rows].tolist(), resolutions.doc[rows].tolist(), strict=True):
        members.setdefault(resolutions.queries[query], set()).add(resolutions.docs[doc])
    leads = _leads(judgments, members)
    return {query: _circle(docs, leads.get(query, {})) for query, docs in members.items()}


def _leads(judgments: Judgments, members: dict[str, set[str]]) -> dict[str, dict[tuple[str, str], int]]:
    """Return the votes for each ordered pair of members less those against it, by query."""
    wanted = encode(tuple(members), judgments.queries)
    rows = np.flatnonzero(np.isin(judgments.query, wanted) & (judgments.choice != 0))
    leads: dict[str, dict[tuple[str, str], int]] = {}
    columns = (judgments.query[rows], judgments.winner[rows], judgments.loser[rows])
    for q, w, o in zip(*(column.tolist() for column in columns), strict=True):
        query, winner, loser = judgments.queries[q], judgments.docs[w], judgments.docs[o]
        if winner in members[query] and loser in members[query]:
            lead = leads.setdefault(query, {})
            lead[winner, loser] = lead.get((winner, loser), 0) + 1
            lead[loser, winner] = lead.get((loser, winner), 0) - 1
    return leads


def _circle(docs: set[str], leads: dict[tuple[str, str], int]) -> tuple[str, ...]:
    """Return a cycle through as many of the documents as single and double insertions reach."""
    import networkx as nx

    graph = nx.DiGraph()
    # Sorted, so that the cycle found does not depend on the order of a set.
    graph.add_nodes_from(sorted(docs))
    graph.add_edges_from(sorted(pair for pair, lead in leads.items() if lead > 0))
    try:
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return tuple(sorted(docs))
    while _insert(graph, cycle):
        pass
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def _insert(graph: "nx.DiGraph", cycle: list[str]) -> bool:
    """Put one more document, or a pair of them, into the cycle; in a tournament one of both always goes."""
    outside = [doc for doc in graph if doc not in cycle]
    for place, before in enumerate(cycle):
        after = cycle[(place + 1) % len(cycle)]
        for doc in outside:
            if graph.has_edge(before, doc) and graph.has_edge(doc, after):
                cycle.insert(place + 1, doc)
                return True
    for place, before in enumerate(cycle):
        after = cycle[(place + 1) % len(cycle)]
        for x in outside:
            for y in outside:
                if graph.has_edge(before, x) and graph.has_edge(x, y) and graph.has_edge(y, after):
                    cycle[place + 1 : place + 1] = [x, y]
                    return True
    return False


# History: which queries' best-known answers differ from one version to the next.


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose best answers differ from those of the version before."""

    query_id: str
    """The query."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    """The doc_ids of its best answers, sorted; none before where the query was settled later."""


def find_changes(before: Qrels, after: Qrels) -> tuple[Change, ...]:
    """Return what differs between two versions of the best-known answers, query by query."""
    old, new = docs_by_query(before), docs_by_query(after)
    return tuple(
        Change(
            query_id=query,
            before=tuple(sorted(old.get(query, ()))),
            after=tuple(sorted(new.get(query, ()))),
        )
        for query in sorted(old.keys() | new.keys())
        if old.get(query) != new.get(query)
    )


# Preferences: what the judgments of each query say about its best answer, and the qrels made of it.

PREFERENCE_NAME = "preference"
"""The name of the label set that preference qrels are."""


def resolve(
    judgments: Judgments,
    *,
    rule: str = "shallow-pooling",
    pools: Pools | None = None,
    asked: Pairs | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
    sparse_rule: str | None = None,
    block_rows: int = BLOCK_ROWS,
    each: Each = map,
) -> Resolutions:
    """Resolve the judgments of every query into its best answers, by one rule; as :func:`resolve_all`."""
    return resolve_all(
        judgments,
        rules=(rule,),
        pools=pools,
        asked=asked,
        ties=ties,
        strengths=strengths,
        sparse_rule=sparse_rule,
        block_rows=block_rows,
        each=each,
    )[rule]


def resolve_all(
    judgments: Judgments,
    *,
    rules: Sequence[str],
    pools: Pools | None = None,
    asked: Pairs | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
    sparse_rule: str | None = None,
    block_rows: int = BLOCK_ROWS,
    each: Each = map,
) -> dict[str, Resolutions]:
    """Resolve the judgments of every query by several rules in one pass."""
    find = partial(find_rule, judgments=judgments, pools=pools, ties=ties, strengths=strengths)
    found = {rule: find(rule) for rule in rules}
    # Of queries that lack pairs: a rule that needs them all, or counts votes, does not fit.
    others = {rule: sparse_rule or (rule if RULES[rule].for_partial else UNEVEN_RULE) for rule in rules}
    found |= {name: find(name) for name in {*others.values()} - {*found, NO_RULE}}
    weights = Weights(ties=0.5 if ties == TieWorth.HALF else 0.0, strengths=strengths)
    cut = Cut(judgments, pools=pools, asked=asked, each=each)
    vocabulary = pools if pools is not None else judgments

    def resolve_span(span: Span) -> dict[str, Resolutions]:
        block = cut.block(span)
        won = wins(block, weights)
        incomplete = (block.missing > 0) | (block.sizes == 0)
        compared, in_part, uneven = block, np.zeros_like(incomplete), np.zeros_like(incomplete)
        if sparse_rule != NO_RULE and block.missing.any():
            compared, rows = block.compared()
            in_part = incomplete & (compared.parts() == 1)
            uneven = in_part if sparse_rule else in_part & (compared.pairs_missing() > 0)

        def standing(rule: str) -> Standing:
            if compared is block:
                return found[rule](block, weights, won)
            return _spread(found[rule](compared, weights, won[rows]), rows, block.doc.size)

        parts = {}
        for rule in rules:
            first = standing(rule)
            winner = first.winner & ~(incomplete & ~in_part)[block.query]
            if others[rule] != rule and uneven.any():
                winner = np.where(uneven[block.query], standing(others[rule]).winner, winner)
            parts[rule] = _resolve_block(
                block,
                replace(first, winner=winner),
                incomplete,
                in_part,
                won,
                rule=rule,
                docs=vocabulary.docs,
            )
        return parts

    spans = list(each(resolve_span, cut.spans(block_rows)))
    return {rule: _joined([parts[rule] for parts in spans], vocabulary.queries, each) for rule in rules}


@dataclass(frozen=True, slots=True, kw_only=True)
class HowResolved:
    """The options by which answers were found, as :func:`resolve_all` takes them.

    ``without`` are workers whose judgments were left out, ``counted`` those who were barred and count.
    """

    rule: str
    ties: TieWorth = TieWorth.IGNORE
    strengths: bool = False
    sparse_rule: str | None = None
    without: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """What is not as by default, in words that follow the name of the rule; empty where nothing is."""
        words = [
            ("a tie as half a vote to each", self.ties == TieWorth.HALF),
            ("votes by their strength", self.strengths),
            ("no answer to queries judged in part", self.sparse_rule == NO_RULE),
            (f"queries judged in part by {self.sparse_rule}", self.sparse_rule not in (None, NO_RULE)),
            (f"without {many(len(self.without), 'worker')}", bool(self.without)),
            (f"with {many(len(self.counted), 'barred worker')}", bool(self.counted)),
        ]
        return "".join(f", {text}" for text, said in words if said)


def resolved(
    judgments: Judgments, how: HowResolved, *, pools: Pools | None = None, asked: Pairs | None = None
) -> Resolutions:
    """Resolve judgments as answers were found before; they are already those that count."""
    return resolve(
        judgments,
        rule=how.rule,
        pools=pools,
        asked=asked,
        ties=how.ties,
        strengths=how.strengths,
        sparse_rule=how.sparse_rule,
    )


def _spread(standing: Standing, rows: Index, size: int) -> Standing:
    """Return a standing of some candidates as one of all: the others have no score and do not win."""
    score, winner = np.zeros(size), np.zeros(size, dtype=bool)
    score[rows], winner[rows] = standing.score, standing.winner
    return Standing(score=score, winner=winner)


def _resolve_block(
    block: Tournaments,
    standing: Standing,
    incomplete: Flags,
    in_part: Flags,
    won: Floats,
    *,
    rule: str,
    docs: Sequence[str],
) -> Resolutions:
    rows = np.flatnonzero(standing.winner)
    count = block.count(rows)
    cycle = _in_circle(block, rows[count[block.query[rows]] > 2])
    status = np.full(block.n_queries, STATUSES.index(Status.TIE), dtype=np.int8)
    status[count == 1] = STATUSES.index(Status.SINGLE)
    status[block.query[np.flatnonzero(cycle)]] = STATUSES.index(Status.CYCLE)
    status[incomplete] = STATUSES.index(Status.SPARSE)
    status[in_part] = STATUSES.index(Status.PARTIAL)
    return Resolutions(
        rule=rule,
        queries=(),  # of all blocks together
        docs=docs,
        status=status,
        margin=_margins(block, rows, count == 1, won),
        votes=block.votes,
        missing=block.missing,
        start=block.start,
        doc=block.doc,
        score=standing.score,
        wins=won,
        comparisons=block.comparisons,
        winner=standing.winner,
        cycle=cycle,
    )


def _margins(block: Tournaments, winners: Index, single: Flags, won: Floats) -> Floats:
    """Return the votes between a single winner and the best of the others, shape (n_queries,)."""
    margin = np.zeros(block.n_queries)
    others = won.copy()
    others[winners] = 0
    rows = winners[single[block.query[winners]]]
    query = block.query[rows]
    margin[query] = won[rows] - highest(block, others)[query]
    return margin


def _in_circle(block: Tournaments, rows: Index) -> Flags:
    """Return which of these candidates are preferred to each other in a cycle, shape (n_candidates,)."""
    cycle = np.zeros(block.doc.size, dtype=bool)
    if not rows.size:
        return cycle
    for stack in vote_matrices(block.among(rows)):
        reach = reachable(stack.beats)
        cycle[rows[stack.rows]] = np.diagonal(reach, axis1=1, axis2=2)
    return cycle


def _joined(parts: list[Resolutions], queries: tuple[str, ...], each: Each) -> Resolutions:
    """Return the resolutions of all queries from those of blocks of them."""

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    names = [
        name for name in Resolutions.__slots__ if name not in ("rule", "queries", "docs", "start", "score")
    ]
    columns = dict(zip(names, each(column, names), strict=True))
    counted = all(part.score is part.wins for part in parts)
    return Resolutions(
        rule=parts[0].rule,
        queries=queries,
        docs=parts[0].docs,
        start=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.start) for part in parts]))]),
        score=columns["wins"] if counted else column("score"),
        **columns,
    )


def to_qrels(resolutions: Resolutions, name: str = PREFERENCE_NAME) -> Qrels:
    """Return the best answers as qrels of grade 1: all winners of a query, none of an unjudged one."""
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    used, code = np.unique(resolutions.doc[rows], return_inverse=True)
    names = [resolutions.docs[i] for i in used.tolist()]
    docs = tuple(sorted(names))
    doc = encode(names, docs)[code]
    order = np.lexsort((doc, query))
    held, new_query = np.unique(query, return_inverse=True)
    queries = tuple(resolutions.queries[i] for i in held.tolist())
    return Qrels.all_relevant(name, queries, docs, new_query[order].astype(np.int32), doc[order])


# Sensitivity: how the best answers, and the order of runs, change with the rule, ties, workers and runs.

CompareRuns = Callable[[Qrels, Qrels], float]
"""Returns the correlation of the orders of runs under two sets of qrels."""


class Kind(StrEnum):
    """What is varied."""

    RULE = "rule"
    """Another rule resolves the same judgments."""
    TIES = "ties"
    """Of several winners, only the first or the last by doc_id is kept."""
    WORKER = "worker"
    """A worker's judgments are left out."""
    RUN = "run"
    """The documents that only this run added to the pools are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What one change does to the best answers."""

    kind: Kind
    """What was changed."""
    name: str
    """The rule, the worker, the run, or which winner was kept."""
    resolved: int
    """Queries with a winner before and after."""
    changed: int
    """Those of them whose winners differ."""
    lost: int
    gained: int
    """Queries with a winner only before, and only after."""
    correlation: float
    """How alike the orders of runs are; NaN where no runs were given."""

    @property
    def changed_share(self) -> float:
        """The share of the queries resolved both times whose winners differ; 0 where there are none."""
        return self.changed / self.resolved if self.resolved else 0.0


def assess_sensitivity(
    judgments: Judgments,
    *,
    rule: str = "shallow-pooling",
    rules: Sequence[str] = (),
    pools: Pools | None = None,
    asked: Pairs | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
    sparse_rule: str | None = None,
    compare_runs: CompareRuns | None = None,
) -> tuple[Variation, ...]:
    """Resolve the judgments again with one thing changed at a time.

    Shallow pooling for sparse labels, section 6.1, leaves out one run at a time.
    """
    ask = partial(resolve_all, asked=asked, ties=ties, strengths=strengths, sparse_rule=sparse_rule)
    every = ask(judgments, rules=tuple(dict.fromkeys((rule, *rules))), pools=pools)
    before = every[rule]
    qrels = to_qrels(before)

    def variation(kind: Kind, name: str, after: Resolutions) -> Variation:
        correlation = float("nan") if compare_runs is None else compare_runs(qrels, to_qrels(after))
        return _compared(kind, name, before, after, correlation)

    found = [variation(Kind.RULE, name, after) for name, after in every.items() if name != rule]
    found += [variation(Kind.TIES, name, after) for name, after in _without_ties(before)]

    def resolved(votes: Judgments, candidates: Pools | None) -> Resolutions:
        return ask(votes, rules=(rule,), pools=candidates)[rule]

    candidates = Pools(queries=before.queries, docs=before.docs, query=before.query, doc=before.doc)
    for code in np.unique(judgments.worker[judgments.worker >= 0]).tolist():
        votes = select_judgments(judgments, judgments.worker != code)
        # With the candidates as they were: a document that only this worker judged stays one, without votes.
        after = resolved(votes, pools or candidates)
        found.append(variation(Kind.WORKER, judgments.workers[code], after))
    if pools is not None:
        for run in pools.sources:
            rest = pools.only(~exclusive_rows(pools, [run]))
            found.append(variation(Kind.RUN, run, resolved(judgments, rest)))
    return tuple(found)


def _compared(
    kind: Kind, name: str, before: Resolutions, after: Resolutions, correlation: float
) -> Variation:
    n_docs = max(len(before.docs), 1)
    old, new = _winner_keys(before, n_docs), _winner_keys(after, n_docs)
    had, has = _queries(old // n_docs, len(before)), _queries(new // n_docs, len(before))
    differs = _queries(np.setxor1d(old, new) // n_docs, len(before))
    return Variation(
        kind=kind,
        name=name,
        resolved=int((had & has).sum()),
        changed=int((had & has & differs).sum()),
        lost=int((had & ~has).sum()),
        gained=int((has & ~had).sum()),
        correlation=correlation,
    )


def _winner_keys(resolutions: Resolutions, n_docs: int) -> NDArray[np.int64]:
    rows = np.flatnonzero(resolutions.winner)
    return resolutions.query[rows].astype(np.int64) * n_docs + resolutions.doc[rows]


def _queries(codes: NDArray[np.int64], n_queries: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_queries, dtype=bool)
    mask[codes] = True
    return mask


def _without_ties(resolutions: Resolutions) -> Iterator[tuple[str, Resolutions]]:
    """Keep one winner per query: the first, then the last, by doc_id."""
    query = resolutions.query
    rows = np.flatnonzero(resolutions.winner)
    counts = np.bincount(query[rows], minlength=len(resolutions))
    if (counts < 2).all():
        return
    tied = rows[counts[query[rows]] > 1]
    by_name = sorted(tied.tolist(), key=lambda row: resolutions.docs[int(resolutions.doc[row])])
    for name, order in (("first doc_id", by_name[::-1]), ("last doc_id", by_name)):
        winner = resolutions.winner.copy()
        winner[tied] = False
        # The last row put in for a query stays: hence the reversed order for the first doc_id.
        kept = {int(query[row]): row for row in order}
        winner[list(kept.values())] = True
        yield name, replace(resolutions, winner=winner)

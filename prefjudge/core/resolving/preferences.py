"""Preferences: what the judgments of each query say about its best answer, and the qrels made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Codes, encode
from prefjudge.core.resolving.counting import Flags, Floats, Standing, TieWorth, Weights, highest, wins
from prefjudge.core.resolving.resolutions import STATUSES, Resolutions, Status
from prefjudge.core.resolving.rules import NO_RULE, RULES, UNEVEN_RULE, find_rule
from prefjudge.core.resolving.tournament import BLOCK_ROWS, Cut, Each, Index, Span, Tournaments
from prefjudge.core.resolving.vote_matrices import reachable, vote_matrices
from prefjudge.counts import many

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
    """Resolve the judgments of every query into its best answers, by one rule.

    The parameters are those of :func:`resolve_all`.

    Returns
    -------
    Resolutions
        One per query of the vocabulary: that of the pools, where given, else that of the judgments.
    """
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
    """Resolve the judgments of every query by several rules in one pass.

    Parameters
    ----------
    judgments : Judgments
        The votes, several per pair or one.
    rules : sequence of str
        Names from :data:`~prefjudge.core.resolving.rules.RULES`.
    pools : Pools, optional
        The candidates of each query. Votes on documents outside the pool do not count. Without it, a query's
        candidates are its judged documents.
    asked : Pairs, optional
        The pairs that were to be judged; by default all pairs of the candidates. A query with one of them
        unjudged is partial, and so is one whose comparisons do not connect all candidates.
    ties : TieWorth
        Whether a tie is worth nothing, or half a vote, to each side. It counts as a judgment of the pair.
    strengths : bool
        Whether a vote counts as often as it is strong.
    sparse_rule : str, optional
        The rule that finds the winners of partial queries, among the candidates that were compared; where
        comparisons do not connect these, the query is sparse and has no winner. By default it is the rule
        itself, or, for one that counts votes and where some pairs of these lack one, ``bradley-terry``. With
        ``none`` partial queries are sparse, too.
    block_rows : int
        About how many judgments to hold at a time.
    each : callable, optional
        Carries out the blocks: ``map``, or the ``map`` of a pool of threads. The result is the same.

    Returns
    -------
    dict of str to Resolutions
        By rule, in the order asked.

    Raises
    ------
    ValueError
        A rule has no such name.
    """
    find = partial(find_rule, judgments=judgments, pools=pools, ties=ties, strengths=strengths)
    found = {rule: find(rule) for rule in rules}
    others = {rule: sparse_rule or _rule_in_part(rule) for rule in rules}
    found |= {name: find(name) for name in {*others.values()} - {*found, NO_RULE}}
    weights = Weights(ties=0.5 if ties == TieWorth.HALF else 0.0, strengths=strengths)
    cut = Cut(judgments, pools=pools, asked=asked, each=each)

    def resolve_span(span: Span) -> dict[str, _Part]:
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
            parts[rule] = _resolve_block(block, first.score, winner, incomplete, in_part, won)
        return parts

    spans = list(each(resolve_span, cut.spans(block_rows)))
    vocabulary = pools if pools is not None else judgments
    return {
        rule: _joined(rule, vocabulary.queries, vocabulary.docs, [parts[rule] for parts in spans], each)
        for rule in rules
    }


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    status: NDArray[np.int8]
    margin: Floats
    votes: Codes
    missing: Codes
    sizes: Index
    doc: Codes
    score: Floats
    wins: Floats
    comparisons: Codes
    winner: Flags
    cycle: Flags


def _rule_in_part(rule: str) -> str:
    """Return the rule for queries that lack pairs: one that needs them all, or counts votes, does not fit."""
    return rule if RULES[rule].for_partial else UNEVEN_RULE


def _spread(standing: Standing, rows: Index, size: int) -> Standing:
    """Return a standing of some candidates as one of all: the others have no score and do not win."""
    score, winner = np.zeros(size), np.zeros(size, dtype=bool)
    score[rows], winner[rows] = standing.score, standing.winner
    return Standing(score=score, winner=winner)


def _resolve_block(
    block: Tournaments, score: Floats, winner: Flags, incomplete: Flags, in_part: Flags, won: Floats
) -> _Part:
    rows = np.flatnonzero(winner)
    count = block.count(rows)
    cycle = _in_circle(block, rows[count[block.query[rows]] > 2])
    status = np.full(block.n_queries, STATUSES.index(Status.TIE), dtype=np.int8)
    status[count == 1] = STATUSES.index(Status.SINGLE)
    status[block.query[np.flatnonzero(cycle)]] = STATUSES.index(Status.CYCLE)
    status[incomplete] = STATUSES.index(Status.SPARSE)
    status[in_part] = STATUSES.index(Status.PARTIAL)
    return _Part(
        status=status,
        margin=_margins(block, rows, count == 1, won),
        votes=block.votes,
        missing=block.missing,
        sizes=block.sizes,
        doc=block.doc,
        score=score,
        wins=won,
        comparisons=block.comparisons,
        winner=winner,
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


def _joined(
    rule: str, queries: tuple[str, ...], docs: Sequence[str], parts: list[_Part], each: Each
) -> Resolutions:
    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    names = [name for name in _Part.__slots__ if name != "score"]
    columns = dict(zip(names, each(column, names), strict=True))
    counted = all(part.score is part.wins for part in parts)
    return Resolutions(
        rule=rule,
        queries=queries,
        docs=docs,
        start=np.concatenate([[0], np.cumsum(columns.pop("sizes"))]),
        score=columns["wins"] if counted else column("score"),
        **columns,
    )


def to_qrels(resolutions: Resolutions, name: str = PREFERENCE_NAME) -> Qrels:
    """Return the best answers as qrels of grade 1: all winners of a query, none of an unjudged one.

    Parameters
    ----------
    resolutions : Resolutions
        The outcome of a rule.
    name : str
        What a leaderboard calls these qrels.

    Returns
    -------
    Qrels
        Only queries with a winner occur: the others have no known best answer, and no place in a mean.
        Rows are in the order of the queries, then of the doc_ids.
    """
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    used, code = np.unique(resolutions.doc[rows], return_inverse=True)
    names = [resolutions.docs[i] for i in used.tolist()]
    docs = tuple(sorted(names))
    doc = encode(names, docs)[code]
    order = np.lexsort((doc, query))
    held, new_query = np.unique(query, return_inverse=True)
    return Qrels(
        name=name,
        queries=tuple(resolutions.queries[i] for i in held.tolist()),
        docs=docs,
        query=new_query[order].astype(np.int32),
        doc=doc[order],
        grade=np.ones(rows.size),
    )

"""Rounds: the votes to ask for next, by a strategy, for pools and for challenges."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.sure import (
    Neighbours,
    OrderChance,
    RunGains,
    Sure,
    find_neighbours,
    most_probable,
    worth,
)
from prefjudge.core.pools import Pairs, Pools, answers_of, candidates_of, docs_by_query, find_rows, pools_of
from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.scales import Trust
from prefjudge.core.resolving.tournaments import Index, Tournaments, VoteMatrices, tournaments, vote_matrices
from prefjudge.core.runs import Codes, Qrels, select_labels
from prefjudge.core.strategies import Asked, Counts, Flags, Floats, RoundRobin, Strategy


@dataclass(frozen=True, slots=True)
class BySize:
    """Another strategy for pools of another size."""

    steps: tuple[tuple[int, Strategy], ...]
    """The largest size of pool, and its strategy, by size; the last is for all larger pools, too."""

    @property
    def name(self) -> str:
        """Return ``default`` for the default, else the spelling."""
        return "default" if self == DEFAULT else self.spelling

    @property
    def spelling(self) -> str:
        """Return ``5=round-robin:3,6=sure:90x5/400``: the largest size of pool before each strategy."""
        return ",".join(f"{size}={strategy.name}" for size, strategy in self.steps)

    def ask(self, votes: Floats) -> Asked:
        """Ask as the strategy for this size does."""
        return self.of(votes.shape[1]).ask(votes)

    def leaders(self, votes: Floats) -> Flags:
        """Decide as the strategy for this size does."""
        return self.of(votes.shape[1]).leaders(votes)

    def of(self, size: int) -> Strategy:
        """Return the strategy for pools of this size."""
        return next((one for largest, one in self.steps if size <= largest), self.steps[-1][1])


DEFAULT = BySize(((5, RoundRobin(3)), (6, Sure(0.9, 5, patience=400))))
"""Three votes on every pair of a pool of up to five. Larger ones until one candidate is the best with a
probability of 0.9, or a further right winner would take more than 400 votes."""


def of_size(strategy: Strategy, size: int) -> Strategy:
    """Return the strategy for pools of this size."""
    return strategy.of(size) if isinstance(strategy, BySize) else strategy


_LARGEST_NUMBER, _MOST_ROUNDS = 99, 1000
_TAKEN_OUT = re.compile(r"(?:^|=)(halving|knockout|lead)(?=[:,]|$)")


def taken_out(text: str) -> str:
    """Return the first strategy in a name that there was in earlier versions; empty if there is none."""
    found = None if text.startswith("runs:") else _TAKEN_OUT.search(text)  # a run's name may be anything
    return found.group(1) if found else ""


def parse_strategy(text: str) -> Strategy:
    """Return the strategy of that name, such as ``round-robin:3`` or ``sure:80``.

    ``4=round-robin:3,6=sure:80`` takes the first for pools of up to four and the second for those of up to
    six, and for larger ones. ``default`` is such a one.
    """
    if text == "default":
        return DEFAULT
    try:
        if text.startswith("runs:") or "=" not in text:  # a run's name may hold anything
            return _parse_one(text)
        parts = [part.split("=") for part in text.split(",")]
        steps = {_whole(size): _parse_one(one) for size, one in parts}
        if len(steps) < len(parts):
            raise ValueError
        if any(isinstance(one, Sure) and one.runs is not None for one in steps.values()):
            raise ValueError  # runs are told apart by the queries of all sizes together
        found = BySize(tuple(sorted(steps.items())))
    except ValueError:
        gone = taken_out(text)
        raise ValueError(
            (f"{gone} is gone: sure finds as many winners with fewer votes" if gone else "")
            or f"no strategy {text!r}: choose from default, round-robin:VOTES, sure:PERCENT, loss:PERCENT, "
            "runs:PERCENT, or one for each size of pool, such as 4=round-robin:3,6=sure:80; a percentage is "
            "at least 1, as in sure:80, and that of loss below 50"
        ) from None
    return found


def _parse_one(text: str) -> Strategy:
    kind, _, rest = text.partition(":")
    if kind == "sure":
        return _parse_sure(rest)
    if kind == "loss":
        made = _parse_sure(rest)
        if made.level >= 0.5:  # by half the votes nobody prefers the best
            raise ValueError
        return replace(made, level=1.0, loss=made.level)
    if kind == "runs":
        sure, *named = rest.split(":")
        names = (name.replace("%3A", ":").replace("%25", "%") for name in named)
        found = replace(_parse_sure(sure), runs=tuple(sorted(names)))
        if len({*named}) not in {0, 2} or len(named) > 2 or not all(named) or found.patience is not None:
            raise ValueError
        return found
    if kind != "round-robin":
        raise ValueError
    robin = RoundRobin(_whole(rest)) if rest else RoundRobin()
    if robin.votes_per_pair > _LARGEST_NUMBER:
        raise ValueError
    return robin


def _parse_sure(text: str) -> Sure:
    spent, limited, patience = text.partition("/")
    percent, _, rounds = spent.partition("x")
    whole, _, fraction = percent.partition(".")
    if not (whole + fraction).isascii() or not (whole + fraction).isdigit() or not 1 <= float(percent) <= 100:
        raise ValueError
    made = Sure(
        float(percent) / 100,
        _whole(rounds) if "x" in spent else Sure(1.0).rounds,
        patience=_whole(patience) if limited else None,
    )
    if made.rounds > _MOST_ROUNDS:
        raise ValueError
    return made


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError
    return int(text)


# Rounds: the votes to ask for next, given the judgments so far, and the best answers when none are left.

_SEED = 18
"""Of the posterior samples: the same votes ask for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a strategy wants next."""

    pairs: Pairs
    """The pairs to judge, in the vocabulary of the pools."""
    votes: Counts
    """Shape (len(pairs),): how many more votes each pair needs, each by another worker."""
    open: Flags
    """Shape (n_queries,): which queries need more votes, in this round or a later one. The others have
    finished."""
    leaders: Flags
    """Shape (n_rows,): for each row of the pools, whether it is the best by the votes so far; several where
    they are even."""
    chance: Floats | None = None
    """Shape (n_rows,): for each row, the probability of being the best, where the strategy asks by it."""
    enough: Flags | None = None
    """Shape (n_queries,): which of them are told as well as the strategy wants, where it asks by this."""
    orders: tuple[OrderChance, ...] = ()
    """How sure the order of neighbours on the board is, where they are to be told apart."""


def next_round(
    judgments: Judgments,
    pools: Pools,
    strategy: Strategy,
    *,
    best_known: Qrels | None = None,
    most: int | None = None,
    gains: RunGains | None = None,
) -> Round:
    """Ask a strategy for the next votes of every query.

    The strategy sees nothing but the judgments, so this may be asked again at any time. Votes that are asked
    for but not collected yet are asked for again: collect first.

    The answers that are ``best_known`` come first in the order of candidates, so that challengers meet them.
    There are ``most`` votes to hand out: where a strategy wants more, those go first that raise the expected
    number of right winners most, whatever the query; this needs P(best), as `Sure` does. With ``gains`` votes
    go where they tell runs apart most.
    """
    rank = _ranks(pools, best_known)
    found = _confidence(judgments, pools, strategy)
    told = None if found is None else _by_row(found, pools)
    chance, enough = (None, None) if told is None else (told[0], np.zeros(len(pools.queries), dtype=bool))
    trust, crowd = (None, None) if found is None else (found.trust, found.scales)
    aim = _aim(strategy, pools, gains, chance)
    leaders = np.zeros(pools.query.size, dtype=bool)
    nothing = np.empty(0, np.int64)
    parts: list[tuple[Codes, Index, Index, Counts, Floats]] = [
        (np.empty(0, np.int32), nothing, nothing, nothing, np.empty(0))
    ]
    begins = np.searchsorted(pools.query, np.arange(len(pools.queries)))
    for block in tournaments(judgments, pools=pools):
        offset = int(begins[block.first]) if block.n_queries else 0
        row_of = _pool_rows(block, pools, offset)
        for stack, by_trust in _stacks(block, trust):
            rows, order = _ordered(stack, row_of, rank)
            played = _permuted(stack.votes, order)
            one = of_size(strategy, rows.shape[1])
            if isinstance(one, Sure) and told is not None and chance is not None and enough is not None:
                believed = chance[rows]
                # The best of one candidate needs no votes.
                judged = np.asarray(played.any(axis=(1, 2))) | (rows.shape[1] == 1)
                leaders[rows] = most_probable(believed) & judged[:, None]
                stakes = None if aim is None else aim.stakes(rows, one.level)
                weighed = _permuted(by_trust, order)
                fine = one.enough(told[:, rows])
                enough[stack.queries + block.first] = fine
                by = replace(one, crowd=crowd)
                asked = by.ask_by(played, believed, stakes, enough=fine, weighed=weighed)
                value = worth(weighed, believed, stakes, crowd=crowd)
                if aim is not None:  # every query that counts is judged once, before any is judged again
                    value[~played.any(axis=(1, 2))] = np.inf
            else:
                shown = _permuted(block.shown(stack.rows), order)
                leaders[rows], asked = one.leaders(played), one.ask(shown / 2.0)
                value = np.zeros(len(rows))
            codes = (stack.queries[asked.pool] + block.first).astype(np.int32)
            x, y = rows[asked.pool, asked.x], rows[asked.pool, asked.y]
            parts.append((codes, x, y, asked.votes, value[asked.pool]))
    query, x, y, votes, values = map(np.concatenate, zip(*parts, strict=True))
    if aim is not None and isinstance(strategy, Sure):
        most = in_turn(votes, values, most, math.ceil(strategy.share * len(judgments)))
    given = within(most, votes, values)
    # Rows of a pool are sorted by doc_id, so the smaller row is the document that comes first.
    a, b = np.minimum(x, y), np.maximum(x, y)
    order = np.lexsort((b, a))
    order = order[given[order] > 0]
    is_open = np.zeros(len(pools.queries), dtype=bool)
    is_open[query] = True
    return Round(
        pairs=Pairs(
            queries=pools.queries,
            docs=pools.docs,
            query=query[order],
            doc_a=pools.doc[a[order]],
            doc_b=pools.doc[b[order]],
        ),
        votes=given[order],
        open=is_open,
        leaders=leaders,
        chance=chance,
        enough=enough,
        orders=() if aim is None else aim.orders,
    )


def _aim(
    strategy: Strategy, pools: Pools, gains: RunGains | None, chance: Floats | None
) -> Neighbours | None:
    """Return the runs to be told apart, where the strategy is to do that."""
    if not isinstance(strategy, Sure) or strategy.runs is None or gains is None or chance is None:
        return None
    return find_neighbours(gains, pools.query, chance, between=strategy.runs)


def in_turn(votes: Counts, values: Floats, most: int | None, share: int) -> int:
    """Return how many votes to hand out where runs are told apart: first all on queries without any."""
    wanted = int(votes[np.isinf(values)].sum()) or share
    return wanted if most is None else min(wanted, most)


def _confidence(judgments: Judgments, pools: Pools, strategy: Strategy) -> Confidence | None:
    """Return how probably each candidate is the best, where the strategy asks by it."""
    sizes = np.unique(np.bincount(pools.query, minlength=len(pools.queries)))
    sure = [one for size in sizes.tolist() if size and isinstance(one := of_size(strategy, size), Sure)]
    if not sure:
        return None
    return assess_confidence(judgments, pools=pools, rng=np.random.default_rng(_SEED), scales=sure[0].crowd)


def _by_row(found: Confidence, pools: Pools) -> Floats:
    """Return the first three :data:`FIGURES` of each of the pools' rows."""
    told = np.empty((3, pools.query.size))
    # Its rows are sorted by document within each query, as those of a tournament are.
    told[:, np.lexsort((pools.doc, pools.query))] = found.chance, found.good, found.loss
    return told


def within(most: int | None, wanted: Counts, value: Floats) -> Counts:
    """Return how many of the votes to hand out now: at most so many, where they are worth most."""
    if most is None:
        return wanted
    order = np.argsort(-value, kind="stable")
    given = np.empty_like(wanted)
    before = np.cumsum(wanted[order]) - wanted[order]
    given[order] = np.clip(most - before, 0, wanted[order])
    return given


def votes_are_even(judgments: Judgments, pools: Pools) -> bool:
    """Return whether the pairs of a pool were shown as often each, in every pool.

    Where they have not, the number of votes won says how often a candidate was shown.
    """
    for block in tournaments(judgments, pools=pools):
        for stack in vote_matrices(block, ties=0.5):
            votes = block.shown(stack.rows)
            pairs = votes[:, *np.triu_indices(votes.shape[1], 1)]
            if (pairs != pairs[:, :1]).any():
                return False
    return True


def _pool_rows(block: Tournaments, pools: Pools, offset: int) -> Index:
    """Return the pools' row of each candidate of a block: the same documents, in another order."""
    span = slice(offset, offset + block.doc.size)
    rows: Index = np.lexsort((pools.doc[span], pools.query[span])) + offset
    return rows


def _stacks(block: Tournaments, trust: Trust | None) -> Iterator[tuple[VoteMatrices, Floats]]:
    """Yield the votes, and the same as each worker is trusted: so much they tell, but all are counted."""
    stacks = vote_matrices(block, ties=0.5)
    if trust is None:
        yield from ((stack, stack.votes) for stack in stacks)
    else:
        weighed = vote_matrices(block, ties=0.5, trusting=trust)
        yield from ((stack, one.votes) for stack, one in zip(stacks, weighed, strict=True))


def _ordered(stack: VoteMatrices, row_of: Index, rank: Counts) -> tuple[Index, Index]:
    """Return the candidates of each query in the order in which they are to be tried, and that order."""
    rows = row_of[stack.rows]
    # By rank, then by the row in the pools.
    order = np.lexsort((rows, rank[rows]), axis=1)
    return np.take_along_axis(rows, order, axis=1), order


def _permuted(votes: Floats, order: Index) -> Floats:
    """Return each matrix with its rows and its columns in this order."""
    played = np.take_along_axis(votes, order[:, :, None], axis=1)
    return np.take_along_axis(played, order[:, None, :], axis=2)


def _ranks(pools: Pools, best_known: Qrels | None) -> Counts:
    """Return 0 for the best known answers, 1 for the others, shape (n_rows,)."""
    if best_known is None:
        return np.ones(pools.query.size, dtype=np.int64)
    best = select_labels(best_known, best_known.grade > 0)
    return (find_rows(best, pools.queries, pools.docs, pools.query, pools.doc) < 0).astype(np.int64)


# Challenge: newcomers meet the best-known answers, and the history of the answers they replaced.


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """The newcomers of new runs, query by query, with the best-known answer that they meet."""

    pools: Pools
    """For each challenged query, who may be the best after it: the best-known answers, the newcomers, and
    candidates of earlier rounds, who may return."""
    best: Qrels
    """The best-known answers of all queries."""
    incumbents: dict[str, str]
    """The doc_id that newcomers meet, by query."""
    newcomers: dict[str, tuple[str, ...]]
    """The doc_ids in the order in which they are tried, by query."""
    brought_by: dict[tuple[str, str], tuple[str, ...]]
    """The runs that have a newcomer on top, by query and doc_id."""
    unknown: tuple[str, ...]
    """Queries of the new runs that have no best-known answer: they need a pool of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """How a newcomer fared, or a candidate of an earlier round that is the best now."""

    query_id: str
    incumbent: str
    newcomer: str
    """Who met whom."""
    brought_by: tuple[str, ...]
    """The runs that have the newcomer on top; none where it is a candidate of an earlier round."""
    votes_for: float
    votes_against: float
    """Votes for the newcomer and for the incumbent; a tie is half a vote to each."""
    dethroned: bool
    """Whether the newcomer is the best answer from then on."""
    chance: float | None = None
    """The newcomer's probability of being the best, by all votes; None where an earlier version decided by a
    lead."""

    @property
    def returned(self) -> bool:
        """Whether a candidate of an earlier round is the best again."""
        return not self.brought_by


def gather_challenge(best: Qrels, known: Pools, arrivals: Pools, *, past: Pools | None = None) -> Challenge:
    """Find the newcomers: the documents of new runs that no earlier pool had."""
    answers = docs_by_query(select_labels(best, best.grade > 0))
    seen, arrived = docs_by_query(known), docs_by_query(arrivals)
    before = None if past is None else docs_by_query(past)
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
        pools=pools_of([(query, doc, "") for query, docs in members.items() for doc in sorted(docs)]),
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
    """
    last = next_challenge_round(challenge, judgments, strategy)
    votes = _votes(judgments, set(challenge.newcomers))
    answers = docs_by_query(challenge.best)
    chances = {} if last.chance is None else _chances(challenge.pools, last.chance)  # no query is challenged
    met = {(query, doc) for query, *pair in votes for doc in pair}
    duels: list[Duel] = []
    for place, query in enumerate(challenge.pools.queries):
        unmet = {(query, newcomer) for newcomer in challenge.newcomers[query]} - met
        if last.open[place] and unmet:
            continue
        answers[query], fared = _by_probability(challenge, query, answers[query], chances[query], votes)
        duels += fared
    return answers_of("preference", answers), tuple(duels)


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
    for (query, doc), one in zip(candidates_of(pools), chance.tolist(), strict=True):
        found.setdefault(query, {})[doc] = one
    return found


def merge_answers(kept: Qrels, found: Qrels) -> Qrels:
    """Return the answers that are kept, and those that were found to other queries."""
    return answers_of(kept.name, dict(sorted((docs_by_query(found) | docs_by_query(kept)).items())))


def _votes(judgments: Judgments, queries: set[str]) -> dict[tuple[str, str, str], float]:
    """Count the votes on these queries, by query, preferred and other document."""
    wanted = np.array([query in queries for query in judgments.queries], dtype=bool)
    rows = np.flatnonzero(wanted[judgments.query]) if wanted.size else np.empty(0, np.int64)
    votes: dict[tuple[str, str, str], float] = {}
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice)
    for q, left, right, choice in zip(*(column[rows].tolist() for column in columns), strict=True):
        for winner, loser, share in ((left, right, 0.5 + 0.5 * choice), (right, left, 0.5 - 0.5 * choice)):
            key = (judgments.queries[q], judgments.docs[winner], judgments.docs[loser])
            votes[key] = votes.get(key, 0.0) + share
    return votes

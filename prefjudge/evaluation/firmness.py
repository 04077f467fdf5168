"""Firmness: which runs a board tells apart, and how little would put another run first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import comb, inf, nan

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import Pairs, Pools, answers_of, docs_by_query
from prefjudge.core.resolving.resolutions import HowResolved, resolved, to_qrels
from prefjudge.core.runs import Codes, Qrels, Scores, encode
from prefjudge.evaluation.measures.measures import bounds, direction
from prefjudge.evaluation.measures.placings import Floats
from prefjudge.evaluation.tests import Correction, adjust, t_test
from prefjudge.words import many

# Tiers: which runs of a leaderboard do not differ significantly, and the ranks that each may have.


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How firmly one run holds its place."""

    run: str
    tier: int
    """From 1. A tier is led by its best run and holds the runs that are not significantly worse than it."""
    highest: int
    lowest: int
    """The rank interval: one more than the runs that are significantly better, and the number of runs less
    those that are significantly worse."""


def rank_intervals(
    scores: Scores, *, alpha: float = 0.05, tested: "PairedTests | None" = None
) -> tuple[Standing, ...]:
    """Return tiers and rank intervals from paired t tests of all pairs with Holm's correction."""
    # All rank intervals hold together at `1 - alpha`. Runs stand in order of the mean, then of the run tag.
    count = len(scores.runs)
    goodness = direction(scores.measure) * scores.values.mean(axis=0)
    tested = tested or paired_t_tests(scores)
    told_apart = np.zeros((count, count), dtype=bool)
    told_apart[tested.a, tested.b] = (tested.p <= alpha) & (tested.difference != 0)
    lead = goodness[:, None] - goodness[None, :]
    better = (told_apart | told_apart.T) & (lead > 0)  # [i, j]: i is significantly better than j
    # Rounding differs with the way a mean was summed; twelve digits make runs of equal mean equal.
    goodness = lead.mean(axis=1)  # the mean lead orders runs exactly as their means do
    order = sorted(range(count), key=lambda run: (-round(float(goodness[run]), 12), scores.runs[run]))
    tier = np.zeros(count, dtype=np.int64)
    number = 0
    for leader in order:
        if not tier[leader]:
            number += 1
            tier[(tier == 0) & ~better[leader]] = number
    return tuple(
        Standing(
            run=scores.runs[run],
            tier=int(tier[run]),
            highest=1 + int(better[:, run].sum()),
            lowest=count - int(better[run].sum()),
        )
        for run in order
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTests:
    """The paired t tests of all pairs of runs."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    """Shape (n_pairs,): columns of the scores, ``a < b``."""
    difference: Floats
    """Shape (n_pairs,): the mean of b less that of a."""
    p: Floats
    """Shape (n_pairs,): the p-value with Holm's correction over all pairs."""


def paired_t_tests(scores: Scores) -> PairedTests:
    """Test all pairs of runs: the p-values of ``compare_runs(scores, test="t")``, from one matrix product."""
    queries, count = scores.values.shape
    means = scores.values.mean(axis=0)
    centred = scores.values - means
    covered = centred.T @ centred
    squares = np.diag(covered)
    # The sum of squared differences of i and j about their
    # mean: |i|**2 + |j|**2 - 2 (i . j) for centred columns.
    around = np.maximum(squares[:, None] + squares[None, :] - 2 * covered, 0.0)
    # the product leaves rounding where two runs are the same: their difference is 0 there, and so is t
    a, b = np.triu_indices(count, 1)
    total = queries * (means[b] - means[a])
    # t_test takes raw sums of squares: those about the mean, and n times the mean squared.
    _, p = t_test(total, around[a, b] + total**2 / queries, queries)
    return PairedTests(a=a, b=b, difference=total / queries, p=adjust(p, Correction.HOLM))


def near_copies(scores: Scores, *, least: float = 0.95, fewest: int = 20) -> tuple[str, ...]:
    """Return words on each two runs that score alike on nearly all queries that either hits."""
    if len(scores.values) < fewest:
        return ()
    good = direction(scores.measure) * scores.values
    means, worst = good.mean(axis=0), good.min(initial=0.0)
    order = sorted(range(len(scores.runs)), key=lambda run: (-means[run], scores.runs[run]))
    found = []
    for place, a in enumerate(order):
        for b in order[place + 1 : place + 6]:  # such runs have nearly the same mean
            hit = (good[:, a] > worst) | (good[:, b] > worst)
            queries, same = int(hit.sum()), int((good[:, a] == good[:, b])[hit].sum())
            if queries >= fewest and same >= least * queries:
                rest = (
                    many(queries - same, "query tells", "queries tell") if queries > same else "nothing tells"
                )
                found.append(
                    f"{scores.runs[a]} and {scores.runs[b]} are nearly the same by this measure: of the "
                    f"{queries:,} queries that either hits, they score alike on {100 * same // queries}%; "
                    f"{rest} them apart"
                )
    return tuple(found)


# What a board can see, and how little overturns its first place.

_MOST = 3
"""How many queries, votes or workers less or other are few."""
_NEGLIGIBLE = 1e-9
"""Rounding: a smaller sum of differences is none."""
_POWER = 0.8
_ROWS = 1_000_000
"""Votes that are counted again at most; looking at more ways would take longer than the board itself."""

_CHOICES = 20_000
"""Choices of workers that are tried at most."""

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question to a board: whether it ``holds``, None where that was not found out; ``words`` say why."""

    check: str
    holds: bool | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Firmness:
    """What a board tells apart, and what its first place rests on.

    ``may_lead`` runs are not ruled out from the first place, ``told_apart`` neighbours differ significantly,
    ``sees`` is the difference at which two usual ones would; NaN where nothing varies. Of ``settles`` queries
    like these the tests of the first run against all others find it better four times in five, if the
    differences are those seen, of which the first was lucky; infinite if ``rival``, the closest, has its
    mean.
    """

    runs: int
    may_lead: int
    neighbours: int
    told_apart: int
    queries: int
    sees: float
    settles: float
    rival: str
    checks: tuple[Check, ...] = ()

    @property
    def words(self) -> str:
        """The board's resolution in one sentence."""
        count, may = self.told_apart, f"{self.may_lead:,} of the {self.runs:,} runs"
        apart = f"{count:,} {'is' if count == 1 else 'are'}" if count else "none is"
        who = {1: "only the first", self.runs: f"all {self.runs:,} runs"}.get(self.may_lead, may)
        return (
            f"Of {many(self.neighbours, 'neighbour')} {apart} told apart; {who} may lead "
            "(paired t tests of all pairs, Holm's correction, 5 %)."
        )


def find_firmness(scores: Scores, *, alpha: float = 0.05) -> tuple[tuple[Standing, ...], Firmness]:
    """Return how firmly each run holds its place, and what the whole board can tell apart."""
    tested = paired_t_tests(scores)
    standings = rank_intervals(scores, alpha=alpha, tested=tested)
    order = np.array([scores.runs.index(one.run) for one in standings])
    found = np.zeros((len(order), len(order)), dtype=bool)
    found[tested.a, tested.b] = found[tested.b, tested.a] = (tested.p <= alpha) & (tested.difference != 0)
    beside = found[order[:-1], order[1:]]
    may = [one.run for one in standings if one.highest == 1]
    apart = direction(scores.measure) * (scores.values[:, order[:1]] - scores.values[:, order[1:]])
    # Holm's procedure stopped at the first of the pairs that it did not tell apart.
    level = alpha / max(1, tested.p.size - int(found.sum()) // 2)
    settles, rival = _to_settle(apart, alpha)
    firm = Firmness(
        runs=len(order),
        may_lead=len(may),
        neighbours=len(beside),
        told_apart=int(beside.sum()),
        queries=len(scores.queries),
        sees=_least_seen(scores.values[:, order], level),
        settles=settles,
        rival=standings[rival + 1].run,
    )
    names = [scores.runs[run] for run in order.tolist()]
    first = "no other run may lead" if len(may) == 1 else f"{many(len(may) - 1, 'other run')} may lead"
    checks = (
        Check(check="the first place is told apart", holds=len(may) == 1, words=first),
        Check(
            check="neighbours are told apart",
            holds=bool(beside.all()),
            words=f"{firm.told_apart:,} of {firm.neighbours:,}",
        ),
        _without_queries(apart, scores.queries, names),
        *not_asked("the labels rest on no votes at hand"),
    )
    return standings, replace(firm, checks=checks)


def _least_seen(values: Floats, level: float) -> float:
    """Return the difference at which two neighbours of usual variance are told apart at a level."""
    spread = np.diff(values, axis=1).std(axis=0, ddof=1)
    usual = float(np.median(spread[spread > 0])) if (spread > 0).any() else nan
    return float(scipy.special.stdtrit(len(values) - 1, 1.0 - level / 2.0) * usual / np.sqrt(len(values)))


def _to_settle(apart: Floats, alpha: float) -> tuple[float, int]:
    """Return how many queries tell the first run from each other one, and the one that needs the most."""
    mean, spread = apart.mean(axis=0), apart.std(axis=0, ddof=1)
    effect = np.where(spread > 0, mean / np.where(spread > 0, spread, 1.0), np.where(mean > 0, inf, 0.0))
    order = np.argsort(-effect, kind="stable")
    level = alpha / np.arange(order.size, 0, -1)  # Holm: the clearest first, the last one at the whole level
    reach = scipy.special.ndtri(1.0 - level / 2.0) + scipy.special.ndtri(_POWER)
    with np.errstate(divide="ignore"):
        needed = np.where(effect[order] > _NEGLIGIBLE, np.ceil((reach / effect[order]) ** 2), inf)
    worst = int(needed.argmax())
    return float(max(needed[worst], 2.0)), int(order[worst])


def _without_queries(apart: Floats, queries: Sequence[str], names: Sequence[str]) -> Check:
    """Say how many queries less put another run first: of each rival those where it is behind most."""
    check = f"the first run stays first without any {_MOST} queries"
    down = np.argsort(-apart, axis=0, kind="stable")
    taken = np.cumsum(np.take_along_axis(apart, down, axis=0), axis=0)
    over = taken[:-1] > apart.sum(axis=0) + _NEGLIGIBLE
    needed = np.where(over.any(axis=0), over.argmax(axis=0) + 1, len(queries))
    rival = int(needed.argmin())
    count = int(needed[rival])
    if count == len(queries):
        return Check(check=check, holds=True, words="no choice of queries puts another run first")
    gone = ", ".join(queries[row] for row in down[: min(count, _MOST), rival].tolist())
    which = f" ({gone}{', …' if count > _MOST else ''})"
    return Check(
        check=check,
        holds=count > _MOST,
        words=f"without {many(count, 'query')}{which} {names[rival + 1]} is first",
    )


@dataclass(frozen=True, slots=True)
class Recount:
    """The votes behind a board, and how they are counted and scored again.

    ``how`` finds the best answers, each query's by its own votes; it is None where all votes are weighed
    together, ``why`` says so. ``score`` scores the runs under answers.
    """

    judgments: Judgments
    pools: Pools | None
    asked: Pairs | None
    how: HowResolved | None
    score: Callable[[Qrels], Scores]
    why: str = ""


VOTES = f"the first run stays first if any {_MOST} votes are reversed"
WORKERS = f"the first run stays first without any {_MOST} workers"


def not_asked(why: str) -> tuple[Check, Check]:
    """Return the checks of votes and workers where they cannot be made."""
    return Check(check=VOTES, holds=None, words=why), Check(check=WORKERS, holds=None, words=why)


def recount(scores: Scores, votes: Recount) -> tuple[Check, Check]:
    """Say how few votes, and how few workers, put another run first, of all ways to turn or drop them."""
    # A vote that turns, and a worker who is left out, change the answers of their own queries alone, so that
    # queries are counted again one by one and the best of them are put together.
    if votes.how is None:
        return not_asked(votes.why)
    again = _Again(scores, votes, votes.how)
    return _turned_votes(again), _without_workers(again)


class _Again:
    """The first run's lead over each other one, query by query, and what is left of it in other counts."""

    def __init__(self, scores: Scores, votes: Recount, how: HowResolved) -> None:
        self.votes, self.scores, self.how, judgments = votes, scores, how, votes.judgments
        self.sign = direction(scores.measure)
        means = self.sign * scores.values.mean(axis=0)
        order = sorted(range(means.size), key=lambda run: (-round(float(means[run]), 12), scores.runs[run]))
        self.first, self.rivals = order[0], np.array(order[1:])
        self.lead = self._leads(scores)
        self.total = self.lead.sum(axis=0) + _NEGLIGIBLE
        self.names = [scores.runs[run] for run in self.rivals.tolist()]
        self.row_of = encode(judgments.queries, scores.queries)  # the board's row of each query of the votes
        self.rows = np.flatnonzero(self.row_of[judgments.query] >= 0)
        self.rows = self.rows[np.argsort(judgments.query[self.rows], kind="stable")]
        self.query = judgments.query[self.rows]
        now = resolved(judgments, how, pools=votes.pools, asked=votes.asked)
        self.docs = docs_by_query(to_qrels(now))

    def _leads(self, scores: Scores) -> Floats:
        found: Floats = self.sign * (scores.values[:, [self.first]] - scores.values[:, self.rivals])
        return found

    @property
    def reach(self) -> Floats:
        """By how much one query can lower each lead at most, shape (n_rivals,)."""
        low, high = bounds(self.scores.measure)
        reach: Floats = self.lead.max(axis=0) + (high - low)
        return reach

    def cost(self, query: Codes) -> int:
        """Return how many votes are counted where these queries are counted again."""
        return int(np.bincount(self.query, minlength=query.max(initial=0) + 1)[query].sum())

    def losses(self, query: Codes, changed: Codes | Index, *, turned: bool) -> Floats:
        """Return what the leads lose where queries are counted again, shape (n, n_rivals)."""
        # Of each of the `n` counts, the judgments in these rows, or of these workers, are turned or left out:
        # `changed` has the shape (n, some), -1 for none. A query without an answer tells nothing.
        judgments, votes = self.votes.judgments, self.votes
        which, place = _spread(self.query, query)
        rows = self.rows[place]
        told = rows if turned else judgments.worker[rows]
        hit = (told[:, None] == changed[which]).any(axis=1)
        copy = select_judgments(judgments, rows)
        copy = replace(
            copy,
            queries=tuple(map(str, range(len(query)))),
            query=which.astype(np.int32),
            choice=np.where(hit, -copy.choice, copy.choice).astype(np.int8) if turned else copy.choice,
        )
        if copy.click is not None:  # each copy has choices of its own
            keys = which.astype(np.int64) * (int(copy.click.max(initial=0)) + 1) + copy.click
            own = np.unique(keys, return_inverse=True)[1].astype(np.int32)
            copy = replace(copy, click=np.where(copy.click < 0, np.int32(-1), own))
        copy = copy if turned else select_judgments(copy, ~hit)
        pools = votes.pools and _copied_pools(votes.pools, judgments.queries, query, copy.queries)
        asked = votes.asked and _copied_pairs(votes.asked, judgments.queries, query, copy.queries)
        found = docs_by_query(to_qrels(resolved(copy, self.how, pools=pools, asked=asked)))
        return self._scored([found.get(name, set()) for name in copy.queries], query)

    def _scored(self, answers: list[set[str]], query: Codes) -> Floats:
        """Return what the leads lose under other answers to these queries."""
        row, names = self.row_of[query], self.votes.judgments.queries
        lost = np.zeros((len(query), self.rivals.size))
        others: dict[str, dict[frozenset[str], list[int]]] = {}
        for number, (docs, code) in enumerate(zip(answers, query.tolist(), strict=True)):
            name = names[code]
            if not docs:
                lost[number] = self.lead[row[number]]
            elif docs != self.docs.get(name):
                others.setdefault(name, {}).setdefault(frozenset(docs), []).append(number)
        for place in range(
            max(map(len, others.values()), default=0)
        ):  # each query's next other answer at once
            some = {name: [*found.items()][place] for name, found in others.items() if len(found) > place}
            scored = self.votes.score(answers_of("again", {name: docs for name, (docs, _) in some.items()}))
            leads = dict(zip(scored.queries, self._leads(scored), strict=True))
            for name, (_, numbers) in some.items():
                lost[numbers] = self.lead[row[numbers]] - leads[name]
        return lost


def _spread(column: Codes, query: Codes) -> tuple[Index, Index]:
    """Return, for each row of these queries in a column in order, which query asks for it, and the row."""
    start, end = (np.searchsorted(column, query, side=side) for side in ("left", "right"))
    size = end - start
    which = np.repeat(np.arange(len(query)), size)
    return which, np.arange(which.size) - np.repeat(np.cumsum(size) - size - start, size)


def _copied_pools(pools: Pools, names: Sequence[str], query: Codes, copies: tuple[str, ...]) -> Pools:
    which, rows = _spread(pools.query, encode(names, pools.queries)[query])
    nothing = np.empty(0, dtype=np.int32)
    return replace(
        pools,
        queries=copies,
        query=which.astype(np.int32),
        doc=pools.doc[rows],
        source_row=nothing,
        source=nothing,
    )


def _copied_pairs(asked: Pairs, names: Sequence[str], query: Codes, copies: tuple[str, ...]) -> Pairs:
    which, rows = _spread(asked.query, encode(names, asked.queries)[query])
    found = which.astype(np.int32)
    return replace(asked, queries=copies, query=found, doc_a=asked.doc_a[rows], doc_b=asked.doc_b[rows])


def _turned_votes(again: _Again) -> Check:
    """Say how few votes put another run first if they turn, in one query or several: every way is tried."""
    most, untried = _MostLost(again), ""
    for count in range(1, _MOST + 1):
        if (again.total > count * again.reach).all():
            continue
        for parts in _PARTS[count]:
            lost = [most.of(one) for one in parts]
            if any(one is None for one in lost):
                untried = untried or f"{count} votes of one query are too many to reverse in every way"
                continue
            if found := _first_over(again, [one for one in lost if one is not None]):
                rival, rows = found
                where = ", ".join(again.scores.queries[row] for row in rows)
                turned = f"{many(count, 'vote is', 'votes are')} reversed ({where})"
                words = f"{again.names[rival]} is first if {turned}"
                return Check(check=VOTES, holds=False, words=words)
    if untried:
        return Check(check=VOTES, holds=None, words=untried)
    return Check(check=VOTES, holds=True, words=f"no {_MOST} votes put another run first")


_PARTS: dict[int, list[tuple[int, ...]]] = {1: [(1,)], 2: [(1, 1), (2,)], 3: [(1, 1, 1), (2, 1), (3,)]}
"""How so many votes may lie in different queries."""


class _MostLost:
    """What each query can cost each lead if so many of its votes turn."""

    def __init__(self, again: _Again) -> None:
        self.again = again
        self._found: dict[int, Floats] = {}
        judgments, self.kinds = again.votes.judgments, dict[int, dict[tuple[int, ...], list[int]]]()
        for row in again.rows[judgments.choice[again.rows] != 0].tolist():
            won, lost = int(judgments.winner[row]), int(judgments.loser[row])
            kinds = self.kinds.setdefault(int(judgments.query[row]), {})
            kinds.setdefault((won, lost, int(judgments.strength[row])), []).append(row)

    def of(self, count: int) -> Floats | None:
        """Return it for ``count`` votes a query, shape (n_queries, n_rivals); None where that is too much."""
        # Queries that cannot matter are left at 0.
        again = self.again
        if count not in self._found:
            least = again.total - (_MOST - count) * again.reach
            low, high = bounds(again.scores.measure)
            matter = (again.lead + (high - low) > least).any(axis=1)
            ways = self._ways(count, matter)
            if ways is None:
                return None
            lost = np.zeros(again.lead.shape)
            query, rows = ways
            np.maximum.at(lost, again.row_of[query], again.losses(query, rows, turned=True))
            self._found[count] = lost
        return self._found[count]

    def _ways(self, count: int, matter: NDArray[np.bool_]) -> tuple[Codes, Index] | None:
        """Return each way to turn so many votes of a query, its code and the rows; some are alike."""
        query, rows, cost = [], [], 0
        for code, kinds in self.kinds.items():
            if not matter[self.again.row_of[code]]:
                continue
            cost += comb(len(kinds) + count - 1, count) * sum(map(len, kinds.values()))
            if cost > _ROWS:
                return None
            for some in combinations_with_replacement(kinds.values(), count):
                taken = [
                    kind[some[:place].count(kind)] if some[:place].count(kind) < len(kind) else -1
                    for place, kind in enumerate(some)
                ]
                if -1 not in taken:
                    query.append(code)
                    rows.append(taken)
        return np.array(query, dtype=np.int32), np.array(rows, dtype=np.int64).reshape(-1, count)


def _first_over(again: _Again, lost: list[Floats]) -> tuple[int, list[int]] | None:
    """Return a rival that losses in different queries, one for each table, put first, and these queries."""
    for rival in range(len(again.names)):
        columns = [one[:, rival] for one in lost]
        few = [
            np.argsort(-column, kind="stable")[: len(lost)].tolist() for column in columns
        ]  # one is left over
        for rows in product(*few):
            gained = sum(float(column[row]) for column, row in zip(columns, rows, strict=True))
            if len({*rows}) == len(rows) and gained > again.total[rival]:
                return rival, sorted(rows)
    return None


def _without_workers(again: _Again) -> Check:
    """Say how few workers put another run first if they are left out: every choice of them is tried."""
    judgments = again.votes.judgments
    by_query: dict[int, set[int]] = {}
    for code, worker in zip(again.query.tolist(), judgments.worker[again.rows].tolist(), strict=True):
        by_query.setdefault(code, set()).add(worker)
    workers = sorted(set[int]().union(*by_query.values()))
    if not workers or workers[0] < 0:
        return Check(check=WORKERS, holds=None, words="the votes do not say who cast them")
    lost: dict[tuple[int, ...], Floats] = {}  # of each query and some workers
    more: dict[tuple[int, ...], Floats] = {}  # what some workers lose together, beyond what fewer of them do
    for count in range(1, min(_MOST, len(workers) - 1) + 1):
        ways = [(code, one) for code, some in by_query.items() for one in combinations(sorted(some), count)]
        query = np.array([code for code, _ in ways], dtype=np.int32)
        if again.cost(query) > _ROWS or comb(len(workers), count) > _CHOICES:
            few = f"no run gains the first place without {many(count - 1, 'worker')}; {count} are "
            words = f"{few if count > 1 else ''}too many to try"
            return Check(check=WORKERS, holds=None, words=words)
        changed = np.array([one for _, one in ways], dtype=np.int32).reshape(-1, count)
        for (code, one), loss in zip(ways, again.losses(query, changed, turned=False), strict=True):
            lost[code, *one] = loss
            less = [(few, size) for size in range(1, count) for few in combinations(one, size)]
            added = loss + sum((-1) ** (count - size) * lost[code, *few] for few, size in less)
            more[one] = more.get(one, 0.0) + added
        for some in combinations(workers, count):
            parts = (more.get(few) for size in range(1, count + 1) for few in combinations(some, size))
            gained = sum((one for one in parts if one is not None), np.zeros(len(again.names)))
            if (gained > again.total).any():
                name = again.names[int((gained - again.total).argmax())]
                words = f"without {many(count, 'worker')} {name} is first"
                return Check(check=WORKERS, holds=False, words=words)
    return Check(check=WORKERS, holds=True, words=f"without any {_MOST} workers no other run is first")

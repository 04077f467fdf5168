"""Stability: would the leaderboard stand with other queries, other labels, or without a run?"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import Candidate, Pools, candidates_of, exclusive_rows, pools_of
from prefjudge.core.resolving.confidence import DrawnPools
from prefjudge.core.resolving.resolutions import find_changes
from prefjudge.core.resolving.tournaments import Index
from prefjudge.core.runs import Heads, JudgedRanks, Qrels, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation import intervals as resampling
from prefjudge.evaluation.correlation import TwoVotings, kendall_tau
from prefjudge.evaluation.firmness import rank_intervals
from prefjudge.evaluation.intervals import BLOCK, Column, Matrix, to_grid
from prefjudge.evaluation.measures.measures import Measure, direction, in_logarithms, score_matrix
from prefjudge.evaluation.measures.placings import Floats, relabel
from prefjudge.evaluation.tests import reach_of, sequential_p, sequential_test
from prefjudge.words import many

_CONFIDENCE = 0.95
SHARES_FROM = 30
"""The fewest queries whose samples tell a share of a rank: of fewer they are too much like each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability:
    """The ranks that runs may have, and under bootstrapping (Craswell et al., Tables 1, 2, Figure 3)."""

    measure: str
    qrels: str
    """What was scored."""
    queries: int
    trials: int
    """How many queries a sample holds and how many samples were drawn."""
    confidence: float
    """The level of the rank intervals, which rest on paired t tests of all pairs with Holm's correction, as
    the tiers of a leaderboard do, so that all of them hold together."""
    runs: tuple[str, ...]
    """In the order of the leaderboard, best first."""
    mean: Column
    """The mean score over the queries as they are, of GMAP the geometric one."""
    share: Matrix | None
    """In which share of the trials the run (row) took each rank (column, from rank 1). Runs that tie share
    the ranks that they occupy, so that rows and columns sum to 1. None of fewer than 30 queries."""
    expected: Column | None
    """The mean rank over the trials; None of fewer than 30 queries."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """The rank interval."""


def bootstrap_ranks(
    scores: Scores,
    *,
    trials: int = 1000,
    rng: np.random.Generator,
    block: int = BLOCK,
) -> RankStability:
    """Rank the runs on samples of the queries, as many as there are, drawn with replacement."""
    _check(trials, scores)
    grid = to_grid(scores.values)
    places = _Places(scores)
    drawn = trials if len(scores.queries) >= SHARES_FROM else 0
    for sums in resampling.bootstrap_sums(grid, drawn, rng, block=block) if drawn else ():
        places.add(sums, len(scores.queries) * grid.slack)
    return places.result(scores, drawn)


def split_queries(scores: Scores, held_out: Collection[str]) -> tuple[Scores, Scores]:
    """Split the scores into public and held-out queries (Craswell et al., section 3.2)."""
    # Labels may judge one of the parts only, as TREC's do: then the other has no query.
    kept = set(held_out)
    private = np.array([query in kept for query in scores.queries], dtype=np.bool_)
    return scores.where(~private), scores.where(private)


def _check(trials: int, scores: Scores) -> None:
    if trials < 1:
        raise InputError(many(trials, "trial"), "Ask for at least one.")
    if not scores.runs or len(scores.queries) < 2:
        raise InputError(
            f"{many(len(scores.runs), 'run')} and {many(len(scores.queries), 'judged query')} "
            f"under {scores.qrels}",
            "To ask for ranks under other queries takes a run and at least two queries.",
        )


class _Places:
    """Counts the ranks of runs over trials."""

    def __init__(self, scores: Scores) -> None:
        self.sign = direction(scores.measure)
        grid = to_grid(scores.values)
        self.mean = grid.values.sum(axis=0) * grid.unit / len(scores.queries)
        self.order = np.argsort(-self.sign * self.mean, kind="stable")
        runs = len(scores.runs)
        self.alone = np.zeros((runs, runs), dtype=np.int64)
        self.tied = np.zeros((runs, runs + 1))
        self.ranks = np.zeros(runs)

    def add(self, sums: Matrix, slack: float) -> None:
        """Count the ranks of some trials: ``sums`` has shape (trials, runs)."""
        runs = self.order.size
        goodness = self.sign * sums[:, self.order]
        down = np.argsort(-goodness, axis=1, kind="stable")
        ordered = np.take_along_axis(goodness, down, axis=1)
        # Every trial starts a group of ties, so no group reaches over two trials.
        fresh = np.ones(ordered.shape, dtype=np.bool_)
        fresh[:, 1:] = ordered[:, :-1] - ordered[:, 1:] > slack
        start = np.flatnonzero(fresh)
        size = np.diff(start, append=fresh.size)
        first = np.repeat(start % runs, size).reshape(ordered.shape)
        width = np.repeat(size, size).reshape(ordered.shape)
        single = width == 1
        self.alone += np.bincount(down[single] * runs + first[single], minlength=runs * runs).reshape(
            runs, runs
        )
        # Runs tied over s ranks take 1 / s of each: as a difference array, +1 / s at the first rank and
        # -1 / s behind the last, which `result` sums up: two additions for a tie of any size.
        who, at, several = down[~single], first[~single], width[~single]
        np.add.at(self.tied, (who, at), 1 / several)
        np.add.at(self.tied, (who, at + several), -1 / several)
        middle = first + (width + 1) / 2
        self.ranks += np.bincount(down.ravel(), weights=middle.ravel(), minlength=runs)

    def result(self, scores: Scores, trials: int) -> RankStability:
        taken = self.alone + np.cumsum(self.tied, axis=1)[:, :-1]
        firm = {one.run: one for one in rank_intervals(scores)}
        runs, mean = tuple(scores.runs[run] for run in self.order), self.mean[self.order]
        return RankStability(
            measure=scores.measure,
            qrels=scores.qrels,
            queries=len(scores.queries),
            trials=trials,
            confidence=_CONFIDENCE,
            runs=runs,
            mean=np.exp(mean) if in_logarithms(scores.measure) else mean,
            share=np.clip(taken / trials, 0.0, 1.0) if trials else None,
            expected=self.ranks / trials if trials else None,
            low=np.array([firm[run].highest for run in runs], dtype=np.int64),
            high=np.array([firm[run].lowest for run in runs], dtype=np.int64),
        )


# Redrawn votes: what the crowd might have said instead.


def cast_again(
    judgments: Judgments, left: Index, right: Index, drawn: DrawnPools, rng: np.random.Generator
) -> Judgments:
    """Cast the votes on drawn pools again: the same questions, other people. Ties stay ties."""
    # `left` and `right` are the rows of the documents shown, -1 where one is no candidate. Votes on other
    # pools are left out.
    chances = drawn.chances_of(left, right)
    asked = np.flatnonzero(np.isfinite(chances))
    choice = np.where(rng.random(asked.size) < chances[asked], 1, -1)
    again = select_judgments(judgments, asked)
    cast = replace(again, choice=np.where(again.choice == 0, 0, choice).astype(np.int8))
    return cast if again.click is None else _chosen_again(again, cast, chances[asked], rng)


def _chosen_again(was: Judgments, cast: Judgments, chances: Matrix, rng: np.random.Generator) -> Judgments:
    """Return judgments that are ``cast`` again where the choices out of several passages are made anew."""
    # The odds of each passage are those of its pair with the one that was chosen; the greatest of their logs
    # with Gumbel noise is a choice in proportion to them (Luce).
    assert was.click is not None
    rows = np.flatnonzero(was.click >= 0)
    _, first, of = np.unique(was.click[rows], return_index=True, return_inverse=True)
    lost = np.where(was.choice[rows] > 0, 1.0 - chances[rows], chances[rows])
    noise = rng.gumbel(size=rows.size), rng.gumbel(size=first.size)
    with np.errstate(divide="ignore"):
        drawn = np.log(lost) - np.log(1.0 - lost) + noise[0]
    best = np.lexsort((drawn, of))[np.cumsum(np.bincount(of)) - 1]
    moves = drawn[best] > noise[1]
    winner = np.where(moves, was.loser[rows[best]], was.winner[rows[first]])
    left, right, choice = cast.left.copy(), cast.right.copy(), cast.choice.copy()
    left[rows], choice[rows] = winner[of], 1
    right[rows] = np.where(was.loser[rows] == winner[of], was.winner[rows], was.loser[rows])
    return replace(cast, left=left, right=right, choice=choice)


# Two votings: how far leaderboards agree that rest on other votes, and with the true one.

Rescore = Callable[[np.random.Generator], tuple[Sequence[Scores], Sequence[Scores], Sequence[Scores]]]
"""Draws what is true of all queries and lets people vote on them twice. Scores the runs by the truth and by
either voting: once for each measure."""

_CELLS = 1000
_FEWEST, _MOST = 4, 32
"""So many truths are drawn, of so many queries in all."""
_PAIRS = 400
"""Pairs of leaderboards that are compared: their mean tau is then known to about 0.01."""


def truths_over(queries: int) -> int:
    """Return how many truths tell the noise of votes on so many queries."""
    return int(np.clip(-(-_CELLS // max(1, queries)), _FEWEST, _MOST))


def redraw_votings(
    rescore: Rescore,
    observed: Sequence[Scores],
    *,
    rng: np.random.Generator,
    told: bool = True,
) -> list[TwoVotings]:
    """Return how well boards of other votings like this one agree, and this one with the truth, by measure.

    ``told`` says whether the votes tell how many of them are wrong.
    """
    # Votes on different queries have nothing to do with each other: a board has of each query any of the
    # truths that were drawn, and the two votings on it. So few draws tell how boards vary.
    count = truths_over(len(observed[0].queries))
    drawn: list[list[Matrix]] = [[] for _ in observed]
    for stream in rng.spawn(count):
        for number, three in enumerate(zip(*rescore(stream), strict=True)):
            drawn[number].append(np.stack([_over(observed[number], one) for one in three]))
    return [
        _agreed(scores, np.stack(every), rng, told) for scores, every in zip(observed, drawn, strict=True)
    ]


def _agreed(scores: Scores, drawn: NDArray[np.float64], rng: np.random.Generator, told: bool) -> TwoVotings:
    # ``drawn`` has the shape (truths, 3, queries, runs).
    truths, _, queries, runs = drawn.shape
    boards = np.zeros((_PAIRS, 3, runs))
    for query in range(queries):
        boards += drawn[rng.integers(truths, size=_PAIRS), :, query]
    # What differs by rounding ties.
    true, one, other = np.round(direction(scores.measure) * boards / max(1, queries), 9).transpose(1, 0, 2)
    here = np.round(direction(scores.measure) * scores.values.mean(axis=0), 9)
    again, right = (
        compare_votings(list(zip(a, b, strict=True)))
        for a, b in ((one, other), (true, np.tile(here, (_PAIRS, 1))))
    )
    return replace(
        again,
        truth=right.value,
        truth_low=right.low,
        truth_high=right.high,
        by="redrawn votes",
        rests_on="votes" if told else "prior",
    )


def _over(scores: Scores, drawn: Scores) -> Matrix:
    """Return the drawn scores of the observed queries; a query that was not decided keeps its own."""
    if drawn.runs != scores.runs:
        raise ValueError("the scores with new votes have other runs, or the same in another order")
    if drawn.queries == scores.queries:
        return drawn.values
    place = {query: row for row, query in enumerate(drawn.queries)}
    rows = np.array([place.get(query, -1) for query in scores.queries])
    if (rows < 0).all():
        return scores.values
    return np.where(rows[:, None] >= 0, drawn.values[rows], scores.values)


def compare_votings(pairs: Sequence[tuple[Column, Column]]) -> TwoVotings:
    """Summarise Kendall's tau over pairs of boards, mean scores of the same runs by independent votes."""
    taus = np.array([kendall_tau(one, other) for one, other in pairs])
    taus = taus[np.isfinite(taus)]
    value = low = high = float("nan")
    if taus.size:
        value = float(taus.mean())
        low, high = np.quantile(taus, [0.5 - _CONFIDENCE / 2, 0.5 + _CONFIDENCE / 2]).tolist()
    return TwoVotings(
        value=value, low=low, high=high, by="sets of judgments", pairs=int(taus.size), confidence=_CONFIDENCE
    )


# Leave one run, or one team, out: does a run profit from its own passages having been judged?
#
# Runs of one team put the same passages on top, so that hardly any is one run's alone, and each hides what
# the others gain: they are left out together.

Resolver = Callable[[Judgments, Pools], Qrels]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One run under the full preference qrels, and under those made without the passages that only it gave.

    With teams: without those that only its team gave.

    Attributes
    ----------
    run : str
        The run tag.
    team : str
        The team that was left out with it; the run itself where it is in none.
    passages : int
        How many passages only this run or team contributed.
    changed : int
        On how many queries the preference qrels change without them.
    score, rank, queries : float, int, int
        Under the full qrels, and how many queries these have.
    score_without, rank_without, queries_without : float, int, int
        Under the rebuilt ones. Queries that lose every candidate leave them, and others whose votes are then
        complete join them. NaN and 0 where none is left.
    """

    run: str
    team: str
    passages: int
    changed: int
    score: float
    rank: int
    score_without: float
    rank_without: int
    queries: int
    queries_without: int


def judged_pools(judgments: Judgments, heads: Heads) -> Pools:
    """Return the judged documents as pools, where nobody kept the pools themselves."""
    pairs = np.stack([judgments.query, judgments.query]), np.stack([judgments.left, judgments.right])
    members = set(zip(*(part.ravel().tolist() for part in pairs), strict=True))
    named = {(judgments.queries[query], judgments.docs[doc]) for query, doc in members}
    top = heads.position == 1
    columns = (heads.query[top].tolist(), heads.doc[top].tolist(), heads.run[top].tolist())
    given: dict[tuple[str, str], list[str]] = {member: [] for member in named}
    for query, doc, run in zip(*columns, strict=True):
        member = heads.queries[query], heads.docs[doc]
        if member in given:
            given[member].append(heads.runs[run])
    return pools_of(sorted((query, doc, run) for (query, doc), runs in given.items() for run in runs or [""]))


def unpooled_documents(judgments: Judgments, pools: Pools) -> list[Candidate]:
    """Return the judged (query_id, doc_id) that no pool holds, sorted."""
    judged = {
        (judgments.queries[query], judgments.docs[doc])
        for side in (judgments.left, judgments.right)
        for query, doc in zip(judgments.query.tolist(), side.tolist(), strict=True)
    }
    return sorted(judged.difference(candidates_of(pools)))


def pooled_documents(pools: Pools) -> Qrels:
    """Return every pooled document with grade 1: what :func:`leave_one_out` needs the runs ranked against."""
    return Qrels.all_relevant("pooled", pools.queries, pools.docs, pools.query, pools.doc)


def leave_one_out(
    judgments: Judgments,
    pools: Pools,
    ranks: Sequence[JudgedRanks],
    measure: Measure,
    *,
    resolve: Resolver,
    teams: Mapping[str, str] | None = None,
) -> tuple[LeftOut, ...]:
    """Rebuild the preference qrels without each run's own passages, and see where the run then stands."""
    # `ranks` is where each run placed the rows of `pooled_documents(pools)`; those that are sources of the
    # pools are looked at. With `teams` the passages that only the team gave are left out; a run without one
    # stands alone.
    # Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 5.2, on run L.
    documents = pooled_documents(pools)
    full = resolve(judgments, pools)
    before = _places(ranks, documents, full, measure)
    # A team may be called as a run of another: they are told apart by whether there is a team.
    team_of = {run: (True, teams[run]) if teams and run in teams else (False, run) for run in pools.sources}
    rebuilt: dict[tuple[bool, str], dict[str, LeftOut]] = {}
    for team in dict.fromkeys(team_of[placed.run] for placed in ranks if placed.run in team_of):
        members = [run for run, other in team_of.items() if other == team]
        alone = exclusive_rows(pools, members)
        labels = resolve(judgments, pools.only(~alone))  # votes on what is in no pool do not count
        passages, changed = int(alone.sum()), len(find_changes(full, labels))
        rebuilt[team] = {
            run: LeftOut(
                run=run,
                team=team[1],
                passages=passages,
                changed=changed,
                score=before[run][0],
                rank=before[run][1],
                score_without=score,
                rank_without=rank,
                queries=len(full.queries),
                queries_without=len(labels.queries),
            )
            for run, (score, rank) in _places(ranks, documents, labels, measure).items()
        }
    return tuple(rebuilt[team_of[placed.run]][placed.run] for placed in ranks if placed.run in team_of)


def _places(
    ranks: Sequence[JudgedRanks], documents: Qrels, qrels: Qrels, measure: Measure
) -> dict[str, tuple[float, int]]:
    """Return the score and the rank of each run; a leaderboard's intervals would take most of the time."""
    if not qrels.queries:
        return {placed.run: (float("nan"), 0) for placed in ranks}
    scores = score_matrix(relabel(ranks, documents, qrels), qrels, measure)
    means = scores.values.mean(axis=0)
    better_first = -direction(scores.measure) * means
    places = np.searchsorted(np.sort(better_first), better_first) + 1
    shown = np.exp(means) if in_logarithms(scores.measure) else means
    return dict(zip(scores.runs, zip(shown.tolist(), places.tolist(), strict=True), strict=True))


# Contenders: the runs that may still be the best, as far as the queries tell that are judged so far.


@dataclass(frozen=True, slots=True, kw_only=True)
class Contenders:
    """The first run of a leaderboard beside all others, for anybody who looks at any time."""

    measure: str
    """What orders the runs."""
    queries: int
    runs: int
    """The queries judged so far, and the runs."""
    run: str
    next: str
    """The first run, and the one behind it."""
    difference: float
    low: float
    high: float
    """The first run's mean score less that of the next, and its confidence sequence: its low end is above 0
    once the next is no contender."""
    p: float
    """The greatest p-value of the first run against another, times the number of the others."""
    contenders: tuple[str, ...]
    """The runs that may still be the best, in the order of their scores; the first run is one of them."""
    alpha: float
    """The truly best run is missing from them at any look, in as many studies at the most."""

    @property
    def told(self) -> bool:
        """Whether the first run is told from every other."""
        return len(self.contenders) == 1

    @property
    def words(self) -> tuple[str, ...]:
        """Who is first by how much, and whether another run may be the best."""
        by, low, high = self.difference, self.low, self.high
        apart = f"{by:.3f} more than {self.next} ({low:.3f} to {high:.3f})"
        if in_logarithms(self.measure):  # a difference of logarithms is a ratio
            apart = f"{exp(by):,.2f} times that of {self.next} ({exp(low):,.2f} to {exp(high):,.2f})"
        first = f"{self.run} is first by {self.measure} over {many(self.queries, 'query')}: {apart}"
        may = len(self.contenders)
        rest = (
            f"it is the best of the {self.runs:,} runs"
            if self.told
            else f"which run is the best cannot be told yet: {may:,} of {self.runs:,} may be"
        )
        return first, f"{rest} (level {self.alpha:.0%}, however often one looks)"


def find_contenders(scores: Scores, *, alpha: float = 0.05) -> Contenders | None:
    """Say which runs may still be the best; None with fewer than two runs or queries."""
    # The first run is chosen by its score, so that the pairs tested were not named before. But the truly best
    # run, whoever it is, is ruled out only where one of the `k - 1` others beats it while being first: each
    # ever does so in a share of `alpha / (k - 1)` of studies at the most. So p-values times `k - 1` are
    # enough, whoever is first on the way.
    n, k = scores.values.shape
    if n < 2 or k < 2:
        return None
    order, p = against_first(scores)
    behind = direction(scores.measure) * (scores.values[:, order[:1]] - scores.values[:, order[1:2]])
    _, low, high = sequential_test(behind, reach_of(scores), alpha / (k - 1))
    return Contenders(
        measure=scores.measure,
        queries=n,
        runs=k,
        run=scores.runs[order[0]],
        next=scores.runs[order[1]],
        difference=float(behind.mean()),
        low=float(low[0]),
        high=float(high[0]),
        p=float(p.max()),
        contenders=(
            scores.runs[order[0]],
            *(scores.runs[run] for run, one in zip(order[1:], p, strict=True) if one > alpha),
        ),
        alpha=alpha,
    )


def against_first(scores: Scores) -> tuple[NDArray[np.intp], Floats]:
    """Return two runs or more from the first on, and the p-value of each of the others times their number."""
    # Without the interval of `find_contenders`, which takes most of its time.
    values = direction(scores.measure) * scores.values
    order = np.argsort(-values.mean(axis=0), kind="stable")
    differences = values[:, order[:1]] - values[:, order[1:]]
    return order, np.minimum(1.0, (len(order) - 1) * sequential_p(differences, reach_of(scores)))

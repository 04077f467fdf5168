"""Boards: runs in order of a score, and how firm that order is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pools import find_rows
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME
from prefjudge.core.runs import Heads, JudgedRanks, Order, Qrels, Scores, encode, restrict
from prefjudge.evaluation.intervals import Interval, Statistic, score_intervals
from prefjudge.evaluation.measures.measures import Measure, bounds, direction, in_logarithms, score_matrix
from prefjudge.evaluation.measures.placings import Floats, ideal_placings, number_in_group
from prefjudge.evaluation.tests import Correction, adjust, sign_test, t_test
from prefjudge.words import told


def perfect_ranks(top: Qrels, qrels: Qrels, *, order: Order, pooled: Qrels | None = None) -> JudgedRanks:
    """Return the run that places the relevant documents of ``top`` first, as ``qrels`` see it.

    It scores 1 under ``top`` itself. Under other qrels its score is the bar that a run must pass to be better
    than perfect (Arabzadeh et al. 2021, sections 3 and 5). The highest grade comes first, equal ones as the
    file lists them. Those that were ``pooled`` stand first: a qrel that nobody was shown cannot be anybody's
    choice, and above the one that was judged it would only push that one down.
    """
    rows, unseen = np.arange(top.grade.size), np.zeros(top.grade.size, dtype=bool)
    if pooled is not None:
        unseen = find_rows(pooled, top.queries, top.docs, top.query, top.doc) < 0
    rows = np.lexsort((rows, -top.grade, unseen, top.query))
    rows = rows[top.grade[rows] > 0]
    position = number_in_group(top.query[rows]).astype(np.int32)
    query = encode(top.queries, qrels.queries)[top.query[rows]]
    retrieved = np.bincount(query[query >= 0], minlength=len(qrels.queries)).astype(np.int32)
    judged = find_rows(qrels, top.queries, top.docs, top.query[rows], top.doc[rows]).astype(np.int32)
    judged, position = judged[judged >= 0], position[judged >= 0]
    return JudgedRanks(
        run=f"perfect ({top.name})",
        query=qrels.query[judged],
        judged=judged,
        position=position,
        best=position,
        worst=position,
        grade=qrels.grade[judged],
        retrieved=retrieved,
        order=order,
    )


def perfect_scores(
    top: Qrels, qrels: Qrels, measure: Measure, *, order: Order, pooled: Qrels | None = None
) -> Scores | None:
    """Score the perfect ranking of ``top`` under ``qrels``, on the queries that both judge.

    On other queries it has no label to follow: to score 0 there would make it easy to beat.
    """
    shared = restrict(qrels, top.queries)
    if not shared.queries:
        return None
    return score_matrix([perfect_ranks(top, shared, order=order, pooled=pooled)], shared, measure)


def against_perfect(scores: Scores, perfect: Scores, statistic: Statistic = "mean") -> tuple[Floats, Floats]:
    """Return how each run's score differs from the perfect ranking's on the queries of the latter, and p.

    The test is two-sided, after Holm's correction over the runs; p is 1 where there is only one query.
    """
    place = {query: row for row, query in enumerate(scores.queries)}
    runs = scores.values[[place[query] for query in perfect.queries]]
    apart: Floats = runs - perfect.values
    if statistic == "median":
        difference = np.median(runs, axis=0) - np.median(perfect.values)
        plus, minus = ((apart > 0).sum(axis=0), (apart < 0).sum(axis=0))
        p = sign_test(plus.astype(np.float64), minus.astype(np.float64))
        # A sign test may favour the run whose median is the lower one.
        p = np.where(np.sign(difference) == np.sign(plus - minus), p, 1.0)
    else:
        difference = apart.mean(axis=0)
        total, squares = apart.sum(axis=0), (apart**2).sum(axis=0)
        p = t_test(total, squares, len(apart))[1] if len(apart) > 1 else np.ones(difference.shape)
    return difference, adjust(p, Correction.HOLM)


# Leaderboards: runs in order of a score, with intervals and the perfect ranking.

_ALPHA = 0.05
"""The level at which a run is better than perfect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One run of a leaderboard.

    Attributes
    ----------
    rank : int or None
        The place, from 1; equal scores share the best of their places. None for the perfect ranking.
    run : str
        The run tag, or what the perfect ranking is called.
    score, low, high : float
        The mean (or median) over the judged queries and its confidence interval, as far as the measure's
        scale reaches; NaN bounds where nothing can be said. Of GMAP the geometric mean.
    interval : str
        How the bounds were made: see `prefjudge.evaluation.intervals.score_intervals`.
    hit : int
        On how many queries the run does not have the worst score of the scale.
    queries : int
        How many queries the score is over. The perfect ranking has those that both label sets judge.
    perfect : bool
        Whether this is the perfect ranking, which takes no rank.
    above_perfect : bool or None
        "Better than perfect": whether the run scores above the perfect ranking on the queries of the latter,
        and a paired test (of means t, of medians the sign test) with Holm's correction over the runs bears it
        out at 5 %. None where there is no perfect ranking.
    above_perfect_by : float
        By how much the run scores better than the perfect ranking on those queries; NaN without one.
    p_above_perfect : float
        The corrected p-value of that test, which is two-sided; NaN without a perfect ranking.
    """

    rank: int | None
    run: str
    score: float
    low: float
    high: float
    interval: Interval
    hit: int
    queries: int
    perfect: bool = False
    above_perfect: bool | None = None
    above_perfect_by: float = nan
    p_above_perfect: float = nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs from best to worst under one measure and one set of qrels.

    Attributes
    ----------
    measure, qrels : str
        What was computed from which labels.
    statistic : str
        ``mean`` or ``median``.
    confidence : float
        The intervals' level.
    queries : int
        How many judged queries the statistic is over.
    order : Order
        The ordering that ranked the documents.
    rows : tuple of LeaderboardRow
        Best first; equal scores stand in order of the run tag. The perfect ranking stands last where its
        queries are not all of the runs': there its score has no place among theirs.
    """

    measure: str
    qrels: str
    statistic: Statistic
    confidence: float
    queries: int
    order: Order
    rows: tuple[LeaderboardRow, ...]

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """The rows of runs, without the perfect ranking."""
        return tuple(row for row in self.rows if not row.perfect)

    @property
    def interval(self) -> str:
        """How the bounds were made: ``t``, ``Gaffke``, ``t and Gaffke``, or ``order statistics``."""
        return " and ".join(sorted({row.interval for row in self.rows}, reverse=True))

    @property
    def perfect(self) -> LeaderboardRow | None:
        """The row of the perfect ranking, where there is one."""
        return next((row for row in self.rows if row.perfect), None)


def leaderboard(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    confidence: float = 0.95,
    perfect: Scores | None = None,
) -> Leaderboard:
    """Order the runs of a score matrix and give each score an interval."""
    sign = direction(scores.measure)
    rows = _rows(scores, statistic, confidence)
    rivals = np.sort([-sign * row.score for row in rows])
    rows = [replace(row, rank=int(np.searchsorted(rivals, -sign * row.score)) + 1) for row in rows]
    if perfect is not None:
        apart = against_perfect(scores, perfect, statistic)
        rows = [
            replace(
                row,
                above_perfect=bool(sign * by > 0 and p <= _ALPHA),
                above_perfect_by=sign * float(by),
                p_above_perfect=float(p),
            )
            for row, by, p in zip(rows, *apart, strict=True)
        ]
        rows += [replace(row, perfect=True) for row in _rows(perfect, statistic, confidence)]
    rows.sort(key=lambda row: (row.queries < len(scores.queries), -sign * row.score, row.run))
    return Leaderboard(
        measure=scores.measure,
        qrels=scores.qrels,
        statistic=statistic,
        confidence=confidence,
        queries=len(scores.queries),
        order=scores.order,
        rows=tuple(rows),
    )


def _rows(scores: Scores, statistic: Statistic, confidence: float) -> list[LeaderboardRow]:
    """Return each run's score with its interval, in the order of the columns and without a rank."""
    ends = bounds(scores.measure)
    found = score_intervals(scores.values, statistic=statistic, confidence=confidence, ends=ends)
    # Of logarithms the mean is that of a geometric mean; the exponential keeps the order and the interval.
    shown = np.exp if in_logarithms(scores.measure) else np.float64
    worst = ends[0] if direction(scores.measure) > 0 else ends[1]
    hit = (scores.values != (worst if isfinite(worst) else 0.0)).sum(axis=0)
    return [
        LeaderboardRow(
            rank=None,
            run=run,
            score=float(shown(found.centre[column])),
            low=_end(shown(found.low[column])),
            high=_end(shown(found.high[column])),
            interval=found.methods[column],
            hit=int(hit[column]),
            queries=len(scores.queries),
        )
        for column, run in enumerate(scores.runs)
    ]


def _end(bound: float) -> float:
    """Return an end of an interval; every NaN is one object, so that equal rows are equal."""
    return float(bound) if isfinite(bound) else nan


# Tie sensitivity: how much of a score rests on the order of documents that the run scored alike.


@dataclass(frozen=True, slots=True, kw_only=True)
class TieSensitivity:
    """The mean (or median) score of a run as ranked, and at both ends of what its ties allow.

    Attributes
    ----------
    run, measure : str
        What was scored.
    lowest, score, highest : float
        The least value that an order of the tied documents gives, that under the declared order, and the
        greatest.
    queries : int
        On how many queries the order of ties matters.
    """

    run: str
    measure: str
    lowest: float
    score: float
    highest: float
    queries: int


def with_ties_at(ranks: JudgedRanks, *, best: bool) -> JudgedRanks:
    """Return the ranks with tied documents in their best order, or in their worst.

    The best order puts the highest grades first in each span of equal scores, and unjudged documents last;
    the worst does the opposite. For every measure that rises when a better document moves up these two bound
    what any order gives.
    """
    rows = np.lexsort((-ranks.grade, ranks.best, ranks.query))
    # Documents that tie share the best place of their span, so query and best place name it.
    spans = np.cumsum(
        np.r_[True, (np.diff(ranks.query[rows]) != 0) | (np.diff(ranks.best[rows]) != 0)][: rows.size]
    )
    place = (number_in_group(spans) - 1).astype(np.int32)
    position = np.empty_like(ranks.position)
    position[rows] = ranks.best[rows] + place if best else ranks.worst[rows] - place
    return replace(ranks, position=position)


def tie_sensitivity(
    ranks: Sequence[JudgedRanks], qrels: Qrels, measure: Measure, *, statistic: Statistic = "mean"
) -> tuple[TieSensitivity, ...]:
    """Bound the score of each run over all orders of its tied documents."""
    centre = np.mean if statistic == "mean" else np.median
    shown = np.exp if in_logarithms(str(measure)) else np.float64
    rows, ideal = [], ideal_placings(qrels)
    for placed in ranks:
        scores = measure.score_against(ideal, placed, qrels)
        if np.array_equal(placed.best, placed.worst):  # no judged document is tied with another one
            ends = np.stack([scores, scores])
        else:
            orders = (with_ties_at(placed, best=best) for best in (False, True))
            ends = np.stack([measure.score_against(ideal, order, qrels) for order in orders])
        # For measures that fall as a better document rises, the best order gives the lower end.
        low, high = ends.min(axis=0), ends.max(axis=0)
        rows.append(
            TieSensitivity(
                run=placed.run,
                measure=str(measure),
                lowest=float(shown(centre(low))),
                score=float(shown(centre(scores))),
                highest=float(shown(centre(high))),
                queries=int((high > low).sum()),
            )
        )
    return tuple(rows)


# Tiers: which runs of a leaderboard do not differ significantly, and the ranks that each may have.

_DRAWS = 4000
"""Draws for the chances to be first: their standard error is 0.008 at most."""
FIRST_TOLD_FROM = 50
"""The fewest queries for which P(first) is told: of fewer it was up to twice too high in simulations."""
_SHARES = 500
"""Shares of noise that are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How firmly one run holds its place.

    Attributes
    ----------
    run : str
        The run tag.
    tier : int
        From 1. A tier is led by its best run and holds the runs that are not significantly worse than it.
    highest, lowest : int
        The rank interval: one more than the runs that are significantly better, and the number of runs less
        those that are significantly worse.
    first : float
        The probability that the run is the best of all, as the mean over many more such queries would tell;
        NaN where it was not computed, as from too few queries.
    """

    run: str
    tier: int
    highest: int
    lowest: int
    first: float = nan


def standings_of(
    scores: Scores, *, alpha: float = 0.05, first_from: int = FIRST_TOLD_FROM
) -> tuple[Standing, ...]:
    """Return tiers, rank intervals and the chances to be first, from so many queries on."""
    firm = rank_intervals(scores, alpha=alpha)
    if len(scores.queries) < first_from:
        return firm
    chances = dict(zip(scores.runs, _chances_first(direction(scores.measure) * scores.values), strict=True))
    return tuple(replace(one, first=chances[one.run]) for one in firm)


def rank_intervals(scores: Scores, *, alpha: float = 0.05) -> tuple[Standing, ...]:
    """Return tiers and rank intervals from paired t tests of all pairs with Holm's correction.

    All rank intervals hold together at ``1 - alpha``. Runs stand in order of the mean, then of the run tag.
    """
    count = len(scores.runs)
    goodness = direction(scores.measure) * scores.values.mean(axis=0)
    tested = paired_t_tests(scores)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NearlySame:
    """Two runs that score the same on nearly all queries.

    Attributes
    ----------
    a, b : str
        The run tags, the better one first.
    queries : int
        The queries on which either has more than the worst score: the others cannot tell runs apart.
    same : int
        On how many of these they have the same score. The rest alone decides which run is better.
    """

    a: str
    b: str
    queries: int
    same: int


def nearly_same(scores: Scores, *, least: float = 0.95, fewest: int = 20) -> tuple[NearlySame, ...]:
    """Return the runs that score the same on nearly all queries, the best ones first.

    Each run is compared with the five that follow it: such runs have nearly the same mean.
    """
    if len(scores.values) < fewest:
        return ()
    sign = direction(scores.measure)
    order = sorted(
        range(len(scores.runs)), key=lambda run: (-sign * scores.values[:, run].mean(), scores.runs[run])
    )
    worst = (sign * scores.values).min(initial=0.0)
    found = []
    for place, a in enumerate(order):
        for b in order[place + 1 : place + 6]:
            one, other = sign * scores.values[:, a], sign * scores.values[:, b]
            hit = (one > worst) | (other > worst)
            queries, same = int(hit.sum()), int((one == other)[hit].sum())
            if queries >= fewest and same >= least * queries:
                found.append(NearlySame(a=scores.runs[a], b=scores.runs[b], queries=queries, same=same))
    return tuple(found)


def _chances_first(goodness: Floats) -> list[float]:
    """Return how often each run is first where the means are drawn by their covariance over queries.

    The error of means over many queries is normal, and over few of them Student's, as their variances are not
    known either. Nor do n queries rule out what chance makes of them: where one run is ahead on each, the
    sign test has p = 2 ** (1 - n), and so has this for two runs. ``goodness`` has a row a query and a column
    a run; higher is better.
    """
    # Runs that are the same on every query are drawn once, and are first together: a draw of each would part
    # them by rounding, which differs with the machine. Adding 0 makes one zero of the two.
    columns: dict[bytes, int] = {}
    same = [columns.setdefault(column.tobytes(), len(columns)) for column in goodness.T + 0.0]
    _, drawn_from = np.unique(same, return_index=True)
    distinct = goodness[:, drawn_from]
    means = distinct.mean(axis=0)
    # A root of the covariance with positive diagonal is the only one, so that all machines draw alike.
    _, root = np.linalg.qr(distinct - means)
    queries = len(goodness)
    root *= np.where(np.diag(root) < 0, -1.0, 1.0)[:, None] / np.sqrt(queries * (queries - 1))
    # The same draws for all boards: a board is a function of its scores.
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((_DRAWS, len(root))) @ root
    noise /= np.sqrt(rng.chisquare(queries - 1, _DRAWS) / (queries - 1))[:, None]
    kept = 1.0 - _noisy_shares(means, root, rng)
    # The posterior of such a share shrinks means by it, and the noise by its root: only the ratio counts.
    wins = np.bincount((noise + np.sqrt(kept)[:, None] * means).argmax(axis=1), minlength=means.size) / _DRAWS
    by_chance = 2.0 ** (1 - queries)
    found: list[float] = (
        (1.0 - by_chance) * (wins / np.bincount(same))[same] + by_chance / len(same)
    ).tolist()
    return found


def _noisy_shares(means: Floats, root: Floats, rng: np.random.Generator) -> Floats:
    """Draw which share of the variance between runs is noise, shape (_DRAWS,).

    The best of many runs was lucky, too: of thirty that are as good as each other the first is no better than
    the rest. How far runs truly are apart, all of them show; each variance is as probable before (C. Morris,
    Parametric empirical Bayes inference, JASA 1983). Two or three runs do not show it: nothing is shrunk.
    """
    centred = root - root.mean(axis=1, keepdims=True)
    spread = centred.T @ centred
    noise, seen = float(np.trace(spread)), float(((means - means.mean()) ** 2).sum())
    if noise <= 0.0:
        return np.zeros(_DRAWS)
    # Satterthwaite: runs whose noise is alike are fewer than they seem.
    freedom = noise**2 / float((spread**2).sum())
    if freedom <= 2.0:
        return np.zeros(_DRAWS)
    share = (np.arange(_SHARES) + 0.5) / _SHARES
    logs = (freedom / 2.0 - 2.0) * np.log(share) - share * freedom / 2.0 * seen / noise
    weight = np.exp(logs - logs.max())
    return rng.choice(share, _DRAWS, p=weight / weight.sum())


# Boards: a leaderboard with everything that says how firm it is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One leaderboard and what it rests on.

    Attributes
    ----------
    leaderboard : Leaderboard
        The runs in order, with the perfect ranking.
    standings : tuple of Standing
        Tiers and rank intervals, from the means: empty on a board of medians, and where there are not two
        runs and two queries to test.
    ties : tuple of TieSensitivity
        What the order of tied documents could change, for each run; empty where it was not asked.
    scores : Scores
        The score of each query under each run.
    perfect : Scores or None
        The score of the perfect ranking, on the queries that it has labels for.
    """

    leaderboard: Leaderboard
    standings: tuple[Standing, ...]
    ties: tuple[TieSensitivity, ...]
    scores: Scores
    perfect: Scores | None = None

    @property
    def matrices(self) -> tuple[Scores, ...]:
        """The score of each query: of the runs, and of the perfect ranking where there is one."""
        return (self.scores, self.perfect) if self.perfect else (self.scores,)


def by_people(boards: Sequence[Leaderboard]) -> int:
    """Return the place of the first board by people's answers; of the first one where there is none."""
    return next((place for place, one in enumerate(boards) if one.qrels == PREFERENCE_NAME), 0)


def make_board(
    scores: Scores,
    *,
    statistic: Statistic = "mean",
    perfect: Scores | None = None,
    ties: Sequence[TieSensitivity] = (),
) -> Board:
    """Order the runs of a score matrix, and put them into tiers by paired t tests with Holm's correction."""
    firm: tuple[Standing, ...] = ()
    if statistic == "mean" and len(scores.runs) > 1 and len(scores.queries) > 1:
        firm = standings_of(scores)
    return Board(
        leaderboard=leaderboard(scores, statistic=statistic, perfect=perfect),
        standings=firm,
        ties=tuple(ties),
        scores=scores,
        perfect=perfect,
    )


def label_board(
    ranks: Sequence[JudgedRanks],
    qrels: Qrels,
    measure: Measure,
    *,
    top: Qrels | None = None,
    pooled: Qrels | None = None,
    statistic: Statistic = "mean",
) -> Board:
    """Score runs under labels."""
    return make_board(
        score_matrix(ranks, qrels, measure),
        statistic=statistic,
        perfect=perfect_scores(top, qrels, measure, order=ranks[0].order, pooled=pooled) if top else None,
        ties=tie_sensitivity(ranks, qrels, measure, statistic=statistic),
    )


def on_common_queries(a: Board, b: Board) -> tuple[Leaderboard, Leaderboard]:
    """Return the leaderboards of two boards over the queries that both have.

    Other labels and other queries both move runs; only over the same queries do two boards tell what the
    labels do. Boards without the scores of queries are returned as they are.
    """
    if set(a.scores.queries) == set(b.scores.queries):
        return a.leaderboard, b.leaderboard
    shared = set(a.scores.queries) & set(b.scores.queries)
    one, other = (_on_queries(board, shared) for board in (a, b))
    return one, other


def _on_queries(board: Board, queries: Collection[str]) -> Leaderboard:
    perfect = _rows_of(board.perfect, queries) if board.perfect else None
    return leaderboard(
        _rows_of(board.scores, queries),
        statistic=board.leaderboard.statistic,
        confidence=board.leaderboard.confidence,
        perfect=perfect if perfect and perfect.queries else None,
    )


def _rows_of(scores: Scores, queries: Collection[str]) -> Scores:
    return scores.where(np.array([query in queries for query in scores.queries], dtype=np.bool_))


# How much of what runs put on top people have compared: of runs that wait for it, and of those ranked.


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """How much of a run's top is judged.

    Attributes
    ----------
    run : str
        The run tag.
    judged, queries : int
        Of the queries that it has a passage for, those whose top passage is judged; and all of them.
    """

    run: str
    judged: int
    queries: int

    @told
    def share(self) -> float:
        """The share of its top passages that is judged; NaN where it has none."""
        return self.judged / self.queries if self.queries else float("nan")


def count_judged(heads: Heads, judged: Collection[tuple[str, str]]) -> tuple[NotJudged, ...]:
    """Count the judged among the top passages of each run."""
    tops, hits = [0] * len(heads.runs), [0] * len(heads.runs)
    for run, query, doc in zip(heads.run.tolist(), heads.query.tolist(), heads.doc.tolist(), strict=True):
        tops[run] += 1
        hits[run] += (heads.queries[query], heads.docs[doc]) in judged
    return tuple(
        NotJudged(run=run, judged=hits[place], queries=tops[place]) for place, run in enumerate(heads.runs)
    )


def judged_tops(
    ranks: Sequence[JudgedRanks], documents: Qrels, queries: Collection[str]
) -> tuple[NotJudged, ...]:
    """Count the judged ``documents`` among the top passages of each run, on some queries."""
    wanted = np.isin(np.array(documents.queries, dtype=object), list(queries))
    return tuple(
        NotJudged(
            run=one.run,
            judged=int(np.count_nonzero(wanted[one.query[one.position == 1]])),
            queries=int(np.count_nonzero(wanted & (one.retrieved > 0))),
        )
        for one in ranks
    )

"""Models as judges: what their votes are worth beside people's, and how far all who judge agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from itertools import combinations
from math import atanh, isnan, sqrt, tanh
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools, find_rows
from prefjudge.core.resolving.resolutions import resolve, to_qrels
from prefjudge.core.runs import Heads, Qrels, Scores, encode, select_labels
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.evaluation.intervals import score_intervals
from prefjudge.evaluation.measures.placings import Floats, Integers, compared_pairs
from prefjudge.evaluation.winratios import (
    Example,
    PairVotes,
    count_votes,
    pair_key,
    runs_to_show,
    top_documents,
    win_ratios,
)
from prefjudge.words import many, told

LEAST_PEOPLE = 3
LEAST_VOTES = 30
"""Of one person, on pairs that the model and others judged: the paper's least for Student's t."""
FEW_PEOPLE = 5
"""So many stand alone each, as in the paper."""
WANTED_VOTES = 200
"""Of each of more people: with fewer the tests seldom pass a model that is as good as they are."""
_AGAINST = 5
"""Pairs on which a person is against most others, and the model too: chance makes fewer."""
EPSILON = 0.1
"""The paper's for crowd workers; experts, who cost more, get 0.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGate:
    """Whether a model may stand in for a person, by the votes of people."""

    model: str
    votes: int
    """The people's votes that count here: on pairs that the model and another person judged."""
    people: int
    """Of whom, each with `LEAST_VOTES` or more. People with few are taken together, and count as one: where
    more than `FEW_PEOPLE` have fewer than `WANTED_VOTES`, in `LEAST_PEOPLE` groups or more."""
    won: int
    """How many of them the model passes for: the p-value is at most the level after the correction of
    Benjamini and Yekutieli."""
    advantage: float
    people_advantage: float
    """How often the model agrees with the others at least as well as the person does, and the person at least
    as well as the model: means over ``people``. NaN without votes."""
    difference: float
    low: float
    high: float
    """The first less the second over all votes, with its interval over queries; NaN where there are too
    few."""
    epsilon: float
    alpha: float
    """What a person may be better by, and the level."""
    cast: int = 0
    voters: int = 0
    """All votes of people on pairs that the model judged, and by how many people, 0 where nobody is named."""
    repeats: tuple[str, ...] = ()
    """People whose votes the model repeats on every pair that both judged, where they are against most
    others, too: the model may be a copy of theirs."""

    @told
    def enough(self) -> bool:
        """Whether there are enough votes of people to say anything."""
        return self.people >= LEAST_PEOPLE

    @told
    def lacks(self) -> str:
        """Say what is missing to say anything; empty where there is enough."""
        if self.enough:
            return ""
        if not self.cast:
            return "people judged none of its pairs"
        whose = f"by {many(self.voters, 'person', 'people')}" if self.voters else "of unknown people"
        by = f"{many(self.cast, 'vote')} {whose}"
        if 0 < self.voters < LEAST_PEOPLE:
            return f"{by}: {('two more people are', 'a third person is')[self.voters - 1]} missing"
        by += f", {self.votes:,} of them on pairs that another person judged"
        return f"{by}: it takes {LEAST_PEOPLE} people with {LEAST_VOTES} such votes each"

    @told
    def winning_rate(self) -> float:
        """For how many of the people the model passes; NaN without any."""
        return self.won / self.people if self.people else float("nan")

    @told
    def open(self) -> bool:
        """Whether the model passes: for at least half of the people (section 3.4), and is no copy of one."""
        return self.enough and 2 * self.won >= self.people and not self.repeats

    @property
    def worse(self) -> bool:
        """Whether people are told to be better by more than ``epsilon``: if neither, more votes may tell."""
        return self.high < -self.epsilon

    @property
    def state(self) -> str:
        """Whether it is open, and why not, in the few words of a table's cell."""
        if self.open:
            return "open"
        if not self.enough:
            return f"not told: {self.lacks}"
        if self.repeats:
            return f"shut: votes as {self.repeats[0]}"
        return "shut" if self.worse else "not told"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedVotes:
    """People's votes on pairs that a model judged, too; one for each person and pair."""

    query: Integers
    pair: Integers
    person: Integers
    """Shape (votes,): codes; a pair belongs to one query."""
    choice: Integers
    model: Integers
    """Shape (votes,): what the person and the model chose of the pair: 1, -1, or 0 for neither."""


def alternative_annotator(
    model: str, votes: SharedVotes, *, epsilon: float = EPSILON, alpha: float = 0.05
) -> ModelGate:
    """Test whether a model may stand in for a person."""
    others, agree_person, agree_model = _agreement(votes)
    shared = others > 0
    as_good = agree_model >= agree_person  # W^f of the paper
    not_better = agree_person >= agree_model  # W^h
    worse = not_better.astype(np.float64) - as_good  # the person's advantage, to be below epsilon
    person = _taken_together(votes.person[shared])
    worse, query = worse[shared], votes.query[shared]
    as_good, not_better = as_good[shared], not_better[shared]
    counted = person >= 0
    count = np.bincount(person[counted])
    p = np.array([_p_value(worse[person == one], query[person == one], epsilon) for one in range(count.size)])
    difference, low, high = _interval(-worse, query, 1 - alpha)
    return ModelGate(
        model=model,
        votes=int(shared.sum()),
        people=int(count.size),
        won=int((_benjamini_yekutieli(p) <= alpha).sum()),
        advantage=_mean_of_means(as_good, person),
        people_advantage=_mean_of_means(not_better, person),
        difference=difference,
        low=low,
        high=high,
        epsilon=epsilon,
        alpha=alpha,
        cast=int(votes.person.size),
        voters=int(np.unique(votes.person).size),
    )


def repeated_people(votes: SharedVotes) -> tuple[int, ...]:
    """Return the codes of the people whose votes a model repeats, in ascending order."""
    others, agree_person, _ = _agreement(votes)
    codes, person = np.unique(votes.person, return_inverse=True)
    same = votes.choice == votes.model
    differ, against, count = (
        np.bincount(person, weights=flags, minlength=codes.size)
        for flags in (~same, same & (others > 0) & (agree_person < 0.5), np.ones(person.size))
    )
    copied = (count >= LEAST_VOTES) & (differ == 0) & (against >= _AGAINST)
    return tuple(codes[copied].tolist())


def _agreement(votes: SharedVotes) -> tuple[Integers, Floats, Floats]:
    """Return, for each vote, how many others judged the pair, and how many of them the two agree with."""
    _, pair = np.unique(votes.pair, return_inverse=True)
    tally = np.zeros((pair.max(initial=-1) + 1, 3), dtype=np.int64)
    np.add.at(tally, (pair, votes.choice + 1), 1)
    others = tally.sum(axis=1)[pair] - 1
    with_person = tally[pair, votes.choice + 1] - 1
    # The person who is left out is not among those whom the model is compared with.
    with_model = tally[pair, votes.model + 1] - (votes.model == votes.choice)
    divisor = np.maximum(others, 1)
    return others, with_person / divisor, with_model / divisor


def _taken_together(person: Integers) -> Integers:
    """Return a number for each vote's person, or those taken together; -1 where there are too few votes."""
    # Who belongs together depends on how many votes they cast, and not on what they chose.
    names, code, count = np.unique(person, return_inverse=True, return_counts=True)
    if LEAST_PEOPLE <= names.size <= FEW_PEOPLE and count.min() >= LEAST_VOTES:
        return code.astype(np.int64)
    order = np.argsort(-count, kind="stable").tolist()
    most = min(names.size, max(LEAST_PEOPLE, code.size // WANTED_VOTES), code.size // LEAST_VOTES)
    for groups in range(most, 0, -1):
        group = np.zeros(names.size, dtype=np.int64)
        sizes = [(0, number) for number in range(groups)]
        for one in order:  # the one with most votes that is left, to the group that has fewest
            votes, number = sizes[0]
            group[one] = number
            heapreplace(sizes, (votes + int(count[one]), number))
        if min(sizes)[0] >= (WANTED_VOTES if groups > LEAST_PEOPLE else LEAST_VOTES):
            return group[code]
    return np.full(code.size, -1, dtype=np.int64)


def _p_value(worse: Floats, query: Integers, epsilon: float) -> float:
    """Return the p-value of the hypothesis that the person is better by ``epsilon`` or more (one-sided t)."""
    mean, error, queries = _over_queries(worse, query)
    if queries < 2:
        return 1.0
    if error == 0:
        return float(mean >= epsilon)
    return float(scipy.special.stdtr(queries - 1, (mean - epsilon) / error))


def _benjamini_yekutieli(p: Floats) -> Floats:
    """Return adjusted p-values: people who judged the same pairs are not independent (2001)."""
    order = np.argsort(p, kind="stable")
    step = np.arange(1, p.size + 1)
    adjusted = np.empty(p.size)
    scaled = p[order] * (p.size / step) * (1 / step).sum()
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(adjusted, 1.0)


def _mean_of_means(flags: NDArray[np.bool_], person: Integers) -> float:
    counted = person >= 0
    if not counted.any():
        return float("nan")
    count = np.bincount(person[counted])
    return float((np.bincount(person[counted], weights=flags[counted]) / count).mean())


def _interval(values: Floats, query: Integers, confidence: float) -> tuple[float, float, float]:
    """Return the mean and its t interval over queries."""
    if not values.size:
        return (float("nan"),) * 3
    mean, error, queries = _over_queries(values, query)
    if queries < 2:
        return mean, float("nan"), float("nan")
    half = float(scipy.special.stdtrit(queries - 1, 0.5 + confidence / 2)) * error
    return mean, max(-1.0, mean - half), min(1.0, mean + half)


def _over_queries(values: Floats, query: Integers) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of queries: votes of one depend on each other."""
    _, code = np.unique(query, return_inverse=True)
    sums, sizes = np.bincount(code, weights=values), np.bincount(code)
    mean = float(values.mean())
    if sums.size < 2:
        return mean, float("nan"), int(sums.size)
    # The linearised variance of a ratio of two sums over queries.
    spread = ((sums - mean * sizes) ** 2).sum() * sums.size / (sums.size - 1)
    return mean, float(np.sqrt(spread) / sizes.sum()), int(sums.size)


# Prediction-powered means: people's outcomes on some queries and a model's on all, in one honest estimate.
#
# Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference" (2023). The model's mean
# over all queries is corrected by what it gets wrong where people judged, and weighted by how well it
# predicts them. A model that is biased, or useless, costs nothing: its weight goes to 0.

LEAST_JUDGED = 30
"""With fewer queries of people's the weight is too unsure: with 15, a 95 % interval held in 89 % of cases."""
_LEAST_DIFFERING = 5
"""So it is with fewer that differ from the most frequent outcome: with one in 30, it held in 81 %."""
_DISAGREEMENTS = 0.5
"""Of ones that were not seen, so many count: a model that was never wrong may be. Without them the interval
of both held in 70 % of the studies in which a model that is wrong once in 50 was right on all of 60 queries.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredMean:
    """A mean by people alone, and by people and a model together."""

    judged: int
    shared: int
    elsewhere: int
    """The queries with an outcome of people, those of them with one of the model too, and those with one of
    the model alone."""
    people: float
    people_low: float
    people_high: float
    """The mean by people alone, with its interval over queries."""
    both: float
    both_low: float
    both_high: float
    """The mean by people and the model."""
    weight: float
    """What the model's outcomes count, from 0; the power tuning of the paper."""
    correlation: float
    correlation_low: float
    correlation_high: float
    """Between people's outcomes and the model's where both judged."""
    saved: float
    saved_low: float
    saved_high: float
    """How many more queries people would have to judge for an interval as narrow without the model; 0 where
    it saves nothing."""
    shift: float
    """How far the model's mean over people's queries is from its mean elsewhere, in standard errors: beyond
    2.6 or so, people's queries are not a random sample of all."""


def prediction_powered_mean(
    people: Floats, model: Floats, elsewhere: Floats, *, confidence: float = 0.95
) -> PoweredMean:
    """Estimate a mean outcome between 0 and 1 from people's sample and all outcomes of a model.

    People's queries must be a random sample of all of them: what a model is worth elsewhere is learnt there.
    On theirs, at least one, the model's outcome is NaN where it has none: it may choose what it judges, but
    not by whether people judge it.

    Notes
    -----
    The weight that makes the variance least is cov(people, model) / ((1 + n / N) var(model)) (Example 6.1 of
    the paper). It is learnt from the same queries, which costs a degree of freedom. The interval is the one
    of people alone about the new mean, scaled by the ratio of the two standard errors: so it keeps what that
    one knows about few queries and the ends of the scale, and is the same where the weight is 0. So many
    queries are saved as would make people's own interval as narrow.

    A model is any function of a query, so that it may also say the same of all queries that it left out. What
    it says there is its mean elsewhere: then it moves the estimate by the others alone, and people's outcomes
    on all of their queries stay. Of the share ``s`` of people's queries that it judged, cov(people, model) is
    over all of people's, and 1 + n / N becomes s + s**2 n / N.
    """
    n, m = people.size, elsewhere.size
    alone = score_intervals(people[:, None], confidence=confidence, ends=(0.0, 1.0))
    value, low, high = (float(bound[0]) for bound in (alone.centre, alone.low, alone.high))
    said = ~np.isnan(model)
    # What the model says of people's queries, beside what it says elsewhere.
    told = np.where(said, model - (elsewhere.mean() if m else model[said].mean() if said.any() else 0.0), 0.0)
    weight, ratio = _weigh(people, told, np.concatenate([model[said], elsewhere]), m)
    both = value - weight * float(told.mean())
    correlation = _correlation(people, told)
    bounds = _correlation_interval(people, told, correlation, confidence)
    share = m / (m + int(said.sum())) if m else 0.0
    saved = n * (1 / ratio**2 - 1)
    least, most = (_saved(one, n, share) for one in bounds)
    if not weight:  # nothing is narrower, whatever the correlation promises
        least = 0.0
    return PoweredMean(
        judged=n,
        shared=int(said.sum()),
        elsewhere=m,
        people=value,
        people_low=low,
        people_high=high,
        both=float(np.clip(both, 0.0, 1.0)),
        both_low=max(0.0, both - ratio * (value - low)),
        both_high=min(1.0, both + ratio * (high - value)),
        weight=weight,
        correlation=correlation,
        correlation_low=bounds[0],
        correlation_high=bounds[1],
        saved=saved,
        saved_low=min(saved, least),
        saved_high=max(saved, most),
        shift=_shift(model[said], elsewhere),
    )


def _weigh(people: Floats, told: Floats, said: Floats, m: int) -> tuple[float, float]:
    """Return the model's weight, and the standard error of both as a share of that of people alone."""
    # `told` is what the model says of people's queries, and `said` of all that it judged, `m` elsewhere.
    n, shared = people.size, said.size - m
    differing = n - int(np.unique(people, return_counts=True)[1].max())
    if shared < LEAST_JUDGED or not m or differing < _LEAST_DIFFERING or np.ptp(said[:shared]) == 0:
        return 0.0, 1.0
    share = shared / n
    # The variance of the mean of `told` times n: of people's queries, and of the mean elsewhere taken off.
    variance = (share + share**2 * n / m) * float(said.var(ddof=1))
    weight = max(0.0, float(np.cov(people, told)[0, 1]) / variance)
    left = people - weight * told
    unseen = _DISAGREEMENTS * weight**2  # a disagreement moves what is left by the weight
    error = (((left - left.mean()) ** 2).sum() + unseen) / (n - 2) / n
    error += (weight * share) ** 2 * said.var(ddof=1) / m
    ratio = sqrt(error / (people.var(ddof=1) / n))
    return (weight, ratio) if ratio < 1 else (0.0, 1.0)


def _correlation(people: Floats, model: Floats) -> float:
    if people.size < 2 or np.ptp(people) == 0 or np.ptp(model) == 0:
        return float("nan")
    return float(np.clip(np.corrcoef(people, model)[0, 1], -1.0, 1.0))


def _correlation_interval(
    people: Floats, model: Floats, correlation: float, confidence: float
) -> tuple[float, float]:
    """Return an interval of their correlation, on Fisher's scale; NaN where it is not defined."""
    # Fisher's standard error is that of normal outcomes. Ours are mostly 0 and 1, whose correlation rests on
    # the few disagreements: so theirs is that of the influence function, where that is greater.
    count = people.size
    if isnan(correlation) or count < 4:
        return float("nan"), float("nan")
    one, other = ((values - values.mean()) / values.std() for values in (people, model))
    one, other = np.append(one, [1.0, -1.0]), np.append(other, [-1.0, 1.0])
    weight = np.append(np.ones(count), [_DISAGREEMENTS / 2] * 2) / (count + _DISAGREEMENTS)
    most = 1 - 1 / count
    centre = float(np.clip(weight @ (one * other), -most, most))
    influence = one * other - centre / 2 * (one**2 + other**2)
    error = max(1.0, sqrt(float(weight @ influence**2)) / (1 - centre**2)) / sqrt(count - 3)
    half = float(scipy.special.ndtri(0.5 + confidence / 2)) * error
    return (
        min(correlation, tanh(atanh(centre) - half)),
        max(correlation, tanh(atanh(centre) + half)),
    )


def _saved(correlation: float, judged: int, share: float) -> float:
    """Return by how many queries people's sample seems larger: the variance falls by r² N / (n + N)."""
    if isnan(correlation):
        return 0.0
    gone = max(0.0, correlation) ** 2 * share
    return judged * gone / (1 - gone) if gone < 1 else float("inf")


def _shift(model: Floats, elsewhere: Floats) -> float:
    if model.size < 2 or elsewhere.size < 2:
        return 0.0
    error = sqrt(model.var(ddof=1) / model.size + elsewhere.var(ddof=1) / elsewhere.size)
    return float((model.mean() - elsewhere.mean()) / error) if error else 0.0


# With models: what a model's votes are worth beside people's, on one set of pairs.

NEW_BEST = "queries with a new best answer"
_SHOWN = 4
"""Runs that are compared: those that people prefer to most others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredShare:
    """A share of queries by people alone, and by people and a model."""

    model: str
    what: str
    """The model, and what is counted: `NEW_BEST`, or the queries on which a run's top passage is preferred to
    another's; a tie counts half."""
    mean: PoweredMean


def gate_model(people: Judgments, model: str, votes: Judgments) -> ModelGate:
    """Test whether a model may stand in for a person, on the pairs that it and at least two people judged."""
    # Both logs have the same vocabularies.
    left, right = people.left.astype(np.int64), people.right.astype(np.int64)
    a, b, query = np.minimum(left, right), np.maximum(left, right), people.query.astype(np.int64)
    pair = np.unique(pair_key(query, a, b, len(people.docs)), return_inverse=True)[1]
    # Votes whose maker is not known are each somebody's own.
    person = np.where(people.worker >= 0, people.worker, len(people.workers) + np.arange(len(people)))
    # One vote for each person and pair: the balance of several.
    _, first, vote = np.unique(
        np.column_stack([pair, person]), axis=0, return_index=True, return_inverse=True
    )
    balance = np.bincount(vote.ravel(), weights=np.where(left < right, people.choice, -people.choice))
    by_model = count_votes(votes, votes.queries, votes.docs)
    for_a, for_b, neither = by_model.on(query[first], a[first], b[first])
    both = for_a + for_b + neither > 0
    shared = SharedVotes(
        query=query[first][both],
        pair=pair[first][both],
        person=person[first][both],
        choice=np.sign(balance).astype(np.int64)[both],
        model=np.sign(for_a - for_b)[both],
    )
    gate = alternative_annotator(model, shared)
    named = (code for code in repeated_people(shared) if code < len(people.workers))
    known = np.unique(shared.person[shared.person < len(people.workers)]).size
    return replace(gate, voters=known, repeats=tuple(people.workers[code] for code in named))


def estimate_preferences(
    people: Judgments,
    model: str,
    votes: Judgments,
    heads: Heads,
) -> tuple[PoweredShare, ...]:
    """Estimate on how many queries the first one's top passage is preferred, for pairs of the best runs."""
    # Queries with the same passage on top of both are left out. Both logs have the same vocabularies.
    queries, docs, tops, runs = top_documents(heads, None, set(votes.queries))
    ratios = win_ratios(people, heads)
    names = runs_to_show(ratios, _SHOWN)
    counted = [count_votes(log, queries, docs) for log in (people, votes)]
    column = {run: number for number, run in enumerate(runs)}
    found = []
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            by_people, by_model = (_shares(one, tops[:, column[a]], tops[:, column[b]]) for one in counted)
            mean = _both(by_people, by_model)
            if mean is not None:
                found.append(PoweredShare(model=model, what=f"{a} preferred to {b}", mean=mean))
    return tuple(found)


def estimate_new_best(
    people: Judgments,
    model: str,
    votes: Judgments,
    qrels: Qrels,
    *,
    rule: str = "shallow-pooling",
    pools: Pools | None = None,
) -> PoweredShare | None:
    """Estimate the share of queries whose best answer is no qrel; None where people judged none."""
    # Both logs have the same vocabularies; queries that are sparse in one are left out there.
    voted_on = set(votes.queries)
    queries = tuple(query for query in qrels.queries if query in voted_on)
    by_people, by_model = (_new_best(log, qrels, queries, rule, pools) for log in (people, votes))
    mean = _both(by_people, by_model)
    return None if mean is None else PoweredShare(model=model, what=NEW_BEST, mean=mean)


def _shares(votes: PairVotes, a: Integers, b: Integers) -> Floats:
    """Return 1 where ``a`` is preferred, 0 where ``b`` is, 0.5 for a tie; NaN where nobody judged."""
    for_a, for_b, neither = votes.on(np.arange(a.size), a, b)
    judged = for_a + for_b + neither > 0
    return np.where(judged, (1 + np.sign(for_a - for_b)) / 2, np.nan)


def _new_best(
    log: Judgments, qrels: Qrels, queries: tuple[str, ...], rule: str, pools: Pools | None
) -> Floats:
    """Return 1 for a query whose best answers are all new, else 0; NaN where it is not resolved."""
    found = resolve(log, rule=rule, pools=pools)
    best = to_qrels(found)
    old = select_labels(qrels, qrels.grade > 0)
    is_new = find_rows(old, best.queries, best.docs, best.query, best.doc) < 0
    out = np.full(len(queries), np.nan)
    place = encode(best.queries, queries)[best.query]
    for row, new in zip(place[place >= 0].tolist(), is_new[place >= 0].tolist(), strict=True):
        out[row] = new if np.isnan(out[row]) else min(out[row], new)
    return out


def _both(people: Floats, model: Floats) -> PoweredMean | None:
    """Estimate the mean of the queries of which people's are a sample; None where they judged none."""
    by_people = ~np.isnan(people)
    elsewhere = ~np.isnan(model) & ~by_people
    if not by_people.any():
        return None
    return prediction_powered_mean(people[by_people], model[by_people], model[elsewhere])


# Assessors side by side: crowds, models and label sets, on the pairs and queries that they share.


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessor:
    """Who says which passages are better: a crowd or a model by its votes, a label set by its grades.

    The best answers are the ``labels`` of the highest grade above 0, of label sets among the passages that
    the first assessor compared. Label sets have no ``votes``.
    """

    name: str
    kind: Literal["people", "model", "labels"]
    labels: Qrels
    votes: Judgments | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsCompared:
    """How two sets of judgments agree: on pairs that both decide, and on the best answers of queries.

    ``queries`` counts those in which both find best answers; in those of ``parted`` they share none.
    ``shared`` sums over the queries what share of the answers that either finds both do: who names many of
    them gains nothing.
    """

    a: str
    b: str
    pairs: int
    agree: int
    queries: int
    shared: float
    parted: tuple[str, ...]


class Assessors:
    """Assessors of one collection; the first has votes, and is whom the others are set beside."""

    def __init__(self, assessors: Sequence[Assessor]) -> None:
        self.all = tuple(assessors)
        logs = [one.votes for one in self.all if one.votes is not None]
        self._compared = compared_pairs(logs[0]).documents
        self._queries = tuple(sorted({query for log in logs for query in log.queries}))
        self._docs = tuple(sorted({doc for log in logs for doc in log.docs}))
        self._logs = [None if one.votes is None else self._recoded(one.votes) for one in self.all]
        self._votes = [
            log if log is None else count_votes(log, self._queries, self._docs) for log in self._logs
        ]
        key = np.unique(np.concatenate([votes.key for votes in self._votes if votes]))
        query, greater = np.divmod(key, max(len(self._docs), 1))
        self._pairs = (*np.divmod(query, max(len(self._docs), 1)), greater)
        self._says = [*map(self._signs, self.all, self._votes)]
        self.best = [
            best_answers(one.labels if one.votes is not None else self._among_compared(one.labels))
            for one in self.all
        ]
        """The best answers of each, by query."""

    def beside(self, number: int) -> SetsCompared:
        """Return how the first and another agree, on pairs by most votes or by grades."""
        one, other = self.best[0], self.best[number]
        alike = self._says[0] * self._says[number]
        both = sorted(one.keys() & other.keys())
        return SetsCompared(
            a=self.all[0].name,
            b=self.all[number].name,
            pairs=int(np.count_nonzero(alike)),
            agree=int((alike > 0).sum()),
            queries=len(both),
            shared=sum(len(one[query] & other[query]) / len(one[query] | other[query]) for query in both),
            parted=tuple(query for query in both if not one[query] & other[query]),
        )

    @property
    def by_chance(self) -> float:
        """What share of best answers whoever finds all that are compared has in common with the first."""
        size = dict(zip(self._compared.queries, np.bincount(self._compared.query).tolist(), strict=True))
        shares = [len(best) / size[query] for query, best in self.best[0].items() if query in size]
        return float(np.mean(shares)) if shares else float("nan")

    def same_votes(self) -> Iterator[tuple[str, str]]:
        """Yield each two whose votes are the same on every pair, however often they were given."""
        cast = [
            (one.name, votes.key, np.stack([votes.smaller, votes.greater, votes.ties]))
            for one, votes in zip(self.all, self._votes, strict=True)
            if votes
        ]
        for (a, pairs, count), (b, others, theirs) in combinations(cast, 2):
            if np.array_equal(pairs, others) and (count * theirs.sum() == theirs * count.sum()).all():
                yield a, b

    def gate(self, number: int) -> ModelGate | None:
        """Test whether a model may stand in for one of the people who come first; None where neither is."""
        people, votes = self._logs[0], self._logs[number]
        if (self.all[0].kind, self.all[number].kind) != ("people", "model") or not (people and votes):
            return None
        return gate_model(people, self.all[number].name, votes)

    def partings(self) -> tuple[Example, ...]:
        """Return the queries on which another has no best answer of the first, where votes say most first."""
        found = [
            Example(
                query=query, category=one.name, preferred=min(self.best[0][query]), other=min(best[query])
            )
            for number, (one, best) in enumerate(zip(self.all, self.best, strict=True))
            for query in self.beside(number).parted
        ]
        query, a, b = (
            encode([getattr(one, name) for one in found], known).astype(np.int64)
            for name, known in (("query", self._queries), ("preferred", self._docs), ("other", self._docs))
        )
        votes = zip(*(side.tolist() for side in self._cast(query, a, b)[:2]), strict=True)
        found = [
            replace(one, votes_for=mine, votes_against=theirs)
            for one, (mine, theirs) in zip(found, votes, strict=True)
        ]
        return tuple(sorted(found, key=lambda one: (one.votes_against - one.votes_for, one.query)))

    def _cast(self, query: Integers, a: Integers, b: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the first one's votes on pairs."""
        assert self._votes[0] is not None
        return self._votes[0].on(query, a, b)

    def _signs(self, one: Assessor, votes: PairVotes | None) -> Integers:
        """Return 1 for each pair whose first passage is better, -1 where the second is, 0 where none is."""
        query, a, b = self._pairs
        if votes is not None:
            of_a, of_b, _ = votes.on(query, a, b)
        else:  # what a label set does not list is as good as what it calls not relevant
            grade = np.append(one.labels.grade, 0.0)
            rows = (find_rows(one.labels, self._queries, self._docs, query, doc) for doc in (a, b))
            of_a, of_b = (grade[found] for found in rows)
        return (of_a > of_b).astype(np.int64) - (of_a < of_b)

    def _among_compared(self, labels: Qrels) -> Qrels:
        rows = find_rows(self._compared, labels.queries, labels.docs, labels.query, labels.doc)
        return select_labels(labels, rows >= 0)

    def _recoded(self, log: Judgments) -> Judgments:
        docs = encode(log.docs, self._docs)
        query = encode(log.queries, self._queries)[log.query]
        return replace(
            log,
            queries=self._queries,
            docs=self._docs,
            query=query,
            left=docs[log.left],
            right=docs[log.right],
        )


def best_answers(labels: Qrels) -> dict[str, set[str]]:
    """Return the documents of the highest grade above 0, by query."""
    top = np.zeros(len(labels.queries))
    np.maximum.at(top, labels.query, labels.grade)
    best: dict[str, set[str]] = {}
    for row in np.flatnonzero((labels.grade > 0) & (labels.grade == top[labels.query])).tolist():
        best.setdefault(labels.queries[labels.query[row]], set()).add(labels.docs[labels.doc[row]])
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedLabels:
    """What a board loses whose labels are the first assessor's on some queries only, drawn at random.

    ``alone`` is the mean of Kendall's tau between the board of these queries and that of all ``queries`` by
    the first assessor, and ``mixed`` the same where the other assessor's labels stand in on the rest. Both
    are over ``draws``, of which neither board ties all runs.
    """

    labelled: int
    queries: int
    alone: float
    mixed: float
    draws: int


_DRAWS = 500


def mix_labels(first: Scores, other: Scores, *, rng: np.random.Generator) -> tuple[MixedLabels, ...]:
    """Mix the labels of two assessors in three shares, by the scores of the same runs under both.

    Nothing comes of fewer than four queries, or of runs that are alike.
    """
    both = [query for query in first.queries if query in {*other.queries}]
    if len(both) < 4:
        return ()
    one, theirs = (scores.values[encode(both, scores.queries)] for scores in (first, other))
    board, found = one.mean(axis=0), []
    for share in (0.25, 0.5, 0.75):
        labelled, taus = round(share * len(both)), []
        for _ in range(_DRAWS):
            rows = rng.permutation(len(both))
            own, rest = one[rows[:labelled]].sum(axis=0), theirs[rows[labelled:]].sum(axis=0)
            taus.append((kendall_tau(board, own), kendall_tau(board, own + rest)))
        told = np.array([pair for pair in taus if not any(map(isnan, pair))])
        if told.size:
            alone, mixed = told.mean(axis=0).tolist()
            sizes = {"labelled": labelled, "queries": len(both), "draws": len(told)}
            found.append(MixedLabels(alone=alone, mixed=mixed, **sizes))
    return tuple(found)

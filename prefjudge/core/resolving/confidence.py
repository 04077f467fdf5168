"""Confidence: how probable it is that each answer is right, and whether the votes fit that model."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isnan
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from prefjudge.core.judgments import Judgments, independent, nameless, only_queries
from prefjudge.core.pools import Pools, find_rows, select_queries
from prefjudge.core.resolving.posterior import (
    ABOUT,
    by_orders,
    draw_chances,
    fit_strengths,
    log_evidences,
    mean_chances,
)
from prefjudge.core.resolving.resolutions import Resolution, Resolutions
from prefjudge.core.resolving.scales import (
    Scales,
    Trust,
    estimate_scales,
    estimate_with_trust,
    learn_trust,
    leave_out,
    one_scale,
)
from prefjudge.core.resolving.shapes import FIGURES, average_chances, learn_shapes
from prefjudge.core.resolving.tournaments import Floats, Index, Tournaments, tournaments, vote_matrices
from prefjudge.core.runs import Codes, Qrels
from prefjudge.core.shortcuts import CLIQUE, Shortcut
from prefjudge.words import chance_text, many

_Function = TypeVar("_Function", bound=Callable[..., object])


def _one_blas_thread(function: _Function) -> _Function:
    """Limit linear algebra to one thread while the function runs, and put the process back as it was."""
    # The matrices are small: more threads would wait for each other, in a loop that takes processor time.
    limited: _Function = threadpool_limits.wrap(limits=1, user_api="blas")(function)
    return limited


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The probability of being the best, of every candidate of every query.

    The rows are those of the resolutions of the same judgments and pools.
    """

    scales: Scales
    """The standard deviations of the candidates' strengths, in logits, that the probabilities are averaged
    over: how probable each is by the votes, or the one that was given."""
    draws: int
    """Posterior samples per query."""
    queries: tuple[str, ...]
    docs: Sequence[str]
    """The vocabularies."""
    start: Index
    """Shape (n_queries + 1,): the candidates of query ``q`` are the rows ``start[q]:start[q + 1]``."""
    doc: Codes
    """Shape (n_candidates,): codes into ``docs``."""
    chance: Floats
    """Shape (n_candidates,): the probability that the candidate is the best; they sum to 1 in each query."""
    good: Floats
    """Shape (n_candidates,): the probability that it is the best or as good as the best, by all shapes of
    strengths or by the plain one, whichever is greater: no votes are needed to tell equals apart."""
    loss: Floats
    """Shape (n_candidates,): how far the share of votes that would prefer the best to it is over a half."""
    strength: Floats
    deviation: Floats
    """Shape (n_candidates,): the strength and its posterior standard deviation, in logits, as if nothing were
    a lapse."""
    trust: Trust | None = None
    """How much the votes of each worker are worth; none where workers cannot be told apart."""

    def of(self, query_id: str) -> dict[str, float]:
        """Return the probability of each candidate of one query, by doc_id."""
        place = self.queries.index(query_id)
        rows = range(int(self.start[place]), int(self.start[place + 1]))
        return {self.docs[self.doc[row]]: float(self.chance[row]) for row in rows}


@_one_blas_thread
def assess_confidence(
    judgments: Judgments,
    *,
    rng: np.random.Generator,
    pools: Pools | None = None,
    scales: Scales | None = None,
    draws: int = 1000,
    strengths: bool = False,
) -> Confidence:
    """Compute the probability of being the best, for every candidate: Bradley-Terry with lapses.

    Where judgments name their workers, how reliable each of them is counts, too (see :class:`Trust`).

    Notes
    -----
    A candidate that nobody compared keeps its share before any vote, one in as many as there are candidates;
    the votes tell how the others share the rest. It can only lower theirs.

    Calibrated: in simulations with such candidates, those who get a probability of 0.6 are the best six times
    in ten. Careless workers are known by their names alone: without names each vote is as doubtful as the
    average, and workers without other votes are taken for one of the crowd. Where ``scales.told``
    is false the votes do not tell how often votes are wrong, and the probabilities rest on how often crowds
    usually are.
    """
    learning = scales is None
    if scales is None:
        scales, trust = estimate_with_trust(judgments, rng=rng, pools=pools, strengths=strengths)
    else:
        trust = learn_trust(judgments, pools=pools, strengths=strengths)
    seed = int(rng.integers(1 << 32))
    if learning and draws:
        scales = learn_shapes(judgments, scales, seed=seed, pools=pools, trust=trust, strengths=strengths)
    parts: list[tuple[Index, Codes, Floats]] = []
    for block in tournaments(judgments, pools=pools):
        figures = np.zeros((len(FIGURES), block.doc.size))
        compared, known = block.compared()
        share = compared.sizes / np.maximum(block.sizes, 1)
        if compared is not block:  # of whom nobody compared we know what we knew before any vote
            usual = (1.0 if draws else np.nan) / block.sizes[block.query]
            figures[:3] = usual, usual, (0.5 - scales.error) * (1.0 - usual)
            figures[4] = scales.mean
        for stack in vote_matrices(compared, ties=0.5, strengths=strengths, cells=1 << 20, trusting=trust):
            found = average_chances(stack.votes, scales, draws=draws, seed=seed, cast=stack.cast)
            met = share[stack.queries][:, None]
            found[:3] *= met
            found[2] += (0.5 - scales.error) * (1.0 - met)
            figures[:, known[stack.rows]] = found
        parts.append((block.sizes, block.doc, figures))
    vocabulary = pools if pools is not None else judgments
    return Confidence(
        scales=scales,
        draws=draws,
        queries=vocabulary.queries,
        docs=vocabulary.docs,
        start=np.concatenate([[0], np.cumsum(np.concatenate([part[0] for part in parts]))]),
        doc=np.concatenate([part[1] for part in parts]),
        **dict(zip(FIGURES, np.concatenate([part[2] for part in parts], axis=1), strict=True)),
        trust=trust,
    )


# Foretold votes: whether votes go as those of other people on other pairs say that they will.

_CLOSE = 0.05
"""So little by which P(best) may be off by the shapes of strengths needs no words."""
_QUERIES, _FOLDS, _PEOPLE, _SPLITS, _LEVEL = 200, 5, 3, 2, 0.95
_FEWEST = 10
"""The fewest queries that tell how far off votes are by chance."""
_LIKELY_SHARE = 0.05
"""A share of lapses that is less probable is left out here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """How many votes go as those of others on other pairs say, and how many the model expects to."""

    votes: int
    queries: int
    """How many votes, on how many queries at most: those that have more than one vote on most pairs."""
    agreed: float
    foretold: float
    """The shares of the votes that do, and that were expected to."""
    low: float
    high: float
    """The bounds of their difference (95 %), which queries, and workers, tell."""

    @property
    def fits(self) -> bool:
        """Whether as many agree as were foretold, as far as can be told."""
        return self.low <= 0.0 <= self.high

    @property
    def words(self) -> str:
        """What was seen, and what was to be expected."""
        return (
            f"of {many(self.votes, 'vote')} on {self.queries:,} queries {self.agreed:.0%} agreed with what "
            f"others say of other pairs, {self.foretold:.0%} were foretold "
            f"({100 * self.low:+.1f} to {100 * self.high:+.1f} points off)"
        )


@_one_blas_thread
def foretell(
    judgments: Judgments,
    scales: Scales,
    *,
    rng: np.random.Generator,
    pools: Pools | None = None,
    trust: Trust | None = None,
) -> Foretold | None:
    """Hold each vote against what other people's on other pairs of its query say (cross-validation).

    None where votes cannot show it. One vote a pair fits any number of circles; and a taste that all share no
    votes show.

    Notes
    -----
    The votes of a third of the people on a fifth of the pairs of each query are foretold by those of the
    others on its other pairs, in turn, so that none is lost to the answers. The variance is that of sums over
    queries, or over queries and workers (A. Cameron, J. Gelbach, D. Miller: Robust inference with multiway
    clustering, 2011), if that is greater.
    """
    if judgments.click is not None:
        return None  # the wins of a choice go with each other, whatever the model
    voted = [judgments.queries[code] for code in np.unique(judgments.query).tolist()]
    if len(voted) > _QUERIES:  # at random, as a file may begin with what is easy
        voted = rng.choice(voted, size=_QUERIES, replace=False).tolist()
        judgments, pools = only_queries(judgments, voted), pools and select_queries(pools, voted)
    found = [_foretold(block, scales, rng, trust) for block in tournaments(judgments, pools=pools)]
    query, worker, surely, agrees = map(np.concatenate, zip(*found, strict=True))
    if (count := np.unique(query).size) < _FEWEST:
        return None
    agreed, foretold = float(agrees.mean()), float(surely.mean())
    off = agrees - surely - (agreed - foretold)
    by_query, by_worker, by_both = (
        _variance_of_sum(np.unique(of, return_inverse=True)[1], off)
        for of in (query, worker, query * (len(judgments.workers) + 1) + worker)
    )
    wide = max(by_query, by_query + by_worker - by_both) ** 0.5 / off.size
    reach = float(scipy.special.stdtrit(count - 1, 0.5 + _LEVEL / 2.0)) * wide
    low, high = (agreed - foretold + side * reach for side in (-1.0, 1.0))
    return Foretold(votes=off.size, queries=count, agreed=agreed, foretold=foretold, low=low, high=high)


def _variance_of_sum(group: Index, off: Floats) -> float:
    sums = np.bincount(group, weights=off)
    return float((sums**2).sum()) * sums.size / max(1, sums.size - 1)


def _foretold(
    block: Tournaments, scales: Scales, rng: np.random.Generator, trust: Trust | None
) -> tuple[Index, Index, Floats, Floats]:
    """Return the query and the worker of votes, how surely a side is foretold, and 1 where it is chosen."""
    query, worker = block.query[block.left].astype(np.int64), block.worker.astype(np.int64)
    pair = np.minimum(block.left, block.right) * block.doc.size + np.maximum(block.left, block.right)
    _, of, times = np.unique(pair, return_inverse=True, return_counts=True)
    asked = np.bincount(query, minlength=block.n_queries)
    repeated = 2 * np.bincount(query, weights=times[of] > 1, minlength=block.n_queries) > asked
    person = query * (2 + int(worker.max(initial=0))) + worker + 1
    names = ("left", "right", "choice", "strength", "worker", "worth", "click")
    columns = {name: each for name in names if (each := getattr(block, name)) is not None}
    surely, agrees = np.zeros(of.size), np.zeros(of.size)
    for _ in range(_SPLITS):  # one alone would say another thing each time
        folds, people = _evenly(pair, query, _FOLDS, rng), _evenly(person, query, _PEOPLE, rng)
        ahead = np.zeros((2, of.size))
        for fold, some in product(range(_FOLDS), range(_PEOPLE)):
            out = (folds == fold) & (people == some)
            others = (folds != fold) & ((people != some) | (worker < 0))
            rest = replace(block, **{name: each[others] for name, each in columns.items()})
            ahead[:, out] = _ahead(rest, block.left[out], block.right[out], scales, rng, trust)
        surely += np.sign(ahead[0]) * ahead[1] / _SPLITS
        agrees += np.where(ahead[0] == 0.0, 0.5, np.sign(ahead[0]) == block.choice) / _SPLITS
    if trust is not None:
        surely *= trust(query + block.first, worker)
    held = np.flatnonzero(repeated[query] & (block.choice != 0))
    return query[held] + block.first, worker[held] + 1, 0.5 + surely[held], agrees[held]


def _evenly(key: Index, query: Index, many: int, rng: np.random.Generator) -> Index:
    """Return a part for each vote, one for all of a key; a query's keys are spread evenly."""
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    whose, place = query[first], np.empty(first.size, dtype=np.int64)
    order = np.lexsort((rng.random(first.size), whose))
    place[order] = np.arange(first.size) - np.searchsorted(whose[order], whose[order])
    return place[of] % many


def _ahead(
    block: Tournaments,
    left: Index,
    right: Index,
    scales: Scales,
    rng: np.random.Generator,
    trust: Trust | None,
) -> Floats:
    """Return how far the left one is ahead, and by how much more than a half of votes are to prefer it."""
    # Who is ahead is told without the draws: one that chance puts ahead would be foretold too surely.
    found, place = np.zeros((2, left.size)), np.zeros(block.doc.size, dtype=np.int64)
    models = []
    for lapses in np.unique(scales.lapses).tolist():
        weight = scales.weight * (scales.lapses == lapses)
        if weight.sum() > _LIKELY_SHARE:
            scale = float(np.exp(weight @ np.log(scales.scale) / weight.sum()))
            models.append((scale, lapses, float(weight.sum())))
    every = sum(weight for _, _, weight in models)
    for stack in vote_matrices(block, ties=0.5, cells=1 << 20, trusting=trust):
        (n, k), at = stack.rows.shape, np.full(block.doc.size, -1)
        at[stack.rows], place[stack.rows] = np.arange(n)[:, None], np.arange(k)
        votes = np.flatnonzero(at[left] >= 0)
        query, x, y = at[left[votes]], place[left[votes]], place[right[votes]]
        for scale, lapses, weight in models:
            fit = fit_strengths(stack.votes, scale=scale, within=ABOUT)
            chance = mean_chances(stack.votes, fit, scale=scale, lapses=lapses, rng=rng)
            found[0, votes] += weight / every * (fit.mean[query, x] - fit.mean[query, y])
            found[1, votes] += weight / every * (chance[query, x, y] - 0.5)
    return found


# Contested votes: a few who vote most, by what the others' votes do not foretell.

_FEW, _ABOUT_AS_MANY, _READS, _RARELY = 0.4, 0.75, 0.8, 20.0


def find_contested(judgments: Judgments) -> tuple[tuple[str, ...], float]:
    """Return the few who cast half of the votes, and how probably others have no truth in common with them.

    Votes that some shared rule casts are of one mind by themselves, and so taken for the truth. Given one
    order, who wins wins by the votes of others, too: wins are held against wins, within the few, within the
    others and across, so that no two need to vote on the same pair. Where others hardly agree with each other
    they tell nothing against the few.
    """
    judgments = independent(judgments)
    cast = np.bincount(judgments.worker + 1, minlength=1 + len(judgments.workers))[1:]
    people, order = np.count_nonzero(cast), np.sort(cast)[::-1]
    half = int(np.searchsorted(np.cumsum(order), cast.sum() / 2.0))
    if not len(judgments) or half + 1 > _FEW * people:
        return (), 0.0
    few = cast >= _ABOUT_AS_MANY * order[half]
    if few.sum() > _FEW * people:
        few = cast >= order[half]
    right, missed = (0, 0) if judgments.gold is None else judgments.gold[:, few].sum(axis=1)
    if missed > (1.0 - _READS) * (right + missed):
        return (), 0.0  # gold tells that they do not read, and bounds them
    names = tuple(judgments.workers[code] for code in np.flatnonzero(few).tolist())
    return names, _no_truth_in_common(judgments, few)


def _no_truth_in_common(judgments: Judgments, few: NDArray[np.bool_]) -> float:
    """Return how probable it is that the wins by others' votes have nothing to do with those by the few's."""
    rows = np.flatnonzero((judgments.choice != 0) & (judgments.worker >= 0))
    worker, choice = judgments.worker[rows].astype(np.int64), judgments.choice[rows].astype(np.float64)
    sides = np.concatenate((judgments.left[rows], judgments.right[rows]))
    of = np.tile(judgments.query[rows].astype(np.int64), 2) * len(judgments.docs) + sides
    doc, place = np.unique(of, return_inverse=True)
    query = doc // len(judgments.docs)

    def products(worth: Floats) -> Floats:
        """Return, by query, the sum over candidates of wins by the few times others'; within few; others."""
        each = scipy.sparse.csr_array((worth, (place, np.tile(worker, 2))), shape=(doc.size, few.size))
        theirs, others = each @ few, each @ ~few
        within, beside = ((of**2 - each.power(2) @ by) / 2.0 for of, by in ((theirs, few), (others, ~few)))
        return np.stack([np.bincount(query, weights=one) for one in (theirs * others, within, beside)])

    won, met = products(np.concatenate((choice, -choice))), products(np.ones(2 * rows.size))
    asked = met.any(axis=0)
    won, met = won[:, asked], met[:, asked]
    # across and within, of all queries and without each of them (the jackknife)
    means = won.sum(axis=1) / np.maximum(met.sum(axis=1), 1.0)
    left = (won.sum(axis=1)[:, None] - won) / np.maximum(met.sum(axis=1)[:, None] - met, 1.0)
    # Agreement is a product of how far either side reads: with one truth in common, so much is across.
    due, left_due = (np.sqrt(np.maximum(of[1:], 0.0).prod(axis=0)) for of in (means, left))
    spread = (left_due.size - 1) * float((left_due / 2.0 - left[0]).var())
    # As probable, beside one truth in common, as normal densities around nothing and around `due` say.
    odds = due * (due / 2.0 - means[0]) / max(spread, 1e-9)
    return float(scipy.special.expit(min(odds, 700.0) - np.log(_RARELY))) if due > 0.0 else 0.0


# Confidence of resolutions: how probable it is that each is right, and how often all are.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSummary:
    """How sure the winners are to be the best."""

    error: float | None
    error_low: float | None
    error_high: float | None
    """The share of wrong votes on a random pair, and the bounds between which it lies with a probability of
    0.9; none where the votes do not tell it, and all probabilities rest on how often crowds usually err."""
    lapses: float | None
    """The share of the wrong votes that any pair would have got, 0 where only close candidates are confused;
    none where the votes do not tell how many are wrong."""
    trust: float | None
    """How much a vote is worth on average by what is known of its worker, beside those of the most reliable
    workers (1); none where workers cannot be told apart."""
    doubted: int | None
    """The workers whose votes are worth less than half as much."""
    mean: float
    """The expected share of the resolved queries whose winner is the best; a random pick of several."""
    mean_low: float
    mean_high: float
    """The same by shapes of strengths that the votes do not rule out: two classes, equals, one far ahead."""
    at_80: int
    """Queries whose winner is the best with at least that probability."""
    alone: int
    """Those of them that are alone in their pool, so that nothing was judged."""
    outdone: int
    """Queries where another candidate is more probable to be the best than each that the rule names, by two
    digits: rules count wins, and the probability also weighs what is not known."""
    fits: bool | None
    """Whether as many votes agree as were foretold; none where nothing can be checked."""
    foretold: Foretold | None
    """How many did, and were."""
    shortcuts: tuple[Shortcut, ...] = ()
    """The workers whose votes follow what is seen without reading; the probabilities are those by the votes
    of the others alone."""
    suspects: tuple[str, ...] = ()
    """Their names."""
    shortcut_votes: float = 0.0
    """The share of the votes that those workers made."""
    contested: tuple[str, ...] = ()
    """The few who cast half of the votes, where the others' votes hardly foretell theirs."""
    doubts: tuple[str, ...] = ()
    """What speaks against the weights of workers: that gold pairs contradict them, or that nobody met any."""
    again: float | None = None
    """The share of the winners that another crowd like this one would name again; none below ten
    winners, where votes are not to be trusted, and where `run` asked by what it had learnt."""

    @property
    def words(self) -> tuple[str, ...]:
        """How sure the winners are, what that rests on, and where the votes do not fit the model."""
        doubts = [*self._words_on_misfit(), *self._words_on_shortcuts(), *self._words_on_contested()]
        # what nobody should trust comes before what may only be off
        doubts = sorted((*doubts, *self.doubts), key=lambda said: not said.startswith("do not trust"))
        if isnan(self.mean):
            return (*doubts, "no query has a winner yet")
        words = [
            *doubts,
            f"a winner is the best with a probability of {chance_text(self.mean)} on average"
            f"{self._words_on_shapes()} ({self.at_80:,} with 0.8 or more{self._words_on_lone()}); "
            f"{self._words_on_again()}{self._words_on_error()}",
        ]
        if self.outdone:
            words.append(
                f"in {many(self.outdone, 'query')} another candidate is more likely to be the best than the "
                "winner that the rule names, as P(best) shows"
            )
        if self.doubted:
            words.append(
                "votes count by how reliable their workers are: those of "
                f"{many(self.doubted, 'worker')} less than half as much as those of the best"
            )
        if self.foretold is None:
            words.append(
                "these votes cannot show whether these probabilities fit: that takes ten queries with "
                "votes of two people on each pair of three candidates; if preferences go in circles, they "
                "are too high"
            )
        elif self.foretold.fits:
            words.append(self.foretold.words)
        return tuple(words)

    def _words_on_misfit(self) -> list[str]:
        one = self.foretold
        if one is None or one.fits:
            return []
        return [f"P(best) may be off, as the votes do not fit its model: {one.words}"]

    def _words_on_shortcuts(self) -> list[str]:
        if not self.shortcuts:
            return []
        if all(one.rule == CLIQUE for one in self.shortcuts):
            return [
                f"do not trust these answers yet: either {many(len(self.shortcuts), 'worker')} who cast "
                f"{self.shortcut_votes:.0%} of the votes did not read, or the others did not: one "
                f"{self.shortcuts[0].text}: see prefjudge workers{leave_out(self.suspects)}. "
                "The probabilities below are those with or without their votes, whichever are lower"
            ]
        surest, several = min(self.shortcuts, key=lambda one: one.p), len(self.shortcuts) > 1
        who = f"{len(self.shortcuts)} workers, one of whom" if several else "one worker, who"
        return [
            f"do not trust these answers yet: {self.shortcut_votes:.0%} of the votes can be cast without "
            f"reading. They are those of {who} {surest.text}: see prefjudge "
            f"workers{leave_out(self.suspects)}. "
            "The winners count all votes, the probabilities below only those of the others"
        ]

    def _words_on_contested(self) -> list[str]:
        if not self.contested or self.shortcuts:
            return []
        return [
            "do not trust these answers yet: gold does not tell who is right, and the votes of others hardly "
            f"foretell those of the {many(len(self.contested), 'worker')} who cast half of them: see "
            f"prefjudge workers{leave_out(self.contested)}. The probabilities below trust them as little"
        ]

    def _words_on_shapes(self) -> str:
        if self.mean - self.mean_low < _CLOSE:
            return ""
        return (
            f", or {chance_text(self.mean_low)} to {chance_text(self.mean_high)}, as the votes hardly show "
            "whether one answer stands out"
        )

    def _words_on_lone(self) -> str:
        if not self.alone:
            return ""
        return f", of which {self.alone:,} {'is' if self.alone == 1 else 'are'} alone in the pool"

    def _words_on_again(self) -> str:
        if self.again is None:
            return ""
        return f"another crowd like this one would name {self.again:.0%} of the winners again; "

    def _words_on_error(self) -> str:
        if self.error is None:
            return (
                "these votes do not tell how many of them are wrong, so this rests on what crowds "
                "usually show"
            )
        return (
            f"about {self.error:.0%} of votes on a random pair are wrong "
            f"({self.error_low:.0%} to {self.error_high:.0%})"
        )


def summarise_confidence(
    resolutions: Resolutions, confidence: Confidence, foretold: Foretold | None = None
) -> ConfidenceSummary:
    """Return how sure the winners are; all arguments come from the same judgments and pools."""
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    count = np.bincount(query, minlength=len(resolutions))
    total = np.bincount(query, weights=confidence.chance[rows], minlength=len(resolutions))
    each = total[count > 0] / count[count > 0]
    scales = confidence.scales
    likeliest = np.maximum.reduceat(confidence.chance, resolutions.start[:-1])
    named = np.zeros(len(resolutions))
    np.maximum.at(named, query, confidence.chance[rows])
    outdone = (count > 0) & (np.round(likeliest, 2) > np.round(named, 2))
    low, high = scales.interval(0.9)
    mean = float(each.mean()) if each.size else float("nan")
    return ConfidenceSummary(
        error=scales.error if scales.told else None,
        error_low=low if scales.told else None,
        error_high=high if scales.told else None,
        lapses=scales.lapsing if scales.told else None,
        trust=None if confidence.trust is None else confidence.trust.mean,
        doubted=None if confidence.trust is None else confidence.trust.doubted,
        mean=mean,
        mean_low=max(mean + scales.unlike[0], 0.0),
        mean_high=min(mean + scales.unlike[1], 1.0),
        at_80=int((each >= 0.8).sum()),
        alone=int(((count > 0) & (np.diff(resolutions.start) == 1)).sum()),
        outdone=int(outdone.sum()),
        fits=None if foretold is None else foretold.fits,
        foretold=foretold,
        doubts=() if confidence.trust is None else confidence.trust.doubts,
    )


_LIKELY = 0.9
"""How probably the best is among those that are named as likely."""


def resolved_queries(resolutions: Resolutions, confidence: Confidence | None) -> tuple[Resolution, ...]:
    """Return the resolution of each query, with the probabilities where they are known."""
    if confidence is None:
        return tuple(resolutions)
    docs, start = [resolutions.docs[code] for code in resolutions.doc.tolist()], resolutions.start.tolist()
    chances, losses = (figure.round(4).tolist() for figure in (confidence.chance, confidence.loss))
    found = []
    for one, a, b in zip(resolutions, start, start[1:], strict=False):
        p_best, loss = (dict(sorted(zip(docs[a:b], each[a:b], strict=True))) for each in (chances, losses))
        ranked = sorted(p_best, key=lambda doc: -p_best[doc])
        reached = np.cumsum([p_best[doc] for doc in ranked])
        likely = tuple(ranked[: 1 + int(np.searchsorted(reached, _LIKELY - 1e-9))])
        found.append(replace(one, p_best=p_best, likely=likely, loss=loss))
    return tuple(found)


# Likely pools: what candidates may truly be like, by the votes and by where the runs place them.
#
# Other people who are asked about the same pools agree with the votes as far as both follow the truth. The
# truth is not known: it is drawn from the posterior. One most likely truth would not do: it is too decided
# where votes were asked for until one candidate was ahead.
#
# The runs are part of what is known. Who places high in them is likelier to be confused with the best, and
# how much so the votes tell: the runs have as many votes on each pair as make the votes of people most
# probable. They say who is ahead, and by how much beside other pairs; how far apart candidates are, people
# say.

_WORTHS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
"""The votes on a pair that all runs together may be worth, as probable as each other before any vote."""
_CELLS, _SAMPLES = 1 << 14, 100
"""Cells of vote matrices that tell this, and posterior samples of each query."""
_CROWDS, _STEPS = 8, np.array([0.7548776662466927, 0.5698402909980532])
"""Of so many crowds at most truths are drawn, evenly chosen: by steps that fill the unit square (Roberts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The ``n`` queries whose pools have ``k`` candidates."""

    queries: Index
    """Shape (n,): codes into the queries of the documents."""
    rows: Index
    """Shape (n, k): the candidates' rows in the documents."""
    chances: Floats
    """Shape (n, k, k): the probability that a vote prefers ``x`` to ``y``."""

    @property
    def best(self) -> Index:
        """The place of the best candidate of each pool: votes prefer it to all others."""
        found: Index = self.chances.sum(axis=2).argmax(axis=1)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPools:
    """What pools are truly like in one draw from the posterior."""

    crowd: Scales
    """How votes err."""
    stacks: tuple[Stack, ...]
    """The pools by their size."""

    @property
    def best(self) -> Index:
        """The rows of the best candidates, one of each pool, in order."""
        best = [stack.rows[np.arange(len(stack.rows)), stack.best] for stack in self.stacks]
        found: Index = np.sort(np.concatenate([*best, np.zeros(0, dtype=np.int64)]))
        return found

    def chances_of(self, left: Index, right: Index) -> Floats:
        """Return the probability that the left one is preferred, by rows; nan where the pool is not drawn."""
        found = np.full(left.size, np.nan)
        most = max([int(one.max(initial=-1)) for one in (left, right, *(one.rows for one in self.stacks))])
        for stack in self.stacks:
            n, k = stack.rows.shape
            pool, place = np.full(most + 1, -1), np.zeros(most + 1, dtype=np.int64)
            pool[stack.rows], place[stack.rows] = np.arange(n)[:, None], np.arange(k)
            votes = np.flatnonzero((left >= 0) & (right >= 0))
            votes = votes[pool[left[votes]] >= 0]
            one, other = left[votes], right[votes]
            found[votes] = stack.chances[pool[one], place[one], place[other]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of the pools of a `Stack`; arrays of shape (n, k, k) but for its queries and rows.

    ``told`` is the share of the runs that retrieved one of a pair, and ``lead`` the log odds with which these
    place ``x`` above ``y``.
    """

    queries: Index
    rows: Index
    votes: Floats
    told: Floats
    lead: Floats

    def only(self, keep: Index | slice) -> "_Known":
        return _Known(**{name: getattr(self, name)[keep] for name in self.__slots__})

    def votes_of_runs(self, stretch: float) -> Floats:
        """Return one vote of all runs on each pair, with their log odds stretched."""
        return self.told * (0.5 + 0.5 * np.tanh(0.5 * stretch * self.lead))


class LikelyPools:
    """The posterior of pools, to be drawn from.

    Whoever cast the votes: others would err as often. The candidates are ``documents``, grouped by query in
    the order of its codes, and those of ``pools``; ``places``, shape (n_runs, n_rows), is where each run
    placed them, the greatest integer where it did not.
    """

    def __init__(
        self,
        judgments: Judgments,
        documents: Qrels,
        places: NDArray[np.integer],
        *,
        rng: np.random.Generator,
        pools: Pools | None = None,
    ) -> None:
        self.scales = estimate_scales(nameless(judgments), rng=rng, pools=pools)
        self.left, self.right = (
            find_rows(documents, judgments.queries, judgments.docs, judgments.query, side)
            for side in (judgments.left, judgments.right)
        )
        self._queries = {query: code for code, query in enumerate(documents.queries)}
        self._known = _known(judgments, documents, places)
        self._sample = _sampled(self._known)
        told = sum(float(known.told.sum()) for known in self._known)
        square = sum(float((known.told * known.lead**2).sum()) for known in self._known)
        # A lead is a difference of two strengths: its variance is twice theirs.
        self._apart = float(np.sqrt(0.5 * square / told)) if square else 1.0
        self._worths: dict[int, Floats] = {}

    def draws(self, rng: np.random.Generator, some: Collection[str], many: int) -> Iterator[DrawnPools]:
        """Draw crowds, and as often what the pools of some queries are truly like."""
        crowds, place = min(many, _CROWDS), rng.random(2)
        for crowd in range(crowds):
            below = (place + crowd * _STEPS) % 1.0
            model = _drawn_at(below[0], self.scales.weight)
            scale, lapses = float(self.scales.scale[model]), float(self.scales.lapses[model])
            if model not in self._worths:
                self._worths[model] = self._weigh_runs(scale, lapses)
            worth, each = _WORTHS[_drawn_at(below[1], self._worths[model])], len(range(crowd, many, crowds))
            stacks = []
            for one in self._asked(some):
                votes = one.votes + worth * one.votes_of_runs(scale / self._apart)
                drawn = draw_chances(votes, scale=scale, lapses=lapses, rng=rng, many=each)
                stacks.append([Stack(queries=one.queries, rows=one.rows, chances=truth) for truth in drawn])
            for number in range(each):
                yield DrawnPools(
                    crowd=one_scale(scale, lapses), stacks=tuple(stack[number] for stack in stacks)
                )

    def _asked(self, some: Collection[str]) -> Iterator[_Known]:
        asked = np.zeros(len(self._queries), dtype=bool)
        asked[[self._queries[query] for query in some if query in self._queries]] = True
        for known in self._known:
            if (keep := np.flatnonzero(asked[known.queries])).size:
                yield known.only(keep)

    def _weigh_runs(self, scale: float, lapses: float) -> Floats:
        """Return how probable each worth of the runs is: by the votes of people, given theirs."""
        logs = np.zeros(_WORTHS.size)
        for known in self._sample:
            n, k, _ = known.votes.shape
            runs = _WORTHS[:, None, None, None] * known.votes_of_runs(scale / self._apart)
            votes = np.concatenate([known.votes + runs, runs]).reshape(-1, k, k)
            fit = None if by_orders(k, lapses) else fit_strengths(votes, scale=scale, within=ABOUT)
            found = log_evidences(
                votes, fit, scale=scale, draws=_SAMPLES, rng=np.random.default_rng(0), lapses=lapses,
                blocks=2 * _WORTHS.size,
            ).reshape(2, _WORTHS.size, n).sum(axis=2)  # fmt: skip
            logs += found[0] - found[1]
        weight = np.exp(logs - logs.max())
        chance: Floats = weight / weight.sum()
        return chance


def _drawn_at(below: float, weight: Floats) -> int:
    """Return the place of the weights, whose sum is 1, at which a share of it is reached."""
    return min(int(np.searchsorted(np.cumsum(weight), below, side="right")), weight.size - 1)


def _known(judgments: Judgments, documents: Qrels, places: NDArray[np.integer]) -> list[_Known]:
    """Return what is known of the pools of each size."""
    pools = Pools(queries=documents.queries, docs=documents.docs, query=documents.query, doc=documents.doc)
    order, found = np.lexsort((documents.doc, documents.query)), []
    for block in tournaments(judgments, pools=pools):
        first = int(np.searchsorted(documents.query, block.first))
        for stack in vote_matrices(block, ties=0.5):
            rows = order[stack.rows + first]
            above = np.zeros_like(stack.votes)
            for run in places:
                at = run[rows]
                above += at[:, :, None] < at[:, None, :]
            both = above + above.transpose(0, 2, 1)
            found.append(
                _Known(
                    queries=stack.queries + block.first,
                    rows=rows,
                    votes=stack.votes,
                    told=both / max(1, len(places)),
                    # Half a run more for either: no odds are infinite.
                    lead=np.log((above + 0.5) / (both - above + 0.5)),
                )
            )
    return found


def _sampled(every: list[_Known]) -> list[_Known]:
    """Return what is known of as many queries as tell what the runs are worth."""
    judged = [known.only(np.flatnonzero(known.votes.any(axis=(1, 2)))) for known in every]
    share = min(1.0, _CELLS / max(1, sum(known.votes.size for known in judged)))
    # So many of all queries: where only one has pools of some size, it need not be among them.
    last = np.ceil(share * np.cumsum([0, *(len(known.votes) for known in judged)])).astype(int)
    some = [known.only(slice(count)) for known, count in zip(judged, np.diff(last).tolist(), strict=True)]
    return [known for known in some if known.votes.size]

"""Measures of a run straight from preferences: ppref and its kin, and the preference graph."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pools import find_rows
from prefjudge.core.runs import JudgedRanks, Qrels, Scores, select_labels
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.formulas import DEPTH, overlap_weights
from prefjudge.evaluation.measures.placings import NOWHERE, ComparedPairs, Floats, Integers, positions, ratio
from prefjudge.words import told


def greedy_order(votes: Integers, place: Integers) -> Integers:
    """Order documents so that few votes are contradicted, siding with a run where there is a choice.

    ``votes[x, y]`` is how often x was preferred to y, ``place`` where the run placed each. Returns the
    documents, best first.

    The greedy algorithm of Eades, Lin & Smyth (1993) on the graph with an edge for each vote: documents that
    beat nobody left go to the end (the run's lowest first, those it did not retrieve before all), documents
    that nobody left beats go to the front (the run's highest first); where there is neither, the one with the
    most wins less losses goes to the front.
    """
    wins, losses = votes.sum(axis=1), votes.sum(axis=0)
    left = np.ones(place.size, dtype=bool)
    front: list[int] = []
    back: list[int] = []

    def take(candidates: NDArray[np.bool_], *, lowest: bool) -> int:
        rows = np.flatnonzero(candidates)
        chosen = int(rows[np.argmax(place[rows])] if lowest else rows[np.argmin(place[rows])])
        left[chosen] = False
        # Edges to and from what is taken leave the graph:
        # whoever beat it loses a win, whoever it beat a loss.
        wins[:] -= votes[:, chosen]
        losses[:] -= votes[chosen]
        return chosen

    while left.any():
        while (sinks := left & (wins == 0)).any():
            back.append(take(sinks, lowest=True))
        while (sources := left & (losses == 0)).any():
            front.append(take(sources, lowest=False))
        if left.any():
            lead = np.where(left, wins - losses, np.iinfo(np.int64).min)
            front.append(take(lead == lead.max(), lowest=False))
    return np.array(front + back[::-1], dtype=np.int64)


def graph_compatibility(place: Integers, pairs: ComparedPairs, *, persistence: float = 0.8) -> Floats:
    """Return the rank-biased overlap of a run with the ideal order of the preference graph, per query.

    ``place`` is where the run placed each compared document; contradicting votes are edges both ways. RBO's p
    is 0.8 in the paper for conversational search. Not normalised, as published: a run of the ideal ranking
    alone scores less than 1.

    Clarke, Luo & Smucker, "Evaluation measures based on preference graphs" (SIGIR 2021).
    """
    weights = overlap_weights(persistence)
    norm = float(np.sum(persistence ** np.arange(DEPTH, dtype=np.float64)))
    scores = np.zeros(len(pairs.documents.queries))
    bounds = np.searchsorted(pairs.query, np.arange(len(scores) + 1))
    for query in range(len(scores)):
        span = slice(bounds[query], bounds[query + 1])
        preferred, other = pairs.preferred[span], pairs.other[span]
        documents, codes = np.unique(np.concatenate([preferred, other]), return_inverse=True)
        if not documents.size:
            continue
        winner, loser = codes[: preferred.size], codes[preferred.size :]
        votes = np.zeros((documents.size, documents.size), dtype=np.int64)
        votes[winner, loser] = pairs.votes_for[span]
        votes[loser, winner] = pairs.votes_against[span]
        order = greedy_order(votes, place[documents])
        # A document is in both rankings from the deeper of its places on: that place alone gives its weight.
        deepest = np.maximum(place[documents][order], np.arange(1, documents.size + 1))
        scores[query] = weights[np.minimum(deepest, DEPTH + 1)].sum() / norm
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPairs:
    """The decided pairs of all queries as one run places them."""

    queries: int
    """How many queries there are."""
    query: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Shape (pairs,): the query of each pair."""
    preferred: np.ndarray[tuple[int], np.dtype[np.int64]]
    other: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Shape (pairs,): the positions of the two documents, ``NOWHERE`` for one that was not retrieved."""

    @property
    def higher(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The position of the document that the run places higher."""
        return np.minimum(self.preferred, self.other)

    def total(self, weights: Floats) -> Floats:
        """Sum one number per pair within each query."""
        return np.bincount(self.query, weights=weights, minlength=self.queries).astype(np.float64, copy=False)

    def ordered(self, cutoff: int) -> Floats:
        """1 for each pair with a document within the cut-off, otherwise 0."""
        return (self.higher <= cutoff).astype(np.float64)

    def correct(self, cutoff: int) -> Floats:
        """1 for each pair ordered at the cut-off with the preferred document on top, otherwise 0."""
        return ((self.preferred <= cutoff) & (self.preferred < self.other)).astype(np.float64)

    def discounts(self) -> Floats:
        """1 / log2(higher position + 1) for each pair, 0 where neither document was retrieved."""
        return np.where(self.higher < NOWHERE, 1.0 / np.log2(self.higher + 1.0), 0.0)


def ppref(pairs: PlacedPairs, cutoff: int) -> Floats:
    """The share of the pairs ordered at the cut-off that is ordered as people prefer."""
    return ratio(pairs.total(pairs.correct(cutoff)), pairs.total(pairs.ordered(cutoff)))


def rpref(pairs: PlacedPairs, cutoff: int) -> Floats:
    """The share of all preferences that is ordered correctly at the cut-off."""
    return ratio(pairs.total(pairs.correct(cutoff)), pairs.total(np.ones(pairs.query.size)))


def wpref(pairs: PlacedPairs, cutoff: int) -> Floats:
    """The sum of the discounts of the pairs ordered correctly at the cut-off; not bounded by 1."""
    return pairs.total(pairs.correct(cutoff) * pairs.discounts())


def nwpref(pairs: PlacedPairs, cutoff: int) -> Floats:
    """Divide wpref by its value if every pair ordered at the cut-off were ordered correctly."""
    return ratio(wpref(pairs, cutoff), pairs.total(pairs.ordered(cutoff) * pairs.discounts()))


def appref(pairs: PlacedPairs, cutoff: int) -> Floats:
    """The mean of ppref over the ranks, to the cut-off, at which rpref rises."""
    rises = (pairs.preferred < pairs.other) & (pairs.preferred <= cutoff)
    steps = np.unique(np.stack([pairs.query[rises], pairs.preferred[rises]], axis=1), axis=0)
    if not steps.size:
        return np.zeros(pairs.queries)
    # A query and a place make one integer, which sorts by query, then place: one search counts for all steps.
    width = NOWHERE + 1
    step = steps[:, 0] * width + steps[:, 1]

    def up_to(position: np.ndarray[tuple[int], np.dtype[np.int64]], keep: np.ndarray) -> Floats:
        """Count the kept pairs of the step's query whose position is not below the step's rank."""
        keys = np.sort(pairs.query[keep] * width + position[keep])
        start = np.searchsorted(keys, steps[:, 0] * width)
        return (np.searchsorted(keys, step, side="right") - start).astype(np.float64)

    correct = up_to(pairs.preferred, pairs.preferred < pairs.other)
    ordered = up_to(pairs.higher, pairs.higher < NOWHERE)
    sums: Floats = np.bincount(steps[:, 0], weights=correct / ordered, minlength=pairs.queries).astype(
        np.float64
    )
    return ratio(sums, np.bincount(steps[:, 0], minlength=pairs.queries).astype(np.float64))


_BY_PAIRS: Mapping[str, Callable[[PlacedPairs, int], Floats]] = {
    "ppref": ppref,
    "rpref": rpref,
    "wpref": wpref,
    "nwpref": nwpref,
    "APpref": appref,
}
_NAMES = {name.lower(): name for name in (*_BY_PAIRS, "PGC")}
_SHAPE = re.compile(r"(?P<name>[a-z]+)(?:\(p=(?P<p>0?\.\d+)\))?(?:@(?P<cutoff>\d+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PreferenceMeasure:
    """A measure that needs the judged pairs themselves: ``ppref@10``, ``APpref``, ``PGC(p=0.8)``.

    Notes
    -----
    Carterette & Bennett, "Evaluation measures for preference judgments" (SIGIR 2008); Clarke, Luo & Smucker,
    "Evaluation measures based on preference graphs" (SIGIR 2021).
    """

    family: str
    """``ppref``, ``rpref``, ``wpref``, ``nwpref``, ``APpref`` or ``PGC``."""
    cutoff: int | None = None
    """How deep to look; None for everything that was retrieved."""
    persistence: float | None = None
    """RBO's p, of ``PGC`` only."""

    @classmethod
    def parse(cls, text: str) -> "PreferenceMeasure":
        """Read a measure's name."""
        match = _SHAPE.fullmatch(re.sub(r"\s", "", text))
        family = _NAMES.get(match["name"].lower()) if match else None
        if match is None or family is None:
            raise InputError(
                f"unknown preference measure {text!r}",
                f"Measures: {', '.join(_NAMES.values())}; like ppref@10.",
            )
        if family == "PGC":
            if match["cutoff"]:
                raise InputError(f"measure {text!r} takes no cut-off", "Write PGC(p=0.8).")
            return cls(family, None, float(match["p"] or 0.8))
        if match["p"]:
            raise InputError(f"measure {text!r} has no parameter 'p'", f"Write {family}@10.")
        if match["cutoff"] and int(match["cutoff"]) == 0:
            raise InputError(
                f"measure {text!r} cuts the ranking off before its first document", "Start at 1."
            )
        return cls(family, int(match["cutoff"]) if match["cutoff"] else None)

    def __str__(self) -> str:
        if self.persistence is not None:
            return f"{self.family}(p={self.persistence:g})"
        return self.family + (f"@{self.cutoff}" if self.cutoff is not None else "")

    def score(self, ranks: JudgedRanks, pairs: ComparedPairs) -> Floats:
        """Score one run on each query, 0 without preferences or where the run missed it.

        Pairs with as many votes either way do not count, except in ``PGC``, where every vote is an edge.
        """
        place = positions(ranks, pairs.documents)
        if self.persistence is not None:
            return graph_compatibility(place, pairs, persistence=self.persistence)
        decided = pairs.decided
        placed = PlacedPairs(
            queries=len(pairs.documents.queries),
            query=pairs.query[decided],
            preferred=place[pairs.preferred[decided]],
            other=place[pairs.other[decided]],
        )
        return _BY_PAIRS[self.family](placed, self.cutoff if self.cutoff is not None else NOWHERE - 1)


def is_preference_measure(text: str) -> bool:
    """Return whether a measure's name, in any spelling, is that of a preference measure."""
    return _family(text) in _NAMES


def is_share_of_preferences(text: str) -> bool:
    """Return whether a measure's name is that of a preference measure between 0 and 1: all but wpref."""
    return is_preference_measure(text) and _family(text) != "wpref"


def _family(text: str) -> str:
    return re.split(r"[@(]", text.strip().lower())[0].strip()


def preference_matrix(
    ranks: Sequence[JudgedRanks], pairs: ComparedPairs, measure: PreferenceMeasure
) -> Scores:
    """Score many runs with one preference measure: the query x run matrix of :class:`Scores`."""
    return Scores(
        measure=str(measure),
        qrels="judgments",
        queries=pairs.documents.queries,
        runs=tuple(placed.run for placed in ranks),
        values=np.column_stack([measure.score(placed, pairs) for placed in ranks]),
        order=ranks[0].order,
    )


# Pair agreement: how often a run orders two passages as people do.


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """How one run orders the judged pairs that it has near its top."""

    run: str
    agree: int
    disagree: int
    """The decided pairs with both documents within the depth that the run orders as the majority does, and
    those that it does not."""

    @property
    def ratio(self) -> float:
        """The share of agreement; NaN where the run has no judged pair within the depth."""
        pairs = self.agree + self.disagree
        return self.agree / pairs if pairs else float("nan")


def pair_agreement(
    ranks: Sequence[JudgedRanks], pairs: ComparedPairs, *, depth: int = 10
) -> tuple[PairAgreement, ...]:
    """Compare the order of decided pairs in each run, to this depth, with the preferences.

    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 4.1: 63.07 % for their run L at 10.
    """
    preferred, other = pairs.preferred[pairs.decided], pairs.other[pairs.decided]
    rows = []
    for placed in ranks:
        place = positions(placed, pairs.documents)
        both = (place[preferred] <= depth) & (place[other] <= depth)
        agree = int((both & (place[preferred] < place[other])).sum())
        rows.append(PairAgreement(run=placed.run, agree=agree, disagree=int(both.sum()) - agree))
    return tuple(rows)


# How often labelled passages win the comparisons that they took part in (shallow pooling, section 5.1).


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairings:
    """The judged pairs of the passages that a label set calls relevant."""

    qrels: str
    """The label set."""
    passages: int
    """How many of its relevant passages (from grade 1 on) were compared."""
    won: int
    lost: int
    tied: int
    """Pairs by the majority of their votes. A pair of two such passages is won by one and lost by the
    other."""

    @told
    def share(self) -> float:
        """The share of all pairings that were won; NaN where there is none."""
        total = self.won + self.lost + self.tied
        return self.won / total if total else float("nan")


def pairings(pairs: ComparedPairs, qrels: Qrels) -> Pairings:
    """Count the pairings of a label set.

    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 5.1: the preference qrels win 91.8 %
    of their pairings, the original ones 46.6 %.
    """
    documents, labelled = pairs.documents, select_labels(qrels, qrels.grade >= 1.0)
    ours = find_rows(labelled, documents.queries, documents.docs, documents.query, documents.doc) >= 0
    best, other, decided = ours[pairs.preferred], ours[pairs.other], pairs.decided
    return Pairings(
        qrels=qrels.name,
        passages=int(ours.sum()),
        won=int((best & decided).sum()),
        lost=int((other & decided).sum()),
        tied=int((best & ~decided).sum() + (other & ~decided).sum()),
    )

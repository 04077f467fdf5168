"""Win ratios: runs compared directly by which top passage people prefer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import TopSplit, chosen_qrels, top_pairs
from prefjudge.core.runs import Heads, Qrels, encode
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.placings import Floats, Integers
from prefjudge.evaluation.tests import VARIANT, sign_flip_p
from prefjudge.words import told

ALPHA = 0.05
"""The level at which a win ratio is called significant."""

Votes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVotes:
    """The votes on each judged pair, by query.

    Documents and queries are codes of the vocabularies that the votes were counted for.
    """

    key: Integers
    """Shape (pairs,): one number for (query, smaller doc code, greater doc code), ascending."""
    smaller: Integers
    greater: Integers
    ties: Integers
    """Shape (pairs,): how many votes went to the document with the smaller code, to the other, and to
    neither."""
    width: int
    """How many documents the vocabulary holds."""

    def on(self, query: Integers, a: Integers, b: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the votes for ``a``, for ``b`` and for neither; 0 for a pair that was never judged."""
        # A negative code is that of a document that does not exist.
        out = np.zeros((3, query.size), dtype=np.int64)
        rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
        if not self.key.size or not rows.size:
            return out[0], out[1], out[2]
        wanted = pair_key(query[rows], a[rows], b[rows], self.width)
        # A key beyond the last is compared with the last, and differs.
        slot = np.minimum(np.searchsorted(self.key, wanted), self.key.size - 1)
        judged = self.key[slot] == wanted
        rows, slot = rows[judged], slot[judged]
        first = a[rows] < b[rows]
        out[0, rows] = np.where(first, self.smaller[slot], self.greater[slot])
        out[1, rows] = np.where(first, self.greater[slot], self.smaller[slot])
        out[2, rows] = self.ties[slot]
        return out[0], out[1], out[2]


def pair_key(query: Integers, a: Integers, b: Integers, width: int) -> Integers:
    """Return one number for a query and an unordered pair of documents."""
    key: Integers = (query * width + np.minimum(a, b)) * width + np.maximum(a, b)
    return key


def count_votes(judgments: Judgments, queries: Sequence[str], docs: Sequence[str]) -> PairVotes:
    """Count the votes on each pair, in the codes of the given vocabularies."""
    # Judgments on queries or documents that the vocabularies do not hold are left out.
    query = encode(judgments.queries, queries).astype(np.int64)[judgments.query]
    code = encode(judgments.docs, docs).astype(np.int64)
    left, right = code[judgments.left], code[judgments.right]
    known = (query >= 0) & (left >= 0) & (right >= 0)
    query, left, right, choice = query[known], left[known], right[known], judgments.choice[known]
    key, pair = np.unique(pair_key(query, left, right, len(docs)), return_inverse=True)
    for_smaller = np.where(left < right, choice, -choice)
    counts = [np.bincount(pair[for_smaller == sign], minlength=key.size) for sign in (1, -1, 0)]
    return PairVotes(key=key, smaller=counts[0], greater=counts[1], ties=counts[2], width=len(docs))


class VoteTables:
    """The votes between the documents that several runs have for each query, for look-ups by the million.

    Each query has a square table of the documents that somebody voted on. ``docs``, shape (runs, queries), is
    the document of each run for each query; a negative one does not exist.
    """

    def __init__(self, votes: PairVotes, docs: Integers) -> None:
        width = max(votes.width, 1)
        smaller, greater = np.divmod(votes.key, width)
        query = smaller // width
        held, place = np.unique(np.concatenate([smaller, query * width + greater]), return_inverse=True)
        of = held // width
        sizes = np.bincount(of, minlength=docs.shape[1])
        column = np.arange(held.size) - (np.cumsum(sizes) - sizes)[of]
        cells = int((sizes**2).sum())
        # A cell is where its row begins, and its column; what is beyond the last holds nothing.
        row = np.append((np.cumsum(sizes**2) - sizes**2)[of] + column * sizes[of], cells)
        column = np.append(column, cells)
        one, other = np.split(place, 2)
        two = one != other  # a vote on one document alone says nothing
        forward, backward = (row[one] + column[other])[two], (row[other] + column[one])[two]
        self._won, self._tied = (np.zeros(cells + 1, dtype=np.int32) for _ in range(2))
        self._won[forward], self._won[backward] = votes.smaller[two], votes.greater[two]
        self._tied[forward] = self._tied[backward] = votes.ties[two]
        wanted = np.where(docs >= 0, np.arange(docs.shape[1]) * width + docs, -1)
        found = np.searchsorted(held, wanted)
        found[np.append(held, -1)[found] != wanted] = held.size
        self._row, self._column, self._nothing = row[found], column[found], cells

    def against_later(self, run: int) -> tuple[Votes, Votes, Votes]:
        """Return the votes for a run's documents against each later run's, for these, and for neither."""
        # Each has the shape (later runs, queries), and 0 for a pair that was never judged.
        forward = np.minimum(self._row[run] + self._column[run + 1 :], self._nothing)
        backward = np.minimum(self._row[run + 1 :] + self._column[run], self._nothing)
        return self._won[forward], self._won[backward], self._tied[forward]


Count = Literal["majority", "votes"]

PERFECT = "perfect ranking"
BINOMIAL = "two-sided binomial test, exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatio:
    """Two runs compared on the queries where their top passages differ and were judged."""

    a: str
    b: str
    wins_a: int
    wins_b: int
    ties: int
    """On how many queries the top passage of a run was preferred, and how many were undecided. With raw
    votes, how many votes."""
    same: int
    unjudged: int
    """On how many queries both have the same top passage, and how many could not be compared because the pair
    was never judged or a run has no top passage."""
    p: float
    """The test that `WinRatios` names, two-sided; ties do not count. 1 where there is no win."""
    p_bonferroni: float
    """``p`` times the number of pairs of runs, at most 1."""

    @told
    def ratio(self) -> float:
        """The share of the wins that went to ``a``; NaN where there is none."""
        decided = self.wins_a + self.wins_b
        return self.wins_a / decided if decided else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatios:
    """All pairs of runs compared by their top passages."""

    runs: tuple[str, ...]
    """The runs in the order given, the perfect ranking first where there is one."""
    pairs: tuple[WinRatio, ...]
    """Each pair once, ``a`` before ``b`` in ``runs``."""
    wins: dict[str, int]
    """How many other runs each run beats: it wins more than it loses."""
    count: Count
    """``majority``: one outcome a query, the majority of all votes on the two passages. ``votes``: every vote
    by itself."""
    queries: int
    """How many queries were looked at."""
    test: str = BINOMIAL
    """What ``p`` is: of majorities the binomial test; of votes the sign-flip test of each query's balance,
    since the votes of a query depend on each other."""

    def in_order(self, runs: Sequence[str]) -> "WinRatios":
        """Return the same with the runs in another order, those that are not in it first."""
        place = {run: number for number, run in enumerate(runs, 1)}
        order = sorted(self.runs, key=lambda run: place.get(run, 0))
        turned = (
            one
            if place.get(one.a, 0) <= place.get(one.b, 0)
            else replace(one, a=one.b, b=one.a, wins_a=one.wins_b, wins_b=one.wins_a)
            for one in self.pairs
        )
        pairs = sorted(turned, key=lambda one: (place.get(one.a, 0), place.get(one.b, 0)))
        return replace(self, runs=tuple(order), pairs=tuple(pairs))

    def matrix(self, alpha: float = ALPHA) -> "WinMatrix":
        """Return the ratios as the paper's Table 4 has them: the column beats the row."""
        # Every table, file and plot takes its cells from here, so that none can be the transpose of another.
        place = {run: number for number, run in enumerate(self.runs)}
        ratio = np.full((len(self.runs), len(self.runs)), np.nan)
        significant = np.zeros(ratio.shape, dtype=bool)
        for pair in self.pairs:
            a, b = place[pair.a], place[pair.b]
            if decided := pair.wins_a + pair.wins_b:  # the same cells, whichever run is called a
                ratio[b, a], ratio[a, b] = pair.wins_a / decided, pair.wins_b / decided
            significant[b, a] = significant[a, b] = pair.p_bonferroni <= alpha
        return WinMatrix(runs=self.runs, ratio=ratio, significant=significant)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinMatrix:
    """Win ratios as a square matrix: the column beats the row."""

    runs: tuple[str, ...]
    """The rows and the columns."""
    ratio: Floats
    """How often the top passage of the column was preferred to that of the row; NaN on the diagonal, and
    where nothing was decided."""
    significant: NDArray[np.bool_]
    """Whether the two runs differ significantly."""


RUNS_SHOWN = 12
"""So many columns of a matrix fit a page."""


def best_runs(result: WinRatios, number: int) -> tuple[str, ...]:
    """Return the runs that beat most others, in their order, and the perfect ranking where there is one."""
    rivals = [run for run in result.runs if run != PERFECT]
    best = {*sorted(rivals, key=lambda run: -result.wins[run])[:number], PERFECT}
    return tuple(run for run in result.runs if run in best)


def named_runs(result: WinRatios, names: Sequence[str]) -> tuple[str, ...]:
    """Return the runs of these names, as they are ordered there."""
    for name in names:
        if name not in result.runs:
            raise InputError(f"there is no run {name!r} to show", f"Choose one of: {', '.join(result.runs)}.")
    return tuple(dict.fromkeys(names))


def runs_to_show(ratios: WinRatios, chosen: int | str | Sequence[str]) -> tuple[str, ...]:
    """Return the runs to show: a number, also as text, means the best ones."""
    names = [str(chosen)] if isinstance(chosen, int | str) else list(chosen)
    if len(names) == 1 and names[0].lstrip("-").isdecimal() and names[0] not in ratios.runs:
        if int(names[0]) < 1:
            raise InputError(f"--runs-shown {names[0]}: no run would be shown", "Give 1 or more.")
        return best_runs(ratios, int(names[0]))
    return named_runs(ratios, names)


def named_count(text: str) -> Count:
    """Return the way of counting of this name."""
    choices: dict[str, Count] = {"majority": "majority", "votes": "votes"}
    if text not in choices:
        raise InputError(f"{text!r} is not a way to count", "Choose majority or votes.")
    return choices[text]


def binomial_p(wins: Integers, losses: Integers) -> NDArray[np.float64]:
    """Return the two-sided binomial test of wins against losses at one half; 1 where there is neither."""
    fewer = np.minimum(wins, losses).astype(np.float64)
    both: NDArray[np.float64] = np.minimum(1.0, 2.0 * scipy.special.bdtr(fewer, wins + losses, 0.5))
    return both


def win_ratios(
    judgments: Judgments,
    heads: Heads,
    qrels: Qrels | None = None,
    *,
    count: Count = "majority",
) -> WinRatios:
    """Compare all pairs of runs by their top passages, on the queries that have a judgment."""
    # Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 4.2 and Table 4. Ties in the
    # table's sense (the same top passage) do not enter the ratio.
    asked = {judgments.queries[query] for query in np.unique(judgments.query).tolist()}
    names, docs, tops, runs = top_documents(heads, qrels, asked)
    if len(runs) < 2:
        raise InputError(
            "win ratios compare runs, and there is only one",
            "Give at least two runs that were pooled, or one and qrels.",
        )
    tops = np.ascontiguousarray(tops.T)
    votes = VoteTables(count_votes(judgments, names, docs), tops)
    tables, tests = [], []
    for number in range(len(runs) - 1):
        outcomes = _against_later(votes, tops, number, count)
        tables.append(np.stack([part.sum(axis=1) for part in outcomes], axis=1))
        tests.append(
            sign_flip_p((outcomes[0] - outcomes[1]).astype(np.int64))
            if count == "votes"
            else binomial_p(tables[-1][:, 0], tables[-1][:, 1])
        )
    # The pairs in the order of the tables: each run with every later one.
    first = np.repeat(np.arange(len(runs)), np.arange(len(runs))[::-1])
    second = np.concatenate([np.arange(number + 1, len(runs)) for number in range(len(runs) - 1)])
    table, p = np.concatenate(tables), np.concatenate(tests)
    corrected = np.minimum(1.0, p * p.size)
    pairs = tuple(
        WinRatio(
            a=runs[first[row]],
            b=runs[second[row]],
            wins_a=int(table[row, 0]),
            wins_b=int(table[row, 1]),
            ties=int(table[row, 2]),
            same=int(table[row, 3]),
            unjudged=int(table[row, 4]),
            p=float(p[row]),
            p_bonferroni=float(corrected[row]),
        )
        for row in range(len(table))
    )
    wins = np.bincount(first[table[:, 0] > table[:, 1]], minlength=len(runs)) + np.bincount(
        second[table[:, 1] > table[:, 0]], minlength=len(runs)
    )
    return WinRatios(
        runs=runs,
        pairs=pairs,
        wins={run: int(number) for run, number in zip(runs, wins, strict=True)},
        count=count,
        queries=len(names),
        test=VARIANT if count == "votes" else BINOMIAL,
    )


def top_documents(
    heads: Heads, qrels: Qrels | None, asked: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...], Integers, tuple[str, ...]]:
    """Return the queries, the documents, the top document of each query and run (-1: none), and the runs."""
    names = [*heads.queries, *(qrels.queries if qrels else ())]
    chosen = tuple(name for name in dict.fromkeys(names) if name in asked)
    docs = tuple(dict.fromkeys([*heads.docs, *(qrels.docs if qrels else ())]))
    columns = []
    if qrels is not None:
        best = chosen_qrels(qrels)
        column = np.full(len(chosen), -1, dtype=np.int64)
        row = encode(qrels.queries, chosen)[qrels.query[best]]
        column[row[row >= 0]] = encode(qrels.docs, docs)[qrels.doc[best]][row >= 0]
        columns.append(column)
    tops = np.full((len(chosen), len(heads.runs)), -1, dtype=np.int64)
    row = encode(heads.queries, chosen)[heads.query]
    keep = (heads.position == 1) & (row >= 0)
    tops[row[keep], heads.run[keep]] = encode(heads.docs, docs)[heads.doc[keep]]
    runs = ((PERFECT,) if qrels else ()) + heads.runs
    return chosen, docs, np.column_stack([*columns, tops]), runs


def _against_later(
    votes: VoteTables, tops: Integers, number: int, count: Count
) -> Sequence[NDArray[np.int32] | NDArray[np.bool_]]:
    """Compare one run with every later one, query by query."""
    found = votes.against_later(number)
    for_a, for_b, neither = found
    judged = (for_a > 0) | (for_b > 0) | (neither > 0)
    same = (tops[number] == tops[number + 1 :]) & (tops[number] >= 0)
    if count == "votes":
        return *found, same, ~judged & ~same
    return for_a > for_b, for_a < for_b, judged & (for_a == for_b), same, ~judged & ~same


# Examples of judged pairs, drawn at random so that nobody can pick the telling ones.


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A decided pair of a qrel and a run's top passage; or of the best answers of two assessors that part."""

    query: str
    category: str
    """``A`` or ``B``: whether the qrel was the run's first passage; or who parts from the first assessor."""
    preferred: str
    other: str
    """The doc_ids, by the majority of the votes; or the first assessor's, and the other's."""
    qrel_preferred: bool = False
    """Whether ``preferred`` is the qrel."""
    votes_for: int = 0
    votes_against: int = 0
    query_text: str = ""
    preferred_text: str = ""
    other_text: str = ""
    """The texts, as the workers read them; empty where they are not known."""


def draw_examples(
    judgments: Judgments,
    heads: Heads,
    qrels: Qrels,
    run: str,
    *,
    count: int = 3,
    rng: np.random.Generator,
    queries: Collection[str] | None = None,
) -> tuple[Example, ...]:
    """Draw decided pairs, in turn from those in which the qrel and in which the other passage won."""
    # Arabzadeh et al., "Shallow pooling for sparse labels" (2021), Figure 1: "selected from our logs without
    # prior knowledge of the questions, passages or outcome".
    pairs = top_pairs(heads, qrels, run, queries=queries)
    votes = count_votes(judgments, pairs.queries, pairs.docs)
    for_qrel, for_rival, _ = votes.on(pairs.query, pairs.qrel, pairs.rival)
    sides = [
        rng.permutation(np.flatnonzero(won)).tolist() for won in (for_qrel > for_rival, for_qrel < for_rival)
    ]
    sides = sides[:: 1 if rng.random() < 0.5 else -1]  # neither outcome is always the first
    turns = [row for number in range(count) for side in sides for row in side[number : number + 1]]
    agreed = pairs.agreed

    def example(row: int) -> Example:
        won = bool(for_qrel[row] > for_rival[row])
        both = (pairs.docs[pairs.qrel[row]], pairs.docs[pairs.rival[row]])
        counts = (int(for_qrel[row]), int(for_rival[row]))
        return Example(
            query=pairs.queries[pairs.query[row]],
            category="A" if agreed[row] else "B",
            preferred=both[0 if won else 1],
            other=both[1 if won else 0],
            qrel_preferred=won,
            votes_for=max(counts),
            votes_against=min(counts),
        )

    return tuple(example(row) for row in turns[:count])


# The qrel against a run's top result: is a ranker already better than the labels that it is scored by?


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryOutcome:
    """What people preferred on the queries of one category."""

    queries: int
    """How many queries the category holds."""
    qrel: int
    rival: int
    tied: int
    unjudged: int
    """On how many the majority preferred the qrel, the other passage, neither, or was not asked."""
    no_rival: int
    """On how many there is nothing to compare the qrel with: the run returned it alone."""
    p: float
    """The two-sided binomial test of ``qrel`` against ``rival``."""

    @property
    def rival_ratio(self) -> float:
        """The share of the decided queries on which the other passage won; NaN where there is none."""
        decided = self.qrel + self.rival
        return self.rival / decided if decided else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopAgainstQrel:
    """One run's top passages against the qrels: every labelled query is of one category, or not retrieved."""

    run: str
    a: CategoryOutcome
    b: CategoryOutcome
    """Where run and qrels agree on the top passage, and where they differ. The ``rival_ratio`` of ``a`` is a
    rough estimate of the judges' error, were the agreed passage the best; that of ``b`` above one half says
    that the run is better than perfect."""
    not_retrieved: int
    """Labelled queries that the run does not answer."""

    @property
    def split(self) -> TopSplit:
        """How all labelled queries split into the categories: Table 1."""
        return TopSplit(
            a=self.a.queries,
            b=self.b.queries,
            no_rival=self.a.no_rival,
            not_retrieved=self.not_retrieved,
        )

    @told
    def shares(self) -> tuple[float, float, float, float]:
        """The parts of Figure 2, of the decided queries: rival and qrel of category B, then of A."""
        parts = np.array([self.b.rival, self.b.qrel, self.a.rival, self.a.qrel], dtype=np.float64)
        total = parts.sum()
        first, second, third, fourth = parts / total if total else np.full(4, np.nan)
        return float(first), float(second), float(third), float(fourth)


def top_against_qrel(
    judgments: Judgments, heads: Heads, qrels: Qrels, run: str, *, queries: Collection[str] | None = None
) -> TopAgainstQrel:
    """Compare the top passages of a run with the qrels, by the majority of the votes on each pair."""
    # Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 3, Tables 1 and 2, Figure 2.
    pairs = top_pairs(heads, qrels, run, queries=queries)
    votes = count_votes(judgments, pairs.queries, pairs.docs)
    for_qrel, for_rival, neither = votes.on(pairs.query, pairs.qrel, pairs.rival)
    paired = pairs.rival >= 0
    judged = for_qrel + for_rival + neither > 0

    def outcome(category: NDArray[np.bool_]) -> CategoryOutcome:
        wins = np.array([(category & (for_qrel > for_rival)).sum()])
        losses = np.array([(category & (for_qrel < for_rival)).sum()])
        return CategoryOutcome(
            queries=int(category.sum()),
            qrel=int(wins[0]),
            rival=int(losses[0]),
            tied=int((category & judged & (for_qrel == for_rival)).sum()),
            unjudged=int((category & paired & ~judged).sum()),
            no_rival=int((category & ~paired).sum()),
            p=float(binomial_p(wins, losses)[0]),
        )

    return TopAgainstQrel(
        run=run,
        a=outcome(pairs.agreed),
        b=outcome(pairs.retrieved & ~pairs.agreed),
        not_retrieved=pairs.split.not_retrieved,
    )

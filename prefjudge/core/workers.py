"""Workers: what their judgments show of how they work, and how reliable they are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, lgamma, log

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judgments import (
    Floats,
    Index,
    Judgments,
    gather_verdicts,
    one_of_each_choice,
    select_judgments,
)
from prefjudge.core.shortcuts import Shortcut
from prefjudge.words import many


def share(part: Floats | Index, whole: Floats | Index) -> Floats:
    """Return ``part / whole``; NaN where the whole is 0."""
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def majority_agreement(judgments: Judgments) -> tuple[Floats, Floats]:
    """Return each worker's judgments where others have a majority, and those that agree: a tie by half."""
    verdicts = gather_verdicts(judgments)
    lead = np.bincount(verdicts.pair, weights=verdicts.choice, minlength=verdicts.n_pairs)
    # The lead less one's own vote: agreeing with a majority that one made oneself proves nothing.
    others = np.sign(lead[verdicts.pair] - verdicts.choice)
    rows = (others != 0) & (judgments.worker >= 0)
    agreed = 0.5 + 0.5 * others[rows] * verdicts.choice[rows]
    n = len(judgments.workers)
    compared = np.bincount(judgments.worker[rows], minlength=n).astype(np.float64)
    return compared, np.bincount(judgments.worker[rows], weights=agreed, minlength=n).astype(np.float64)


def krippendorff_alpha(judgments: Judgments) -> float:
    """Return Krippendorff's alpha of the judgments, with nominal values (2011).

    A unit is a pair; its values are the first document by doc_id, the second, and a tie. Pairs with a single
    judgment do not count.
    """
    verdicts = gather_verdicts(judgments)
    table = np.zeros((verdicts.n_pairs, 3))
    np.add.at(table, (verdicts.pair, verdicts.choice + 1), 1.0)
    judged = table.sum(axis=1)
    table, judged = table[judged > 1], judged[judged > 1]
    values = table.sum(axis=0)
    total = values.sum()
    if not total:
        return float("nan")
    # Ordered pairs of unequal values in each unit, over judged - 1 as in Krippendorff's coincidence matrix.
    observed = ((judged**2 - (table**2).sum(axis=1)) / (judged - 1)).sum() / total
    expected = (total**2 - (values**2).sum()) / (total * (total - 1))
    return float(1.0 - observed / expected) if expected else float("nan")


def side_bias(judgments: Judgments) -> tuple[Index, Index, Floats]:
    """Return each worker's judgments for the left, those that are no ties, and how surprising that is.

    The last entry is all judgments together. The last column is the two-sided exact binomial probability of
    a split at least as uneven, if sides did not matter. The sides must have been drawn at random for each
    assignment, and the log must keep the side shown. Of a choice out of several passages one win counts.
    """
    judgments = select_judgments(judgments, one_of_each_choice(judgments))
    n = len(judgments.workers)
    rows = (judgments.choice != 0) & (judgments.worker >= 0)
    won = judgments.choice > 0
    decided = np.append(np.bincount(judgments.worker[rows], minlength=n), np.count_nonzero(judgments.choice))
    left = np.append(np.bincount(judgments.worker[rows & won], minlength=n), np.count_nonzero(won))
    fewer = np.minimum(left, decided - left)
    # Twice the lower tail: at chance 1/2 the binomial distribution is symmetric.
    p_value = np.where(
        decided > 0, np.minimum(1.0, 2.0 * scipy.special.bdtr(fewer.astype(np.float64), decided, 0.5)), 1.0
    )
    return left, decided, p_value


# Evidence: what a worker's judgments show about how the worker works, apart from the gold pairs.
#
# It is there to be looked at. None of it is a reason to refuse pay: each sign also turns up by chance, or
# in honest work on unusual pairs.

FASTEST = 10.0
"""Words a second beyond which nobody reads; people read about four (Brysbaert, 2019)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the judgments show, in columns of shape (n_workers,)."""

    workers: tuple[str, ...]
    """The workers. Judgments without a worker id are evidence about nobody."""
    judged: Index
    """The judgments."""
    left: Index
    decided: Index
    """The judgments for the left, and all that are not ties."""
    side_p: Floats
    """The two-sided exact binomial probability of sides at least as uneven, if sides did not matter."""
    seconds: Floats
    """The median visible time of a comparison; NaN where no time is known."""
    timed: Index
    hurried: Index
    """The judgments whose time and length are known, and those made faster than anybody reads."""
    repeated: Index
    consistent: Index
    """The pairs that came back with their sides swapped, and those in which the same passage was
    preferred."""
    compared: Floats
    agreed: Floats
    """The judgments of pairs on which the others have a majority, and those that agree with it; a tie agrees
    by half."""
    gold_right: Index
    gold_missed: Index
    """The gold pairs."""
    gold_low: Floats
    gold_high: Floats
    """The 95 % interval of the share of gold pairs answered right, from a uniform prior."""


def gather_evidence(
    judgments: Judgments,
    *,
    milliseconds: NDArray[np.int64] | None = None,
    words: NDArray[np.int64] | None = None,
) -> Evidence:
    """Gather the evidence about each worker, of judgments in the order in which each made them.

    ``milliseconds`` is how long each comparison was visible, 0 where that is not known; ``words`` how many
    the query and both passages have.
    """
    n = len(judgments.workers)
    right, missed = np.zeros((2, n), dtype=np.int64) if judgments.gold is None else judgments.gold
    left, decided, side_p = side_bias(judgments)
    compared, agreed = majority_agreement(judgments)
    seconds, timed, hurried = _times(judgments, milliseconds, words)
    repeated, consistent = _repeats(judgments)
    low, high = share_interval(right, missed)
    return Evidence(
        workers=judgments.workers,
        judged=np.bincount(judgments.worker[judgments.worker >= 0], minlength=n),
        left=left[:n],
        decided=decided[:n],
        side_p=side_p[:n],
        seconds=seconds,
        timed=timed,
        hurried=hurried,
        repeated=repeated,
        consistent=consistent,
        compared=compared,
        agreed=agreed,
        gold_right=right,
        gold_missed=missed,
        gold_low=low,
        gold_high=high,
    )


def share_interval(yes: NDArray[np.int64] | Floats, no: NDArray[np.int64] | Floats) -> tuple[Floats, Floats]:
    """Return the central 95 % interval of a share, by its Beta posterior from a uniform prior."""
    tail = (1.0 - 0.95) / 2
    a, b = np.asarray(yes, dtype=np.float64) + 1, np.asarray(no, dtype=np.float64) + 1
    low, high = (np.asarray(scipy.special.betaincinv(a, b, p), dtype=np.float64) for p in (tail, 1.0 - tail))
    return low, high


def _times(
    judgments: Judgments,
    milliseconds: NDArray[np.int64] | None,
    words: NDArray[np.int64] | None,
) -> tuple[Floats, Index, Index]:
    """Return each worker's median time in seconds, the judgments timed, and those made too fast to read."""
    n = len(judgments.workers)
    seconds, timed, hurried = np.full(n, np.nan), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    if milliseconds is None:
        return seconds, timed, hurried
    rows = np.flatnonzero((judgments.worker >= 0) & (milliseconds > 0))
    rows = rows[np.lexsort((milliseconds[rows], judgments.worker[rows]))]
    worker, took = judgments.worker[rows], milliseconds[rows] / 1000
    count = np.bincount(worker, minlength=n)
    some, first = count > 0, np.cumsum(count) - count
    # Both middle times where the count is even, twice the same where it is odd.
    middle = (took[(first + (count - 1) // 2)[some]] + took[(first + count // 2)[some]]) / 2
    seconds[some] = middle
    if words is None:
        return seconds, timed, hurried
    fast = words[rows] > FASTEST * took
    return seconds, count, np.bincount(worker[fast], minlength=n)


def _repeats(judgments: Judgments) -> tuple[Index, Index]:
    """Count the pairs that came back to the same worker with swapped sides, and those judged the same."""
    n = len(judgments.workers)
    verdicts = gather_verdicts(judgments)
    rows = np.flatnonzero((judgments.worker >= 0) & (judgments.choice != 0))
    # By worker, pair and time: a pair's judgments by one worker are contiguous, in the order they were made.
    rows = rows[np.lexsort((rows, verdicts.pair[rows], judgments.worker[rows]))]
    worker, pair = judgments.worker[rows], verdicts.pair[rows]
    again = (worker[1:] == worker[:-1]) & (pair[1:] == pair[:-1])
    again &= verdicts.a_left[rows][1:] != verdicts.a_left[rows][:-1]
    same = again & (verdicts.choice[rows][1:] == verdicts.choice[rows][:-1])
    return np.bincount(worker[1:][again], minlength=n), np.bincount(worker[1:][same], minlength=n)


# Flags: what stands out in the evidence about workers, in plain words.
#
# A sign asks a person to look. It is not a reason to refuse pay.


class SignKind(StrEnum):
    """What a sign is about."""

    SIDE = "side"
    TIME = "time"
    CONSISTENCY = "consistency"
    AGREEMENT = "agreement"
    GOLD = "gold"
    SHORTCUT = "shortcut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something about a worker that stands out."""

    worker: str
    kind: SignKind
    text: str
    """What was seen, and how surprising it is."""


def find_signs(
    evidence: Evidence,
    shortcuts: Sequence[Shortcut] = (),
    *,
    level: float = 0.01,
    accuracy: float = 0.9,
) -> tuple[Sign, ...]:
    """Say what stands out about each worker, whose votes follow ``shortcuts`` first."""
    each = level / max(len(evidence.workers), 1)
    agreement_p = _below_the_others(evidence.agreed, evidence.compared)
    consistency_p = _below_the_others(
        evidence.consistent.astype(np.float64), evidence.repeated.astype(np.float64)
    )
    found = [
        Sign(worker=evidence.workers[one.worker], kind=SignKind.SHORTCUT, text=one.text) for one in shortcuts
    ]
    for row, worker in enumerate(evidence.workers):
        found += [
            Sign(worker=worker, kind=kind, text=text)
            for kind, text in _signs(evidence, row, each, accuracy, consistency_p[row], agreement_p[row])
        ]
    return tuple(found)


def _signs(
    evidence: Evidence, row: int, level: float, accuracy: float, consistency_p: float, agreement_p: float
) -> Iterator[tuple[SignKind, str]]:
    if evidence.side_p[row] < level:
        left, decided = evidence.left[row], evidence.decided[row]
        yield (
            SignKind.SIDE,
            f"chose the left passage in {left} of {many(decided, 'comparison')} "
            f"({_chance(evidence.side_p[row])})",
        )
    if 2 * evidence.hurried[row] > evidence.timed[row]:
        yield (
            SignKind.TIME,
            f"made {evidence.hurried[row]} of {evidence.timed[row]} choices faster than anybody can read",
        )
    if consistency_p < level:
        yield (
            SignKind.CONSISTENCY,
            f"chose the same passage in {evidence.consistent[row]} of {evidence.repeated[row]} pairs that "
            f"came back with their sides swapped ({_chance(consistency_p)} if like the others)",
        )
    if agreement_p < level:
        share = evidence.agreed[row] / evidence.compared[row]
        yield (
            SignKind.AGREEMENT,
            f"agrees with the majority of the others in {share:.0%} of {evidence.compared[row]:.0f} "
            f"comparisons ({_chance(agreement_p)} if like the others)",
        )
    if evidence.gold_high[row] < accuracy:
        right = evidence.gold_right[row]
        yield (
            SignKind.GOLD,
            f"got {right} of {many(right + evidence.gold_missed[row], 'gold pair')} right "
            f"(95 % interval: {evidence.gold_low[row]:.0%} to {evidence.gold_high[row]:.0%})",
        )


def _below_the_others(yes: Floats, asked: Floats) -> Floats:
    """Return the binomial chance of so few, if the worker's rate were that of all others together."""
    others = np.maximum(asked.sum() - asked, 1.0)
    rate = np.clip((yes.sum() - yes) / others, 0.0, 1.0)
    known = (asked > 0) & (asked.sum() > asked)
    return np.where(known, scipy.special.bdtr(np.floor(yes), asked.astype(np.int64), rate), 1.0)


def _chance(p: float) -> str:
    return "chance below 1 in a million" if p < 1e-6 else f"chance 1 in {1 / p:,.0f}"


# Suspected persons: accounts whose turns follow each other as those of one person would.
#
# One person with several accounts leaves one and takes the next. So one account begins soon after another
# has stopped, and not while another is at work, far more often than the hour explains.

_BREAK = 120.0
"""Who takes no HIT for so many seconds has stopped, and begins with the next."""
_SCALES = ((60.0, 300.0), (150.0, 600.0))
"""How soon one follows another, and how far around it others' stops count as at the same hour, in seconds."""
_SEEDS, _FURTHER = 5, 10
"""From how many pairs of accounts a group is grown, and how far beyond its best size."""
PERSON_LEVEL = 0.01
"""Of studies whose accounts are all different people, so many may have such a group, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectedPerson:
    """Accounts that may be one person's, and what was seen."""

    workers: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """When accounts worked: an entry for each HIT that one has submitted, all times in seconds."""

    workers: tuple[str, ...]
    """The accounts."""
    worker: Index
    hit: Index
    """Codes of who had it, and of which HIT it was."""
    published: Floats
    accepted: Floats
    submitted: Floats


def find_persons(turns: Turns) -> tuple[SuspectedPerson, ...]:
    """Find accounts that begin when another of them stops, more often than chance brings together.

    The chance is that the stops near each beginning were spread evenly over the minutes around it (a jitter
    test). The level is divided among all groups that there could be, so that any search for one is fair.
    """
    found = sorted(group for soon, near in _SCALES for group in _groups(turns, soon, near, log(PERSON_LEVEL)))
    persons: list[SuspectedPerson] = []
    used: set[int] = set()
    for chance, members, text in found:
        if used.isdisjoint(members):
            used.update(members)
            names = tuple(turns.workers[code] for code in members)
            persons.append(SuspectedPerson(workers=names, text=f"{text} ({_chance(exp(chance))})"))
    return tuple(persons)


def _groups(
    turns: Turns, soon: float, near: float, level: float
) -> Iterator[tuple[float, tuple[int, ...], str]]:
    """Yield the logarithm of each group's corrected chance, its members, and what was seen."""
    n = len(turns.workers)
    begun, ended = _begun_and_ended(turns)
    since = turns.submitted[ended]
    # each beginning with each stop of another account near it
    first, last = (np.searchsorted(since, turns.accepted[begun] + near * side) for side in (-1, 1))
    at = np.repeat(np.arange(begun.size), last - first)
    stop = ended[np.arange(at.size) - np.repeat(np.cumsum(last - first) - last, last - first)]
    other = turns.worker[begun[at]] != turns.worker[stop]
    at, stop = at[other], stop[other]
    one, two = turns.worker[begun[at]], turns.worker[stop]
    gap = turns.accepted[begun[at]] - turns.submitted[stop]
    # who waited for a HIT that was not to be had until the other had stopped is no evidence
    to_be_had = turns.published[begun[at]] <= turns.submitted[stop]
    to_be_had &= turns.hit[begun[at]] != turns.hit[stop]
    follows = (gap >= 0) & (gap <= soon) & to_be_had
    even = soon / (2 * near)
    excess = scipy.sparse.csr_array((follows - even, (one, two)), shape=(n, n))
    excess = (excess + excess.T).tocoo()

    def seen(members: NDArray[np.bool_]) -> tuple[float, int, int]:
        """Return the corrected chance of a group, how often one followed another, and how often it could."""
        inside = members[one] & members[two]
        stops = np.bincount(at[inside], minlength=begun.size)
        tried = np.flatnonzero(stops)
        if not tried.size:
            return 0.0, 0, 0
        soon_after = np.bincount(at[inside & follows], minlength=begun.size)[tried] > 0
        count = int(np.count_nonzero(soon_after & ~_at_work(turns, members, begun[tried])))
        expected = float(np.mean(1.0 - (1.0 - even) ** stops[tried]))
        if count <= expected * tried.size:
            return 0.0, count, tried.size
        chance = float(scipy.stats.binom.logsf(count - 1, tried.size, expected))
        size = int(members.sum())
        groups = lgamma(n + 1) - lgamma(size + 1) - lgamma(n - size + 1) + log(n * len(_SCALES))
        return min(0.0, chance + groups), count, tried.size

    free = np.ones(n, dtype=bool)
    while True:
        best = min(_grown(excess, free, seen), key=lambda members: seen(members)[0], default=None)
        if best is None:
            return
        inside = follows & best[one] & best[two]
        met = np.bincount(np.concatenate((one[inside], two[inside])), minlength=n)
        best &= met > 1  # once is chance
        chance, count, tried = seen(best)
        if chance >= level:
            return
        free &= ~best
        text = (
            f"in {count:,} of {many(tried, 'turn')} began within {soon:.0f} seconds after another of them "
            "had stopped, while none was at work"
        )
        yield chance, tuple(np.flatnonzero(best).tolist()), text


def _begun_and_ended(turns: Turns) -> tuple[Index, Index]:
    """Return the HITs with which an account began after a pause, and those before one, by time."""
    order = np.lexsort((turns.accepted, turns.worker))
    same = np.diff(turns.worker[order], prepend=-1) == 0
    pause = turns.accepted[order] - np.roll(turns.submitted[order], 1) > _BREAK
    begins = ~same | pause
    begun, ended = order[begins], order[np.roll(begins, -1)]
    return (
        begun[np.argsort(turns.accepted[begun], kind="stable")],
        ended[np.argsort(turns.submitted[ended], kind="stable")],
    )


def _grown(
    excess: "scipy.sparse.coo_array", free: NDArray[np.bool_], seen: Callable[..., tuple[float, int, int]]
) -> Iterator[NDArray[np.bool_]]:
    """Yield groups of accounts, each grown from two that follow each other often by who follows them most."""
    pairs = np.flatnonzero(free[excess.row] & free[excess.col] & (excess.row < excess.col))
    table = excess.tocsr()
    for pair in pairs[np.argsort(-excess.data[pairs], kind="stable")][:_SEEDS].tolist():
        members = np.zeros(free.size, dtype=bool)
        members[[excess.row[pair], excess.col[pair]]] = True
        best, least, size = members.copy(), np.inf, 2
        while size < min(free.size, best.sum() + _FURTHER):
            chance = seen(members)[0]
            if chance < least:
                best, least = members.copy(), chance
            gain = np.where(free & ~members, table[members].sum(axis=0), -np.inf)
            if gain.max() <= 0:
                break
            members[gain.argmax()] = True
            size += 1
        yield best


def _at_work(turns: Turns, members: NDArray[np.bool_], begun: Index) -> NDArray[np.bool_]:
    """Return whether another of the members was at work when one began with each of these HITs."""
    theirs = np.flatnonzero(members[turns.worker])
    when, who = turns.accepted[begun][:, None], turns.worker[begun][:, None]
    during = (turns.accepted[theirs] < when) & (turns.submitted[theirs] > when)
    busy: NDArray[np.bool_] = (during & (turns.worker[theirs] != who)).any(axis=1)
    return busy

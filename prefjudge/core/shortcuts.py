"""Shortcuts: how far a worker's votes follow what is seen without reading, or the votes of some others.

Gold pairs catch who does not look at them. Who tells them from the rest, or gets them right by a shortcut, is
caught by what the votes have in common: they follow one visible rule, a mixture of such rules, or the votes
of a few others far more than is usual. No secret is needed for it. Votes thrown by a coin follow nothing:
against those there is gold alone.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import log as log_of
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.gold import words_of
from prefjudge.core.judgments import Judgments
from prefjudge.words import many

LEFT, LONGER, SHARED, RARE, DENSE = "left", "longer", "shared words", "rare words", "dense words"
LIKE = "like the others"
MIXTURE, CLIQUE = "mixture", "clique"

_SAID = {
    LEFT: ("chose the left passage", "chose the right passage"),
    LONGER: ("chose the longer passage", "chose the shorter passage"),
    SHARED: (
        "chose the passage with more of the question's words",
        "chose the passage with fewer of the question's words",
    ),
    RARE: (
        "chose the passage with more of the question's rare words",
        "chose the passage with fewer of the question's rare words",
    ),
    DENSE: (
        "chose the passage where the question's words stand closer together",
        "chose the passage where the question's words stand further apart",
    ),
    LIKE: (
        "chose the passage more like the others of its question",
        "chose the passage less like the others of its question",
    ),
}

LEVEL = 0.05
"""Of studies without any such worker so many may say that there is one, at most."""

_FEWEST = 10
"""A worker's share says something of what is usual from so many votes on."""

_FAR = 3.0
"""A difference beyond so many standard deviations counts as so many, and agreement as no chance."""

_MEETINGS = 5
"""Two workers who voted on fewer pairs in common tell nothing of how far they agree."""

_AGREES = 2.0
"""Who agrees with others by fewer standard deviations more than coins do, may toss one."""

_LITTLE = 0.1
"""Where votes agree hardly more than coins do, nobody is told to be right more often than others."""

_RIGHT = 0.97
"""Nobody is taken to be right more often: few votes never tell that, and two such would never be a clique."""

_STEP, _HALF = 0.2, 0.5
"""Workers differ in how far they follow what is seen, as it goes with what is better. Chance is reckoned from
a share so far on the way from what is usual to always. Half of the way is the least that is a sign,
however many the votes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """What a worker's votes follow without reading, where the votes of others do not."""

    worker: int = field(repr=False)
    """Code of the worker."""
    rule: str
    """What is followed: a visible rule, a mixture of them, or a clique."""
    text: str
    """What was seen, in words."""
    followed: int
    votes: int
    """How many of the worker's votes followed it, of those that it says something of."""
    others: float
    """The share that is usual: the median over the other workers."""
    p: float
    """The probability of so many from a worker who follows it a little more than is usual."""


def visible(
    log: Judgments, *, queries: Mapping[str, str] | None = None, passages: Mapping[str, str] | None = None
) -> dict[str, NDArray[np.float64]]:
    """Return how far each visible rule prefers the left passage of each judgment; 0 where it does not say."""
    # The rules of texts need the `queries` and the `passages`; a judgment whose texts are not there has 0.
    found = {LEFT: np.ones(len(log))} if log.sides else {}
    if not queries or not passages or not len(log):
        return found
    # a row for each query and passage that were shown together
    key = np.concatenate((log.left, log.right)) + len(log.docs) * np.tile(log.query.astype(np.int64), 2)
    shown, row = np.unique(key, return_inverse=True)
    query, doc = (part.tolist() for part in np.divmod(shown, len(log.docs)))
    asked = [words_of(queries.get(name, "")) for name in log.queries]
    texts = {one: passages.get(log.docs[one], "") for one in dict.fromkeys(doc)}
    words = {one: words_of(text) for one, text in texts.items()}
    spread = Counter(chain.from_iterable(words.values()))
    rare = {word: log_of(len(texts) / count) for word, count in spread.items()}
    common = [asked[one] & words[other] for one, other in zip(query, doc, strict=True)]
    met: list[Counter[str]] = [Counter() for _ in asked]
    for one, other in zip(query, doc, strict=True):
        met[one].update(words[other])
    length = np.array([len(texts[one]) for one in doc], dtype=np.float64)
    weight = np.array([sum(map(rare.__getitem__, sorted(both))) for both in common], dtype=np.float64)
    size = np.sqrt([max(1, len(words[one])) for one in doc])
    values = {
        LONGER: length,
        SHARED: np.array([len(both) for both in common], dtype=np.float64),
        RARE: weight,
        DENSE: weight / size,
        LIKE: np.array(
            [
                sum((met[one][word] - 1) * rare[word] for word in sorted(words[other]))
                for one, other in zip(query, doc, strict=True)
            ]
        )
        / size,
    }
    left, right = row[: len(log)], row[len(log) :]
    known = (length[left] > 0) & (length[right] > 0)
    return found | {rule: known * (value[left] - value[right]) for rule, value in values.items()}


def find_shortcuts(
    log: Judgments,
    seen: Mapping[str, NDArray[np.float64]],
    *,
    base: Collection[str] | None = None,
    level: float = LEVEL,
) -> tuple[Shortcut, ...]:
    """Return whose votes follow what is `visible`, or others' votes, far more than usual: the surest sign."""
    # Who is of the `base` says what is usual: among accounts that toss coins, who reads would stand out.
    # The level is divided among the workers and what they may follow, and grows by who was found before: a
    # rule that some follow is followed by others (Benjamini and Hochberg, 1995).
    surest: dict[int, Shortcut] = {}
    usual = np.array([base is None or worker in base for worker in log.workers], dtype=bool)
    agrees, by_chance = _agreement(log, usual)
    readers = float(np.quantile(agrees[usual], 0.75)) if usual.any() else 0.0
    usual &= agrees + by_chance >= readers / 2.0  # who plainly does not read is no measure
    middle = max(_LITTLE, float(np.median(agrees[usual])) if usual.any() else 0.0)
    better = np.maximum(1.0, (agrees - by_chance) / middle)
    said = [
        (rule, words, sign * values)
        for rule, values in seen.items()
        for words, sign in zip(_SAID[rule], (1.0, -1.0), strict=True)
    ]
    said.append((MIXTURE, "voted as side, length and the question's words predict", _mixtures(log, seen)))
    signs = [_follow(log, rule, words, says, usual, better) for rule, words, says in said]
    signs.append(_follow_each_other(log, usual))
    found, least = list(chain.from_iterable(signs)), dict[int, float]()
    for one in found:
        least[one.worker] = min(one.p, least.get(one.worker, 1.0))
    each = level / ((2 * len(seen) + 2) * max(1, len(log.workers)))
    many_found = max((n for n, p in enumerate(sorted(least.values()), 1) if p < n * each), default=0)
    for one in found:
        known = surest.get(one.worker)
        # who follows what is seen agrees with others who do
        if one.p < many_found * each and (known is None or (one.rule != CLIQUE and one.p < known.p)):
            surest[one.worker] = one
    return tuple(surest[worker] for worker in sorted(surest))


def _mixtures(log: Judgments, seen: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return what a linear model of what is seen says of each vote, by the worker's others; 0 for none."""
    features = [one / np.sqrt(np.mean(one**2)) for one in seen.values() if one.any()]
    foretold = np.zeros(len(log))
    if len(features) < 2:
        return foretold
    table = np.column_stack([*map(np.sign, features), *(np.clip(one, -_FAR, _FAR) for one in features)])
    cast = _votes(log)
    for rows in np.split(cast, np.flatnonzero(np.diff(log.worker[cast])) + 1) if cast.size else ():
        x, y = table[rows], log.choice[rows].astype(np.float64)
        solved = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T)
        foretold[rows] = x @ (solved @ y) - np.einsum("ij,ji->i", x, solved) * y  # without the vote itself
    return foretold


def _agreement(log: Judgments, base: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far beyond chance each agrees with the base on the query, and what chance may do."""
    # One vote on a pair is enough. All workers weigh alike: a few who vote much are not the others.
    cast, n = _votes(log), len(log.workers)
    worker, choice = log.worker[cast].astype(np.int64), log.choice[cast].astype(np.float64)
    left, right = (
        log.query[cast].astype(np.int64) * len(log.docs) + side[cast] for side in (log.left, log.right)
    )
    _, place = np.unique(np.concatenate((left, right)), return_inverse=True)
    _, mine = np.unique(place * n + np.tile(worker, 2), return_inverse=True)
    won = np.concatenate((choice, -choice)) * np.tile(
        base[worker] / np.bincount(worker, minlength=n)[worker], 2
    )
    of_others = np.bincount(place, weights=won)[place] - np.bincount(mine, weights=won)[mine]
    says = np.sign(np.round(np.subtract(*np.split(of_others, 2)), 9))
    told = np.maximum(np.bincount(worker, weights=says != 0, minlength=n), 1.0)
    agrees = np.bincount(worker, weights=says * choice, minlength=n) / told
    return agrees, _AGREES * np.sqrt((1.0 - agrees**2) / told)


def _follow(
    log: Judgments,
    rule: str,
    words: str,
    says: NDArray[np.float64],
    base: NDArray[np.bool_],
    better: NDArray[np.float64],
) -> Iterator[Shortcut]:
    """Hold each worker against the median of the others: a few who vote much do not make what is usual."""
    # Where the better passage mostly follows the rule, too, whoever reads better follows it more often.
    rows = np.flatnonzero((says != 0) & (log.choice != 0) & (log.worker >= 0))
    votes, followed = (
        np.bincount(log.worker[rows], weights=of, minlength=base.size)
        for of in (None, np.sign(says[rows]) == log.choice[rows])
    )
    voters = np.flatnonzero(votes >= _FEWEST)
    share = followed[voters] / votes[voters]
    for worker, its_share in zip(voters.tolist(), share.tolist(), strict=True):
        others = base[voters] & (voters != worker)
        if others.sum() < 2 and rule != LEFT:
            continue  # nobody to compare with
        usual = level = 0.5
        if others.sum() > 1:
            usual = max(0.5, float(np.median(share[others])))
            level = min(_RIGHT, 0.5 + (usual - 0.5) * better[worker])
        if its_share >= level + _HALF * (1.0 - level):
            n, k = int(votes[worker]), int(followed[worker])
            p = float(scipy.special.bdtrc(k - 1, n, level + _STEP * (1.0 - level)))
            beside = f" (others in {usual:.0%})" if others.sum() > 1 else ""
            text = f"{words} in {k:,} of {many(n, 'vote')}{beside}"
            yield Shortcut(worker=worker, rule=rule, text=text, followed=k, votes=n, others=usual, p=p)


class _Meetings(NamedTuple):
    """Who met whom: two workers, each before and after the other."""

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    met: NDArray[np.float64]
    """On how many pairs both voted."""
    agreed: NDArray[np.float64]
    """On how many of them they agreed."""


def _meet(log: Judgments) -> _Meetings:
    """Return who voted on the same pairs, and how often they agreed."""
    cast, n = _votes(log), len(log.workers)
    low, high = np.minimum(log.left, log.right)[cast], np.maximum(log.left, log.right)[cast]
    _, pair = np.unique(np.stack((log.query[cast], low, high)), axis=1, return_inverse=True)
    side = np.where(log.winner[cast] == low, 1.0, -1.0)
    net = scipy.sparse.csr_array((side, (log.worker[cast], pair.ravel())), shape=(n, cast.size))
    net.data = np.sign(net.data)
    both = (abs(net) @ abs(net).T).tocsr()
    same = (both + net @ net.T) / 2.0
    one, other = (part.astype(np.int64) for part in both.nonzero())
    one, other = one[one != other], other[one != other]
    if not one.size:
        return _Meetings(one, other, np.zeros(0), np.zeros(0))
    met, agreed = (np.asarray(table[one, other]).ravel() for table in (both, same))
    return _Meetings(one, other, met, agreed)


def _follow_each_other(log: Judgments, base: NDArray[np.bool_]) -> Iterator[Shortcut]:
    """Find a few who agree with each other more than if all had nothing but the truth in common."""
    # Two meet too rarely to say so of them alone: the leading eigenvector of the agreement that is too much
    # tells who belongs together, and its eigenvalue whether they are more than chance brings together.
    n, meetings = len(log.workers), _meet(log)
    one, other, met, agreed = (part[meetings.met >= _MEETINGS] for part in meetings)
    share, known = agreed / met, base[one] & base[other]
    if np.unique(one[known]).size < 4:
        return  # among so few nobody stands out
    usual = float(np.clip(np.median(share[known]), 0.5, _RIGHT))
    # How often each is right if all have one truth in common: by the median over those whom they met.
    crowd, skill = np.sqrt(2.0 * usual - 1.0), np.full(n, 0.5)
    for worker in np.unique(one[base[other]]).tolist():
        rate = float(np.median(share[(one == worker) & base[other]]))
        skill[worker] = np.clip(0.5 + (rate - 0.5) / max(crowd, _LITTLE), 0.5, _RIGHT)
    expected = np.maximum(usual, 0.5 + 2.0 * (skill[one] - 0.5) * (skill[other] - 0.5))
    bound = expected + _STEP * (1.0 - expected)
    excess = scipy.sparse.csr_array(
        ((agreed - met * bound) / np.sqrt(met * bound * (1.0 - bound)), (one, other)), shape=(n, n)
    )
    # The largest eigenvalue of noise (Tracy and Widom), in one study of a hundred.
    (value,), vector = scipy.sparse.linalg.eigsh(excess, k=1, which="LA", v0=np.ones(n))
    size = np.unique(one).size
    if value < 2.0 * np.sqrt(size) + 2.0 * size ** (-1.0 / 6.0):
        return
    weight = vector[:, 0] * np.sign(vector[np.abs(vector).argmax(), 0])
    members = weight > weight.max() / 2.0
    members |= _like(meetings, members)
    readers = _readers(meetings, base & ~members)
    if readers.sum() < members.sum():  # most are no clique: rather the others are one
        members, readers = readers, _readers(meetings, base & ~readers)
    truth = _explained(meetings, members, readers)
    for worker in np.flatnonzero(members).tolist():
        rows = (one == worker) & members[other]
        k, n_met = int(agreed[rows].sum()), int(met[rows].sum())
        most = float(expected[rows].max(initial=max(usual, truth)))
        if k < n_met * (most + _HALF * (1.0 - most)):
            continue
        whom = many(int(rows.sum()), "other worker")
        text = f"voted as {whom} did in {k:,} of {many(n_met, 'vote')} (others in {usual:.0%})"
        p = float(scipy.special.bdtrc(k - 1, n_met, most + _STEP * (1.0 - most)))
        yield Shortcut(worker=worker, rule=CLIQUE, text=text, followed=k, votes=n_met, others=usual, p=p)


def _beyond_chance(
    meetings: _Meetings, some: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how much more than coins each agrees with some others, and how often it met them."""
    one, other, met, agreed = meetings
    rows = some[other]
    beyond, of = (
        np.bincount(one[rows], part[rows], some.size).astype(np.float64) for part in (2.0 * agreed - met, met)
    )
    return beyond, of


def _like(meetings: _Meetings, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who plainly agrees with the members, and at least half as far as they do with each other."""
    beyond, of = _beyond_chance(meetings, members)
    within = beyond[members].sum() / max(of[members].sum(), 1.0)
    like: NDArray[np.bool_] = (of > 0) & (beyond >= np.maximum(_HALF * within * of, _FAR * np.sqrt(of)))
    return like


def _readers(meetings: _Meetings, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who of some agrees with the rest of them plainly more than coins do."""
    beyond, of = _beyond_chance(meetings, some)
    return some & (beyond > _AGREES * np.sqrt(of))


def _explained(meetings: _Meetings, members: NDArray[np.bool_], others: NDArray[np.bool_]) -> float:
    """Return how far some can agree as all have one truth in common: 1 where others agree on none."""
    # Then agreement beyond chance is a product of how far either side reads; among coins, readers agree so.
    beyond, of = _beyond_chance(meetings, others)
    (with_them, n), (among, count) = ((beyond[some].sum(), of[some].sum()) for some in (members, others))
    least = among - _AGREES * np.sqrt(2.0 * count)  # either of two has met the other
    if least <= 0.0:
        return 1.0
    most = (max(with_them, 0.0) + _AGREES * np.sqrt(n)) / max(n, 1.0)
    return 0.5 + 0.5 * min(1.0, float(most**2 / (least / count)))


def _votes(log: Judgments) -> NDArray[np.int64]:
    """Return the rows where somebody known chose a side, by worker."""
    cast = np.flatnonzero((log.choice != 0) & (log.worker >= 0))
    return cast[np.argsort(log.worker[cast], kind="stable")]

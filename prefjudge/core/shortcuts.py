"""Shortcuts: how far a worker's votes follow what is seen without reading, or the votes of some others.

Gold pairs catch who does not look at them. Who tells them from the rest, or gets them right by a shortcut, is
caught by what the votes have in common: they follow one visible rule, a mixture of such rules, or the votes
of a few others far more than is usual. No secret is needed for it. Votes thrown by a coin follow nothing:
against those there is gold alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import log as log_of

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
"""A difference beyond so many standard deviations counts as so many."""

_MEETINGS = 5
"""Two workers who voted on fewer pairs in common tell nothing of how far they agree."""

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
    log: Judgments, seen: Mapping[str, NDArray[np.float64]], *, level: float = LEVEL
) -> tuple[Shortcut, ...]:
    """Return whose votes follow what is `visible`, or others' votes, far more than usual: the surest sign."""
    # The level is divided among the workers and what they may follow (Bonferroni).
    surest: dict[int, Shortcut] = {}
    signs = (_follow_rules(log, seen), _follow_mixtures(log, seen), _follow_each_other(log))
    tests = (2 * len(seen) + 2) * max(1, len(log.workers))
    for one in chain.from_iterable(signs):
        known = surest.get(one.worker)
        if one.p * tests < level and (known is None or one.p < known.p):
            surest[one.worker] = one
    return tuple(surest[worker] for worker in sorted(surest))


def _follow_rules(log: Judgments, seen: Mapping[str, NDArray[np.float64]]) -> Iterator[Shortcut]:
    """Find who follows one rule, or its contrary."""
    n = len(log.workers)
    for rule, values in seen.items():
        rows = (values != 0) & (log.choice != 0) & (log.worker >= 0)
        votes = np.bincount(log.worker[rows], minlength=n)
        follows = np.sign(values[rows]) == log.choice[rows]
        agreed = np.bincount(log.worker[rows], weights=follows, minlength=n).astype(np.int64)
        for words, followed in zip(_SAID[rule], (agreed, votes - agreed), strict=True):
            yield from _against_others(rule, words, followed, votes)


def _follow_mixtures(log: Judgments, seen: Mapping[str, NDArray[np.float64]]) -> Iterator[Shortcut]:
    """Find whose votes a linear model of what is seen predicts, each from the worker's other votes."""
    features = [one / np.sqrt(np.mean(one**2)) for one in seen.values() if one.any()]
    if len(features) < 2:
        return
    table = np.column_stack([*map(np.sign, features), *(np.clip(one, -_FAR, _FAR) for one in features)])
    votes, followed = (np.zeros(len(log.workers), dtype=np.int64) for _ in range(2))
    cast = _votes(log)
    for rows in np.split(cast, np.flatnonzero(np.diff(log.worker[cast])) + 1) if cast.size else ():
        x, y, worker = table[rows], log.choice[rows].astype(np.float64), log.worker[rows[0]]
        solved = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T)
        foretold = x @ (solved @ y) - np.einsum("ij,ji->i", x, solved) * y  # without the vote itself
        votes[worker], followed[worker] = y.size, np.count_nonzero(np.sign(foretold) == y)
    words = "voted as side, length and the question's words predict"
    yield from _against_others(MIXTURE, words, followed, votes)


def _against_others(
    rule: str, words: str, followed: NDArray[np.int64], votes: NDArray[np.int64]
) -> Iterator[Shortcut]:
    """Hold each worker against the median of the others: a few who vote much do not make what is usual."""
    voters = np.flatnonzero(votes >= _FEWEST)
    share = followed[voters] / votes[voters]
    for place, worker in enumerate(voters.tolist()):
        others = np.delete(share, place)
        if others.size < 2 and rule != LEFT:
            continue  # nobody to compare with
        usual = max(0.5, float(np.median(others))) if others.size > 1 else 0.5
        if share[place] >= usual + _HALF * (1.0 - usual):
            n, k = int(votes[worker]), int(followed[worker])
            p = float(scipy.special.bdtrc(k - 1, n, usual + _STEP * (1.0 - usual)))
            beside = f" (others in {usual:.0%})" if others.size > 1 else ""
            text = f"{words} in {k:,} of {many(n, 'vote')}{beside}"
            yield Shortcut(worker=worker, rule=rule, text=text, followed=k, votes=n, others=usual, p=p)


def _follow_each_other(log: Judgments) -> Iterator[Shortcut]:
    """Find a few who agree with each other more than if all had nothing but the truth in common."""
    # Two meet too rarely to say so of them alone: the leading eigenvector of the agreement that is too much
    # tells who belongs together, and its eigenvalue whether they are more than chance brings together.
    cast, n = _votes(log), len(log.workers)
    low, high = np.minimum(log.left, log.right)[cast], np.maximum(log.left, log.right)[cast]
    _, pair = np.unique(np.stack((log.query[cast], low, high)), axis=1, return_inverse=True)
    side = np.where(log.winner[cast] == low, 1.0, -1.0)
    net = scipy.sparse.csr_array((side, (log.worker[cast], pair.ravel())), shape=(n, cast.size))
    net.data = np.sign(net.data)
    both = (abs(net) @ abs(net).T).tocsr()
    same = (both + net @ net.T) / 2.0
    one, other = (both >= _MEETINGS).nonzero()
    one, other = one[one != other], other[one != other]
    if np.unique(one).size < 4:
        return  # among so few nobody stands out
    met, agreed = (np.asarray(table[one, other]).ravel() for table in (both, same))
    share = agreed / met
    usual = float(np.clip(np.median(share), 0.5, _RIGHT))
    # How often each is right if all have one truth in common: by the median over those whom they met.
    crowd, skill = np.sqrt(2.0 * usual - 1.0), np.full(n, 0.5)
    for worker in np.unique(one).tolist():
        rate = float(np.median(share[one == worker]))
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
    for worker in np.flatnonzero(members).tolist():
        rows = (one == worker) & members[other]
        k, n_met = int(agreed[rows].sum()), int(met[rows].sum())
        most = float(expected[rows].max(initial=usual))
        if k < n_met * (most + _HALF * (1.0 - most)):
            continue
        whom = many(int(rows.sum()), "other worker")
        text = f"voted as {whom} did in {k:,} of {many(n_met, 'vote')} (others in {usual:.0%})"
        p = float(scipy.special.bdtrc(k - 1, n_met, most + _STEP * (1.0 - most)))
        yield Shortcut(worker=worker, rule=CLIQUE, text=text, followed=k, votes=n_met, others=usual, p=p)


def _votes(log: Judgments) -> NDArray[np.int64]:
    """Return the rows where somebody known chose a side, by worker."""
    cast = np.flatnonzero((log.choice != 0) & (log.worker >= 0))
    return cast[np.argsort(log.worker[cast], kind="stable")]

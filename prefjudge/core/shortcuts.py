"""Shortcuts: how far a worker's votes follow one thing that is seen without reading, such as which is longer.

Gold pairs catch who does not look at them. Who tells them from the rest, or gets them right by a shortcut, is
caught by what the votes have in common: they follow one visible rule far more than other workers' votes do.
No secret is needed for it. Votes thrown by a coin follow no rule: against those there is gold alone.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import log as log_of

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.gold import words_of
from prefjudge.core.judgments import Judgments
from prefjudge.words import many

LEFT, LONGER, SHARED, RARE = "left", "longer", "shared words", "rare words"

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
}

LEVEL = 0.05
"""Of studies without any such worker so many may say that there is one, at most."""

_FEWEST = 10
"""A worker's share says something of what is usual from so many votes on."""

_STEP, _HALF = 0.2, 0.5
"""Workers differ in how far they follow what is seen, as it goes with what is better. Chance is reckoned from
a share so far on the way from what is usual to always. Half of the way is the least that is a sign,
however many the votes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A visible rule that a worker's votes follow, where the votes of others do not.

    Attributes
    ----------
    worker : int
        Code of the worker.
    rule : str
        What is followed.
    text : str
        What was seen, in words.
    followed, votes : int
        How many of the worker's votes on pairs where the rule has an opinion followed it.
    others : float
        The share that is usual: the median over the other workers.
    p : float
        The probability of so many from a worker who follows it a little more than is usual.
    """

    worker: int = field(repr=False)
    rule: str
    text: str
    followed: int
    votes: int
    others: float
    p: float


def visible(
    log: Judgments, *, queries: Mapping[str, str] | None = None, passages: Mapping[str, str] | None = None
) -> dict[str, NDArray[np.int8]]:
    """Return what each visible rule says of each judgment: 1 for the left, -1 for the right, 0 for neither.

    The rules of texts need the ``queries`` and the ``passages``; a judgment whose texts are not there has 0.
    """
    found = {LEFT: np.ones(len(log), dtype=np.int8)} if log.sides else {}
    if not queries or not passages or not len(log):
        return found
    # a row for each query and passage that were shown together
    key = np.concatenate((log.left, log.right)) + len(log.docs) * np.tile(log.query.astype(np.int64), 2)
    shown, row = np.unique(key, return_inverse=True)
    query, doc = (part.tolist() for part in np.divmod(shown, len(log.docs)))
    asked = [words_of(queries.get(name, "")) for name in log.queries]
    wanted = frozenset[str]().union(*asked)
    texts = {one: passages.get(log.docs[one], "") for one in dict.fromkeys(doc)}
    words = {one: words_of(text) & wanted for one, text in texts.items()}
    spread = Counter(chain.from_iterable(words.values()))
    rare = {word: log_of(len(texts) / count) for word, count in spread.items()}
    common = [asked[one] & words[other] for one, other in zip(query, doc, strict=True)]
    length = np.array([len(texts[one]) for one in doc], dtype=np.float64)
    values = {
        LONGER: length,
        SHARED: np.array([len(both) for both in common], dtype=np.float64),
        RARE: np.array([sum(map(rare.__getitem__, sorted(both))) for both in common], dtype=np.float64),
    }
    left, right = row[: len(log)], row[len(log) :]
    known = (length[left] > 0) & (length[right] > 0)
    return found | {
        rule: np.sign(known * (value[left] - value[right])).astype(np.int8) for rule, value in values.items()
    }


def find_shortcuts(
    log: Judgments, signals: Mapping[str, NDArray[np.int8]], *, level: float = LEVEL
) -> tuple[Shortcut, ...]:
    """Return who follows a visible rule, or its contrary, far more than others: for each the surest one.

    Each worker is held against the median of the others, so that a few who vote much do not make what is
    usual. The level is divided among the workers and the rules (Bonferroni).
    """
    n, tests = len(log.workers), 2 * len(signals)
    surest: dict[int, Shortcut] = {}
    for rule, signal in signals.items():
        rows = (signal != 0) & (log.choice != 0) & (log.worker >= 0)
        votes = np.bincount(log.worker[rows], minlength=n)
        agreed = np.bincount(log.worker[rows], weights=signal[rows] == log.choice[rows], minlength=n)
        for words, followed in zip(_SAID[rule], (agreed, votes - agreed), strict=True):
            share = np.divide(followed, votes, out=np.full(n, np.nan), where=votes > 0)
            voters = np.flatnonzero(votes >= _FEWEST)
            for worker in voters.tolist():
                others = share[voters[voters != worker]]
                usual = max(0.5, float(np.median(others))) if others.size > 1 else 0.5
                if others.size < 2 and rule != LEFT:
                    continue  # nobody to compare with
                bound = usual + _STEP * (1.0 - usual)
                if share[worker] < usual + _HALF * (1.0 - usual):
                    continue
                p = float(scipy.special.bdtrc(followed[worker] - 1, int(votes[worker]), bound))
                known = surest.get(worker)
                if p * tests * max(1, voters.size) < level and (known is None or p < known.p):
                    surest[worker] = Shortcut(
                        worker=worker,
                        rule=rule,
                        text=f"{words} in {followed[worker]:,.0f} of {many(int(votes[worker]), 'vote')}"
                        + (f" (others in {usual:.0%})" if others.size > 1 else ""),
                        followed=int(followed[worker]),
                        votes=int(votes[worker]),
                        others=usual,
                        p=p,
                    )
    return tuple(surest[worker] for worker in sorted(surest))

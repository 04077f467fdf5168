"""Lexical overlap: which passage has more of a question's words, as somebody may choose who reads neither."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.asking.gold import GoldPair

_WORD = re.compile(r"\w+")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case; function words are words, too."""
    return frozenset(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """What each of some passages shares with a question.

    Attributes
    ----------
    words : ndarray of float64, shape (n,)
        How many of the question's words.
    weight : ndarray of float64, shape (n,)
        The same, each word weighted by its rareness, log(N / n), so that one in every passage weighs nothing.
    """

    words: NDArray[np.float64]
    weight: NDArray[np.float64]


class OverlapIndex:
    """Which passages hold which words of the questions.

    Parameters
    ----------
    passages : sequence of str
        The texts, in the order of the overlaps that are returned.
    queries : iterable of str
        The questions that will be asked for: other words are not kept.
    """

    def __init__(self, passages: Sequence[str], queries: Iterable[str]) -> None:
        wanted = frozenset[str]().union(*(words_of(query) for query in queries))
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(passages):
            for word in words_of(text) & wanted:
                rows.setdefault(word, []).append(row)
        self._count = len(passages)
        self._rows = {word: np.array(found, dtype=np.int64) for word, found in rows.items()}

    def overlap(self, query: str) -> Overlap:
        """Return what each passage shares with a question."""
        words, weight = np.zeros(self._count), np.zeros(self._count)
        for word in sorted(words_of(query)):
            if (rows := self._rows.get(word)) is not None:
                words[rows] += 1
                weight[rows] += np.log(self._count / rows.size)
        return Overlap(words=words, weight=weight)


def lexical_success(gold: Sequence[GoldPair], passages: Mapping[str, str]) -> float | None:
    """Return the share of gold pairs that the best choice by words in common with the question gets right.

    It chooses the passage with more of the question's words, or with less, counted or weighted by rareness:
    whichever of the four gets most right. Where both have as many, it throws a coin.

    Parameters
    ----------
    gold : sequence of GoldPair
        The gold pairs.
    passages : mapping of str to str
        The texts by which rareness is told. Those of the gold pairs are added.

    Returns
    -------
    float or None
        At least 0.5; None without gold pairs.
    """
    if not gold:
        return None
    texts = list(dict.fromkeys([*passages.values(), *(text for one in gold for text in (one.good, one.bad))]))
    place = {text: row for row, text in enumerate(texts)}
    index = OverlapIndex(texts, {one.query for one in gold})
    leads = []
    for one in gold:
        found, pair = index.overlap(one.query), [place[one.good], place[one.bad]]
        leads.append([float(np.sign(-np.diff(of[pair])[0])) for of in (found.words, found.weight)])
    return 0.5 + float(np.abs(np.mean(leads, axis=0)).max()) / 2

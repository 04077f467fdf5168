"""Sessions: how well a program tells gold pairs from the others by all that a worker meets in a session.

It knows every page whole, and learns from sessions whose gold it is told. 0.5 is a coin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from prefjudge.core.gold import GoldPair, OverlapIndex
from prefjudge.field.publish import plan_batch
from prefjudge.study.pools import load_gold, load_pairs_by_number, load_passages, load_queries
from prefjudge.study.store import Study

Floats = NDArray[np.float64]
KINDS = {"repeats": slice(0, 1), "structure": slice(1, 5), "position": slice(5, 7), "text": slice(7, 14)}
"""What is seen of a slot, by columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A comparison on a page: what it is about, where it stands, and whether it is gold."""

    query: str
    passages: tuple[str, str]
    place: int
    swapped: bool
    gold: bool


def sessions(study: Study, rng: np.random.Generator, hits: int, count: int) -> list[list[Shown]]:
    """Return what is shown in ``count`` sessions of so many of the study's next HITs, taken at random."""
    pages = shown_pages(study)
    taken = [rng.choice(len(pages), min(hits, len(pages)), replace=False) for _ in range(count)]
    return [[slot for page in each for slot in pages[page]] for each in taken]


def shown_pages(study: Study) -> list[list[Shown]]:
    """Return what each of the study's next HITs shows."""
    with study.transaction(write=False) as db:
        gold, pairs = load_gold(db), load_pairs_by_number(db)
        queries, passages = load_queries(db), load_passages(db)
    pages = []
    for hit in plan_batch(study, "sandbox"):
        page = []
        for index, slot in enumerate(hit.slots):
            if slot.gold_id is not None:
                query, texts = gold[slot.gold_id].query, (gold[slot.gold_id].good, gold[slot.gold_id].bad)
            else:
                query_id, first, second = pairs[slot.pair_id or 0]
                query, texts = queries[query_id], (passages[first], passages[second])
            layout = hit.layouts[0]
            page.append(
                Shown(
                    query=query, passages=texts, place=layout.order.index(index),
                    swapped=layout.swapped[index], gold=slot.gold_id is not None,
                )
            )  # fmt: skip
        pages.append(page)
    return pages


def seen(session: Sequence[Shown], index: OverlapIndex, row: dict[str, int]) -> Floats:
    """Return the features of each comparison of a session, one row each."""
    pairs = Counter((slot.query, frozenset(slot.passages)) for slot in session)
    asked = Counter(slot.query for slot in session)
    together = Counter((slot.query, text) for slot in session for text in slot.passages)
    alone = Counter(text for slot in session for text in slot.passages)
    found = []
    for slot in session:
        shared = sorted(together[slot.query, text] for text in slot.passages)
        elsewhere = max(alone[text] - together[slot.query, text] for text in slot.passages)
        overlap, rows = index.overlap(slot.query), [row[text] for text in slot.passages]
        text: list[float] = []
        for of in (overlap.words[rows], overlap.weight[rows]):
            text += [float(of.min()), float(of.max()), float(abs(of[0] - of[1]))]
        first, second = (len(passage) for passage in slot.passages)
        same = pairs[slot.query, frozenset(slot.passages)]
        found.append([
            float(same), float(asked[slot.query]), *map(float, shared), float(elsewhere),
            float(slot.place), float(slot.swapped), *text, abs(np.log(first / second)),
        ])  # fmt: skip
    return np.array(found)


def auc_by_kind(study: Study, rng: np.random.Generator, hits: int, count: int = 60) -> dict[str, float]:
    """Return the area under the curve of each kind of features, and of all of them together."""
    taken = sessions(study, rng, hits, count)
    with study.transaction(write=False) as db:
        texts = list(dict.fromkeys([*load_passages(db).values(), *_gold_texts(load_gold(db).values())]))
    index = OverlapIndex(texts, {slot.query for session in taken for slot in session})
    row = {text: at for at, text in enumerate(texts)}
    features = [seen(session, index, row) for session in taken]
    is_gold = [np.array([slot.gold for slot in session]) for session in taken]
    half = count // 2
    told = {}
    for kind, columns in {**KINDS, "all": slice(None)}.items():
        guess = _learn(np.concatenate(features[:half])[:, columns], np.concatenate(is_gold[:half]))
        scores = [guess(of[:, columns]) for of in features[half:]]
        told[kind] = _auc(np.concatenate(scores), np.concatenate(is_gold[half:]))
    return told


def _gold_texts(gold: Iterable[GoldPair]) -> Iterable[str]:
    for pair in gold:
        yield from (pair.good, pair.bad)


def _learn(features: Floats, is_gold: NDArray[np.bool_]) -> Callable[[Floats], Floats]:
    """Fit a logistic regression and return what scores other features by it."""
    mean, scale = features.mean(0), features.std(0) + 1e-9

    def design(of: Floats) -> Floats:
        return np.column_stack([np.ones(len(of)), (of - mean) / scale])

    x, sign = design(features), np.where(is_gold, 1.0, -1.0)
    fit = minimize(lambda w: np.logaddexp(0, -sign * (x @ w)).mean() + 1e-4 * w @ w, np.zeros(x.shape[1]))
    return lambda of: design(of) @ fit.x


def _auc(scores: Floats, is_gold: NDArray[np.bool_]) -> float:
    ranks, n = rankdata(scores), int(is_gold.sum())
    return float((ranks[is_gold].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))

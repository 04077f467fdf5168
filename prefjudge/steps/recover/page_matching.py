"""Finds a HIT's pairs and gold pairs again by the texts that its page shows."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from prefjudge.core.asking.hits import Layout
from prefjudge.crowd.simulated import SeenPage, SeenSlot, seen
from prefjudge.study.gold import load_gold
from prefjudge.study.hits import StudySlot, count_asked
from prefjudge.study.pooling import load_pairs_by_number, load_passages, load_pools, load_queries
from prefjudge.study.study import Study

Found = tuple[int | None, int | None, bool]
"""The number of a pair, or of a gold pair; and whether the page has its passages in the other order."""


class PageMatcher:
    """Knows the texts of a study, and how often each pair has been asked for.

    A page has texts, not ids. Where several passages have the same text, a judgment is good for any of
    their pairs: workers saw the same. It goes to the pair asked for least often, so that all are judged.
    """

    def __init__(self, study: Study) -> None:
        with study.transaction(write=False) as db:
            queries, passages = load_queries(db), load_passages(db)
            pools, gold = load_pools(db, newcomers=True), load_gold(db)
            pairs = load_pairs_by_number(db)
            self._asked = Counter(count_asked(db))
        self._queries: dict[str, list[str]] = defaultdict(list)
        for query, text in queries.items():
            self._queries[seen(text)].append(query)
        self._docs: dict[tuple[str, str], list[str]] = defaultdict(list)
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
            name = pools.docs[doc]
            if name in passages:
                self._docs[pools.queries[query], seen(passages[name])].append(name)
        self._gold = {(seen(g.query), seen(g.good), seen(g.bad)): number for number, g in gold.items()}
        self._pairs = {pair: number for number, pair in pairs.items()}
        self.added: dict[int, tuple[str, str, str]] = {}
        """Pairs that the study did not have, such as those of a challenge, by their new numbers."""

    def match(
        self, page: SeenPage, assignments: int
    ) -> tuple[tuple[StudySlot, ...], tuple[Layout, ...]] | None:
        """Return a page's slots and layouts as the study has them; None where a pair is not found."""
        found: list[Found] = []
        for slot in page.slots:
            one = self._find(slot)
            if one is None:
                return None
            found.append(one)
        for pair_id, _, _ in found:
            if pair_id is not None:
                self._asked[pair_id] += assignments
        slots = tuple(
            StudySlot(name=slot.name, pair_id=pair, gold_id=gold, tokens=_turned(slot.tokens, turn))
            for slot, (pair, gold, turn) in zip(page.slots, found, strict=True)
        )
        turns = [turn for _, _, turn in found]
        layouts = tuple(
            replace(layout, swapped=tuple(s != t for s, t in zip(layout.swapped, turns, strict=True)))
            for layout in page.layouts
        )
        return slots, layouts

    def _find(self, slot: SeenSlot) -> Found | None:
        for turn in (False, True):
            gold = self._gold.get((slot.query, *_turned(slot.passages, turn)))
            if gold is not None:
                return None, gold, turn
        candidates = list(self._candidates(slot))
        return min(candidates, key=lambda one: (self._asked[one[0] or 0], one)) if candidates else None

    def _candidates(self, slot: SeenSlot) -> Iterable[Found]:
        for query in self._queries.get(slot.query, ()):
            first, second = (self._docs.get((query, text), ()) for text in slot.passages)
            for one, other in product(first, second):
                if one != other:
                    a, b = sorted((one, other))
                    yield self._number(query, a, b), None, one != a

    def _number(self, query: str, a: str, b: str) -> int:
        number = self._pairs.get((query, a, b))
        if number is None:
            number = self._pairs[query, a, b] = max(self._pairs.values(), default=0) + 1
            self.added[number] = (query, a, b)
        return number


def _turned(two: tuple[str, str], turn: bool) -> tuple[str, str]:
    return (two[1], two[0]) if turn else two

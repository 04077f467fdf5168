"""Gold pairs: comparisons whose answer is known, hidden in every HIT to screen the work."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPair:
    """A known relevant passage against an obviously off-topic one.

    Attributes
    ----------
    query_id, query : str
        The question.
    good_id, good : str
        The passage that answers it.
    bad_id, bad : str
        The passage that has nothing to do with it.
    practice : str
        Why the answer is so, which makes it a pair to practise on: workers are told, so it never screens.
    """

    query_id: str
    query: str
    good_id: str
    good: str
    bad_id: str
    bad: str
    practice: str = ""


def rotate_gold(
    count: int,
    per_hit: int,
    hits: int,
    *,
    rng: np.random.Generator,
    used: Sequence[int] = (),
) -> Sequence[tuple[int, ...]]:
    """Deal gold pairs to HITs so that each is used equally often and neighbouring HITs share none.

    Parameters
    ----------
    count : int
        How many gold pairs there are.
    per_hit : int
        How many each HIT hides.
    hits : int
        How many HITs.
    rng : Generator
        Shuffles the gold pairs once; the deal then goes round, so that a worker who takes HITs in turn meets
        ``count // per_hit`` of them before a gold pair returns.
    used : sequence of int, optional
        How many earlier HITs hide each gold pair: those that fewest do come first, so that the deal for HITs
        that are issued again goes on where the last one ended.

    Raises
    ------
    ValueError
        There are fewer gold pairs than a HIT hides.
    """
    if count < per_hit:
        raise ValueError(f"a HIT hides {per_hit} gold pairs, and there are only {count}")
    waiting = [int(gold) for gold in rng.permutation(count)]
    if used:
        waiting.sort(key=lambda gold: used[gold])
    dealt = []
    for _ in range(hits):
        drawn, waiting = waiting[:per_hit], waiting[per_hit:]
        waiting += drawn
        dealt.append(tuple(drawn))
    return dealt

"""HITs: ten pairs and three hidden gold pairs, packed, shuffled and given sides.

A HIT is a list of slots, each one comparison, and a few *layouts*. A layout is one way to show the slots:
their order, and which of them have their passages swapped. A worker's page picks the layout by
:func:`layout_index` from the assignment id, and the requester recomputes it, so that the sides are drawn
again for each assignment and nobody has to trust the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way to show a HIT.

    Attributes
    ----------
    order : tuple of int
        The slots' indices in the order in which they are shown.
    swapped : tuple of bool
        For each slot (by its index, not its place), whether its first passage is shown on the right.
    """

    order: tuple[int, ...]
    swapped: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPlan:
    """What one HIT asks.

    Attributes
    ----------
    pairs : tuple of int
        The pairs to judge, as positions in the caller's list.
    gold : tuple of int
        The hidden gold pairs, as positions in the caller's list.
    slots : tuple of int
        The slots in their stored order: ``k < len(pairs)`` stands for ``pairs[k]``, a larger one for
        ``gold[k - len(pairs)]``. The order is random, so that a place tells nothing.
    layouts : tuple of Layout
        The ways to show it. In each, the gold pairs are right on both sides at least once. From one to
        another either every slot is swapped or none is.
    """

    pairs: tuple[int, ...]
    gold: tuple[int, ...]
    slots: tuple[int, ...]
    layouts: tuple[Layout, ...]


def layout_index(assignment_id: str, layouts: int) -> int:
    """Return which layout an assignment is shown: the FNV-1a hash of its id, modulo the number of layouts.

    The page computes the same number in JavaScript.
    """
    value = 0x811C9DC5
    for byte in assignment_id.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % layouts


def pack_pairs(count: int, per_hit: int, *, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Deal ``count`` pairs to HITs at random, each to one; the last HIT may hold fewer."""
    shuffled = rng.permutation(count).tolist()
    return [tuple(shuffled[at : at + per_hit]) for at in range(0, count, per_hit)]


def draw_decoys(
    packed: Sequence[tuple[int, ...]], per_hit: int, *, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Draw pairs of other HITs for each HIT, so that not only gold pairs are met again.

    A HIT has fewer than ``per_hit`` where no other HIT has a pair left. Each pair is drawn once before any is
    drawn again.
    """
    waiting = [int(pair) for pair in rng.permutation([pair for pairs in packed for pair in pairs])]
    decoys = []
    for pairs in packed:
        there = set(pairs)
        drawn: list[int] = []
        for _ in range(per_hit):
            if (at := next((at for at, pair in enumerate(waiting) if pair not in there), None)) is None:
                break
            drawn.append(waiting.pop(at))
            there.add(drawn[-1])
        waiting += drawn
        decoys.append(tuple(drawn))
    return decoys


def plan_hit(
    pairs: Sequence[int], gold: Sequence[int], *, layouts: int = 1, rng: np.random.Generator
) -> HitPlan:
    """Shuffle the pairs and the gold pairs of a HIT into slots and draw its layouts.

    The first passage of a gold slot is the good one, so a gold pair that is not swapped is right on the left.
    Each layout has gold pairs right on either side, where there are at least two: someone who always
    chooses one side fails. The layouts differ in their order, and show the sides as they were drawn or all
    of them mirrored. Were the sides drawn again for each layout, the few slots that in no layout are all on
    one side would give the gold pairs away.

    Parameters
    ----------
    pairs, gold : sequence of int
        What the HIT holds, as positions in the caller's lists.
    layouts : int
        How many ways to show it.
    rng : Generator
        Draws the slots, the orders and the sides.
    """
    count = len(pairs) + len(gold)
    slots = tuple(rng.permutation(count).tolist())
    swapped = _draw_sides(np.array([k >= len(pairs) for k in slots], dtype=bool), rng)
    return HitPlan(
        pairs=tuple(pairs),
        gold=tuple(gold),
        slots=slots,
        layouts=tuple(
            Layout(
                order=tuple(rng.permutation(count).tolist()),
                swapped=tuple((~swapped if mirrored else swapped).tolist()),
            )
            for mirrored in _take_turns(layouts, rng)
        ),
    )


def _draw_sides(is_gold: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    swapped = rng.random(is_gold.size) < 0.5
    golden = np.flatnonzero(is_gold)
    if golden.size >= 2 and (swapped[golden].all() or not swapped[golden].any()):
        flip = rng.choice(golden)
        swapped[flip] = not swapped[flip]
    return swapped


def _take_turns(layouts: int, rng: np.random.Generator) -> list[bool]:
    """Mirror every other layout, so that each pair is shown both ways about equally often."""
    first = bool(rng.random() < 0.5)
    return [first != bool(number % 2) for number in range(layouts)]

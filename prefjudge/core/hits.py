"""HITs: ten pairs and three hidden gold pairs, packed, shuffled and given sides.

A HIT is a list of slots, each one pair to compare, and a few *layouts*. A layout is one way to show the
slots: their order, and which of them have their passages swapped. A worker's page picks the layout by
:func:`layout_index` from the assignment id, and the requester recomputes it, so that the sides are drawn anew
for each assignment and nobody has to trust the page.
"""

from dataclasses import dataclass


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


def layout_index(assignment_id: str, layouts: int) -> int:
    """Return which layout an assignment is shown: the FNV-1a hash of its id, modulo the number of layouts.

    The page computes the same number in JavaScript.
    """
    value = 0x811C9DC5
    for byte in assignment_id.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % layouts

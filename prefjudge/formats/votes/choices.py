"""Which of two was preferred, as a word, a number, an id or the text itself."""

from collections.abc import Sequence
from functools import lru_cache

LEFT = frozenset({"left", "l", "a", "1", "first", "x"})
RIGHT = frozenset({"right", "r", "b", "2", "second", "y"})
TIE = frozenset(
    {"tie", "ties", "tied", "n", "neutral", "draw", "equal", "same", "both", "both_good", "both good",
    "both_bad",
     "bothbad", "both bad", "neither", "none", "no preference", "no_preference", "tie (bothbad)",
     "tie(bothbad)",
     "tie (both bad)", "tie (both good)", "=", "hard to tell"}
)  # fmt: skip
_NOUNS = ("model", "response", "answer", "option", "passage", "document", "doc", "system", "text", "item")

SIDES, NO_SIDES = "sides", "unknown"
"""The column by which an export says that left and right are not those of a screen."""
UNKNOWN = 9
"""Stands for a word that says neither."""


@lru_cache(maxsize=4096)
def by_word(said: str) -> int:
    """Return 1 for a word that means the left, -1 for the right, 0 for a tie, else `UNKNOWN`."""
    word = said.strip().lower()
    if word in TIE:
        return 0
    for noun in _NOUNS:
        if word.startswith(noun):
            word = word[len(noun) :].lstrip(" _-")
            break
    word = word.removesuffix(" is better").removesuffix("_is_better")
    return 1 if word in LEFT else -1 if word in RIGHT else UNKNOWN


def by_name(said: str, left: Sequence[str], right: Sequence[str]) -> int:
    """Return 1 or -1 where a name of the left or the right is repeated, 0 for a tie, else `UNKNOWN`."""
    on_left, on_right = said in left, said in right
    if on_left != on_right:
        return 1 if on_left else -1
    return 0 if said.strip().lower() in TIE else UNKNOWN

"""Long words made short for people: the middle is left out, and two words never come to look the same."""

from collections.abc import Iterable, Mapping

LONGEST = 100
"""So many places of one word are shown at most: nobody reads a longer run tag."""

ELLIPSIS = "…"


def shorten(words: Iterable[str], width: int = LONGEST) -> dict[str, str]:
    """Return what to show for each word that takes more than ``width`` places.

    Runs of a team often differ at one end only, so several cuts are tried; where all fail, numbers tell the
    words apart.

    Parameters
    ----------
    words : iterable of str
        Everything that is shown side by side, also what is short enough.
    width : int
        The most places for a word; those of a Chinese character are two.
    """
    from rich.cells import cell_len

    every = dict.fromkeys(words)
    long = [word for word in every if len(word) > width or cell_len(word) > width]
    taken = every.keys() - long
    kept = max(1, width - 1)
    for tail in (kept // 3, kept // 2, 2 * kept // 3, 0, kept):
        cut = {word: _first(word, kept - tail) + ELLIPSIS + _last(word, tail) for word in long}
        if len(taken | set(cut.values())) == len(every):
            return cut
    return _numbered(long, taken, width)


def shorten_words(text: str, width: int = LONGEST, known: Mapping[str, str] | None = None) -> str:
    """Return a text in which no word takes more than ``width`` places, shortened as in ``known`` if there."""
    if len(text) <= width // 2:  # no character takes more than two places
        return text
    words = text.split(" ")
    short = shorten(words, width) if known is None else known
    return " ".join(short.get(word, word) for word in words)


def _numbered(words: Iterable[str], taken: set[str], width: int) -> dict[str, str]:
    cut: dict[str, str] = {}
    used, number = set(taken), 0
    for word in words:
        while True:
            number += 1
            end = f"{ELLIPSIS}{number}"
            shown = _first(word, max(0, width - len(end))) + end
            if shown not in used:
                break
        used.add(shown)
        cut[word] = shown
    return cut


def _first(text: str, width: int) -> str:
    from rich.cells import cell_len

    shown = text[:width]
    while cell_len(shown) > width:
        shown = shown[:-1]
    return shown


def _last(text: str, width: int) -> str:
    return _first(text[::-1], width)[::-1]

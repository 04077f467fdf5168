"""Affiliations: the people and the institutions that a team's name on a leaderboard states.

Entries name their team in free text: ``Ada Lovelace and Mary Shelley - University of Somewhere``,
``Ada Lovelace (Somewhere), Mary Shelley (Elsewhere)``, ``Some Lab (Ada Lovelace)``.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

_NUMBERING = re.compile(r"\(\d[\d, ]*\)")
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_DASH = re.compile(r"\s+(?:-{1,3}|[—–])\s+|\s*—\s*|(?<=\w)@(?=\w)")
_PEOPLE = re.compile(r"\s*[,;&|/]\s*(?:and\s+)?|\s+(?:and|with)\s+", re.IGNORECASE)
_PLACES = re.compile(r"\s*[;&|/]\s*|,?\s+and\s+(?!(?:technology|engineering|sciences?)\b)", re.IGNORECASE)
_ORGANISATION = re.compile(
    r"\b(univ\w*|institute?\w*|college|academy|school|tech\w*|center|centre|research|\w*labs?|laborator\w*|team|"
    r"group|inc|ai|nlp|corp\w*|company|sciences?|alliance|google|microsoft|baidu|alibaba|huawei|facebook|elastic)\b"
)
_UNIVERSITY = re.compile(r"\buniv\w*|\bcollege\b|\bacademy of\b")
_UNIT = re.compile(
    r"\b(\w*labs?|laborator\w*|group|team|school|department|faculty|centre|center|institute of)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Affiliation:
    """What a team's name states.

    Attributes
    ----------
    people : tuple of str
        As written.
    institutions : tuple of (str, str)
        As written, and what that stands for by the aliases: itself where there is none.
    """

    people: tuple[str, ...]
    institutions: tuple[tuple[str, str], ...]

    def words(self) -> frozenset[str]:
        """Return the words of the people's names."""
        return frozenset(word for person in self.people for word in plain(person).split())


class Aliases:
    """What names stand for; case, accents and punctuation do not matter.

    Parameters
    ----------
    given : mapping of str to str
        A name, of whatever, and what it stands for.
    institutions : mapping of str to str
        The same for institutions only, where ``given`` does not say it. A longer name that begins with the
        words of an institution's name stands for the same: ``CMU`` is also ``CMU LTI``.
    """

    def __init__(self, given: Mapping[str, str], institutions: Mapping[str, str]) -> None:
        self._given = {plain(name): target for name, target in given.items()}
        self._known = {plain(name): target for name, target in institutions.items()} | self._given
        self._places = {plain(name) for pair in institutions.items() for name in pair}

    def find(self, name: str) -> str | None:
        """Return what a name stands for as it was given."""
        return self._given.get(plain(name))

    def is_institution(self, name: str) -> bool:
        """Whether a name is known as an institution's."""
        return plain(name) in self._places

    def institution(self, name: str) -> str | None:
        """Return what an institution's name, or the longest beginning of it that is known, stands for."""
        words = plain(name).split()
        starts = (" ".join(words[:count]) for count in range(len(words), 0, -1))
        return next((self._known[start] for start in starts if start in self._known), None)


def read_affiliation(team: str, aliases: Aliases) -> Affiliation:
    """Read the people and the institutions out of a team's name.

    What follows a dash or ``@`` is an institution, and so is what stands in parentheses behind a person; in
    other parentheses there are people. Elsewhere two to four words that no organisation would be called by
    are a person. Of ``unit, institution`` the last counts.
    """
    text = _NUMBERING.sub(" ", team)
    people: list[str] = []
    places: list[str] = []
    for match in _PARENTHESES.finditer(text):
        before = _PEOPLE.split(text[: match.start()].strip())[-1]
        if _is_person(before, aliases):
            places += [] if match[1].strip().startswith("@") else [match[1]]
        else:
            people += _people(match[1], aliases)
    head, *rest = _DASH.split(_PARENTHESES.sub(" ", text))
    tail = ", ".join(rest)
    people = _people(head, aliases) + people
    if people:
        places.append(tail)
    elif tail:
        turned = _people(tail, aliases) if _is_institution(head, aliases) else []
        people += turned
        places.append(head if turned else tail)
    if not tail:
        places.append(
            ", ".join(
                part
                for part in re.split(r"\s*,\s*", head)
                if any(_is_institution(one, aliases) for one in _PLACES.split(part))
            )
        )
    found: dict[str, str] = {}
    for place in places:
        for written, target in _institutions(place, aliases):
            found.setdefault(target, written)
    return Affiliation(
        people=tuple(dict.fromkeys(people)),
        institutions=tuple((written, target) for target, written in found.items()),
    )


def _people(text: str, aliases: Aliases) -> list[str]:
    parts = [part.strip(" *") for part in _PEOPLE.split(text)]
    return [aliases.find(part) or part for part in parts if _is_person(part, aliases)]


def _is_person(part: str, aliases: Aliases) -> bool:
    words = plain(part).split()
    ends = [word for word in re.findall(r"\w+", part) if not word.isdigit()]
    return (
        2 <= len(words) <= 4
        and bool(ends)
        and not (ends[0][0].islower() or ends[-1][0].islower())
        and not aliases.is_institution(part)
        and not re.search(r"\b[A-Z]{2,}\b", part)
        and not re.search(r"\d", part)
        and not _ORGANISATION.search(" ".join(words))
    )


def _is_institution(part: str, aliases: Aliases) -> bool:
    if _is_person(part, aliases):
        return False
    return bool(
        aliases.institution(part)
        or _ORGANISATION.search(re.sub(r"\b(team|group)\b", "", plain(part)))
        or re.fullmatch(r"\W*[A-Z]{2,}(?:-[A-Z]{2,})*\W*", part)
    )


def _institutions(text: str, aliases: Aliases) -> Iterator[tuple[str, str]]:
    """Yield the institutions of a list, as written and what they stand for."""
    whole = aliases.is_institution(text) or aliases.find(text)
    groups = [text] if whole else _PLACES.split(text)
    for group in groups:
        parts = [group] if whole else [part for part in re.split(r"\s*,\s*", group) if plain(part)]
        parts = [_without_unit(part, aliases) for part in parts]
        for place, part in enumerate(parts):
            target = aliases.institution(part)
            alone = len(plain(part).split()) < 2 or _UNIT.search(plain(part))
            if place == len(parts) - 1 or target or _UNIVERSITY.search(plain(part)) or not alone:
                written = re.sub(r"^the\s+", "", part.strip(" *"), flags=re.IGNORECASE)
                yield written, target or written


def _without_unit(part: str, aliases: Aliases) -> str:
    """Return ``University of A`` of ``Some Lab in University of A``."""
    last = re.split(r"\s+(?:in|at)\s+", part)[-1]
    return last if aliases.institution(last) or _UNIVERSITY.search(plain(last)) else part


@lru_cache(maxsize=1 << 14)  # all pairs of names are compared
def plain(text: str) -> str:
    """Return the letters and digits of a name, without case, accents and punctuation."""
    bare = (
        unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold() or text.casefold()
    )
    return " ".join(re.findall(r"\w+", bare))


def is_near(one: str, other: str) -> bool:
    """Whether two names differ in one letter of one word, of five letters or more."""
    first, second = plain(one).split(), plain(other).split()
    if len(first) != len(second):
        return False
    apart = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return not apart or (
        len(apart) == 1
        and all(len(word) >= 5 and word.isalpha() for word in apart[0])
        and _one_apart(*apart[0])
    )


def _one_apart(one: str, other: str) -> bool:
    """Whether one letter replaced, put in, left out or swapped with the next makes one word the other."""
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return abs(len(one) - len(other)) <= 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])

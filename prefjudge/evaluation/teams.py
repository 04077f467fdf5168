"""Teams: which names on a leaderboard belong to the same people.

Entries name their team in free text: ``Ada Lovelace and Mary Shelley - University of Somewhere``, later only
``Ada Lovelace``. Names are taken together where they share a person, or the suffix of a submission id
(``20210120-cmu``). Either can mislead, so the evidence stays with the team, and whoever knows better says so.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ANONYMOUS = "Anonymous"

_LONG = 48
"""Letters of a name that a sentence can bear."""

_ORGANISATION = re.compile(
    r"\b(univ\w*|institute?\w*|college|academy|school|tech\w*|center|centre|research|labs?|laborator\w*|team|"
    r"group|inc|ai|corp\w*|company|sciences?|alliance|google|microsoft|baidu|alibaba|huawei|facebook|elastic)\b"
)
_SPLIT = re.compile(r"\s+[—–-]\s+|\s*[,;&|/]\s*(?:and\s+)?|\s+(?:and|with)\s+", re.IGNORECASE)
_SUFFIX = re.compile(r"^\d{8}-(.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """People who submit together.

    Attributes
    ----------
    name : str
        The name that most of its submissions carry, the earliest of equals.
    names : tuple of str
        All names, the earliest first.
    evidence : tuple of str
        What ties the names together.
    submissions : tuple of str
        Its submissions, in the order given.
    """

    name: str
    names: tuple[str, ...]
    evidence: tuple[str, ...]
    submissions: tuple[str, ...]


def is_anonymous(name: str) -> bool:
    """Whether a team does not say who it is."""
    return _plain(name) in ("", "anonymous", "anon")


def short_name(name: str) -> str:
    """Return a name for a sentence: without ``(1)`` and the like, and cut at a word where it is long."""
    name = re.sub(r"\s*\(\d[\d, ]*\)\s*", " ", name).replace(" ,", ",").strip()
    return name if len(name) <= _LONG else name[: _LONG + 1].rsplit(" ", 1)[0].rstrip(" ,;") + " …"


def resolve_teams(
    entries: Sequence[tuple[str, str]], *, aliases: Mapping[str, str] | None = None, merge: bool = True
) -> tuple[Team, ...]:
    """Group submissions by team.

    Parameters
    ----------
    entries : sequence of (str, str)
        The submission's name and its team's name, earliest first.
    aliases : mapping of str to str, optional
        Names that are known to stand for a team; they are used before anything else.
    merge : bool
        Whether to take names together that share a person or a submission id's suffix.

    Returns
    -------
    tuple of Team
        Most submissions first, equals by name. All anonymous submissions are one entry here, and no team.
    """
    known = aliases or {}
    stated = [ANONYMOUS if is_anonymous(team) else known.get(team, team) for _, team in entries]
    root = {name: name for name in stated}
    evidence: dict[tuple[str, str], str] = {}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    def tie(one: str, other: str, words: str) -> None:
        if one != other:
            evidence.setdefault((one, other), words)
            if find(one) != find(other):
                root[find(other)] = find(one)

    if merge:
        stems: dict[str, str] = {}
        for (submission, _), name in zip(entries, stated, strict=True):
            stem = _stem(submission)
            if stem and name != ANONYMOUS:
                tie(stems.setdefault(stem, name), name, f"ids that end in -{stem}")
        names = [name for name in dict.fromkeys(stated) if name != ANONYMOUS]
        for place, one in enumerate(names):
            for other in names[place + 1 :]:
                words = _in_common(one, other)
                if words:
                    tie(one, other, words)
    members: dict[str, list[int]] = {}
    for place, name in enumerate(stated):
        members.setdefault(find(name), []).append(place)
    teams = [_team(places, entries, stated, evidence, known) for places in members.values()]
    return tuple(sorted(teams, key=lambda team: (-len(team.submissions), team.name)))


def _team(
    places: Sequence[int],
    entries: Sequence[tuple[str, str]],
    stated: Sequence[str],
    evidence: Mapping[tuple[str, str], str],
    known: Mapping[str, str],
) -> Team:
    counted = Counter(stated[place] for place in places)
    names = tuple(dict.fromkeys(entries[place][1] for place in places))
    if set(counted) == {ANONYMOUS}:
        names = (ANONYMOUS,)
    ties = [words for pair, words in evidence.items() if set(pair) <= set(counted)]
    if any(known.get(name, name) != name for name in names):
        ties.append("the aliases given")
    return Team(
        name=max(counted, key=lambda name: counted[name]),
        names=names,
        evidence=tuple(dict.fromkeys(ties)),
        submissions=tuple(entries[place][0] for place in places),
    )


def _in_common(one: str, other: str) -> str:
    """Say what two names share, if it is enough to take them for one team.

    Enough is half of the people of the smaller team, so that a wide collaboration does not tie its members.
    """
    if _plain(one) == _plain(other):
        return "the same name written differently"
    first, second = _people(one), _people(other)
    shared = [person for person in first if person in second]
    if not shared or 2 * len(shared) < min(len(first), len(second)):
        return ""
    return f"{first[shared[0]]} in both"


def _people(team: str) -> dict[str, str]:
    """Return the parts of a name that look like people, by their plain form."""
    found: dict[str, str] = {}
    for part in _SPLIT.split(re.sub(r"\([^)]*\)", " ", team)):
        person = _plain(part)
        if (
            2 <= len(person.split()) <= 4
            and not _ORGANISATION.search(person)
            and not re.search(r"\d", person)
        ):
            found.setdefault(person, part.strip(" *"))
    return found


def _stem(submission: str) -> str:
    """Return the suffix of a submission id without its numbering, if it is long enough to mean something."""
    suffix = _SUFFIX.match(submission)
    if not suffix:
        return ""
    stem = re.sub(r"([-_.]?(v?\d+|[a-z]))*$", "", suffix.group(1), flags=re.IGNORECASE) or suffix.group(1)
    return stem.casefold() if len(stem) > 2 and not stem.isdigit() else ""


def _plain(text: str) -> str:
    """Return the letters and digits of a name, without case, accents and punctuation."""
    bare = (
        unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold() or text.casefold()
    )
    return " ".join(re.findall(r"\w+", bare))

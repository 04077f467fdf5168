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

_ORGANISATION = re.compile(
    r"\b(univ\w*|institute?\w*|college|academy|school|tech\w*|center|centre|research|labs?|laborator\w*|team|"
    r"group|inc|ai|corp\w*|company|sciences?|alliance|google|microsoft|baidu|alibaba|huawei|facebook|elastic)\b"
)
_SPLIT = re.compile(r"\s+[—–-]\s+|\s*[,;&|/]\s*|\s+(?:and|with)\s+", re.IGNORECASE)
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


def short_name(name: str, width: int = 48) -> str:
    """Return a name for a sentence: cut at a word where it is long."""
    return name if len(name) <= width else name[: width + 1].rsplit(" ", 1)[0].rstrip(" ,;") + " …"


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

    first: dict[str, str] = {}
    for (submission, _), name in zip(entries, stated, strict=True):
        if name == ANONYMOUS:
            continue
        for clue, words in _clues(submission, name, merge=merge):
            other = first.setdefault(clue, name)
            one, two = find(other), find(name)
            if one != two:
                root[two] = one
            if other != name:
                evidence.setdefault((other, name), words)
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


def _clues(submission: str, team: str, *, merge: bool) -> list[tuple[str, str]]:
    """Return what identifies a team, and in which words to say so."""
    clues = [(f"name {_plain(team)}", "the same name written differently")]
    if not merge:
        return [(f"exactly {team}", "")]
    for part in _SPLIT.split(re.sub(r"\([^)]*\)", " ", team)):
        person = _plain(part)
        if (
            2 <= len(person.split()) <= 4
            and not _ORGANISATION.search(person)
            and not re.search(r"\d", person)
        ):
            clues.append((f"person {person}", f"{part.strip(' *')} in both"))
    suffix = _SUFFIX.match(submission)
    if suffix:
        stem = re.sub(r"([-_.]?(v?\d+|[a-z]))*$", "", suffix.group(1), flags=re.IGNORECASE) or suffix.group(1)
        if len(stem) > 2 and not stem.isdigit():
            clues.append((f"suffix {stem.casefold()}", f"ids that end in -{stem}"))
    return clues


def _plain(text: str) -> str:
    """Return the letters and digits of a name, without case, accents and punctuation."""
    bare = (
        unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold() or text.casefold()
    )
    return " ".join(re.findall(r"\w+", bare))

"""Teams: which names on a leaderboard belong to the same people, and which institutions they come from.

Names of people, spellings and the suffixes of submission ids (``20210120-cmu``) can all mislead, so each
merge says why it was made, and aliases correct it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prefjudge.evaluation.submissions.affiliations import (
    Affiliation,
    Aliases,
    is_near,
    plain,
    read_affiliation,
)

_LONG = 48
"""Letters of a name that a sentence can bear."""

_SUFFIX = re.compile(r"^\d{8}-(.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Why a name was taken for another: ``name`` and ``into`` are as on the leaderboard."""

    name: str
    into: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Submissions taken together: of one team, or of one institution.

    Attributes
    ----------
    name : str
        Of a team the name that most of its submissions carry, the earliest of equals.
    names : tuple of str
        All names, the earliest first.
    evidence : tuple of str
        What ties the names together, each reason once.
    merges : tuple of Merge
        Which name was taken for which, and why.
    submissions : tuple of str
        In the order given.
    """

    name: str
    names: tuple[str, ...]
    evidence: tuple[str, ...]
    merges: tuple[Merge, ...]
    submissions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The submissions by team and by institution, most submissions first, equals by name.

    A joint submission counts at each of its institutions. Of the ``anonymous`` ones the team is not known, of
    the ``unplaced`` ones the institution (anonymous ones included). ``team_of`` has the team's name of each
    entry in the order given, empty where it is not known: two entries may have one id.
    """

    teams: tuple[Group, ...]
    institutions: tuple[Group, ...]
    anonymous: tuple[str, ...]
    unplaced: tuple[str, ...]
    team_of: tuple[str, ...]


def is_anonymous(name: str) -> bool:
    """Whether a team does not say who it is."""
    return plain(name) in ("", "anonymous", "anon")


def short_name(name: str) -> str:
    """Return a name for a sentence: without ``(1)`` and the like, and cut at a word where it is long."""
    name = re.sub(r"\s*\(\d[\d, ]*\)\s*", " ", name).replace(" ,", ",").strip()
    return name if len(name) <= _LONG else name[: _LONG + 1].rsplit(" ", 1)[0].rstrip(" ,;") + " …"


def group_submissions(
    entries: Sequence[tuple[str, str]],
    *,
    aliases: Mapping[str, str] | None = None,
    institutions: Mapping[str, str] | None = None,
    merge: bool = True,
) -> Groups:
    """Group submissions by team and by institution.

    Parameters
    ----------
    entries : sequence of (str, str)
        The submission's name and its team's name, earliest first.
    aliases : mapping of str to str, optional
        What a submission, a team, a person or an institution stands for; used before anything else.
    institutions : mapping of str to str, optional
        What institutions stand for, where the aliases do not say it.
    merge : bool
        Whether to take teams together that share people or a submission id's suffix, or are spelled nearly
        alike. Teams of different institutions are never taken together.
    """
    known = Aliases(aliases or {}, institutions or {})
    stated = [known.find(submission) or known.find(team) or team for submission, team in entries]
    kept = [place for place, name in enumerate(stated) if not is_anonymous(name)]
    read = _one_spelling({stated[place]: read_affiliation(stated[place], known) for place in kept})
    team, merges = {name: name for name in read}, list[Merge]()
    if merge:
        team, merges = _merge_teams([(entries[place][0], stated[place]) for place in kept], read)
    members: dict[str, list[int]] = {}
    for place in kept:
        members.setdefault(team[stated[place]], []).append(place)
    located = _by_institution(entries, stated, read, kept)
    made = [(_team(group, entries, stated, merges), group) for group in members.values()]
    name_of = {place: one.name for one, group in made for place in group}
    return Groups(
        teams=_sorted(one for one, _ in made),
        institutions=_sorted(located),
        anonymous=tuple(entry[0] for entry, name in zip(entries, stated, strict=True) if name not in read),
        unplaced=tuple(
            entry[0]
            for entry, name in zip(entries, stated, strict=True)
            if name not in read or not read[name].institutions
        ),
        team_of=tuple(name_of.get(place, "") for place in range(len(entries))),
    )


def _one_spelling(read: Mapping[str, Affiliation]) -> dict[str, Affiliation]:
    """Return the same with one name for each institution: the first of those spelled nearly alike."""
    first: dict[str, str] = {}
    for target in dict.fromkeys(target for one in read.values() for _, target in one.institutions):
        same = [name for name in first if plain(name) == plain(target)]
        near = [name for name in first if is_near(name, target)]
        first[target] = first[(same or near)[0]] if same or near else target
    return {
        name: replace(
            one, institutions=tuple((written, first[target]) for written, target in one.institutions)
        )
        for name, one in read.items()
    }


def _sorted(groups: Sequence[Group] | Iterator[Group]) -> tuple[Group, ...]:
    return tuple(sorted(groups, key=lambda group: (-len(group.submissions), group.name)))


def _team(
    places: Sequence[int],
    entries: Sequence[tuple[str, str]],
    stated: Sequence[str],
    merges: Sequence[Merge],
) -> Group:
    counted = Counter(stated[place] for place in places)
    told = [
        Merge(name=entries[place][1], into=stated[place], reason="the aliases given")
        for place in places
        if entries[place][1] != stated[place]
    ]
    found = (*(one for one in merges if one.name in counted), *dict.fromkeys(told))
    return Group(
        name=max(counted, key=lambda name: counted[name]),
        names=tuple(dict.fromkeys(entries[place][1] for place in places)),
        evidence=tuple(dict.fromkeys(one.reason for one in found)),
        merges=found,
        submissions=tuple(entries[place][0] for place in places),
    )


def _by_institution(
    entries: Sequence[tuple[str, str]],
    stated: Sequence[str],
    read: Mapping[str, Affiliation],
    kept: Sequence[int],
) -> list[Group]:
    """Take together the submissions of each institution."""
    at: dict[str, list[tuple[int, str]]] = {}
    for place in kept:
        for written, name in read[stated[place]].institutions:
            at.setdefault(name, []).append((place, written))
    groups = []
    for name, found in at.items():
        merges = dict.fromkeys(
            Merge(name=written, into=name, reason=_why(written, name))
            for _, written in found
            if written != name
        )
        groups.append(
            Group(
                name=name,
                names=tuple(dict.fromkeys(written for _, written in found)),
                evidence=tuple(dict.fromkeys(one.reason for one in merges)),
                merges=tuple(merges),
                submissions=tuple(dict.fromkeys(entries[place][0] for place, _ in found)),
            )
        )
    return groups


def _why(written: str, name: str) -> str:
    if plain(written) == plain(name):
        return "the same name written differently"
    return "nearly the same spelling" if is_near(written, name) else f"{written} stands for {name}"


def _merge_teams(
    entries: Sequence[tuple[str, str]], read: Mapping[str, Affiliation]
) -> tuple[dict[str, str], list[Merge]]:
    """Return the team of each name, by one of its names, and why names were taken together.

    First those are joined that state a common institution, or all none, the ones with most people in common
    before others: a joint submission goes to one of the teams behind it, and does not make them one. A team
    that states none then joins the others only where all that it could be are one team: a person's name alone
    does not say from where.
    """
    ties = [one for _, one in sorted(_ties(entries, read), key=lambda tie: -tie[0])]
    team = {name: name for name in read}
    merges: list[Merge] = []

    def members(name: str) -> list[str]:
        return [other for other, at in team.items() if at == team[name]]

    def join(one: Merge) -> None:
        if team[one.name] != team[one.into]:
            merges.append(one)
            team.update(dict.fromkeys(members(one.name), team[one.into]))

    stated = {name: {plain(target) for _, target in found.institutions} for name, found in read.items()}
    for one in ties:
        if all(
            stated[a] & stated[b] or not (stated[a] or stated[b])
            for a in members(one.name)
            for b in members(one.into)
        ):
            join(one)
    for name in read:
        if any(stated[other] for other in members(name)):
            continue
        at = team[name]
        outward = [one for one in ties if (team[one.name] == at) != (team[one.into] == at)]
        if len({team[other] for one in outward for other in (one.name, one.into)} - {at}) == 1:
            join(outward[0])
    return team, merges


def _ties(entries: Sequence[tuple[str, str]], read: Mapping[str, Affiliation]) -> Iterator[tuple[int, Merge]]:
    """Yield what may make two teams one, and how many people they have in common."""
    stems: dict[str, str] = {}
    for submission, name in entries:
        stem = _stem(submission)
        first = stems.setdefault(stem, name) if stem else name
        if first != name and not (read[first].people and read[name].people):
            yield 0, Merge(name=name, into=first, reason=f"ids that end in -{stem}")
    names = list(read)
    words = {name: found.words() or frozenset(plain(name).split()) for name, found in read.items()}
    for place, later in enumerate(names):
        for earlier in names[:place]:
            peopled = read[earlier].people or read[later].people
            if peopled and words[earlier].isdisjoint(words[later]):
                continue  # one person in both would be called by a word in both
            shared, reason = _in_common(earlier, later, read[earlier], read[later])
            if reason:
                yield shared, Merge(name=later, into=earlier, reason=reason)


def _in_common(one: str, other: str, first: Affiliation, second: Affiliation) -> tuple[int, str]:
    """Count the people that two names share, and say which, if it is enough to take them for one team.

    Enough is half of the people of the smaller team, so that a wide collaboration does not tie its members.
    """
    if plain(one) == plain(other):
        return max(1, len(first.people)), "the same name written differently"
    if not (first.people or second.people):
        return 0, "nearly the same spelling" if is_near(one, other) else ""
    places = {plain(target) for _, target in first.institutions}
    local = any(plain(target) in places for _, target in second.institutions)
    found = {a: why for a in first.people for b in second.people if (why := _same_person(a, b, local=local))}
    if not found or 2 * len(found) < min(len(first.people), len(second.people)):
        return 0, ""
    return len(found), min(found.values(), key=lambda why: "for" in why.split())


def _same_person(one: str, other: str, *, local: bool) -> str:
    """Say why two names are one person's; initials and near spellings only within an institution."""
    if plain(one) == plain(other):
        return f"{one} in both"
    first, second = plain(one).split(), plain(other).split()
    if first[-1] == second[-1] and (
        (first[0] == second[0] and {len(first), len(second)} == {2, 3})
        or (local and first[0][0] == second[0][0] and 1 in (len(first[0]), len(second[0])))
    ):
        return f"{other} for {one}"
    return f"{other} for {one}" if local and is_near(one, other) else ""


def _stem(submission: str) -> str:
    """Return the suffix of a submission id without its numbering, if it is long enough to mean something."""
    suffix = _SUFFIX.match(submission)
    if not suffix:
        return ""
    stem = re.sub(r"([-_.]?v?\d+|[-_.][a-z])+$", "", suffix.group(1), flags=re.IGNORECASE) or suffix.group(1)
    return stem.casefold() if len(stem) > 2 and not stem.isdigit() else ""

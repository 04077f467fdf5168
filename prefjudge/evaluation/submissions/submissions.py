"""Submissions: the entries of a leaderboard, and whose they are.

Teams and institutions go by their names as printed, and by what a file says that names stand for: nobody is
guessed to be somebody else.

*Public*, *held-out* and *private* mean what they do in Craswell et al. (SIGIR 2021, section 3): the public
queries are those that the leaderboard's scores are of; held-out or private ones are answered by every run
too, and not scored there. A leaderboard's file has none of these words: its ``eval`` score is the one on the
public queries, whose labels no participant has, and ``dev`` the one on other queries, whose labels all have.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np

from prefjudge.evaluation.leaderboards.correlation import kendall_tau

BASELINE = "🏛"
RECORD = "🏆"
TYPES = ("full ranking", "reranking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One entry of a leaderboard.

    Attributes
    ----------
    line : int
        Where the file has it.
    submission_id : str
        Empty where the leaderboard gives none.
    date : datetime.date
    team, description, type : str
        As the leaderboard has them.
    dev, eval : float or None
        The scores on the queries with published labels, and on the public leaderboard's, which has the order.
    baseline : bool
        Whether the organisers entered it: rules do not bind it.
    record : bool
        Whether the leaderboard marks it as the best of its day.
    paper, code : str
        Where they are to be read.
    """

    line: int
    submission_id: str
    date: date
    team: str
    description: str
    type: str
    dev: float | None
    eval: float | None
    baseline: bool = False
    record: bool = False
    paper: str = ""
    code: str = ""

    @property
    def name(self) -> str:
        """The id, or the date and the line where there is none."""
        return self.submission_id or f"{self.date:%Y%m%d} (line {self.line})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a submission stands by its dev and by its eval score, among those that have both.

    The team is empty where it is not known.
    """

    submission: str
    team: str
    dev: float
    eval: float
    dev_rank: int
    eval_rank: int

    @property
    def shift(self) -> int:
        """How many places it rises from the dev to the eval queries."""
        return self.dev_rank - self.eval_rank


def compare_scores(entries: Sequence[Submission], teams: Sequence[str]) -> tuple[tuple[Standing, ...], float]:
    """Rank the submissions by both scores, and return Kendall's tau between them (NaN for fewer than two).

    ``teams`` has the team of each entry.
    """
    both = [
        (entry, team, entry.dev, entry.eval)
        for entry, team in zip(entries, teams, strict=True)
        if entry.dev is not None and entry.eval is not None
    ]
    dev = np.array([score for _, _, score, _ in both])
    official = np.array([score for _, _, _, score in both])
    rows = [
        Standing(
            submission=entry.name,
            team=team,
            dev=one,
            eval=other,
            dev_rank=int((dev > one).sum()) + 1,
            eval_rank=int((official > other).sum()) + 1,
        )
        for entry, team, one, other in both
    ]
    tau = kendall_tau(dev, official) if len(both) > 1 else float("nan")
    return tuple(sorted(rows, key=lambda row: (row.eval_rank, row.dev_rank, row.submission))), tau


def record_holders(entries: Sequence[Submission]) -> list[Submission]:
    """Return the entries that beat everything before them, and are the best of their day.

    The organisers' baselines count but hold none. Of equals of a day the first has it.
    """
    best, records = float("-inf"), []
    for score, entry in sorted(
        ((entry.eval, entry) for entry in entries if entry.eval is not None),
        key=lambda one: (one[1].date, -one[0]),
    ):
        if score > best:
            best = score
            if not entry.baseline:
                records.append(entry)
    return records


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Submissions of one team or of one institution, and its names as printed, the earliest first."""

    name: str
    names: tuple[str, ...]
    submissions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The submissions by team and by institution, most submissions first, equals by name.

    A joint submission counts at each of its institutions. Of the ``anonymous`` ones neither is known.
    ``team_of`` has the team's name of each entry in the order given, empty where it is not known: two entries
    may have one id.
    """

    teams: tuple[Group, ...]
    institutions: tuple[Group, ...]
    anonymous: tuple[str, ...]
    team_of: tuple[str, ...]


def group_submissions(entries: Sequence[tuple[str, str]], aliases: Mapping[str, str] | None = None) -> Groups:
    """Group submissions by team and by institution.

    Parameters
    ----------
    entries : sequence of (str, str)
        The submission's name and its team's name as printed, earliest first.
    aliases : mapping of str to str, optional
        What a submission, a team or an institution stands for. Several institutions are apart by ``;``. Names
        are the same whatever their case, accents and punctuation.
    """
    known = {_plain(name): target for name, target in (aliases or {}).items()}

    def stands_for(name: str) -> str:
        return known.get(_plain(name), name)

    teams: dict[str, _Members] = {}
    institutions: dict[str, _Members] = {}
    anonymous, team_of = list[str](), list[str]()
    for submission, printed in entries:
        team = known.get(_plain(submission)) or stands_for(printed)
        if _plain(team) in ("", "anonymous", "anon"):
            anonymous.append(submission)
            team_of.append("")
            continue
        team_of.append(teams.setdefault(_plain(team), _Members(team, [])).add(submission, printed))
        place = _DASH.split(team.strip())[-1]
        for one in dict.fromkeys(stands_for(part.strip()) for part in stands_for(place).split(";")):
            institutions.setdefault(_plain(one), _Members(one, [])).add(submission, place)
    return Groups(
        teams=_sorted(teams.values()),
        institutions=_sorted(institutions.values()),
        anonymous=tuple(anonymous),
        team_of=tuple(team_of),
    )


_DASH = re.compile(r"\s+(?:-{1,3}|[—–])\s+|\s*—\s*")
"""What stands before the institution in a team's name: ``Ada Lovelace - University of Somewhere``."""


class _Members(NamedTuple):
    name: str
    found: list[tuple[str, str]]

    def add(self, submission: str, printed: str) -> str:
        self.found.append((submission, printed))
        return self.name


def _sorted(groups: Iterable[_Members]) -> tuple[Group, ...]:
    made = (
        Group(
            name=one.name,
            names=tuple(dict.fromkeys(printed for _, printed in one.found)),
            submissions=tuple(submission for submission, _ in one.found),
        )
        for one in groups
    )
    return tuple(sorted(made, key=lambda group: (-len(group.submissions), group.name)))


def _plain(text: str) -> str:
    """Return the letters and digits of a name, without case, accents and punctuation."""
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or text
    return " ".join(re.findall(r"\w+", bare.casefold()))


def short_name(name: str) -> str:
    """Return a name for a sentence: without ``(1)`` and the like, and cut at a word where it is long."""
    name = re.sub(r"\s*\(\d[\d, ]*\)\s*", " ", name).replace(" ,", ",").strip()
    return name if len(name) <= _LONG else name[: _LONG + 1].rsplit(" ", 1)[0].rstrip(" ,;") + " …"


_LONG = 48
"""Letters of a name that a sentence can bear."""

"""Submissions: the entries of a leaderboard, and what an audit against its rules finds."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from math import nan

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Heads
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import Leaderboard
from prefjudge.evaluation.correlation import kendall_tau
from prefjudge.words import many, told

BASELINE = "🏛"
RECORD = "🏆"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One entry of a leaderboard."""

    line: int
    """Where the file has it."""
    submission_id: str
    """Empty where the leaderboard gives none."""
    date: date
    team: str
    description: str
    type: str
    """As the leaderboard has them."""
    dev: float | None
    eval: float | None
    """The scores on the queries with published labels, and on the public leaderboard's, which has the
    order."""
    baseline: bool = False
    """Whether the organisers entered it: rules do not bind it."""
    record: bool = False
    """Whether the leaderboard marks it as the best of its day."""
    paper: str = ""
    code: str = ""
    """Where they are to be read."""

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

    @told
    def shift(self) -> int:
        """How many places it rises from the dev to the eval queries."""
        return self.dev_rank - self.eval_rank


def compare_scores(entries: Sequence[Submission], teams: Sequence[str]) -> tuple[tuple[Standing, ...], float]:
    """Rank the submissions by both scores, and return Kendall's tau between them (NaN for fewer than two)."""
    # `teams` has the team of each entry.
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
    """Return the entries that beat everything before them, and are the best of their day."""
    # The organisers' baselines count but hold none. Of equals of a day the first has it.
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
    """Group submissions by team and by institution."""
    known = {_plain(name): target for name, target in (aliases or {}).items()}

    def stands_for(name: str) -> str:
        return known.get(_plain(name), name)

    teams, institutions = (defaultdict[str, list[tuple[str, str, str]]](list) for _ in range(2))
    anonymous, team_of = list[str](), list[str]()
    for submission, printed in entries:
        team = known.get(_plain(submission)) or stands_for(printed)
        if _plain(team) in ("", "anonymous", "anon"):
            anonymous.append(submission)
            team_of.append("")
            continue
        members = teams[_plain(team)]
        members.append((team, submission, printed))
        team_of.append(members[0][0])
        place = _DASH.split(team.strip())[-1]
        for one in dict.fromkeys(stands_for(part.strip()) for part in stands_for(place).split(";")):
            institutions[_plain(one)].append((one, submission, place))
    return Groups(
        teams=_sorted(teams),
        institutions=_sorted(institutions),
        anonymous=tuple(anonymous),
        team_of=tuple(team_of),
    )


_DASH = re.compile(r"\s+(?:-{1,3}|[—–])\s+|\s*—\s*")
"""What stands before the institution in a team's name: ``Ada Lovelace - University of Somewhere``."""


def _sorted(groups: Mapping[str, Sequence[tuple[str, str, str]]]) -> tuple[Group, ...]:
    """Return the groups of these members: what each belongs to, its id, and the name as printed."""
    made = (
        Group(
            name=members[0][0],
            names=tuple(dict.fromkeys(printed for _, _, printed in members)),
            submissions=tuple(submission for _, submission, _ in members),
        )
        for members in groups.values()
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


# Findings: what an audit of a leaderboard has to say, rule by rule.


class Rule(StrEnum):
    """What a finding is about.

    These are the rules of the MS MARCO leaderboards (Craswell et al., SIGIR 2021, section 3.3): a group makes
    "no more than two runs per month, and no more than one run with very small changes". The paper does not
    say when a change is very small: the likeness of runs is our measure of it.
    """

    FREQUENCY = "frequency"
    """More submissions of a team than the rule allows in any period."""
    TWINS = "twins"
    """Two runs with nearly the same results, of any submitters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to look at. A finding is a reason to ask, not a verdict."""

    rule: Rule
    team: str
    """Empty where no single team is meant."""
    submissions: tuple[str, ...]
    """Which entries it is about."""
    value: float
    """The number behind it: submissions in the period, or likeness."""
    words: str
    """What was found, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a leaderboard asks of its participants.

    Raises
    ------
    InputError
        A number makes no sense.
    """

    limit: int = 2
    days: int = 30
    """At most this many submissions of a team in any period of this many days."""
    since: date | None = None
    """When the rule came into force."""
    alike: float = 0.9
    """From which likeness on, 0 to 1, two runs count as nearly the same."""

    def __post_init__(self) -> None:
        for name, value in (("limit", self.limit), ("days", self.days)):
            if value < 1:
                raise InputError(f"{name} is {value}", "It is 1 or more.")
        if not 0 <= self.alike <= 1:
            raise InputError(f"alike is {self.alike:g}", "It is a likeness from 0 to 1, such as 0.9.")


def too_frequent(by_team: Mapping[str, Sequence[Submission]], rules: Rules) -> Iterable[Finding]:
    """Yield each run of overlapping periods with too many submissions as one finding."""
    for team, entries in by_team.items():
        flagged: list[tuple[int, int]] = []
        for start, entry in enumerate(entries):
            stop = start
            while stop < len(entries) and (entries[stop].date - entry.date).days < rules.days:
                stop += 1
            if stop - start > rules.limit:
                if flagged and start < flagged[-1][1]:
                    flagged[-1] = (flagged[-1][0], max(stop, flagged[-1][1]))
                else:
                    flagged.append((start, stop))
        for start, stop in flagged:
            part = entries[start:stop]
            periods = [
                [one for one in part if 0 <= (one.date - first.date).days < rules.days] for first in part
            ]
            worst = max(periods, key=len)
            others = f"; {len(part)} in periods that overlap, to {part[-1].date}"
            yield Finding(
                rule=Rule.FREQUENCY,
                team=team,
                submissions=tuple(entry.name for entry in part),
                value=float(len(worst)),
                words=f"{short_name(team)} made {many(len(worst), 'submission')} "
                f"within {many(rules.days, 'day')} "
                f"({worst[0].date} to {worst[-1].date}), "
                f"{rules.limit} {'is' if rules.limit == 1 else 'are'} allowed"
                f"{others if len(part) > len(worst) else ''}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLikeness:
    """How alike the top documents of two runs are, over the queries that either has."""

    a: str
    b: str
    """The runs, in the order of the heads."""
    overlap: float
    """The mean over queries of the share of common documents among the top of the deeper one."""
    same_top: float
    """On which share of the queries both put the same document first."""
    identical: bool
    """Whether all positions hold the same documents."""


def run_likeness(heads: Heads, *, least: float) -> tuple[RunLikeness, ...]:
    """Compare all pairs of runs by their top documents."""
    runs = len(heads.runs)
    depth = np.zeros((runs, len(heads.queries)))
    np.add.at(depth, (heads.run, heads.query), 1.0)
    overlap = _shared(heads, depth, places=False)
    tops = _shared(heads, depth, places=True)
    found = []
    for a in range(runs):
        for b in range(a + 1, runs):
            either = np.maximum(depth[a], depth[b]) > 0
            queries = int(either.sum())
            if queries and overlap[a, b] / queries >= least:
                found.append(
                    RunLikeness(
                        a=heads.runs[a],
                        b=heads.runs[b],
                        overlap=float(overlap[a, b] / queries),
                        same_top=float(tops[a, b] / queries),
                        identical=_columns(heads, a) == _columns(heads, b),
                    )
                )
    return tuple(sorted(found, key=lambda pair: (-pair.overlap, -pair.same_top, pair.a, pair.b)))


def _shared(heads: Heads, depth: NDArray[np.float64], *, places: bool) -> NDArray[np.float64]:
    """Sum, over queries, the share of documents that two runs have in common (or whether their first is)."""
    rows = np.flatnonzero(heads.position == 1) if places else np.arange(heads.run.size)
    key = heads.query[rows].astype(np.int64) * (len(heads.docs) + 1) + heads.doc[rows]
    order = np.argsort(key, kind="stable")
    run, query, key = heads.run[rows[order]], heads.query[rows[order]], key[order]
    total = np.zeros((len(heads.runs), len(heads.runs)))
    # A stretch of equal keys is the runs that share a document: the cost grows with what they share.
    start = np.flatnonzero(np.diff(key, prepend=-1))
    for first, last in zip(start, np.append(start[1:], key.size), strict=True):
        if last - first > 1:
            who = run[first:last]
            deeper = np.maximum(depth[who, query[first]][:, None], depth[who, query[first]][None, :])
            total[np.ix_(who, who)] += 1.0 if places else 1.0 / deeper
    return total


def _columns(heads: Heads, run: int) -> tuple[bytes, bytes, bytes]:
    lists = np.flatnonzero(heads.list_run == run)
    first, last = (int(heads.start[place]) for place in (lists[0], lists[-1] + 1)) if lists.size else (0, 0)
    sizes = np.diff(heads.start)[lists]
    return heads.list_query[lists].tobytes(), sizes.tobytes(), heads.doc[first:last].tobytes()


def twins(heads: Heads, team_of: Mapping[str, str], rules: Rules) -> Iterable[Finding]:
    """Yield pairs of runs that return nearly the same documents."""
    for pair in run_likeness(heads, least=rules.alike):
        teams = {team_of.get(pair.a, ""), team_of.get(pair.b, "")}
        if pair.identical:
            words = "return the same documents in the same places"
        else:
            words = (
                f"share {100 * pair.overlap:.1f} % of their top documents, "
                f"and the first one on {100 * pair.same_top:.1f} % of the queries"
            )
        yield Finding(
            rule=Rule.TWINS,
            team=teams.pop() if len(teams) == 1 else "",
            submissions=(pair.a, pair.b),
            value=pair.overlap,
            words=f"{pair.a} and {pair.b} {words}",
        )


# An audit of a leaderboard's submissions against its rules.
#
# The MS MARCO leaderboards allow each group "no more than two runs per month, and no more than one run with
# very small changes" (Craswell et al., SIGIR 2021, section 3.3), and the paper counts submissions by
# institution. A month is read as any 30 days.


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit."""

    submissions: int
    first: date
    last: date
    """The dates that the entries span."""
    rules: Rules
    teams: tuple[Group, ...]
    institutions: tuple[Group, ...]
    """Most submissions first."""
    anonymous: tuple[str, ...]
    """Submissions whose team nobody knows."""
    findings: tuple[Finding, ...]
    standings: tuple[Standing, ...]
    """In the order of the eval score."""
    tau: float
    """Kendall's tau between dev and eval scores; NaN for fewer than two."""
    records: tuple[str, ...]
    """The submissions that beat all earlier ones on the eval queries."""
    shared_scores: int
    """How many submissions have exactly the eval score of another."""


def audit(
    submissions: Sequence[Submission],
    *,
    rules: Rules | None = None,
    until: date | None = None,
    aliases: Mapping[str, str] | None = None,
    heads: Heads | None = None,
) -> Audit:
    """Audit the entries of a leaderboard, one at least."""
    # Entries `until` a day are looked at. `aliases` says what a submission, a team or an institution stands
    # for, and `heads` are the top documents of runs, for likeness by results: a run belongs to the submission
    # of that id.
    rules = rules or Rules()
    ordered = sorted(submissions, key=lambda entry: (entry.date, entry.line))
    if until is not None and until < ordered[0].date:
        raise InputError(f"{until} is before the first submission", f"Name a day from {ordered[0].date} on.")
    ordered = [entry for entry in ordered if until is None or entry.date <= until]
    named = [(entry.name, entry.team) for entry in ordered]
    groups = group_submissions(named, aliases)
    bound: dict[str, list[Submission]] = {}
    for entry, team in zip(ordered, groups.team_of, strict=True):
        if team and not entry.baseline and (rules.since is None or entry.date >= rules.since):
            bound.setdefault(team, []).append(entry)
    team_of = {name: team.name for team in groups.teams for name in team.submissions}
    standings, tau = compare_scores(ordered, groups.team_of)
    likely = twins(heads, team_of, rules) if heads is not None else ()
    scores = [entry.eval for entry in ordered if entry.eval is not None]
    return Audit(
        submissions=len(ordered),
        first=ordered[0].date,
        last=ordered[-1].date,
        rules=rules,
        teams=groups.teams,
        institutions=groups.institutions,
        anonymous=groups.anonymous,
        findings=(*too_frequent(bound, rules), *likely),
        standings=standings,
        tau=tau,
        records=tuple(entry.name for entry in record_holders(ordered)),
        shared_scores=sum(scores.count(score) > 1 for score in scores),
    )


# Runs beside their places on an official leaderboard (shallow pooling, Table 3 and Figure 5).


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRow:
    """One run on the official leaderboard and under each label set."""

    run: str
    """The run tag, or what the perfect ranking is called."""
    rank: int | None
    """Its place among all entries of the leaderboard; None where it has none."""
    evaluation: float | None
    """The leaderboard's own score, on queries whose labels no participant has."""
    all_queries: float
    selected: float
    preference: float
    """The score under the original qrels on all their queries, under them on those with preference qrels, and
    under the preference qrels; NaN where there is none."""
    reference: str = ""
    """The entry: its description and its team."""
    perfect: bool = False
    """Whether it is the perfect ranking under the original qrels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialBoard:
    """Table 3: the perfect ranking, then the runs in the official order."""

    measure: str
    """What the scores are, but for the leaderboard's own."""
    original: str
    preference: str
    """The label sets; ``preference`` is empty where there is none."""
    queries: int
    selected: int
    """How many queries the original qrels judge, and how many of them were selected."""
    rows: tuple[OfficialRow, ...]
    """Runs that the leaderboard does not list stand last."""
    tau: float
    """Kendall's tau between the leaderboard's scores and those on the selected queries (Figure 5); NaN for
    fewer than two listed runs."""

    @property
    def listed(self) -> tuple[OfficialRow, ...]:
        """The runs that the leaderboard has a score for."""
        return tuple(row for row in self.rows if row.evaluation is not None and not row.perfect)


def find_entry(run: str, entries: Sequence[Submission]) -> Submission | None:
    """Return the entry whose id, or else whose description, is the run tag; None where not one alone is."""
    by_id = [entry for entry in entries if entry.submission_id == run]
    words = run.strip().casefold()
    found = by_id or [entry for entry in entries if entry.description.strip().casefold() == words]
    return found[0] if len(found) == 1 else None


def official_order(runs: Sequence[str], entries: Sequence[Submission]) -> tuple[str, ...]:
    """Return the runs by their scores on the leaderboard, those that it does not list last."""
    found = {run: find_entry(run, entries) for run in runs}
    scores = {run: entry.eval for run, entry in found.items() if entry and entry.eval is not None}
    return tuple(sorted(runs, key=lambda run: -scores.get(run, -float("inf"))))


def official_board(
    entries: Sequence[Submission],
    every: Leaderboard,
    selected: Leaderboard,
    preference: Leaderboard | None = None,
) -> OfficialBoard:
    """Put runs beside their places on a leaderboard."""
    order = official_order([row.run for row in every.ranked], entries)
    boards = [
        {row.run: row.score for row in board.ranked} if board else {}
        for board in (every, selected, preference)
    ]
    bars = [
        board.perfect.score if board and board.perfect else nan for board in (every, selected, preference)
    ]
    rows = [
        OfficialRow(
            run="perfect ranking",
            rank=None,
            evaluation=1.0 if bars[0] == 1.0 else None,  # as under any labels, by a measure of one answer
            all_queries=bars[0],
            selected=bars[1],
            preference=bars[2],
            perfect=True,
        )
    ]
    for run in order:
        entry = find_entry(run, entries)
        score = entry.eval if entry else None
        better = [one for one in entries if score is not None and one.eval is not None and one.eval > score]
        rows.append(
            OfficialRow(
                run=run,
                rank=len(better) + 1 if score is not None else None,
                evaluation=score,
                all_queries=boards[0][run],
                selected=boards[1][run],
                preference=boards[2].get(run, nan),
                reference=f"{entry.description} ({entry.team})" if entry else "",
            )
        )
    listed = [row for row in rows if row.evaluation is not None and not row.perfect]
    official = np.array([row.evaluation for row in listed], dtype=np.float64)
    ours = np.array([row.selected for row in listed])
    return OfficialBoard(
        measure=every.measure,
        original=every.qrels,
        preference=preference.qrels if preference else "",
        queries=every.queries,
        selected=selected.queries,
        rows=tuple(rows),
        tau=float(kendall_tau(official, ours)) if len(listed) > 1 else nan,
    )

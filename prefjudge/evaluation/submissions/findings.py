"""Findings: what an audit of a leaderboard has to say, rule by rule."""

from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.runs import Heads
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.submissions.submissions import TYPES, Standing, Submission, short_name


class Rule(StrEnum):
    """What a finding is about.

    The first two are rules of the MS MARCO leaderboards (Craswell et al., SIGIR 2021, section 3.3): a group
    makes "no more than two runs per month, and no more than one run with very small changes". The paper does
    not say when a change is very small: the likeness of runs is our measure of it. The others are rules of
    our own (`OURS`).
    """

    FREQUENCY = "frequency"
    """More submissions of a team than the rule allows in any period."""
    TWINS = "twins"
    """Two runs with nearly the same results, of any submitters."""
    EMBARGO = "embargo"
    """An anonymous entry that is older than the embargo allows."""
    GAP = "dev against eval"
    """A score that falls from the dev to the eval queries unlike the others."""
    RECORD = "record"
    """The mark of the best of its day is missing or wrong."""
    METADATA = "metadata"
    """A field that is missing, doubled or misspelt."""


OURS = (Rule.EMBARGO, Rule.GAP, Rule.RECORD, Rule.METADATA)
"""Rules that the paper does not have: they are off unless asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to look at. A finding is a reason to ask, not a verdict.

    Attributes
    ----------
    rule : Rule
    team : str
        Empty where no single team is meant.
    submissions : tuple of str
        Which entries it is about.
    value : float or None
        The number behind it: submissions in the period, likeness, days, or the gap.
    words : str
        What was found, in one sentence.
    """

    rule: Rule
    team: str
    submissions: tuple[str, ...]
    value: float | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a leaderboard asks of its participants.

    Attributes
    ----------
    limit, days : int
        At most this many submissions of a team in any period of this many days.
    since : datetime.date or None
        When the rule came into force.
    ours : bool
        Whether to apply our own rules too.
    embargo_months : int
        How long an entry may stay anonymous, by one of our own.
    alike : float
        From which likeness on, 0 to 1, two runs count as nearly the same.

    Raises
    ------
    InputError
        A number makes no sense.
    """

    limit: int = 2
    days: int = 30
    since: date | None = None
    ours: bool = False
    embargo_months: int = 9
    alike: float = 0.9

    def __post_init__(self) -> None:
        for name, value, least in (
            ("limit", self.limit, 1),
            ("days", self.days, 1),
            ("embargo_months", self.embargo_months, 0),
        ):
            if value < least:
                raise InputError(f"{name} is {value}", f"It is {least} or more.")
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
    """How alike the top documents of two runs are, over the queries that either has.

    Attributes
    ----------
    a, b : str
        The runs, in the order of the heads.
    overlap : float
        The mean over queries of the share of common documents among the top of the deeper one.
    same_top : float
        On which share of the queries both put the same document first.
    identical : bool
        Whether all positions hold the same documents.
    """

    a: str
    b: str
    overlap: float
    same_top: float
    identical: bool


def run_likeness(heads: Heads, *, least: float) -> tuple[RunLikeness, ...]:
    """Compare all pairs of runs by their top documents.

    Parameters
    ----------
    heads : Heads
        The top documents of the runs, to the depth that is to be compared.
    least : float
        Pairs that overlap less are left out.

    Returns
    -------
    tuple of RunLikeness
        The most alike first.
    """
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


def embargoes(entries: Iterable[Submission], day: date, rules: Rules) -> Iterable[Finding]:
    """Yield those of the anonymous entries whose embargo is over."""
    for entry in entries:
        last = add_months(entry.date, rules.embargo_months) - timedelta(days=1)
        if day > last:
            yield Finding(
                rule=Rule.EMBARGO,
                team="",
                submissions=(entry.name,),
                value=float((day - last).days),
                words=f"{entry.name} is still anonymous "
                f"{many((day - last).days, 'day')} after its embargo of "
                f"{many(rules.embargo_months, 'month')} ended on {last}",
            )


def add_months(day: date, months: int) -> date:
    """Return the same day some months later, or the last day of that month where it is shorter.

    The last day that a calendar has, where it is later.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if year > date.max.year:
        return date.max
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def gaps(standings: Sequence[Standing]) -> Iterable[Finding]:
    """Yield falls beyond 3.5 robust standard deviations (median and median absolute deviation)."""
    gaps = np.array([row.dev - row.eval for row in standings])
    if gaps.size < 5:
        return
    usual = float(np.median(gaps))
    spread = 1.4826 * float(np.median(np.abs(gaps - usual)))
    for row, gap in zip(standings, gaps.tolist(), strict=True):
        if gap - usual > 3.5 * max(spread, 1e-9):
            yield Finding(
                rule=Rule.GAP,
                team=row.team,
                submissions=(row.submission,),
                value=gap,
                words=f"{row.submission} scores {row.dev:.3f} on the dev and {row.eval:.3f} on the "
                f"eval queries: a fall of {gap:.3f} where {usual:.3f} is usual",
            )


def marks(entries: Sequence[Submission], records: Sequence[Submission]) -> Iterable[Finding]:
    """Yield entries whose mark as the best of its day is missing or wrong, where there are marks at all."""
    if not any(entry.record for entry in entries):
        return
    for entry in entries:
        if entry.record != (entry in records):
            verb = (
                "is marked as the best of its day but another by then scores as well"
                if entry.record
                else "beat all earlier ones and is not marked"
            )
            yield Finding(
                rule=Rule.RECORD,
                team=entry.team,
                submissions=(entry.name,),
                value=entry.eval,
                words=f"{entry.name} {verb} ({entry.eval if entry.eval is not None else 'no score'})",
            )


def metadata(entries: Sequence[Submission]) -> Iterable[Finding]:
    """Yield fields that are missing, doubled or misspelt."""

    def finding(entry: Submission, words: str) -> Finding:
        return Finding(
            rule=Rule.METADATA, team=entry.team, submissions=(entry.name,), value=None, words=words
        )

    without = [entry for entry in entries if not entry.submission_id]
    if without:
        yield Finding(
            rule=Rule.METADATA,
            team="",
            submissions=tuple(entry.name for entry in without),
            value=float(len(without)),
            words=f"{many(len(without), 'submission has', 'submissions have')} no id",
        )
    seen: dict[str, int] = {}
    for entry in entries:
        number = entry.submission_id
        if number and number in seen:
            yield finding(entry, f"{number} is the id of lines {seen[number]} and {entry.line}")
        seen.setdefault(number, entry.line)
        if number[:8].isdigit() and number[:8] != f"{entry.date:%Y%m%d}":
            yield finding(entry, f"{number} is dated {entry.date}")
        if entry.type and entry.type not in TYPES:
            yield finding(entry, f"{entry.name} has the type {entry.type!r}; known are {' and '.join(TYPES)}")
        if entry.eval is None:
            yield finding(entry, f"{entry.name} has no eval score")
